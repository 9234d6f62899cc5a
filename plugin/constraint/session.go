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
	"github.com/capacity-card/capacity-card/quota"
)

// Session holds the accounts and objects that the rules of one scheduling session read, and the constraints that are
// active in it. Only the goroutine that runs the session changes it. Methods that change nothing are safe for many
// goroutines.
type Session struct {
	Volcano *framework.Session
	Plugin  string // the name of the plugin
	Now     time.Time

	Index  *index.Index
	Names  *index.Names
	Intake *intake.Session
	Cards  *cards.Session   // nil where cards count nowhere
	Books  *earmark.Session // the accounts with which rules decide
	Frames *Frames
	// Reservations are those of the cards of jobs that several cards can satisfy.
	Reservations *reserve.Reservations
	// Limit bounds allocation: realCapability, or deserved for proportion.
	Limit *index.Rows

	// The lists have room for the constraints that are usual, so that they need no memory of their own.
	taskRoom    [2]TaskRule
	jobRoom     [1]JobRule
	watcherRoom [3]Watcher
	orderRoom   [1]QueueOrder
	loanRoom    [1]LoanRule
	closerRoom  [1]Closer

	tasks     []TaskRule
	nodes     []NodeRule
	jobs      []JobRule
	cards     []CardRule
	accounts  []Account
	watchers  []Watcher
	reservers []Reserver
	policies  []TakePolicy
	evictions []Evictions
	notifiers []Notifier
	enforcers []Enforcer
	spenders  []Spender
	orders    []QueueOrder
	byJob     []JobOrder
	loans     []LoanRule
	preparers []Preparer
	losers    []VictimOrder

	measurers []Measurer
	witnesses []Witness
	closers   []Closer

	bounds groupBounds
}

// LimitOf returns Limit for q and its ancestors.
func (s *Session) LimitOf(q index.Queue) *index.Rows {
	if s.Limit == &s.Index.RealCapability {
		return s.Index.Bounds(q)
	}
	return s.Limit
}

// Open begins without constraints.
func (s *Session) Open() {
	s.tasks = s.taskRoom[:0]
	s.jobs = s.jobRoom[:0]
	s.watchers = s.watcherRoom[:0]
	s.orders = s.orderRoom[:0]
	s.loans = s.loanRoom[:0]
	s.closers = s.closerRoom[:0]
}

// Use makes a constraint active, for each interface of this package that it has. The order of
// calls is the order in which constraints are asked.
func (s *Session) Use(constraint any) {
	s.tasks = appendIf(s.tasks, constraint)
	s.nodes = appendIf(s.nodes, constraint)
	s.jobs = appendIf(s.jobs, constraint)
	s.cards = appendIf(s.cards, constraint)
	s.accounts = appendIf(s.accounts, constraint)
	s.watchers = appendIf(s.watchers, constraint)
	s.reservers = appendIf(s.reservers, constraint)
	s.policies = appendIf(s.policies, constraint)
	s.evictions = appendIf(s.evictions, constraint)
	s.notifiers = appendIf(s.notifiers, constraint)
	s.enforcers = appendIf(s.enforcers, constraint)
	s.spenders = appendIf(s.spenders, constraint)
	s.orders = appendIf(s.orders, constraint)
	s.byJob = appendIf(s.byJob, constraint)
	s.loans = appendIf(s.loans, constraint)
	s.preparers = appendIf(s.preparers, constraint)
	s.losers = appendIf(s.losers, constraint)
	s.measurers = appendIf(s.measurers, constraint)
	s.witnesses = appendIf(s.witnesses, constraint)
	s.closers = appendIf(s.closers, constraint)
}

func appendIf[T any](list []T, constraint any) []T {
	if c, ok := constraint.(T); ok {
		return append(list, c)
	}
	return list
}

// QueueOf returns the queue of a task, None where its job or the job's queue is not in the
// session.
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

// AskOn returns the question about a task of q on a node: its request has the cards that the task
// has there.
func (s *Session) AskOn(q index.Queue, task *api.TaskInfo, node string, request fastres.Vector) Ask {
	return Ask{Task: task, Queue: q, Request: request, Complete: s.Intake.SetCharge(request, q, task, node)}
}

// OrderQueues compares two queues of the same priority, where shares do not decide alone.
func (s *Session) OrderQueues(l, r index.Queue) int {
	for _, order := range s.orders {
		if c := order.CompareQueues(l, r); c != 0 {
			return c
		}
	}
	return 0
}

// OrdersJobs reports whether a constraint orders the jobs of queues, and OrderJobs compares two of them.
func (s *Session) OrdersJobs() bool { return len(s.byJob) > 0 }

func (s *Session) OrderJobs(l, r *api.JobInfo) int {
	for _, order := range s.byJob {
		if c := order.CompareJobs(l, r); c != 0 {
			return c
		}
	}
	return 0
}

// OrdersOnlyThere returns the names of what has little effect behind plugins that order all jobs.
func (s *Session) OrdersOnlyThere() (names []string) {
	for _, order := range s.byJob {
		if name := order.OnlyThere(); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// PrepareQueue gets the constraints ready for questions about the tasks of a queue.
func (s *Session) PrepareQueue(q index.Queue) {
	for _, p := range s.preparers {
		p.Prepare(q)
	}
}

// PrepareTask is PrepareQueue for the queue of a task.
func (s *Session) PrepareTask(task *api.TaskInfo) {
	if len(s.preparers) > 0 {
		s.PrepareQueue(s.QueueOf(task))
	}
}

// OrdersVictims reports whether a constraint says which queues lose first, and LoseFirst whether q does, for a
// reclaimer of the queue to.
func (s *Session) OrdersVictims() bool { return len(s.losers) > 0 }

func (s *Session) LoseFirst(q, to index.Queue) bool {
	return slices.ContainsFunc(s.losers, func(order VictimOrder) bool { return order.LosesFirst(q, to) })
}

// NoteRefused tells the witnesses of a refusal, and NoteRefusedNode that a task was refused on a node.
func (s *Session) NoteRefused(r *Refusal) {
	for _, w := range s.witnesses {
		w.NoteRejection(Rejection{Job: r.Job, Verdict: r.Verdict, Several: r.OfCards() && len(r.Cards.Selector.Names) != 1,
			Admission: r.Admission, Told: true})
	}
}

func (s *Session) NoteRefusedNode(task *api.TaskInfo, v quota.Verdict, several bool) {
	for _, w := range s.witnesses {
		w.NoteRejection(Rejection{Job: task.Job, Verdict: v, Several: several})
	}
}

// CloseAll closes the constraints, in the order in which they became active.
func (s *Session) CloseAll() {
	for _, c := range s.closers {
		c.Close()
	}
}
