package session

import (
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/problems"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// Open reads a session and registers the hooks.
func Open(ssn *framework.Session, v arguments.Variant, with arguments.Settings, m *Memory) *Session {
	s := &Session{Variant: v, Settings: with, Memory: m}
	m.exchanges.Open()
	hierarchy := !v.Proportion && ssn.HierarchyEnabled(v.Name)
	if with.Bounds.HierarchyFrom == intake.HierarchyFromAnnotation && !hierarchy {
		s.warnOnce(fmt.Sprintf("%s: %s has no effect without a tree; set enableHierarchy",
			arguments.HierarchyFrom, with.Bounds.HierarchyFrom))
	}

	treeChanged := s.read(ssn, hierarchy)
	s.chooseRules()
	s.setShares()
	s.openFeatures()

	if s.Intake.HasPolicies() {
		quota.BoundAdmission(s.Index, func(q index.Queue) int64 { return s.Intake.Policies(q).OvercommitFactor() })
	}

	// Evictions come before the hooks: the handler of events is not registered yet.
	s.Enforce()
	s.Reclaim.OpenAnnounced()
	s.saveStore()

	if s.Gates != nil {
		s.Gates.Begin()
	}

	s.check()
	s.publish(treeChanged)
	s.Admit.WriteTimeouts()
	for _, problem := range slices.Concat(m.Store.Problems(), m.Grace.Problems(), m.status.Problems()) {
		s.warnOnce(problem)
	}

	s.register(hierarchy)
	return s
}

// read reads the queues, nodes and jobs of a session into the index.
func (s *Session) read(ssn *framework.Session, hierarchy bool) (treeChanged bool) {
	m := s.Memory
	v := s.Variant
	now := m.now()
	m.queues.Open(ssn.Queues, now)
	tree, treeChanged := m.intake.Tree(ssn, &m.queues, hierarchy, s.Settings.Bounds.HierarchyFrom)
	renewed := m.renewNames()

	c := m.cards.Open(cards.Opening{
		Volcano:  ssn,
		Jobs:     m.intake.Jobs(ssn),
		Queues:   &m.queues,
		Tree:     tree,
		Names:    &m.Names,
		Scope:    v.Cards,
		Settings: s.Settings.Cards,
	})
	s.Session = constraint.Session{
		Volcano:      ssn,
		Plugin:       v.Name,
		Now:          now,
		Index:        &m.index,
		Names:        &m.Names,
		Cards:        c,
		Books:        &m.books,
		Frames:       &m.frames,
		Limit:        &m.index.RealCapability,
		Reservations: &m.Admit.Reservations,
	}
	s.Open()
	s.Intake = m.intake.Read(ssn, s.Index, intake.Source{
		Names:        &m.Names,
		Cards:        c,
		Reservations: &m.Admit.Reservations,
		Settings:     s.Settings.Bounds,
		Now:          s.Now,
	})
	if renewed {
		m.MaxNames = mostKnown(m.knownNames())
	}

	m.frames.Reset(s.Intake.Dims.Length())
	m.rest.Begin(s.Intake.Dims.Length())
	m.guarantees.Reset(s.Index, s.Index, s.Intake.Available)

	books := quota.Books{Queues: s.Index, Guarantees: &m.guarantees}
	var holders *index.Index
	if s.Intake.Holders != nil {
		holders = &s.Intake.Holders.Quota.Accounts
		books.Holders = holders
	}
	m.books.Open(books, s.Index, holders, s.Intake.AvailableThen)

	if s.Index.Rooted() {
		root := s.Index.Root()
		guarantee := s.Intake.Dims.Resource(s.Index.Guarantee.Row(root))
		deserved := s.Intake.Dims.Resource(s.Index.Deserved.Row(root))
		release.SetTotals(ssn, guarantee, deserved)
	}

	return treeChanged
}

// chooseRules chooses the rules by the name and the arguments of the plugin.
func (s *Session) chooseRules() {
	s.rules.share = quota.Share
	s.rules.order = (*Session).orderByDeserved

	switch {
	case s.Variant.Proportion:
		s.Limit = &s.Index.Deserved
		s.rules.share = quota.WeightedShare
		s.rules.order = (*Session).orderByShare
	case s.Settings.Damping > 0:
		s.rules.order = (*Session).orderByReclaim
	}
}

// setShares sets every share, and deserved where rounds compute it.
func (s *Session) setShares() {
	if s.Variant.Proportion {
		frame := s.Frames.Open()
		defer frame.Close()
		total := frame.Vector()
		s.Intake.Dims.Set(total, s.Volcano.TotalResource)

		var queues []quota.WeightedQueue
		for i, queue := range s.Intake.Queues {
			if s.Intake.Jobs[i] > 0 {
				queues = append(queues, quota.WeightedQueue{Queue: index.Queue(i), Weight: queue.Weight})
			}
		}
		quota.ProportionRounds(s.Index, total, queues)
	}

	for q := range index.Queue(s.Index.Len()) {
		s.Index.SetShare(q, s.rules.share(s.Index.Allocated(q), s.Index.Deserved.Row(q)))
	}
}

// publish writes the metrics, and records the problems of objects.
func (s *Session) publish(treeChanged bool) {
	m := s.Memory
	if treeChanged {
		m.metrics.ForgetQueues(s.Index.Tree)
	}

	s.publishProblems()
	s.publishWindows()
	if s.Intake.BoundsChanged {
		s.warnQueues()
	}

	m.metrics.Open(s.Index, &m.Names, s.Cards, s.Intake.Queues, s.Variant.Proportion)
	m.metrics.Publish(s.Intake.Total, s.Intake.Jobs)
	m.journal.Open(s.Volcano.Jobs)
	s.publishEvictions()
	s.publishNotices()
	s.publishUsage()
}

// publishProblems records events on objects that are wrong.
func (s *Session) publishProblems() {
	m := s.Memory
	r := problems.Reporter{Session: &s.Session, Objects: &m.queues, Recorder: &m.recorder, Log: &m.problems}
	r.Forget()
	for _, p := range m.intake.TreeProblems() {
		r.Queue(problems.OfTree, p, record.BadHierarchyAnnotation)
	}
	for _, c := range m.queues.WindowChanges() {
		r.Queue(problems.OfWindows, c.Problems, record.BadPolicyAnnotation)
	}
	for _, p := range m.intake.PolicyProblems() {
		r.Queue(problems.OfPolicies, p, record.BadPolicyAnnotation)
	}

	r.Keys()
	if s.Intake.BoundsChanged {
		if !s.Variant.Proportion { // which has no quotas of devices, as upstream
			r.Devices(s.Settings.Bounds.Devices)
		}
		for _, p := range s.Cards.Problems(s.Index) {
			m.metrics.SetProblems(p.Queue.Name, len(p.Texts))
			if len(p.Texts) > 0 {
				p.Texts = []string{strings.Join(p.Texts, "; ")}
			}
			r.Queue(problems.OfCards, p, record.BadCardAnnotation)
		}
	}

	r.Jobs(problems.Counting{
		Classes:     s.Settings.ByClass,
		Lengths:     m.Budgets.InForce() != nil,
		Checkpoints: s.Settings.ByWork || s.Enforces(),
		Grace:       s.GivesNotice(),
		Evictions:   m.Evictions.InForce(),
	})
}

// publishWindows records one event when a window of a queue begins or ends, and writes how many windows hold. A
// scheduler that starts records none for the windows that hold already.
func (s *Session) publishWindows() {
	m := s.Memory
	for _, c := range m.queues.WindowChanges() {
		for _, text := range c.Began {
			message := "The window holds from now on: " + text
			m.recorder.RecordQueue(s.Volcano, c.Queue, v1.EventTypeNormal, record.WindowBegan, message)
		}
		for _, text := range c.Ended {
			message := "The window does not hold any more: " + text
			m.recorder.RecordQueue(s.Volcano, c.Queue, v1.EventTypeNormal, record.WindowEnded, message)
		}

		if c.Windowed {
			m.metrics.SetWindows(c.Queue.Name, c.InForce)
		} else {
			m.metrics.ForgetWindows(c.Queue.Name)
		}
	}
}

// publishEvictions writes the rest of the budgets of evictions.
func (s *Session) publishEvictions() {
	s.Memory.metrics.ForgetEvictions()
	if budgets := s.Memory.Evictions.InForce(); budgets != nil && !s.Variant.Proportion {
		for _, b := range budgets.All() {
			s.Memory.metrics.SetEvictionsLeft(b.Queue, b.Key.Word(), b.Left())
		}
	}
}

// publishNotices writes how many pods have notice, of the queues that have some.
func (s *Session) publishNotices() {
	s.Memory.metrics.ForgetNotices()
	if notices := s.Memory.Grace.InForce(); notices != nil {
		for q, pods := range notices.Running() {
			s.Memory.metrics.SetNotices(q, pods)
		}
	}
}

// publishUsage writes what queues have had over time, as often as it is saved.
func (s *Session) publishUsage() {
	f := &s.Memory.Fairness
	h := f.History()
	if h == nil {
		s.Memory.metrics.ForgetLevels() // an earlier session may have had a half-life
	}
	if !s.Memory.Store.Due() {
		return
	}
	s.publishBudgets()
	s.Memory.metrics.SetSaved(s.Memory.Store.Saved())

	if h == nil {
		return
	}
	for q := range index.Queue(s.Index.Len()) {
		s.Memory.metrics.SetLevel(q, f.Level(q))
		for c, used := range h.Row(q) {
			s.Memory.metrics.SetUsage(q, h.Columns()[c].Name, used)
		}
	}
}

// publishBudgets writes the budgets of queues, and the used part of them.
func (s *Session) publishBudgets() {
	s.Memory.metrics.ForgetBudgets()
	if rule := s.Memory.Budgets.InForce(); rule != nil {
		for _, b := range rule.All() {
			s.Memory.metrics.SetBudget(b.Queue, s.Names.Name(b.Dim), budget.Hours(b.Limit), budget.Hours(b.Used))
		}
	}
}

// warnQueues warns once of queues that are refused, and of leaves that have no cpu or memory by default.
func (s *Session) warnQueues() {
	for q := range index.Queue(s.Index.Len()) {
		if err := s.Index.Broken(q); err != nil {
			s.warnOnce(fmt.Sprintf("queue %s takes no jobs: %v", s.Index.Name(q), err))
		}

		byDefault := s.Settings.Bounds.UnsetCapability == intake.UnsetZero && s.Index.IsLeaf(q)
		capability := s.Index.Capability.Row(q)
		if byDefault && (capability.Get(fastres.CPU) == 0 || capability.Get(fastres.Memory) == 0) {
			s.warnOnce(fmt.Sprintf("queue %s sets no cpu or memory capability, which means 0; set it, or %s: %s",
				s.Index.Name(q), arguments.UnsetCapability, intake.UnsetUnlimited))
		}
	}
}

// holderCards iterates over the limits of queues for the cards of holders with jobs.
func (s *Session) holderCards(yield func(report.HolderCards) bool) {
	holders := &s.Intake.Holders.Quota
	for account, place := range holders.Places() {
		for d, limit := range s.Intake.Holders.CardLimits(s.Names, account) {
			allocated := holders.Accounts.AllocatedAt(account, d)
			if !yield(report.HolderCards{
				Queue: place.Queue, Holder: place.Holder, Card: d, Allocated: allocated, Limit: limit,
			}) {
				return
			}
		}
	}
}

// close writes the last metrics, and keeps the state that the next session needs.
func (s *Session) close() {
	m := s.Memory
	s.publishOverused()
	m.metrics.PublishInner()
	if s.Intake.Holders != nil {
		m.metrics.PublishHolders(s.holderCards)
	} else {
		m.metrics.PublishHolders(nil)
	}
	s.writeStatus()
	s.CloseAll()
	s.Memory.own.session = nil // so that the session can be garbage collected
	m.journal.Close(s.Volcano.Jobs)
	m.intake.MendParents(s.Volcano, s.Variant.Name)
}

// writeStatus has the annotations of the queues written that have changed, at the interval of the arguments.
func (s *Session) writeStatus() {
	every := s.Settings.CardStatus
	if every == 0 || s.Volcano.KubeClient() == nil { // a simulation has no client
		return
	}

	m := s.Memory
	due := m.status.Due(s.Now, every)
	if due {
		m.status.Offer(s.Volcano.VCClient(), s.Intake.Queues, InspectionOf(s).Accounts(), s.Volcano.Jobs)
	}
}
