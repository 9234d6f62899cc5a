package reclaim

import (
	"iter"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// evictions records who is evicted for whom in a session, and which tasks got a node.
//
// Volcano names no reason for an eviction. It is for the evictor: the task that PrePredicate prepared last, or the
// claimant of a plan. An eviction that Volcano discards is undone.
type evictions struct {
	evictor *api.TaskInfo // of the next evictions, nil where none was prepared
	// named are the victims that were named for the evictor. Other tasks that are evicted, such as by the action
	// shuffle, count for no budget.
	named []*api.TaskInfo

	byVictim map[api.TaskID]eviction
	byJob    map[api.JobID]int // number of victims, by the job of the evictor
	last     eviction          // the zero eviction if it was undone

	placed []*api.TaskInfo // in the order in which they got a node
}

// eviction is a task that is evicted, and the task that it is evicted for.
type eviction struct {
	task, evictor *api.TaskInfo
	counted       bool // for the budgets of evictions
}

// prepare makes a task the evictor of the next evictions, with named victims.
func (e *evictions) prepare(evictor *api.TaskInfo, named ...*api.TaskInfo) {
	e.evictor = evictor
	e.named = named
}

// prepareJob makes a task the evictor of the next evictions for its whole job, nil where none waits. Volcano asks about
// one bundle of victims after the other. As long as it asks for the same job, the named victims stay.
func (e *evictions) prepareJob(job api.JobID, evictor *api.TaskInfo) {
	if e.evictor == nil || e.evictor.Job != job {
		e.named = nil
	}
	e.evictor = evictor
}

// name names the victims for the evictor, in place of others.
func (e *evictions) name(victims []*api.TaskInfo) { e.named = victims }

// nameMore names more victims for the evictor.
func (e *evictions) nameMore(victims []*api.TaskInfo) { e.named = append(e.named, victims...) }

// suffice notes that the evictor has its place, and needs no more victims.
func (e *evictions) suffice() { e.named = nil }

// evict records that a task is evicted for the evictor, and returns the eviction. Without an evictor, it is the zero
// eviction.
func (e *evictions) evict(task *api.TaskInfo) eviction {
	if e.evictor == nil {
		return eviction{}
	}
	if e.byVictim == nil {
		e.byVictim = map[api.TaskID]eviction{}
		e.byJob = map[api.JobID]int{}
	}

	e.last = eviction{task: task, evictor: e.evictor, counted: has(e.named, task)}
	e.byVictim[task.UID] = e.last
	e.byJob[e.evictor.Job]++
	return e.last
}

// undo forgets the eviction of a task that Volcano discards, and returns it. It is the zero eviction for a task that
// was not evicted.
func (e *evictions) undo(task *api.TaskInfo) eviction {
	undone, known := e.byVictim[task.UID]
	if !known {
		return eviction{}
	}

	delete(e.byVictim, task.UID)
	e.byJob[undone.evictor.Job]--
	if e.last.task != nil && e.last.task.UID == task.UID {
		e.last = eviction{}
	}
	return undone
}

// place records a task that got a node.
func (e *evictions) place(task *api.TaskInfo) { e.placed = append(e.placed, task) }

// displace forgets the place of a task that loses its node: Volcano discards places from the last one on.
func (e *evictions) displace(task *api.TaskInfo) {
	last := len(e.placed) - 1
	if last >= 0 && e.placed[last] == task {
		e.placed = e.placed[:last]
	}
}

// some reports whether tasks are evicted for a job.
func (e *evictions) some(job api.JobID) bool { return e.byJob[job] > 0 }

// lastFor returns the last victim if it was evicted for a task, nil otherwise.
func (e *evictions) lastFor(evictor *api.TaskInfo) *api.TaskInfo {
	if e.last.task == nil || e.last.evictor.UID != evictor.UID {
		return nil
	}
	return e.last.task
}

// has reports whether a task is among tasks.
func has(tasks []*api.TaskInfo, task *api.TaskInfo) bool {
	return slices.ContainsFunc(tasks, func(t *api.TaskInfo) bool { return t.UID == task.UID })
}

// Prepare notes the task that the next evictions are for.
func (s *Rules) Prepare(task *api.TaskInfo) { s.evictions.prepare(task) }

// Evictor returns the task that the next evictions are for, nil where none was prepared.
func (s *Rules) Evictor() *api.TaskInfo { return s.evictions.evictor }

// Evicted iterates over the tasks that were evicted in this session, each with the one that it was
// evicted for.
func (s *Rules) Evicted() iter.Seq2[*api.TaskInfo, *api.TaskInfo] {
	return func(yield func(task, evictor *api.TaskInfo) bool) {
		for _, e := range s.evictions.byVictim {
			if !yield(e.task, e.evictor) {
				return
			}
		}
	}
}

// ClaimantOf returns the job that a task was evicted for in this session, "" if it was evicted for no job.
func (s *Rules) ClaimantOf(task *api.TaskInfo) api.JobID {
	e, evicted := s.evictions.byVictim[task.UID]
	if !evicted {
		return ""
	}
	return e.evictor.Job
}

// EvictedFor returns the node on which pods are evicted for a task, nil for none. Volcano evicts more as
// long as the task is not allocatable.
func (s *Rules) EvictedFor(task *api.TaskInfo) *api.NodeInfo {
	last := s.evictions.lastFor(task)
	if last == nil {
		return nil
	}
	return s.Volcano.Nodes[last.NodeName]
}
