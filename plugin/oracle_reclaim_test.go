package plugin

import (
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
)

// findPending records the requests of the tasks that the action allocate considers, with
// each choice of cards that fits under the bounds of their queues and on a node.
func (m *oracleSession) findPending() {
	m.pending = map[string][][]oracle.Amounts{}
	for _, job := range m.sortedJobs() {
		if valid := m.JobValid(job); valid != nil && !valid.Pass {
			continue // such as a gang with too few pods
		}
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if job.IsPending() || task.SchGated || task.BestEffort {
				continue
			}
			name := m.queueOf(task)
			var choices []oracle.Amounts
			for _, node := range m.NodeList {
				if task.InitResreq.LessEqual(node.FutureIdle(), api.Zero) {
					choices = append(choices, m.choices(name, task, node.Name)...)
				}
			}
			m.pending[name] = append(m.pending[name], choices)
		}
	}
}

// choices returns the request of a task with the cards that it would have on a node, none if
// it cannot have them.
func (m *oracleSession) choices(name string, task *api.TaskInfo, node string) []oracle.Amounts {
	request := m.request(task, false)
	for p := range m.cardRequests(task) {
		given := slices.IndexFunc(p.Selector.Dims, func(d fastres.Dim) bool { return m.own.cards.Gives(node, p.Resource, d) })
		if given < 0 || !m.own.cards.Allowed(m.own.ix.Lookup(name), p).OK() {
			return nil
		}
		key := m.key(p.Selector.Dims[given])
		if request[key] += float64(p.Amount); request[key] > m.oracle.Bound(name)[key] {
			return nil
		}
	}
	return []oracle.Amounts{request}
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
	var gone []oracle.NamespaceJob
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
			gone = append(gone, oracle.NamespaceJob{Queue: from, Namespace: task.Namespace, Allocated: request})
		}
	}
	if m.Queues[api.QueueID(to)] != nil && (!victims.Suffice(to, m.request(reclaimer, false)) ||
		m.namespaces.Without(gone).Fits(to, reclaimer.Namespace, m.request(reclaimer, false)) != "") {
		want = nil
	}
	chosen, _ := m.own.reclaimable(reclaimer, candidates)
	for _, task := range chosen {
		got = append(got, task.Name)
	}
	require.Equal(m.t, want, got, "victims for %v of %s", claim, to)
}
