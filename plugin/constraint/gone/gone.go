// Package gone follows cards on lost nodes: they are available as long as a pod has them.
package gone

import (
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// watcher keeps the available cards up to date (intake.Inputs.Available).
type watcher struct{ session *constraint.Session }

// Open returns the hooks, nil where each node gives the cards of its pods.
func Open(s *constraint.Session) *constraint.Hooks {
	if !s.Intake.Gone {
		return nil
	}
	return watcher{s}.hooks()
}

// hooks returns the hooks of cards that no node gives any more.
func (w watcher) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // the bounds have the cards since the session opened
		Hold:          nil, // for the same reason
		Fit:           nil, // for the same reason
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // for the same reason; the pods free nothing on a node
		MayTake:       nil, // for the same reason
		Charge:        nil, // a simulation compares with the same bounds
		Charged:       func(a constraint.Ask) { w.session.Intake.ChargeCards(a.Queue, a.Task, 1) },
		Refunded:      func(a constraint.Ask) { w.session.Intake.ChargeCards(a.Queue, a.Task, -1) },
		CompareQueues: nil, // share compares with deserved
	}
}
