package model

import (
	"cmp"
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/plugin"
)

// Loan is an amount that a queue has beyond its deserved amount, while another queue leaves as much of
// its deserved amount unused.
type Loan struct {
	Resource string  `json:"resource"`
	Card     bool    `json:"card,omitempty"`
	Borrower string  `json:"borrower"`
	Lender   string  `json:"lender,omitempty"` // "" for an amount that no queue deserves
	Below    string  `json:"below,omitempty"`  // the queue above both, "" if there is none
	Amount   float64 `json:"amount"`
}

// Borrowed returns the amount that a queue has beyond deserved and guarantee.
func Borrowed(h queues.Holding) float64 {
	return max(0, h.Allocated-own(h))
}

// Borrowed returns the amount of a resource that a queue borrows. Under the name capacity-card,
// queues lend only cards.
func (m *Model) Borrowed(h queues.Holding) float64 {
	if !h.Card && m.lendsCardsOnly() {
		return 0
	}
	return Borrowed(h)
}

func (m *Model) lendsCardsOnly() bool { return m.Configuration.Plugin == plugin.Name }

// own returns the amount that reclaim leaves to a queue.
func own(h queues.Holding) float64 {
	if h.Deserved == nil {
		return max(h.Allocated, h.Guarantee)
	}
	return max(*h.Deserved, h.Guarantee)
}

// Loans assigns the amounts that leaf queues borrow to leaf queues that use less than they deserve: first to queues
// below the same parent, then to queues below the next ancestor. Volcano records no owner of a single card, so a loan
// is an amount that reclaim can take back.
func Loans(all []queues.Queue, cardsOnly bool) []Loan {
	t := newTree(all)
	offers := t.offers()

	loans := []Loan{}
	for _, q := range t.leaves {
		// Reclaim takes nothing from queues that do not reach the root.
		if q.Broken != "" {
			continue
		}
		for _, h := range q.Resources {
			if h.Card || !cardsOnly {
				loans = append(loans, t.loansOf(q, h, offers[h.Resource])...)
			}
		}
	}

	slices.SortStableFunc(loans, func(a, b Loan) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(b.Amount, a.Amount))
	})
	return loans
}

// offer holds the unused deserved amounts of leaf queues, for one resource.
type offer struct {
	idle  map[string]float64  // by leaf
	below map[string][]string // the leaves below a queue, without leaves that are known to have nothing left
}

// offers returns the offers of all leaf queues by resource.
func (t *tree) offers() map[string]*offer {
	offers := map[string]*offer{}
	for _, q := range t.leaves {
		for _, h := range q.Resources {
			idle := own(h) - h.Allocated
			if idle <= 0 || h.Deserved == nil {
				continue
			}
			if offers[h.Resource] == nil {
				offers[h.Resource] = &offer{idle: map[string]float64{}, below: map[string][]string{}}
			}
			offers[h.Resource].add(q.Queue, idle, t.ancestors(q))
		}
	}
	return offers
}

func (o *offer) add(leaf string, idle float64, above []string) {
	o.idle[leaf] = idle
	for _, name := range append(above, "") {
		o.below[name] = append(o.below[name], leaf)
	}
}

// next returns the first leaf below a queue that has something left.
func (o *offer) next(above string) (leaf string, idle float64) {
	for leaves := o.below[above]; len(leaves) > 0; leaves = leaves[1:] {
		idle = o.idle[leaves[0]]
		if idle > 0 {
			o.below[above] = leaves
			return leaves[0], idle
		}
	}

	delete(o.below, above)
	return "", 0
}

// loansOf assigns the amount of a resource that one queue borrows, and takes it from the offer, which may be nil.
func (t *tree) loansOf(q *queues.Queue, h queues.Holding, o *offer) (loans []Loan) {
	borrowed := Borrowed(h)
	loan := Loan{Resource: h.Resource, Card: h.Card, Borrower: q.Queue}
	for _, above := range append(t.ancestors(q), "") {
		for o != nil && borrowed > 0 {
			lender, idle := o.next(above)
			if lender == "" {
				break
			}

			loan.Lender = lender
			loan.Below = above
			loan.Amount = min(idle, borrowed)
			loans = append(loans, loan)
			o.idle[lender] -= loan.Amount
			borrowed -= loan.Amount
		}
	}

	if borrowed > 0 {
		loan.Lender = ""
		loan.Below = ""
		loan.Amount = borrowed
		loans = append(loans, loan)
	}
	return loans
}
