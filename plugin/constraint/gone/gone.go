// Package gone follows the cards that pods have and that no node gives any more: they are available as long as a pod
// has them.
package gone

import (
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// Watcher follows what is available (intake.Session.Available).
type Watcher struct{ session *constraint.Session }

var _ constraint.Watcher = Watcher{}

// Open returns the watcher, nil where each node gives the cards of its pods.
func Open(s *constraint.Session) any {
	if !s.Intake.Gone {
		return nil
	}
	return Watcher{s}
}

func (w Watcher) Charged(a constraint.Ask)  { w.change(a, 1) }
func (w Watcher) Refunded(a constraint.Ask) { w.change(a, -1) }

func (w Watcher) change(a constraint.Ask, sign float64) {
	s := w.session
	node := s.Cards.NodeOf(a.Task)
	for r := range s.Cards.RequestsOn(s.Cards.PodRequest(a.Queue, a.Task.Pod), a.Task.NodeName) {
		for d, amount := range r.On(node) {
			change := card.Milli(sign) * amount
			if !s.Cards.Gone(a.Task.NodeName, r, d) {
				change = s.Intake.HoldCard(a.Task.NodeName, r, d, change)
			}
			s.Names.AddCard(s.Intake.Available, d, float64(change))
			s.Names.AddCard(s.Intake.AvailableThen, d, float64(change))
		}
	}
}
