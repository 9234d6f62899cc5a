package reclaim

import (
	"iter"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/quota"
)

// What victims leave belongs to whom they were evicted for, until that pod has a node: in its
// queue and all ancestors, in its namespace, and on the node (package earmark).
//
// DIVERGES: upstream has no earmarks. A session in which cards count nowhere has none either.

// evictions records who is evicted for whom in a session.
type evictions struct {
	// evictor is the task that PrePredicate prepared last: evictions are for it.
	evictor *api.TaskInfo
	// named are the victims that were named for the evictor. Others that are evicted, such as by the action shuffle,
	// count for no budget.
	named  []*api.TaskInfo
	of     map[api.TaskID]eviction // nil where no task was evicted
	byJob  map[api.JobID]int       // by the job of the evictor
	last   eviction                // zero if it was discarded
	placed []*api.TaskInfo         // tasks that were allocated
}

// eviction is a task that is evicted, and the one that it is evicted for.
type eviction struct {
	task, evictor *api.TaskInfo
	counted       bool // for the budgets of evictions
}

// Prepare notes the task that the next evictions are for.
func (s *Session) Prepare(task *api.TaskInfo) {
	s.evictions.evictor = task
	s.evictions.named = nil
}

// openEarmarks reads the earmarks of earlier sessions.
func (s *Session) openEarmarks() {
	if !s.rules.plans {
		return
	}
	for _, mark := range s.memory.earmarks.Open(s.Volcano, s.Now) {
		e := s.evictorOf(mark.Task, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
		if e.Queue == index.None || s.Index.Broken(e.Queue) != nil || !s.place(&e, mark.Node) {
			s.memory.earmarks.Forget(mark) // the node has another card now
			continue
		}
		s.Books.Add(earmark.Mark{Earmark: mark, Queue: e.Queue, Account: s.Intake.AccountOf(mark.Task.Job), Charge: e.charge})
	}
}

// BooksFor returns the accounts with which the rules of allocation decide about a task. Once pods
// are evicted for its job, it waits for them, so what is there now does not matter. It is safe for
// many goroutines.
func (s *Session) BooksFor(task *api.TaskInfo) *quota.Books {
	if s.evictions.byJob[task.Job] > 0 {
		return s.Books.FutureFor(task)
	}
	return s.Books.Books(task)
}

// EvictedFor returns the node on which pods are evicted for a task, nil for none. Volcano evicts more as
// long as the task is not allocatable.
func (s *Session) EvictedFor(task *api.TaskInfo) *api.NodeInfo {
	if last := s.evictions.last; last.task != nil && last.evictor.UID == task.UID {
		return s.Volcano.Nodes[last.task.NodeName]
	}
	return nil
}

// LeavesRoom reports whether a node has room for a task that it counts already, beside what is
// earmarked there for others.
func (s *Session) LeavesRoom(task *api.TaskInfo) bool {
	node := s.Volcano.Nodes[task.NodeName]
	return node == nil || s.Books.LeavesRoom(task, node, true)
}

// LeavesToAllocate reports whether a task that waits for a node is left to the action allocate: the node has room now,
// nobody is evicted for its job, and the job has its minimum without it. Nothing binds a pod that another action places
// there. Allocate itself has a pod wait only where the node has no room now.
//
// DIVERGES: upstream's preempt places pods on idle room as well. If it runs before allocate, such a pod never starts.
func (s *Session) LeavesToAllocate(task *api.TaskInfo) bool {
	node, job := s.Volcano.Nodes[task.NodeName], s.Volcano.Jobs[task.Job]
	if node == nil || job == nil || s.evictions.byJob[task.Job] > 0 || !task.InitResreq.LessEqual(node.Idle, api.Zero) {
		return false
	}
	without := job.ReadyTaskNum() + job.WaitingTaskNum() - 1
	return without >= job.MinAvailable || job.MinAvailable <= 1
}

// Charged ends the earmark of a task that gets a node, and records where it is placed. A task whose
// eviction is discarded gets its node back.
func (s *Session) Charged(a constraint.Ask) {
	s.Books.Placed(a.Task, a.Request)
	if a.Task.Status == api.Running {
		if e, known := s.evictions.of[a.Task.UID]; known {
			s.evictions.byJob[e.evictor.Job]--
			if e.counted {
				s.NoteEvicted(a.Queue, s.QueueOf(e.evictor), -1)
			}
			delete(s.evictions.of, a.Task.UID)
			if last := s.evictions.last.task; last != nil && last.UID == a.Task.UID {
				s.evictions.last = eviction{}
			}
		}
		return
	}
	if a.Task.Status == api.Pipelined {
		s.evictions.named = nil // it has what it needs
	}
	if s.rules.places {
		s.evictions.placed = append(s.evictions.placed, a.Task)
	}
}

// Refunded records a task that is evicted, and forgets one whose place is discarded: Volcano
// discards places from the last one on.
func (s *Session) Refunded(a constraint.Ask) {
	s.Books.Displaced(a.Task)
	s.freed(a.Task)
	e := &s.evictions
	if last := len(e.placed) - 1; last >= 0 && e.placed[last] == a.Task {
		e.placed = e.placed[:last]
	}
	if a.Task.Status != api.Releasing || e.evictor == nil {
		return
	}
	if e.of == nil {
		e.of, e.byJob = map[api.TaskID]eviction{}, map[api.JobID]int{}
	}
	e.last = eviction{a.Task, e.evictor, slices.ContainsFunc(e.named, func(t *api.TaskInfo) bool { return t.UID == a.Task.UID })}
	e.of[a.Task.UID] = e.last
	e.byJob[e.evictor.Job]++
	if e.last.counted {
		s.NoteEvicted(a.Queue, s.QueueOf(e.evictor), 1)
	}
}

// Close keeps the earmarks of this session for the next ones, and passes on which places changed
// hands.
func (s *Session) Close() {
	s.memory.draft.End()
	s.Cards.NotePlaced(s.evictions.placed)
	s.Intake.NotePlaced(s.Volcano, s.evictions.placed)
	for _, task := range s.evictions.placed {
		if job := s.Volcano.Jobs[task.Job]; job != nil && task.Status == api.Binding {
			s.Exchanges.Placed(job.UID, task.NodeName)
		}
	}
	for _, e := range s.evictions.of {
		from, to := s.QueueOf(e.task), s.QueueOf(e.evictor)
		if from != to && from != index.None && to != index.None {
			s.Exchanges.Evicted(s.Volcano.Jobs[e.task.Job], e.task.NodeName, s.Index.Name(from), s.Index.Name(to))
		}
	}
	s.rememberEarmarks()
}

func (s *Session) rememberEarmarks() {
	r := s.memory.earmarks
	s.Books.Close(r, func(id api.JobID, pod api.TaskID) api.TaskStatus {
		if job := s.Volcano.Jobs[id]; job != nil && job.Tasks[pod] != nil {
			return job.Tasks[pod].Status
		}
		return api.Unknown
	})
	if !s.rules.plans {
		return
	}
	victims := map[api.JobID][]*api.TaskInfo{}
	for _, e := range s.evictions.of {
		victims[e.evictor.Job] = append(victims[e.evictor.Job], e.task)
	}
	for id, evicted := range victims {
		job := s.Volcano.Jobs[id]
		if job == nil {
			continue
		}
		var evictors []*api.TaskInfo
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			task.EvictionOccurred = true // so that Volcano writes its nominatedNodeName, which outlasts the scheduler
			evictors = append(evictors, task)
		}
		r.Keep(job, evictors, evicted, s.Now)
	}
}

// Evictor returns the task that the next evictions are for, nil where none was prepared.
func (s *Session) Evictor() *api.TaskInfo { return s.evictions.evictor }

// Evicted iterates over the tasks that were evicted in this session, each with the one that it was
// evicted for.
func (s *Session) Evicted() iter.Seq2[*api.TaskInfo, *api.TaskInfo] {
	return func(yield func(task, evictor *api.TaskInfo) bool) {
		for _, e := range s.evictions.of {
			if !yield(e.task, e.evictor) {
				return
			}
		}
	}
}
