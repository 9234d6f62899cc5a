// Package reclaim decides which running pods are evicted for which pending ones.
//
//	planner.go      the actions reclaim and preempt: plans for whole claimants, in the order of queues and jobs
//	problem.go      the problem that a plan solves (quota/plan)
//	claimant.go     the pods that a plan is made for
//	snapshot.go     the free resources of nodes, and the jobs that can lose pods
//	losers.go       the order in which these jobs lose pods
//	trial.go        the answers of the session to a plan, on a draft
//	trial_evict.go  which pods a plan may evict
//	trial_place.go  where it may place the pods of the claimant
//	votes.go        questions to the other plugins
//	notices.go      plans with victims that get notice before they are evicted (package notice)
//	evicted.go      who is evicted for whom in a session
//	evictions.go    the room that victims leave, from one session to the next
//	nominated.go    pods that wait for a node that is gone
//	starving.go     the argument reclaimBeyondMinimum
//
// Volcano's own actions ask for votes. They evict for other pods where no plan is made: without cards and policies.
//
//	preemptive.go   Preemptive: may a queue take from others for tasks
//	reclaimable.go  Reclaimable: the victims of other queues that let a task in
//	preempt.go      Preemptable: the same within a queue
//	gangs.go        the actions gangreclaim and gangpreempt of Volcano v1.15
//	evictor.go      the resources and quotas that a task lacks, and the tasks that free them
//
// All of them read the future: terminating pods are gone, and earmarks are used (earmark.Accounts).
package reclaim

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/reclaim/notice"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// Memory lasts across sessions.
type Memory struct {
	draft    quota.Draft // of the future, without the victims of one question
	victims  quota.Victims
	pods     []*cards.PodRequest // of the tasks of one question
	earmarks *earmark.Registry
	notices  notice.Board
}

// NewMemory returns the memory of a scheduler that has evicted nobody yet.
func NewMemory() *Memory { return &Memory{earmarks: earmark.NewRegistry()} }

// Forget forgets the plans that wait for the end of notices.
func (m *Memory) Forget() { m.notices = notice.Board{} }

// Begin begins with the earmarks of another process.
func (m *Memory) Begin(with earmark.Kept) { m.earmarks.Begin(with) }

// Earmarks returns the earmarks for the store, nil for none.
func (m *Memory) Earmarks() earmark.Kept { return m.earmarks.Kept() }

// Earmarked reports whether there are earmarks.
func (m *Memory) Earmarked() bool { return m.earmarks.Any() }

// Rules evicts pods in one scheduling session. Volcano calls Preemptable from many goroutines,
// and everything else from the one that runs the session.
type Rules struct {
	*constraint.Session
	Reports
	memory   *Memory
	settings *arguments.Settings
	rules    rules

	evictions evictions
	inquiries inquiries
	allocated bool // the action allocate has run
	// reclaimer is the evictor of the question that Reclaimable answers, so that it allocates nothing.
	reclaimer evictor
}

// rules are the rules that differ between names, releases and arguments.
type rules struct {
	// proportion: the rules of upstream's proportion. Quotas do not bound victims, and nothing is planned.
	proportion bool
	// ordered: victims are named in the order of the release, and nobody is evicted for a task without a queue.
	ordered bool
	// plans: evictions are planned, and the room that victims leave is earmarked.
	plans bool
	// places: places are watched, because cards count or a job lost one of late.
	places bool
	// overused: Preemptive writes the metric of queues that have more than they deserve.
	overused bool
}

// Reports tells people about decisions.
type Reports struct {
	Explain   *report.Explainer
	Metrics   *report.Metrics
	Exchanges *report.Exchanges
	Order     Order
}

// Order is the order of queues.
type Order interface {
	// CompareQueues returns a number below 0 if l goes first, above 0 if r does, and 0 for equal queues.
	CompareQueues(l, r *api.QueueInfo) int
}

// Open begins to evict pods, with the earmarks of earlier sessions.
func (s *Rules) Open(session *constraint.Session, m *Memory, v arguments.Variant, settings *arguments.Settings,
	reports Reports) {
	*s = Rules{Session: session, Reports: reports, memory: m, settings: settings}

	chooses := s.Cards != nil || s.HasPolicies() || s.GivesNotice() || settings.ByWork || settings.WholeGangs
	s.rules = rules{
		proportion: v.Proportion,
		ordered:    settings.Rules.OrderVictims && !v.Proportion,
		plans:      chooses && !v.Proportion,
		places:     s.Cards != nil || !reports.Exchanges.Empty(),
		overused:   !v.Proportion && !settings.Rules.OverusedByShare,
	}

	m.victims.Reset(s.Index, s.Books.Queues(), s.Names)
	m.notices.Suspend()
	s.openEarmarks()
}

// take applies the rule of reclaim to one victim of q, with its protection, and counts it as gone. The evictor requests
// request, and its queue is charged charge for it.
func (s *Rules) take(q index.Queue, victim fastres.Vector, to index.Queue,
	request, charge fastres.Vector, protection quota.Protection) bool {
	victims := &s.memory.victims
	damping, levels := s.settings.Damping, s.settings.Levels

	switch {
	case protection == quota.ByGuarantee && to != index.None:
		return victims.TakeByGuarantee(q, victim, to, request, damping)
	case s.rules.proportion:
		return victims.TakeOverused(q, victim)
	case to == index.None:
		return victims.Take(q, victim, to, request) // there are no levels to compare
	case damping > 0:
		return victims.TakeDamped(q, victim, to, request, damping)
	case levels > 0:
		deserves := charge.Intersects(s.Index.Deserved.Row(to))
		return victims.TakeContended(q, victim, to, request, deserves, levels)
	}
	return victims.Take(q, victim, to, request)
}

// beginVictims starts a question: no task counts as a victim yet.
func (s *Rules) beginVictims() {
	s.BeginVictims()
	s.Books.Draft(&s.memory.draft)
	s.memory.victims.Begin(s.memory.draft.Queues)
}

// leave refunds a victim of q in the draft, on all accounts except the accounts of queues: the rule of reclaim has
// changed these. charge is the charge of q for it. A task that terminates is not charged in the future: other tasks may
// have its claims.
func (s *Rules) leave(q index.Queue, task *api.TaskInfo, charge fastres.Vector) {
	if !api.AllocatedStatus(task.Status) {
		return
	}

	frame := s.Frames.Open()
	defer frame.Close()
	a := constraint.Ask{Task: task, Queue: q, Request: charge}
	s.RefundBeside(&s.memory.draft.Books, a, frame.Vector())
}

// fitsWithoutVictims reports whether an evictor fits everywhere without the victims so far.
//
// DIVERGES: upstream evicts pods for a task that an ancestor's bound refuses afterwards, or that
// has no room next to earmarks of other jobs.
func (s *Rules) fitsWithoutVictims(e *evictor) bool { return s.fitsIn(&s.memory.draft.Books, e) }

// fitsWithout reports whether an evictor fits everywhere on the node where it was placed, once some
// tasks are gone. It is safe for many goroutines.
func (s *Rules) fitsWithout(e *evictor, tasks []*api.TaskInfo) bool {
	books := &s.Books.Future
	if len(tasks) > 0 {
		books = &s.Without(tasks).Books
	}
	return s.fitsIn(books, e)
}

// fitsIn applies the rules of allocation to an evictor, and then the rules that depend on its node.
func (s *Rules) fitsIn(books *quota.Books, e *evictor) bool {
	a := e.onNode()
	if !s.Fits(books, &a).OK() {
		return false
	}
	return e.node == nil || e.Queue == index.None || s.FitsNodeRules(books, &a, e.node.Name).OK()
}
