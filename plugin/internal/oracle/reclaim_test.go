package oracle_test

import (
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// findPending records the requests of the tasks that the action allocate considers, with
// each choice of cards that fits under the bounds of their queues and on a node.
func (m *oracleSession) findPending() {
	m.pending = map[string][][]oracle.Amounts{}
	for _, job := range m.SortedJobs() {
		if valid := m.JobValid(job); valid != nil && !valid.Pass {
			continue // such as a gang with too few pods
		}
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if job.IsPending() || task.SchGated || task.BestEffort || !m.mayTake(task) {
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
		given := slices.IndexFunc(p.Selector.Dims, func(d fastres.Dim) bool { return m.Own.Cards.Gives(node, p.Resource, d) })
		if given < 0 || !m.Own.Cards.Allowed(m.Own.Index.Lookup(name), p).OK() {
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
	if m.carded() || len(tasks) == 0 {
		return
	}
	reclaimer := tasks[r.IntN(len(tasks))]
	if ended(reclaimer) {
		return
	}
	node, several := m.NodeList[r.IntN(len(m.NodeList))].Name, r.IntN(2) == 0
	var candidates []*api.TaskInfo
	for _, task := range tasks {
		if task.Status == api.Running && (several || task.NodeName == node) {
			candidates = append(candidates, task)
		}
	}
	want := m.victimsFor(reclaimer, candidates)
	chosen, _ := m.Own.Reclaim.Reclaimable(reclaimer, candidates)
	require.Equal(m.t, want, testbed.Names(chosen), "victims for %v of %s", reclaimer.InitResreq, m.queueOf(reclaimer))
}

// comparePreemptible compares the tasks that have run for as long as their queue says before jobs
// of the same queue may preempt them.
func (m *oracleSession) comparePreemptible(tasks []*api.TaskInfo) {
	var want []string
	for _, task := range tasks {
		if queue := m.queueOf(task); m.Queues[api.QueueID(queue)] == nil || float64(ran(task)) >= m.oracle.PreemptMinRuntime(queue) {
			want = append(want, task.Name)
		}
	}
	require.Equal(m.t, want, testbed.Names(slices.DeleteFunc(slices.Clone(tasks), m.Own.Spares)), "tasks that may be preempted")
}

// victimsFor returns the names of the tasks that may be evicted for a reclaimer.
func (m *oracleSession) victimsFor(reclaimer *api.TaskInfo, candidates []*api.TaskInfo) []string {
	known := m.Queues[api.QueueID(m.queueOf(reclaimer))] != nil
	if m.Own.Settings.Rules.OrderVictims && !known || !m.mayTake(reclaimer) {
		return nil
	}
	taken, suffice := m.taken(reclaimer, m.ordered(reclaimer, candidates))
	if !suffice {
		return nil
	}
	return testbed.Names(taken)
}

// ordered returns candidates in the order of the release.
func (m *oracleSession) ordered(reclaimer *api.TaskInfo, candidates []*api.TaskInfo) []*api.TaskInfo {
	if m.Own.Settings.Rules.OrderVictims {
		return m.evictionOrder(reclaimer, candidates)
	}
	return candidates
}

// evictionOrder returns candidates in the order in which Volcano evicts them.
func (m *oracleSession) evictionOrder(reclaimer *api.TaskInfo, candidates []*api.TaskInfo) (ordered []*api.TaskInfo) {
	for queue := m.BuildVictimsPriorityQueue(candidates, reclaimer); !queue.Empty(); {
		ordered = append(ordered, queue.Pop().(*api.TaskInfo))
	}
	return ordered
}

// mayTake reports whether a task takes from other queues at all.
func (m *oracleSession) mayTake(task *api.TaskInfo) bool {
	queue := m.queueOf(task)
	if m.Queues[api.QueueID(queue)] == nil {
		return true
	}
	created := task.Pod.CreationTimestamp
	waits := created.IsZero() || max(0, fuzzed.Sub(created.Time).Seconds()) >= m.oracle.ReclaimDelay(queue)
	return m.classOf(task) != "training" && waits
}

// protection returns the rule that protects a running task from a reclaimer.
func (m *oracleSession) protection(reclaimer, task *api.TaskInfo) string {
	from := m.queueOf(task)
	if m.oracle.Fenced(from, m.queueOf(reclaimer)) || float64(ran(task)) < m.oracle.MinRuntime(from) {
		return oracle.Spared
	}
	return oracle.ProtectionOf(m.classOf(reclaimer), m.classOf(task))
}

// taken returns the tasks that the rules allow to evict one after the other, and whether the
// reclaimer has room in its queues then.
func (m *oracleSession) taken(reclaimer *api.TaskInfo, candidates []*api.TaskInfo) (taken []*api.TaskInfo, suffice bool) {
	to, claim, victims := m.queueOf(reclaimer), m.resource(reclaimer.InitResreq), m.oracle.Victims()
	var gone []oracle.HolderJob
	known := m.Queues[api.QueueID(to)] != nil
	for _, task := range candidates {
		from, request := m.queueOf(task), m.request(task, true)
		if m.Queues[api.QueueID(from)] == nil || m.oracle.Broken(from) {
			continue
		}
		may, protection := false, m.protection(reclaimer, task)
		switch {
		case protection == oracle.Spared:
		case known && protection == oracle.ByGuarantee:
			may = victims.TakeByGuarantee(from, request, to, claim, m.Own.Settings.Damping)
		case known && m.Own.Settings.Damping > 0:
			may = victims.TakeDamped(from, request, to, claim, m.Own.Settings.Damping)
		case known && m.Own.Settings.Levels > 0:
			may = victims.TakeContended(from, request, to, claim, m.oracle.Deserves(to, m.request(reclaimer, false)), m.Own.Settings.Levels)
		default:
			may = victims.Take(from, request, to, claim)
		}
		if may {
			taken = append(taken, task)
			gone = append(gone, oracle.HolderJob{Queue: from, Holders: m.holdersOf(task), Allocated: request})
		}
	}
	return taken, !known || victims.Suffice(to, m.request(reclaimer, false)) &&
		m.holders.Future().Without(gone).Fits(to, m.holdersOf(reclaimer), m.request(reclaimer, false)).Queue == ""
}

// ran returns for how many seconds a task has run. A start in the future counts as now.
func ran(task *api.TaskInfo) int64 {
	if task.Pod.Status.StartTime == nil {
		return 0
	}
	return max(0, fuzzed.Unix()-task.Pod.Status.StartTime.Unix())
}
