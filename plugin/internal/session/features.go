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
var features = []func(*Session) any{
	func(s *Session) any { return jobs.Open(&s.Session, &s.Memory.jobs) },
	func(s *Session) any { return joborder.Open(&s.Session, &s.Memory.recorder, s.admit.Judge) },
	func(s *Session) any { return admit.Quotas{Session: &s.Session} },
	func(s *Session) any { return guarantees.Open(&s.Session) },
	func(s *Session) any { return holders.Open(&s.Session) },
	func(s *Session) any {
		return budget.Open(&s.Session, &s.Memory.Budgets, s.stored, s.loads)
	},
	func(s *Session) any { return soft.Open(&s.Session) },
	(*Session).useGates,
	func(s *Session) any { return devices.Open(&s.Session) },
	func(s *Session) any { return claims.Open(&s.Session) },
	func(s *Session) any { return gone.Open(&s.Session) },
	func(s *Session) any {
		return fairness.Open(&s.Session, &s.Memory.Fairness, &s.Settings.FairShare, s.stored)
	},
	func(s *Session) any {
		return fairness.OpenNamespaces(&s.Session, &s.Memory.Fairness, &s.Settings.FairShare)
	},
	func(s *Session) any { return fairness.OpenLoans(&s.Memory.Fairness, &s.Settings.FairShare) },
	func(s *Session) any { return fairness.OpenHold(&s.Session, &s.Memory.Fairness) },
}

// takePolicies are those of reclaim and preempt. The name proportion has none, as upstream.
var takePolicies = []func(*Session) any{
	func(s *Session) any { return fences.Open(&s.Session, &s.Memory.fences) },
	func(s *Session) any { return classes.Open(&s.Session, s.Settings.ByClass, s.Settings.Owners) },
	func(s *Session) any { return runtimes.Open(&s.Session) },
	func(s *Session) any {
		return evictions.Open(&s.Session, &s.Memory.evictions, s.loads)
	},
	func(s *Session) any { return grace.Open(&s.Session, &s.Memory.Grace, &s.Memory.recorder) },
	func(s *Session) any {
		return enforce.Open(&s.Session, &s.Memory.evictions.Ledger, &s.Memory.recorder, s.loads)
	},
}

// useGates opens the reservations of pods without their gate, which allocatable adds to.
func (s *Session) useGates() any {
	if !s.Settings.Gates || s.variant.Proportion {
		return nil
	}
	s.gates = gates.Open(&s.Session)
	return s.gates
}

// openFeatures makes the constraints active that are on, and opens admission and reclaim.
func (s *Session) openFeatures() {
	m := s.Memory
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
	s.admit.Open(&s.Session, &m.Admit,
		admit.Reports{Explain: &s.explain, Journal: m.journal, Metrics: m.metrics, Recorder: &m.recorder},
		admit.Settings{Gates: s.Settings.Bounds.Gates, Scalars: s.variant.Scalars, Displace: s.Settings.Displace,
			Reclaimable: s.Settings.AdmitReclaimable, Victims: &s.Reclaim})
	s.Reclaim.Open(&s.Session, m.reclaim, s.variant, &s.Settings,
		reclaim.Reports{Explain: &s.explain, Metrics: m.metrics, Exchanges: m.exchanges, Order: s})
	s.Use(&s.Reclaim)
	if h := hints.Open(&s.Session, &m.hints, s.hintSettings, m.journal); h != nil {
		s.Use(h)
	}
}

// hintSettings returns what ends refusals in time.
func (s *Session) hintSettings() hints.Settings {
	return hints.Settings{Windows: s.Memory.queues.HasWindows(), Promises: s.Settings.Displace || s.Intake.HasTimeouts(),
		Together: s.variant.Proportion}
}
