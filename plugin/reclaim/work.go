package reclaim

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// The argument victimOrder: leastWork. Volcano evicts the victims of a node in an order of
// its own, which plugins change only together with the order in which jobs are scheduled. So
// reclaimable names no more victims than the reclaimer needs, and Volcano evicts all of them.

// fewestVictims returns the victims with which the least work is lost for an evictor.
func (s *Session) fewestVictims(e *evictor, tasks []*api.TaskInfo) []*api.TaskInfo {
	if len(tasks) == 0 || !onOneNode(tasks) {
		return s.victimsAmong(e, s.workOrder(e, tasks))
	}
	if !s.takesFrom(e, tasks[0].NodeName) {
		return nil
	}
	return s.fewestOn(e, tasks[0].NodeName, tasks)
}

// fewestOn returns, of the tasks on a node, as few victims as suffice for an evictor, or all where
// they let it in and the node still lacks something.
func (s *Session) fewestOn(e *evictor, node string, tasks []*api.TaskInfo) (victims []*api.TaskInfo) {
	ordered := s.workOrder(e, tasks)
	s.beginVictims()
	if !s.place(e, node) {
		return nil
	}
	s.setRequest(e)
	enough := false
	s.eachVictim(e, ordered, func(task *api.TaskInfo) bool {
		victims = append(victims, task)
		enough = s.fitsOnNode(e, node, victims)
		return !enough
	})
	switch {
	case enough:
		return s.needed(e, node, victims)
	case e.Queue == index.None || s.fitsWithoutVictims(e):
		return victims
	}
	return nil
}

// needsNoVictim reports whether an evictor has room on a node and in all its queues already: pods
// that are being deleted leave it.
func (s *Session) needsNoVictim(e *evictor, node string) bool {
	s.beginVictims()
	return s.place(e, node) && s.fitsOnNode(e, node, nil)
}

// workOrder returns the tasks that all other plugins agree on, in the order of
// quota.OrderByWork. Without the others, a victim that one of them spares would be missing
// from the few that are named.
func (s *Session) workOrder(e *evictor, tasks []*api.TaskInfo) []*api.TaskInfo {
	agreed := s.agreedOn(e.Task, tasks)
	ordered := make([]*api.TaskInfo, len(agreed))
	for i, at := range quota.OrderByWork(s.Index, e.Queue, s.candidates(e.Queue, agreed)) {
		ordered[i] = agreed[at]
	}
	return ordered
}

// candidates returns what decides how much work is lost with tasks.
func (s *Session) candidates(to index.Queue, tasks []*api.TaskInfo) []quota.Candidate {
	candidates := make([]quota.Candidate, len(tasks))
	for i, task := range tasks {
		job := s.Volcano.Jobs[task.Job]
		candidates[i] = quota.Candidate{Queue: s.QueueOf(task), QueuePriority: s.Volcano.Queues[job.Queue].Queue.Spec.Priority,
			JobPriority: job.Priority, Priority: task.Priority, Job: string(job.UID), Spare: int(job.ReadyTaskNum() - job.MinAvailable),
			First: s.LoseFirst(s.QueueOf(task), to), Ran: s.unsavedOf(task, job), JobRan: s.jobUnsavedOf(job), Name: string(task.UID)}
	}
	return candidates
}

// unsavedOf returns for how long a task of a job has run since its last checkpoint, in seconds.
func (s *Session) unsavedOf(task *api.TaskInfo, job *api.JobInfo) int64 {
	return int64(constraint.Unsaved(task, job, s.Now).Seconds())
}

// jobUnsavedOf returns the sum for all tasks of a job that have a node.
func (s *Session) jobUnsavedOf(job *api.JobInfo) (sum int64) {
	for status, tasks := range job.TaskStatusIndex {
		if api.AllocatedStatus(status) {
			for _, task := range tasks {
				sum += s.unsavedOf(task, job)
			}
		}
	}
	return sum
}

// onOneNode reports whether all tasks are on the same node, as in all calls of Volcano.
func onOneNode(tasks []*api.TaskInfo) bool {
	return !slices.ContainsFunc(tasks, func(task *api.TaskInfo) bool { return task.NodeName != tasks[0].NodeName })
}

// fitsOnNode reports whether an evictor has room on a node and in all its queues once some victims on
// the node are gone. They count as gone already.
func (s *Session) fitsOnNode(e *evictor, on string, victims []*api.TaskInfo) bool {
	node := s.Volcano.Nodes[on]
	return node != nil && e.Queue != index.None && makesRoom(e, node, victims) && s.fitsWithoutVictims(e)
}

// needed returns victims without those that the others suffice without. The last one is needed:
// the victims before it do not suffice. Of the others, those go first whose eviction loses the
// most.
func (s *Session) needed(e *evictor, node string, victims []*api.TaskInfo) []*api.TaskInfo {
	for i := len(victims) - 2; i >= 0; i-- {
		others := slices.Delete(slices.Clone(victims), i, i+1)
		if s.evictAgain(e, others); s.fitsOnNode(e, node, others) {
			victims = others
		}
	}
	return victims
}

// evictAgain starts a new question with some victims of this one. The rules allow them without the
// others, too: their queues have more.
func (s *Session) evictAgain(e *evictor, victims []*api.TaskInfo) {
	frame := s.Frames.Open()
	defer frame.Close()
	charge := frame.Vector()
	s.beginVictims()
	for _, task := range victims {
		q := s.QueueOf(task)
		s.Intake.SetCharge(charge, q, task, task.NodeName)
		s.evict(e, q, task, charge, s.Protection(e.Reclaimer, q, task))
	}
}
