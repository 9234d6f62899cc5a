package inspect

import (
	"time"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota/budget"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// Budget is the budget of a queue for a card. Quantities are card-hours, but for Now.
type Budget struct {
	Queue    string
	Resource string  // a card, or a group of cards
	Window   string  // as the annotation has it, such as 30d
	Limit    float64 // of the annotation
	Used     float64
	Needed   float64 // by jobs with an announced length, beside Used
	Now      float64 // the cards that the queue has now: what it uses in an hour
	// Spent is the time until the budget is used up at this rate, budget.Never if the window ends before.
	Spent time.Duration
	// Next is when the next window begins, or when the oldest use leaves a window that slides; the zero time for none.
	Next time.Time
}

// Left returns the part of the limit that jobs may still need.
func (b *Budget) Left() float64 { return max(0, b.Limit-b.Used-b.Needed) }

// Budgets returns the budgets of all queues, parents first, and those of one queue by the names of the cards.
func (i Inspection) Budgets() (all []Budget) {
	rule := i.s.Budgets.InForce()
	if rule == nil {
		return nil
	}
	for _, b := range rule.All() {
		has := i.s.Index.Allocated(b.Queue).Get(b.Dim)
		all = append(all, Budget{Queue: i.s.Index.Name(b.Queue), Resource: i.s.Names.Name(b.Dim), Window: b.Window.String(),
			Limit: budget.Hours(b.Limit), Used: budget.Hours(b.Used), Needed: budget.Hours(b.Needed), Now: format.Readable(b.Dim, has),
			Spent: budget.UntilSpent(b.Window, rule.Now(), b.Parts, b.Limit, has), Next: budget.Next(b.Window, rule.Now(), b.Parts)})
	}
	return all
}

// EvictionBudget is a budget of evictions that has no room now.
type EvictionBudget struct {
	Policy string // the annotation
	Queue  string // that has it
	// Until is the time at which one more may be evicted, such as 2026-12-01T08:30Z, "" where that is not known yet.
	Until string
}

// EvictionBudget returns the first budget with no room to evict a pod of a queue for one of the queue to, and whether
// there is one.
func (i Inspection) EvictionBudget(queue, to string) (b EvictionBudget, is bool) {
	budgets := i.s.Evictions.InForce()
	from := i.s.Index.Lookup(queue)
	if budgets == nil || from == index.None {
		return b, false
	}
	of := budgets.Refusing(from, i.s.Index.Lookup(to))
	if of == nil {
		return b, false
	}
	b = EvictionBudget{Policy: of.Key, Queue: i.s.Index.Name(of.Queue)}
	if !of.Loads {
		b.Until = format.Minute(of.Next)
	}
	return b, true
}

// Evictions returns what lasts of evictions, nil for nothing. Its times are those of a clock that shows now when the
// session was opened, the zero time for that of the session.
func (i Inspection) Evictions(now time.Time) *evict.Record {
	record := i.s.Evictions.Ledger.Record()
	if record == nil || now.IsZero() {
		return record
	}
	shifted, err := evict.New(record)
	if err != nil {
		return record // never: a ledger wrote it
	}
	shifted.Shift(now.Sub(i.s.Now))
	return shifted.Record()
}
