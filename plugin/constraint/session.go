package constraint

import (
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// Session holds the accounts and objects that the rules of one scheduling session read, and the features that are on.
// Only the goroutine that runs the session changes it. Methods that change nothing are safe for many goroutines.
type Session struct {
	Volcano *framework.Session
	Plugin  string // the name of the plugin
	Now     time.Time

	Index  *index.Index
	Names  *index.Names
	Intake *intake.Inputs
	Cards  *cards.Snapshot   // nil where cards count nowhere
	Books  *earmark.Accounts // the accounts with which rules decide
	Frames *Frames
	// Reservations are the reserved cards of jobs that several cards can satisfy.
	Reservations *reserve.Reservations
	// Limit bounds allocation: realCapability, or deserved for proportion.
	Limit *index.Rows

	features active
	bounds   groupBounds
}

// Open begins without features.
func (s *Session) Open() { s.features.reset() }

// Use makes a feature active, unless it is off (nil). Features are asked in the order of the calls.
func (s *Session) Use(feature *Hooks) {
	if feature != nil {
		s.features.use(feature)
	}
}

// with returns the features that have a hook.
func (s *Session) with(h hook) []*Hooks { return s.features.by[h] }

// LimitOf returns Limit for q and its ancestors.
func (s *Session) LimitOf(q index.Queue) *index.Rows {
	if s.Limit == &s.Index.RealCapability {
		return s.Index.Bounds(q)
	}
	return s.Limit
}

// QueueOf returns the queue of a task, None where its job or the job's queue is not in the session.
func (s *Session) QueueOf(task *api.TaskInfo) index.Queue {
	job := s.Volcano.Jobs[task.Job]
	if job == nil {
		return index.None
	}
	return s.Index.Lookup(string(job.Queue))
}

// Ask returns the question about a task of q without a node, with the memory for its request.
func (s *Session) Ask(q index.Queue, task *api.TaskInfo, request fastres.Vector) Ask {
	pod, complete := s.Intake.SetTask(request, q, task)
	return Ask{Task: task, Queue: q, Pod: pod, Request: request, Complete: complete}
}

// AskCards returns the question about the cards of a task. It is safe for many goroutines.
func (s *Session) AskCards(task *api.TaskInfo) Ask {
	q := s.QueueOf(task)
	return Ask{Task: task, Queue: q, Pod: s.Cards.PodRequest(q, task.Pod)}
}

// AskOn returns the question about a task of q on a node. Its request has the cards that the task has there.
func (s *Session) AskOn(q index.Queue, task *api.TaskInfo, node string, request fastres.Vector) Ask {
	complete := s.Intake.SetCharge(request, q, task, node)
	return Ask{Task: task, Queue: q, Request: request, Complete: complete}
}

// OrderQueues compares two queues of the same priority, where shares do not decide alone.
func (s *Session) OrderQueues(l, r index.Queue) int {
	for _, h := range s.with(onCompareQueues) {
		if c := h.CompareQueues(l, r); c != 0 {
			return c
		}
	}
	return 0
}

// OrdersJobs reports whether a feature orders the jobs of queues.
func (s *Session) OrdersJobs() bool { return len(s.with(onCompareJobs)) > 0 }

// OrderJobs compares two jobs of a queue.
func (s *Session) OrderJobs(l, r *api.JobInfo) int {
	for _, h := range s.with(onCompareJobs) {
		if c := h.CompareJobs(l, r); c != 0 {
			return c
		}
	}
	return 0
}

// OrdersOnlyThere returns the arguments that have little effect behind plugins that order all jobs.
func (s *Session) OrdersOnlyThere() (names []string) {
	for _, h := range s.with(onCompareJobs) {
		if h.OnlyThere != "" {
			names = append(names, h.OnlyThere)
		}
	}
	return names
}

// PrepareQueue gets the features ready for questions about the tasks of a queue.
func (s *Session) PrepareQueue(q index.Queue) {
	for _, h := range s.with(onPrepare) {
		h.Prepare(q)
	}
}

// PrepareTask is PrepareQueue for the queue of a task.
func (s *Session) PrepareTask(task *api.TaskInfo) {
	if len(s.with(onPrepare)) > 0 {
		s.PrepareQueue(s.QueueOf(task))
	}
}

// OrdersVictims reports whether a feature says which queues lose first.
func (s *Session) OrdersVictims() bool { return len(s.with(onLosesFirst)) > 0 }

// LoseFirst reports whether tasks of q are victims before tasks of other queues, for a reclaimer of the queue to.
func (s *Session) LoseFirst(q, to index.Queue) bool {
	return slices.ContainsFunc(s.with(onLosesFirst), func(h *Hooks) bool { return h.LosesFirst(q, to) })
}

// CloseAll closes the features, in the order in which they became active.
func (s *Session) CloseAll() {
	for _, h := range s.with(onClose) {
		h.Close()
	}
}
