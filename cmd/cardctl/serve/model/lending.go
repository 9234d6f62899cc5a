package model

import (
	"cmp"
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// Loan is what a queue has beyond what it deserves, of what another queue deserves and does
// not use.
type Loan struct {
	Resource string  `json:"resource"`
	Card     bool    `json:"card,omitempty"`
	Borrower string  `json:"borrower"`
	Lender   string  `json:"lender,omitempty"` // "" for what no queue deserves
	Below    string  `json:"below,omitempty"`  // the queue above both, "" if there is none
	Amount   float64 `json:"amount"`
}

// Borrowed is what a queue has beyond what it deserves and what is guaranteed to it.
func Borrowed(h queues.Holding) float64 {
	return max(0, h.Allocated-own(h))
}

// own is what a queue has a right to.
func own(h queues.Holding) float64 {
	if h.Deserved == nil {
		return max(h.Allocated, h.Guarantee)
	}
	return max(*h.Deserved, h.Guarantee)
}

// Loans assigns what leaf queues have beyond what they deserve to leaf queues that use less:
// first to those below the same parent, then to those below the next ancestor. Which card
// belongs to whom is not recorded anywhere; the amounts are what a reclaim can take back.
func Loans(all []queues.Queue, cardsOnly bool) []Loan {
	t := newTree(all)
	unused := map[string]map[string]float64{} // by resource, then by leaf
	for _, q := range t.leaves {
		for _, h := range q.Resources {
			if idle := own(h) - h.Allocated; idle > 0 && h.Deserved != nil {
				if unused[h.Resource] == nil {
					unused[h.Resource] = map[string]float64{}
				}
				unused[h.Resource][q.Queue] = idle
			}
		}
	}
	loans := []Loan{}
	for _, q := range t.leaves {
		for _, h := range q.Resources {
			if cardsOnly && !h.Card {
				continue
			}
			if borrowed := Borrowed(h); borrowed > 0 {
				loans = append(loans, t.loansOf(q, h, borrowed, unused[h.Resource])...)
			}
		}
	}
	slices.SortStableFunc(loans, func(a, b Loan) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(b.Amount, a.Amount))
	})
	return loans
}

// loansOf assigns what one queue borrows, and takes it from unused.
func (t *tree) loansOf(q *queues.Queue, h queues.Holding, borrowed float64, unused map[string]float64) (loans []Loan) {
	for _, above := range append(t.ancestors(q), "") {
		for _, lender := range t.leaves {
			idle := unused[lender.Queue]
			if idle <= 0 || lender == q || !t.isBelow(lender, above) {
				continue
			}
			amount := min(idle, borrowed)
			loans = append(loans, Loan{Resource: h.Resource, Card: h.Card, Borrower: q.Queue, Lender: lender.Queue, Below: above, Amount: amount})
			unused[lender.Queue] -= amount
			if borrowed -= amount; borrowed <= 0 {
				return loans
			}
		}
	}
	return append(loans, Loan{Resource: h.Resource, Card: h.Card, Borrower: q.Queue, Amount: borrowed})
}
