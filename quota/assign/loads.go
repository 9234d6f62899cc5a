package assign

import (
	"math"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Loads are the most that given demands can take of each card, in each queue and below:
//
//	load = Σ pods·size   of the demands that list the card
//
// Where there is room for that much, nobody competes, and no assignment has to be found. The
// zero Loads have no demands.
type Loads struct {
	rows index.Rows
	any  bool
}

// Reset removes all demands.
func (l *Loads) Reset() { l.any = false }

// Add adds a demand.
func (l *Loads) Add(ix *index.Index, d Demand) {
	if !l.any {
		l.rows.Reset(ix.Len(), ix.Dims())
		l.any = true
	}
	for _, q := range ix.Path(d.Queue) {
		for _, card := range d.Cards {
			l.rows.Row(q).Increase(card, d.Size*float64(d.Count))
		}
	}
}

// Fit reports whether each of the asked demands, all of queue q, has a card with room for it at
// every level whatever cards all others take:
//
//	load + asked ≤ bound of admission − allocated − inqueue + elastic
//
// asked is the sum of the asked demands that list the card. Then Feasible answers Yes. It may
// answer Yes where Fit is false.
func (l *Loads) Fit(ix *index.Index, q index.Queue, asked []Demand) bool {
	for _, d := range asked {
		found := false
		for _, card := range d.Cards {
			if found = l.fit(ix, q, card, asked); found {
				break
			}
		}
		if !found {
			return false
		}
	}
	return true
}

// fit is Fit for one card.
func (l *Loads) fit(ix *index.Index, q index.Queue, card fastres.Dim, asked []Demand) bool {
	sum := 0.0
	for _, d := range asked {
		for _, listed := range d.Cards {
			if listed == card {
				sum += d.Size * float64(d.Count)
			}
		}
	}
	for _, p := range ix.Path(q) {
		load := sum
		if l.any {
			load += l.rows.At(p, card)
		}
		if load > room(ix, p, card) {
			return false
		}
	}
	return true
}

// room returns the milli-cards that are neither allocated nor reserved, rounded down. It is
// negative where usage exceeds the bound.
func room(ix *index.Index, q index.Queue, card fastres.Dim) float64 {
	bound := ix.AdmissionBounds().At(q, card)
	if bound >= fastres.MaxQuantity {
		return math.Inf(1)
	}
	return math.Floor(bound - ix.Allocated(q).Get(card) - ix.Inqueue.At(q, card) + ix.Elastic.At(q, card))
}
