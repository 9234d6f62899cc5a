// Package reclaim decides which running pods are evicted for which pending ones.
//
//	planner.go      the actions reclaim and preempt: plans for whole claimants, in the order of queues and jobs
//	votes.go        what other plugins agree to
//	claimant.go     the pods that a plan is made for
//	field.go        what nodes have left, and who can lose pods
//	ledger.go       what the rules of the session say of a plan (quota/plan asks)
//	announced.go    plans with victims that get notice before they are evicted
//	evictions.go    who is evicted for whom, in a session and from one session to the next
//	nominated.go    pods that wait for a node that is gone
//	starving.go     the argument reclaimBeyondMinimum
//
// Volcano's own actions ask for votes. They evict for other pods where no plan is made: without cards and policies.
//
//	preemptive.go   Preemptive: may a queue take from others for tasks
//	reclaimable.go  Reclaimable: whose eviction lets a task in
//	preempt.go      Preemptable: the same within a queue
//	gangs.go        the actions gangreclaim and gangpreempt of Volcano v1.15
//	evictor.go      what a task lacks, and who frees it
//
// All of them read the accounts as they will be once terminating pods are gone and earmarks are
// used (quota.Future).
package reclaim

import (
	"slices"
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// Memory lasts across sessions.
type Memory struct {
	victims   quota.Victims
	draft     constraint.Draft    // without the victims
	pods      []*cards.PodRequest // of the tasks of one question
	earmarks  *earmark.Registry
	announced []*announced
}

// NewMemory returns the memory of a scheduler that has evicted nobody yet.
func NewMemory() *Memory { return &Memory{earmarks: earmark.NewRegistry()} }

// Forget forgets the plans that wait for the end of notices.
func (m *Memory) Forget() { m.announced = nil }

// Session evicts pods in one scheduling session. Volcano calls Preemptable from many goroutines,
// and everything else from the one that runs the session.
type Session struct {
	*constraint.Session
	Reports
	memory   *Memory
	settings *arguments.Settings
	rules    rules

	evictions evictions
	// reclaimer is that of the question that Reclaimable answers, so that it allocates nothing.
	reclaimer evictor
	field     *field
	holds     []hold
	allocated bool // the action allocate has run
	notices   notices
	// asking holds the evictors of calls that this package makes itself, to hear what the other
	// plugins say.
	asking sync.Map
}

// rules are those that differ between names, releases and arguments. Open chooses them. They are
// methods of a Session without the session, which a session that opens need not allocate.
type rules struct {
	// take decides about one victim of q, and counts it as gone.
	take takeRule
	// takeForGang does so for a whole job.
	takeForGang func(s *Session, g *gang, q index.Queue, node string, victim fastres.Vector, protection quota.Protection) bool
	// name returns the victims for an evictor, in the order of the release.
	name func(s *Session, e *evictor, tasks []*api.TaskInfo) []*api.TaskInfo
	// preemptive decides whether a queue may take from others for tasks.
	preemptive func(s *Session, q index.Queue, request fastres.Vector, tasks []*api.TaskInfo) cards.Outcome
	// needsQueue: nobody is evicted for a task without a queue.
	needsQueue bool
	// unbounded: quotas do not bound victims, as in upstream's proportion.
	unbounded bool
	// plans: evictions are planned, and what they leave is earmarked.
	plans bool
	// places: places are watched, because cards count or a job lost one of late.
	places bool
	// overused: Preemptive writes the metric of queues that have more than they deserve.
	overused bool
}

// Reports tells people what is decided.
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
func (s *Session) Open(of *constraint.Session, m *Memory, v arguments.Variant, with *arguments.Settings, to Reports) {
	*s = Session{Session: of, Reports: to, memory: m, settings: with}
	s.rules = rules{take: chooseTake(v, with), takeForGang: (*Session).takeGang, preemptive: (*Session).takeDeserved, unbounded: v.Proportion,
		places: s.Cards != nil || !to.Exchanges.Empty(), overused: !v.Proportion && !with.Rules.OverusedByShare,
		needsQueue: with.Rules.OrderVictims && !v.Proportion}
	s.rules.plans = !v.Proportion && (s.Cards != nil || s.HasPolicies() || s.GivesNotice() || with.ByWork || with.WholeGangs)
	if v.Proportion {
		s.rules.preemptive = (*Session).fitNow
	}
	if with.Damping == 0 && with.Levels == 0 {
		s.rules.takeForGang = (*Session).takeGangByDeserved
	}
	switch {
	case with.Rules.OrderVictims && !v.Proportion:
		s.rules.name = (*Session).orderedVictims
	default:
		s.rules.name = (*Session).victimsAmong
	}
	m.victims.Reset(s.Index, s.Books.Queues(), s.Names)
	s.openEarmarks()
}

// takeRule decides whether a task of q may be evicted for an evictor of the queue to. deserves: to
// deserves something of what the evictor requests.
type takeRule func(s *Session, q index.Queue, victim fastres.Vector, to index.Queue, evictor fastres.Vector, deserves bool) bool

// chooseTake returns the rule of quota.Victims that the name and the arguments select. Without a
// queue of the evictor, there are no levels to compare.
func chooseTake(v arguments.Variant, with *arguments.Settings) takeRule {
	switch {
	case v.Proportion:
		return func(s *Session, q index.Queue, victim fastres.Vector, _ index.Queue, _ fastres.Vector, _ bool) bool {
			return s.memory.victims.TakeOverused(q, victim)
		}
	case with.Damping > 0:
		return func(s *Session, q index.Queue, victim fastres.Vector, to index.Queue, evictor fastres.Vector, _ bool) bool {
			if to == index.None {
				return s.memory.victims.Take(q, victim, to, evictor)
			}
			return s.memory.victims.TakeDamped(q, victim, to, evictor, s.settings.Damping)
		}
	case with.Levels > 0:
		return func(s *Session, q index.Queue, victim fastres.Vector, to index.Queue, evictor fastres.Vector, deserves bool) bool {
			if to == index.None {
				return s.memory.victims.Take(q, victim, to, evictor)
			}
			return s.memory.victims.TakeContended(q, victim, to, evictor, deserves, s.settings.Levels)
		}
	}
	return func(s *Session, q index.Queue, victim fastres.Vector, to index.Queue, evictor fastres.Vector, _ bool) bool {
		return s.memory.victims.Take(q, victim, to, evictor)
	}
}

// take applies the rule of reclaim to one victim of q, with its protection. The evictor requests
// request, and its queue is charged charge for it.
func (s *Session) take(q index.Queue, victim fastres.Vector, to index.Queue,
	request, charge fastres.Vector, protection quota.Protection) bool {
	if protection == quota.ByGuarantee && to != index.None {
		return s.memory.victims.TakeByGuarantee(q, victim, to, request, s.settings.Damping)
	}
	deserves := s.settings.Levels > 0 && to != index.None && charge.Intersects(s.Index.Deserved.Row(to))
	return s.rules.take(s, q, victim, to, request, deserves)
}

// beginVictims starts a question: no task counts as a victim yet.
func (s *Session) beginVictims() {
	s.BeginVictims()
	s.memory.victims.Begin()
	s.memory.draft.Begin(s.Session, &s.memory.victims)
}

// fitsWithoutVictims reports whether an evictor fits everywhere without the victims so far.
//
// DIVERGES: upstream evicts pods for a task that an ancestor's bound refuses afterwards, or that
// has no room beside what is reserved for others.
func (s *Session) fitsWithoutVictims(e *evictor) bool {
	a := e.onNode()
	return s.Fits(&s.memory.draft.Books, &a).OK() && s.fitsNode(&s.memory.draft.Books, e, &a)
}

// fitsWithout reports whether an evictor fits everywhere on the node where it was placed, once some
// tasks are gone. It is safe for many goroutines.
func (s *Session) fitsWithout(e *evictor, tasks []*api.TaskInfo) bool {
	books, a := &s.Books.Future, e.onNode()
	if len(tasks) > 0 {
		books = &s.Without(tasks).Books
	}
	return s.Fits(books, &a).OK() && s.fitsNode(books, e, &a)
}

// fitsNode applies the rules that depend on the node of an evictor. a is the question about it there.
func (s *Session) fitsNode(books *quota.Books, e *evictor, a *constraint.Ask) bool {
	return e.node == nil || e.Queue == index.None || s.FitsNodeRules(books, a, e.node.Name).OK()
}

// has reports whether a task is among tasks.
func has(tasks []*api.TaskInfo, task *api.TaskInfo) bool {
	return slices.ContainsFunc(tasks, func(t *api.TaskInfo) bool { return t.UID == task.UID })
}

// agreedInQueue returns the tasks that all other plugins allow preempt to evict.
func (s *Session) agreedInQueue(preemptor *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	question := *preemptor
	s.asking.Store(&question, true)
	defer s.asking.Delete(&question)
	return s.Volcano.Preemptable(&question, tasks)
}

// asks reports whether a call comes from askOthers or agreedInQueue.
func (s *Session) asks(task *api.TaskInfo) bool {
	_, own := s.asking.Load(task)
	return own
}
