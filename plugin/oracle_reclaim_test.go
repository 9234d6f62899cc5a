package plugin

import (
	"math/rand/v2"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// findPending records the requests of the tasks that the action allocate considers, with
// each choice of cards that fits under the bounds of their queues.
func (m *oracleSession) findPending() {
	m.pending = map[string][][]oracle.Amounts{}
	for _, job := range m.sortedJobs() {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if job.IsPending() || task.SchGated || task.BestEffort {
				continue
			}
			name, choices := m.queueOf(task), []oracle.Amounts{m.request(task, false)}
			for p := range m.cardRequests(task) {
				choices = m.choices(name, p, choices)
			}
			m.pending[name] = append(m.pending[name], choices)
		}
	}
}

// choices returns requests with each card that a queue can have.
func (m *oracleSession) choices(name string, p cards.Request, requests []oracle.Amounts) (all []oracle.Amounts) {
	for _, request := range requests {
		for _, d := range p.Selector.Dims {
			with := request.Plus(oracle.Amounts{m.key(d): float64(p.Amount)})
			if m.own.cards.Allowed(m.own.ix.Lookup(name), p).OK() && with[m.key(d)] <= m.oracle.Bound(name)[m.key(d)] {
				all = append(all, with)
			}
		}
	}
	return all
}

// compareVictims compares the victims of one reclaimer. The tests of cards compare
// victims with cards.
func (m *oracleSession) compareVictims(r *rand.Rand, tasks []*api.TaskInfo) {
	if m.cards != nil || len(tasks) == 0 {
		return
	}
	reclaimer := tasks[r.IntN(len(tasks))]
	to, claim := m.queueOf(reclaimer), m.resource(reclaimer.InitResreq)
	victims := m.oracle.Victims()
	var candidates []*api.TaskInfo
	for _, task := range tasks {
		if task.Status == api.Running {
			candidates = append(candidates, task)
		}
	}
	ordered := candidates
	if m.own.settings.rules.OrderVictims {
		if ordered = m.own.evictionOrder(reclaimer, candidates); m.Queues[api.QueueID(to)] == nil {
			ordered = nil
		}
	}
	var want, got []string
	for _, task := range ordered {
		from, request := m.queueOf(task), m.request(task, true)
		if m.Queues[api.QueueID(from)] == nil || m.oracle.Broken(from) {
			continue
		}
		taken := false
		switch {
		case m.Queues[api.QueueID(to)] == nil:
			taken = victims.Take(from, request, to, claim)
		case m.own.damped():
			taken = victims.TakeDamped(from, request, to, claim, m.own.settings.damping)
		case m.own.settings.levels > 0:
			taken = victims.TakeContended(from, request, to, claim, m.oracle.Deserves(to, m.request(reclaimer, false)), m.own.settings.levels)
		default:
			taken = victims.Take(from, request, to, claim)
		}
		if taken {
			want = append(want, task.Name)
		}
	}
	if m.Queues[api.QueueID(to)] != nil && !victims.Suffice(to, m.request(reclaimer, false)) {
		want = nil
	}
	chosen, _ := m.own.reclaimable(reclaimer, candidates)
	for _, task := range chosen {
		got = append(got, task.Name)
	}
	require.Equal(m.t, want, got, "victims for %v of %s", claim, to)
}
