package session

import (
	"github.com/capacity-card/capacity-card/plugin/admit"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/constraint/claims"
	"github.com/capacity-card/capacity-card/plugin/constraint/classes"
	"github.com/capacity-card/capacity-card/plugin/constraint/devices"
	"github.com/capacity-card/capacity-card/plugin/constraint/enforce"
	"github.com/capacity-card/capacity-card/plugin/constraint/evictions"
	"github.com/capacity-card/capacity-card/plugin/constraint/fairness"
	"github.com/capacity-card/capacity-card/plugin/constraint/fences"
	"github.com/capacity-card/capacity-card/plugin/constraint/gates"
	"github.com/capacity-card/capacity-card/plugin/constraint/gone"
	"github.com/capacity-card/capacity-card/plugin/constraint/grace"
	"github.com/capacity-card/capacity-card/plugin/constraint/guarantees"
	"github.com/capacity-card/capacity-card/plugin/constraint/holders"
	"github.com/capacity-card/capacity-card/plugin/constraint/joborder"
	"github.com/capacity-card/capacity-card/plugin/constraint/jobs"
	"github.com/capacity-card/capacity-card/plugin/constraint/runtimes"
	"github.com/capacity-card/capacity-card/plugin/constraint/soft"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// features is the state of the features that lasts across sessions.
type features struct {
	jobs      quota.Jobs
	fences    quota.Fences
	Fairness  fairness.Memory
	Budgets   budget.Memory
	Evictions evictions.Memory
	Grace     grace.Memory
}

// forget forgets usage, budgets, evictions and notices. The other fields are set again in each session.
func (f *features) forget() {
	f.Fairness.Forget()
	f.Budgets.Forget()
	f.Evictions = evictions.Memory{}
	f.Grace.Forget()
}

// openFeatures makes the features active that are on, and opens admission and reclaim.
func (s *Session) openFeatures() {
	s.openStore()
	s.useRules()
	s.useFairness()
	if !s.Variant.Proportion { // upstream's proportion has no such rules
		s.usePolicies()
	}
	s.OpenGroups()

	s.openAdmission()
	s.openReclaim()
}

// useRules opens the features that decide what jobs and tasks may have. They are asked in the order of the calls, which
// is the order of the reasons (quota.Reason).
func (s *Session) useRules() {
	own := &s.Session
	m := s.Memory
	m.own.open(s)

	s.Use(jobs.Open(own, &m.jobs))
	s.Use(joborder.Open(own, &m.recorder, s.Admit.Judge))
	s.Use(&m.own.quotas)
	s.Use(guarantees.Open(own))
	s.Use(holders.Open(own))
	s.Use(budget.Open(own, &m.Budgets, s.stored, s.loads))
	s.Use(soft.Open(own))
	s.useGates()
	s.Use(devices.Open(own))
	s.Use(claims.Open(own))
	s.Use(gone.Open(own))
}

// useGates opens the reservations of pods without their gate, which the hook Allocatable adds to.
func (s *Session) useGates() {
	if s.Settings.Gates && !s.Variant.Proportion {
		s.Gates = gates.Open(&s.Session)
		s.Use(s.Gates.Hooks())
	}
}

// useFairness opens the features that follow usage over time, after the rules. A job holds cards only where the rules
// leave it nothing to wait for except nodes.
func (s *Session) useFairness() {
	own := &s.Session
	history := &s.Memory.Fairness
	settings := &s.Settings.FairShare

	s.Use(fairness.Open(own, history, settings, s.stored))
	s.Use(fairness.OpenNamespaces(own, history, settings))
	s.Use(fairness.OpenLoans(history, settings))
	s.Use(fairness.OpenHold(own, history))
}

// usePolicies opens the features that decide who takes from whom.
func (s *Session) usePolicies() {
	own := &s.Session
	m := s.Memory

	s.Use(fences.Open(own, &m.fences))
	s.Use(classes.Open(own, s.Settings.ByClass, s.Settings.Owners))
	s.Use(runtimes.Open(own))
	s.Use(evictions.Open(own, &m.Evictions, s.loads))
	s.Use(grace.Open(own, &m.Grace, &m.recorder))
	s.Use(enforce.Open(own, &m.Evictions.Ledger, &m.recorder, s.loads))
}

func (s *Session) openAdmission() {
	m := s.Memory
	s.explain = report.Explainer{Index: s.Index, Names: s.Names, Cards: s.Cards, Total: s.Intake.Total}

	s.Admit.Open(&s.Session, &m.Admit,
		admit.Reports{Explain: &s.explain, Journal: m.journal, Metrics: m.metrics, Recorder: &m.recorder},
		admit.Settings{
			Gates:       s.Settings.Bounds.Gates,
			Scalars:     s.Variant.Scalars,
			Reclaimable: s.Settings.AdmitReclaimable,
			Victims:     &s.Reclaim,
		})
}

func (s *Session) openReclaim() {
	m := s.Memory
	s.Reclaim.Open(&s.Session, m.Reclaim, s.Variant, &s.Settings,
		reclaim.Reports{Explain: &s.explain, Metrics: m.metrics, Exchanges: m.exchanges, Order: s})

	s.Use(&m.own.reclaim)
}

// ownHooks are the hooks of quotas and of reclaim, which every session has. They ask the session that is open, so a
// session allocates none (BenchmarkSessionOpen).
type ownHooks struct {
	session *Session // nil while none is open
	quotas  constraint.Hooks
	reclaim constraint.Hooks
}

func (o *ownHooks) open(s *Session) {
	known := o.quotas.AdmitJob != nil
	o.session = s
	if known {
		return
	}

	o.quotas.AdmitJob = func(a constraint.JobAsk) quota.Verdict {
		return admit.Quotas{Session: &o.session.Session}.AdmitJob(a)
	}
	o.reclaim.Charged = func(a constraint.Ask) { o.session.Reclaim.Charged(a) }
	o.reclaim.Refunded = func(a constraint.Ask) { o.session.Reclaim.Refunded(a) }
	o.reclaim.Close = func() { o.session.Reclaim.Close() }
}
