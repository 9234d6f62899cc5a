package reclaim

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// The actions that evict place a pod only where somebody is evicted for the pod or for its gang. On idle room, a pod
// waits for the action allocate: nothing binds a pod that another action places there, and as long as it is placed
// allocate passes over it.
//
// A gang may need idle room and evictions. So its pods are placed on idle room while it lacks its minimum, and
// JobPipelined discards all of them if nobody was evicted in the end. Allocate itself pipelines a pod only where the
// node has no room now.
//
// DIVERGES: upstream's actions place pods on idle room as well. If they run before allocate, such a pod is placed in
// every session and never starts.

// LeavesToAllocate reports whether a pipelined task is left to allocate: its node has room now, nobody is evicted for
// its job, and its job has its minimum without it.
func (s *Session) LeavesToAllocate(task *api.TaskInfo) bool {
	job := s.Volcano.Jobs[task.Job]
	if job == nil || s.evictsFor(job.UID) || !s.hasRoomNow(task) {
		return false
	}
	without := job.ReadyTaskNum() + job.WaitingTaskNum() - 1
	return without >= job.MinAvailable || job.MinAvailable <= 1
}

// gangLeftToAllocate reports whether a job is left to allocate: nobody is evicted for it, and one of its pipelined
// tasks has a node with room now. It is for actions that evict: allocate asks about a job once it has allocated a
// task of it.
func (s *Session) gangLeftToAllocate(job *api.JobInfo) bool {
	if s.Cards == nil || s.evictsFor(job.UID) || len(job.TaskStatusIndex[api.Allocated]) > 0 {
		return false
	}
	for _, task := range job.TaskStatusIndex[api.Pipelined] {
		if s.hasRoomNow(task) {
			return true
		}
	}
	return false
}

// evictsFor reports whether tasks are evicted for a job in this session.
func (s *Session) evictsFor(job api.JobID) bool {
	return s.evictions.byJob[job] > 0 || slices.ContainsFunc(s.plans, func(p *plan) bool { return p.leavesRest(job) })
}

// hasRoomNow reports whether the node of a pipelined task has room for it now, as allocate asks.
func (s *Session) hasRoomNow(task *api.TaskInfo) bool {
	node := s.Volcano.Nodes[task.NodeName]
	return node != nil && task.InitResreq.LessEqual(node.Idle, api.Zero)
}
