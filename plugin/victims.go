package plugin

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// The argument victimOrder: leastWork. Volcano evicts the victims of a node in an order of
// its own, which plugins change only together with the order in which jobs are scheduled. So
// reclaimable names no more victims than the reclaimer needs, and Volcano evicts all of them.

// asks reports whether a call comes from workOrder or preemptable, which ask what the other
// plugins say.
func (s *session) asks(reclaimer *api.TaskInfo) bool {
	_, own := s.asking.Load(reclaimer)
	return own
}

// needsNoVictim reports whether a claim has room on a node and in all its queues already: pods
// that are being deleted leave it.
func (s *session) needsNoVictim(c *claim, node string) bool {
	s.memory.victims.Begin()
	return s.place(c, node) && s.suffice(c, node, nil)
}

// workOrder returns the tasks that all other plugins agree on, in the order of
// quota.OrderByWork. Without the others, a victim that one of them spares would be missing
// from the few that are named.
func (s *session) workOrder(c *claim, tasks []*api.TaskInfo) []*api.TaskInfo {
	agreed := s.agreedOn(c.task, tasks)
	ordered := make([]*api.TaskInfo, len(agreed))
	for i, at := range quota.OrderByWork(s.ix, c.queue, s.candidates(agreed)) {
		ordered[i] = agreed[at]
	}
	return ordered
}

// candidates returns what decides how much work is lost with tasks.
func (s *session) candidates(tasks []*api.TaskInfo) []quota.Candidate {
	candidates := make([]quota.Candidate, len(tasks))
	for i, task := range tasks {
		job := s.ssn.Jobs[task.Job]
		candidates[i] = quota.Candidate{Queue: s.queueOf(task), QueuePriority: s.ssn.Queues[job.Queue].Queue.Spec.Priority,
			JobPriority: job.Priority, Priority: task.Priority, Job: string(job.UID), Spare: int(job.ReadyTaskNum() - job.MinAvailable),
			Ran: s.ranOf(task), JobRan: s.jobRanOf(job), Name: string(task.UID)}
	}
	return candidates
}

// ranOf returns for how long a task has run, in seconds.
func (s *session) ranOf(task *api.TaskInfo) int64 { return int64(s.runtimeOf(task.Pod).Seconds()) }

// jobRanOf returns the sum for all tasks of a job that have a node.
func (s *session) jobRanOf(job *api.JobInfo) (sum int64) {
	for status, tasks := range job.TaskStatusIndex {
		if api.AllocatedStatus(status) {
			for _, task := range tasks {
				sum += s.ranOf(task)
			}
		}
	}
	return sum
}

// onOneNode reports whether all tasks are on the same node, as in all calls of Volcano.
func onOneNode(tasks []*api.TaskInfo) bool {
	return !slices.ContainsFunc(tasks, func(task *api.TaskInfo) bool { return task.NodeName != tasks[0].NodeName })
}

// suffice reports whether a claim has room on a node and in all its queues once some victims on
// the node are gone. They count as gone in s.memory.victims.
func (s *session) suffice(c *claim, on string, victims []*api.TaskInfo) bool {
	node := s.ssn.Nodes[on]
	if node == nil || c.queue == index.None {
		return false
	}
	return s.makesRoom(c, node, victims) && s.quotasAllow(c, victims)
}

// fewest returns victims without those that the others suffice without. The last one is
// needed: the victims before it do not suffice. Of the others, those go first whose eviction
// loses the most.
func (s *session) fewest(c *claim, victims []*api.TaskInfo) []*api.TaskInfo {
	for i := len(victims) - 2; i >= 0; i-- {
		others := slices.Delete(slices.Clone(victims), i, i+1)
		if s.takeAgain(c, others); s.suffice(c, others[0].NodeName, others) {
			victims = others
		}
	}
	return victims
}

// takeAgain starts a new call with some victims of this one. The rules allow them without the
// others, too: their queues have more.
func (s *session) takeAgain(c *claim, victims []*api.TaskInfo) {
	v := &s.memory.vectors
	s.memory.victims.Begin()
	for _, task := range victims {
		q := s.queueOf(task)
		s.intake.SetCharge(v.request, q, task, task.NodeName)
		s.take(q, v.request, c.queue, v.claim, s.terms(c.class, c.queue, q, task))
	}
}
