package plugin

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// session serves the hooks of one scheduling session. Volcano runs a session in
// one goroutine, and calls predicates, node order and simulation concurrently.
type session struct {
	variant  variant
	settings settings
	memory   *memory
	ssn      *framework.Session
	now      time.Time // of the opening

	ix     *index.Index
	intake *intake.Session
	cards  *cards.Session // nil where cards count nowhere
	// namespaces bounds what namespaces have in queues, nil where no queue limits it.
	namespaces *quota.Namespaces
	books      *earmark.Session // the accounts with which rules decide
	plans      []*plan
	committing bool            // jobPipelined asks the other plugins
	limit      *index.Rows     // bound of allocation: realCapability, or deserved for proportion
	share      quota.ShareRule // of capacity or of proportion
	explain    report.Explainer
	byObject   queueTable
	// governs: policies decide who takes from whom.
	governs bool
	class   jobClass // of the last task
	// claimsRead: memory.pending has the tasks of this session.
	claimsRead bool

	// claimant is the task that PrePredicate prepared last: evictions are for it.
	claimant *api.TaskInfo
	choice   nodeChoice
	evicted  map[api.TaskID]eviction // nil where no task was evicted
	// evictions counts them by the job of the claimant.
	evictions map[api.JobID]int
	evictedOn string // the node of the last one
	// placed are tasks that were allocated, where cards count or places are watched
	// (report.Exchanges).
	placed []*api.TaskInfo

	// notCharged are tasks whose allocation the allocate event refused. Volcano
	// deallocates them next.
	notCharged map[api.TaskID]bool // nil where there are none
	// prepared is the task that PrePredicate prepared last; predicates are called for
	// it on every node.
	prepared atomic.Pointer[whatIf]
	// asking holds the preemptors of calls that preemptable itself makes.
	asking sync.Map

	displacing displacement
	inqueue    map[api.QueueID][]*api.JobInfo // see promised; nil until then
}

// openSession reads a session and registers the hooks.
func openSession(ssn *framework.Session, v variant, with settings, m *memory) *session {
	with.bounds.Scalars, with.bounds.Proportion = v.scalars, v.proportion
	s := &session{variant: v, settings: with, memory: m, ssn: ssn, ix: &m.index, now: m.now(),
		share: quota.Share, books: &m.books}
	m.exchanges.Open()
	hierarchy := !v.proportion && ssn.HierarchyEnabled(v.name)
	if with.bounds.HierarchyFrom == intake.HierarchyFromAnnotation && !hierarchy {
		s.warnOnce(hierarchyFrom + ": " + string(with.bounds.HierarchyFrom) + " has no effect without a tree; set enableHierarchy")
	}
	intake.CompleteQueues(ssn)
	m.queues.Open(ssn.Queues)
	tree, treeChanged := m.intake.Tree(ssn, &m.queues, hierarchy, with.bounds.HierarchyFrom)
	renewed := m.renewNames()
	s.cards = m.cards.Open(ssn, &m.queues, tree, &m.names, v.cards, with.cards)
	s.intake = m.intake.Read(ssn, s.ix, tree, &m.names, s.cards, &m.reservations, with.bounds, s.now)
	if s.intake.Namespaces != nil {
		s.namespaces = &s.intake.Namespaces.Quota
	}
	s.limit = &s.ix.RealCapability
	if v.proportion {
		s.limit, s.share = &s.ix.Deserved, quota.WeightedShare
	}
	if renewed {
		m.maxNames = 2*m.knownNames() + fewNames
	}
	m.vectors.resize(s.intake.Dims.Length())
	m.victims.Reset(s.ix, s.books.Queues(), &m.names)
	m.guarantees.Reset(s.ix, s.ix, s.intake.Available)
	s.openEarmarks()
	m.jobs.Reset(tree, s.intake.Admitted, s.intake.MaxJobs())
	s.explain = report.Explainer{Index: s.ix, Queues: s.intake.Queues, Names: &m.names, Cards: s.cards, Reservations: &m.reservations,
		Jobs: &m.jobs, Guarantees: &m.guarantees, Namespaces: s.namespaces, Total: s.intake.Total, Limit: s.limit, Proportion: v.proportion}
	if s.ix.Rooted() {
		root := s.ix.Root()
		release.SetTotals(ssn, s.intake.Dims.Resource(s.ix.Guarantee.Row(root)), s.intake.Dims.Resource(s.ix.Deserved.Row(root)))
	}
	s.setShares()
	s.governs = !v.proportion && (with.byClass || s.intake.HasPolicies())
	m.fences.Reset(tree, func(q index.Queue) bool { return s.governs && s.intake.Policies(q).ReclaimFence() })
	if s.intake.HasPolicies() {
		quota.BoundAdmission(s.ix, func(q index.Queue) int64 { return s.intake.Policies(q).OvercommitFactor() })
	}
	s.openGates()
	s.check()
	s.publish(treeChanged)
	s.writeTimeouts()
	s.warnClasses()
	s.register(hierarchy)
	return s
}

// damped reports whether reclaim is damped.
func (s *session) damped() bool { return s.settings.damping > 0 }

// setShares sets every share, and deserved where rounds compute it.
func (s *session) setShares() {
	if s.variant.proportion {
		total := s.memory.vectors.request
		s.intake.Dims.Set(total, s.ssn.TotalResource)
		var queues []quota.WeightedQueue
		for i, queue := range s.intake.Queues {
			if s.intake.Jobs[i] > 0 {
				queues = append(queues, quota.WeightedQueue{Queue: index.Queue(i), Weight: queue.Weight})
			}
		}
		quota.ProportionRounds(s.ix, total, queues)
	}
	for q := range index.Queue(s.ix.Len()) {
		s.ix.SetShare(q, s.share(s.ix.Allocated(q), s.ix.Deserved.Row(q)))
	}
}

// publish writes the metrics, and warns about the configuration of queues where
// it changed.
func (s *session) publish(treeChanged bool) {
	m := s.memory
	s.forgetProblems()
	for _, p := range m.intake.TreeProblems() {
		s.warnQueue(ofTree, p, report.BadHierarchyAnnotation)
	}
	for _, p := range m.intake.PolicyProblems() {
		s.warnQueue(ofPolicies, p, report.BadPolicyAnnotation)
	}
	s.warnKeys()
	if treeChanged {
		m.metrics.ForgetQueues(s.ix.Tree)
	}
	if s.intake.BoundsChanged {
		s.warnQueues()
		if !s.variant.proportion {
			s.warnDevices()
		}
		for _, p := range s.cards.Problems(s.ix) {
			m.metrics.SetProblems(p.Queue.Name, len(p.Texts))
			if len(p.Texts) > 0 {
				p.Texts = []string{strings.Join(p.Texts, "; ")}
			}
			s.warnQueue(ofCards, p, report.BadCardAnnotation)
		}
	}
	m.metrics.Open(s.ix, &m.names, s.cards, s.intake.Queues, s.variant.proportion)
	m.metrics.Publish(s.intake.Total, s.intake.Jobs)
	m.journal.Open(s.ssn.Jobs)
}

// warnQueues warns once of queues that are refused, and of leaves whose cpu or
// memory is 0 by default.
func (s *session) warnQueues() {
	for q := range index.Queue(s.ix.Len()) {
		if err := s.ix.Broken(q); err != nil {
			s.warnOnce(fmt.Sprintf("queue %s takes no jobs: %v", s.ix.Name(q), err))
		}
		if capability := s.ix.Capability.Row(q); s.settings.bounds.UnsetCapability == intake.UnsetZero && s.ix.IsLeaf(q) &&
			(capability.Get(fastres.CPU) == 0 || capability.Get(fastres.Memory) == 0) {
			s.warnOnce(fmt.Sprintf("queue %s sets no cpu or memory capability, which means 0; set it, or %s: %s",
				s.ix.Name(q), unsetCapability, intake.UnsetUnlimited))
		}
	}
}

func (s *session) warnOnce(warning string) { s.memory.warnings.Once(s.variant.name, warning) }
