package reclaim

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/quota"
)

// The room that victims leave belongs to the pod that they were evicted for, until that pod has a node. It is kept in
// the queue of the pod and all ancestors, in its namespace, and on the node (package earmark).
//
// DIVERGES: upstream has no earmarks. A session that plans no evictions has none either.

// openEarmarks reads the earmarks of earlier sessions.
func (s *Rules) openEarmarks() {
	if !s.rules.plans {
		return
	}

	for _, mark := range s.memory.earmarks.Open(s.Volcano, s.Now) {
		e := s.evictorOf(mark.Task, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
		if e.Queue == index.None || s.Index.Broken(e.Queue) != nil || !s.place(&e, mark.Node) {
			s.memory.earmarks.Forget(mark) // the node has another card now
			continue
		}

		account := s.Intake.AccountOf(mark.Task.Job)
		s.Books.Add(earmark.Mark{Earmark: mark, Queue: e.Queue, Account: account, Charge: e.charge})
	}
}

// BooksFor returns the accounts with which the rules of allocation decide about a task. Once pods
// are evicted for its job, it waits for them, so the accounts of now do not matter. It is safe for
// many goroutines.
func (s *Rules) BooksFor(task *api.TaskInfo) *quota.Books {
	return s.Books.For(task, s.evictions.some(task.Job))
}

// LeavesToAllocate reports whether a task that waits for a node is left to the action allocate. It is if the node has
// room now, nobody is evicted for its job, and the job has its minimum without it. Nothing binds a pod that another
// action places there. Allocate itself has a pod wait only where the node has no room now.
//
// DIVERGES: upstream's preempt places pods on idle room as well. If it runs before allocate, such a pod never starts.
func (s *Rules) LeavesToAllocate(task *api.TaskInfo) bool {
	node := s.Volcano.Nodes[task.NodeName]
	job := s.Volcano.Jobs[task.Job]
	if node == nil || job == nil || s.evictions.some(task.Job) || !task.InitResreq.LessEqual(node.Idle, api.Zero) {
		return false
	}

	without := job.ReadyTaskNum() + job.WaitingTaskNum() - 1
	return without >= job.MinAvailable || job.MinAvailable <= 1
}

// Charged ends the earmark of a task that gets a node, and records where it is placed. A task with an
// eviction that is discarded gets its node back.
func (s *Rules) Charged(a constraint.Ask) {
	if a.Task.Status == api.Running {
		undone := s.evictions.undo(a.Task)
		if undone.counted {
			s.NoteEvicted(a.Queue, s.QueueOf(undone.evictor), -1)
		}
		return
	}

	s.Books.Placed(a.Task, a.Request)
	if a.Task.Status == api.Pipelined {
		s.evictions.suffice()
	}
	if s.rules.places {
		s.evictions.place(a.Task)
	}
}

// Refunded records a task that is evicted, and forgets one with a place that is discarded.
func (s *Rules) Refunded(a constraint.Ask) {
	s.Books.Displaced(a.Task)
	s.endNoticesOf(a.Task)
	s.evictions.displace(a.Task)

	if a.Task.Status != api.Releasing {
		return
	}

	e := s.evictions.evict(a.Task)
	if e.counted {
		s.NoteEvicted(a.Queue, s.QueueOf(e.evictor), 1)
	}
}

// Close keeps the earmarks of this session for the next ones, and passes on which places changed
// hands.
func (s *Rules) Close() {
	s.memory.notices.Close()

	placed := s.evictions.placed
	s.Cards.NotePlaced(placed)
	s.Intake.NotePlaced(s.Volcano, placed)
	s.reportExchanges()

	s.Books.Close(s.memory.earmarks, s.statusOf)
	if s.rules.plans {
		s.keepEarmarks()
	}
}

// reportExchanges reports the places that tasks got, and those that another queue lost.
func (s *Rules) reportExchanges() {
	for _, task := range s.evictions.placed {
		job := s.Volcano.Jobs[task.Job]
		if job != nil && task.Status == api.Binding {
			s.Exchanges.Placed(job.UID, task.NodeName)
		}
	}

	for task, evictor := range s.Evicted() {
		from, to := s.QueueOf(task), s.QueueOf(evictor)
		if from != to && from != index.None && to != index.None {
			s.Exchanges.Evicted(s.Volcano.Jobs[task.Job], task.NodeName, s.Index.Name(from), s.Index.Name(to))
		}
	}
}

// statusOf returns the status of a task, Unknown for one that is gone.
func (s *Rules) statusOf(id api.JobID, task api.TaskID) api.TaskStatus {
	job := s.Volcano.Jobs[id]
	if job == nil || job.Tasks[task] == nil {
		return api.Unknown
	}
	return job.Tasks[task].Status
}

// keepEarmarks keeps the room of the victims for the jobs that they were evicted for.
func (s *Rules) keepEarmarks() {
	victims := map[api.JobID][]*api.TaskInfo{}
	for task, evictor := range s.Evicted() {
		victims[evictor.Job] = append(victims[evictor.Job], task)
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
		s.memory.earmarks.Keep(job, evictors, evicted, s.Now)
	}
}
