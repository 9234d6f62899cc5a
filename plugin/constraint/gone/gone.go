// Package gone follows cards on lost nodes: they are available as long as a pod has them.
package gone

import (
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// watcher keeps the available cards up to date (intake.Session.Available).
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
		Charged:       func(a constraint.Ask) { w.change(a, 1) },
		Refunded:      func(a constraint.Ask) { w.change(a, -1) },
		CompareQueues: nil, // share compares with deserved
	}
}

// change adds the cards of a task to the available cards, or subtracts them (sign -1).
func (w watcher) change(a constraint.Ask, sign card.Milli) {
	s := w.session
	name := a.Task.NodeName
	node := s.Cards.NodeOf(a.Task)

	for r := range s.Cards.RequestsOn(s.Cards.PodRequest(a.Queue, a.Task.Pod), name) {
		for d, amount := range r.On(node) {
			change := sign * amount
			if !s.Cards.Gone(name, r, d) {
				// The node gives the card: only a part that it does not give changes.
				change = s.Intake.HoldCard(name, r, d, change)
			}

			s.Names.AddCard(s.Intake.Available, d, float64(change))
			s.Names.AddCard(s.Intake.AvailableThen, d, float64(change))
		}
	}
}
