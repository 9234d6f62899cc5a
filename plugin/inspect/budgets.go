package inspect

import (
	"time"

	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// Budget is the budget of a queue for a card. Quantities are in card-hours, except Now.
type Budget struct {
	Queue    string
	Resource string  // a card, or a group of cards
	Window   string  // as in the annotation, such as 30d
	Limit    float64 // as in the annotation
	Used     float64
	Needed   float64 // in addition to Used, by jobs with an announced length
	Now      float64 // cards that are allocated to the queue now, which it uses in an hour
	// Spent is the time until the budget is used up at this rate, budget.Never if the window ends before.
	Spent time.Duration
	// Next is the time when the next window begins, or when enough use leaves a sliding window. It is the zero time
	// if there is none.
	Next time.Time
}

// Left returns the part of the limit that jobs may still need.
func (b *Budget) Left() float64 { return max(0, b.Limit-b.Used-b.Needed) }

// Budgets returns the budgets of all queues, parents first. The budgets of one queue are in the order of their cards.
func (i Inspection) Budgets() (all []Budget) {
	s := i.s
	rule := s.Budgets.InForce()
	if rule == nil {
		return nil
	}

	for _, b := range rule.All() {
		allocated := s.Index.Allocated(b.Queue).Get(b.Dim)

		all = append(all, Budget{
			Queue:    s.Index.Name(b.Queue),
			Resource: s.Names.Name(b.Dim),
			Window:   b.Window.String(),
			Limit:    budget.Hours(b.Limit),
			Used:     budget.Hours(b.Used),
			Needed:   budget.Hours(b.Needed),
			Now:      format.Readable(b.Dim, allocated),
			Spent:    budget.UntilSpent(b.Window, rule.Now(), b.Parts, b.Limit, allocated),
			Next:     budget.Next(b.Window, rule.Now(), b.Parts, b.Limit),
		})
	}
	return all
}
