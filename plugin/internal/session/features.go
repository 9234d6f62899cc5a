package session

import (
	"github.com/capacity-card/capacity-card/plugin/admit"
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
	"github.com/capacity-card/capacity-card/plugin/constraint/hints"
	"github.com/capacity-card/capacity-card/plugin/constraint/holders"
	"github.com/capacity-card/capacity-card/plugin/constraint/joborder"
	"github.com/capacity-card/capacity-card/plugin/constraint/jobs"
	"github.com/capacity-card/capacity-card/plugin/constraint/runtimes"
	"github.com/capacity-card/capacity-card/plugin/constraint/soft"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// features are the constraints in the order in which they are asked, which is the order of the
// reasons (quota.Reason). One that is off is nil, and no hook meets it.
var features = []func(*session) any{
	func(s *session) any { return jobs.Open(&s.Session, &s.memory.jobs) },
	func(s *session) any { return joborder.Open(&s.Session, &s.memory.recorder, s.admit.Judge) },
	func(s *session) any { return admit.Quotas{Session: &s.Session} },
	func(s *session) any { return guarantees.Open(&s.Session) },
	func(s *session) any { return holders.Open(&s.Session) },
	func(s *session) any {
		return budget.Open(&s.Session, &s.memory.budgets, s.stored, s.loads)
	},
	func(s *session) any { return soft.Open(&s.Session) },
	(*session).useGates,
	func(s *session) any { return devices.Open(&s.Session) },
	func(s *session) any { return claims.Open(&s.Session) },
	func(s *session) any { return gone.Open(&s.Session) },
	func(s *session) any {
		return fairness.Open(&s.Session, &s.memory.fairness, &s.settings.FairShare, s.stored)
	},
	func(s *session) any {
		return fairness.OpenNamespaces(&s.Session, &s.memory.fairness, &s.settings.FairShare)
	},
	func(s *session) any { return fairness.OpenLoans(&s.memory.fairness, &s.settings.FairShare) },
	func(s *session) any { return fairness.OpenHold(&s.Session, &s.memory.fairness) },
}

// takePolicies are those of reclaim and preempt. The name proportion has none, as upstream.
var takePolicies = []func(*session) any{
	func(s *session) any { return fences.Open(&s.Session, &s.memory.fences) },
	func(s *session) any { return classes.Open(&s.Session, s.settings.ByClass, s.settings.Owners) },
	func(s *session) any { return runtimes.Open(&s.Session) },
	func(s *session) any {
		return evictions.Open(&s.Session, &s.memory.evictions, s.loads)
	},
	func(s *session) any { return grace.Open(&s.Session, &s.memory.grace, &s.memory.recorder) },
	func(s *session) any {
		return enforce.Open(&s.Session, &s.memory.evictions.Ledger, &s.memory.recorder, s.loads)
	},
}

// useGates opens the reservations of pods without their gate, which allocatable adds to.
func (s *session) useGates() any {
	if !s.settings.Gates || s.variant.Proportion {
		return nil
	}
	s.gates = gates.Open(&s.Session)
	return s.gates
}

// openFeatures makes the constraints active that are on, and opens admission and reclaim.
func (s *session) openFeatures() {
	m := s.memory
	s.openStore()
	for _, feature := range features {
		if f := feature(s); f != nil {
			s.Use(f)
		}
	}
	for _, policy := range takePolicies {
		if s.variant.Proportion {
			break
		}
		if p := policy(s); p != nil {
			s.Use(p)
		}
	}
	s.OpenGroups()
	s.explain = report.Explainer{Index: s.Index, Names: s.Names, Cards: s.Cards, Total: s.Intake.Total}
	s.admit.Open(&s.Session, &m.admit,
		admit.Reports{Explain: &s.explain, Journal: m.journal, Metrics: m.metrics, Recorder: &m.recorder},
		admit.Settings{Gates: s.settings.Bounds.Gates, Scalars: s.variant.Scalars, Displace: s.settings.Displace,
			Reclaimable: s.settings.AdmitReclaimable, Victims: &s.reclaim})
	s.reclaim.Open(&s.Session, m.reclaim, s.variant, &s.settings,
		reclaim.Reports{Explain: &s.explain, Metrics: m.metrics, Exchanges: m.exchanges, Order: s})
	s.Use(&s.reclaim)
	if h := hints.Open(&s.Session, &m.hints, s.hintSettings, m.journal); h != nil {
		s.Use(h)
	}
}

// hintSettings returns what ends refusals in time.
func (s *session) hintSettings() hints.Settings {
	return hints.Settings{Windows: s.memory.queues.HasWindows(), Promises: s.settings.Displace || s.Intake.HasTimeouts(),
		Together: s.variant.Proportion}
}
