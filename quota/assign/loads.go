package assign

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Loads are the most that given demands can take of each card, in each queue and below:
//
//	load = Σ pods·size   of the demands that list the card
//
// If there is room for that much, nobody competes, and no assignment has to be found. The zero Loads have no demands.
type Loads struct {
	// Names have the groups of cards.
	Names *index.Names

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
		row := l.rows.Row(q)
		for _, card := range d.Cards {
			row.Increase(card, d.Size*float64(d.Count))
		}
		l.addGroups(row, d)
	}
}

// Fit reports whether each of the asked demands, all of queue q, has a card with room at every level, whatever cards
// all others take:
//
//	load + asked ≤ bound of admission − allocated − inqueue + elastic
//
// asked is the sum of the asked demands that list the card. If Fit is true, Feasible answers Yes. If it is false,
// Feasible may still answer Yes.
func (l *Loads) Fit(ix *index.Index, q index.Queue, asked []Demand) bool {
	hasRoom := func(card fastres.Dim) bool {
		return l.fit(ix, q, card, asked) && l.fitGroups(ix, q, card, asked)
	}
	for _, d := range asked {
		if !slices.ContainsFunc(d.Cards, hasRoom) {
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

	return l.below(ix, q, card, sum, room)
}

// fitGroups is Fit for the groups of one card. Each demand counts with the most that any of its cards takes.
func (l *Loads) fitGroups(ix *index.Index, q index.Queue, card fastres.Dim, asked []Demand) bool {
	for _, s := range l.Names.Groups(card) {
		sum := 0.0
		for _, d := range asked {
			sum += l.most(d, s.Group)
		}
		if !l.below(ix, q, s.Group, sum, groupRoom) {
			return false
		}
	}

	return true
}

// below reports whether the room of q and of all its ancestors is at least a quantity and the loads.
func (l *Loads) below(ix *index.Index, q index.Queue, d fastres.Dim, quantity float64,
	room func(*index.Index, index.Queue, fastres.Dim) float64) bool {
	for _, p := range ix.Path(q) {
		load := quantity
		if l.any {
			load += l.rows.At(p, d)
		}
		if load > room(ix, p, d) {
			return false
		}
	}

	return true
}

// addGroups adds the most that a demand can take of each group of its cards to x.
func (l *Loads) addGroups(x fastres.Vector, d Demand) {
	for i, card := range d.Cards {
		for _, s := range l.Names.Groups(card) {
			added := slices.ContainsFunc(d.Cards[:i], func(before fastres.Dim) bool {
				return l.Names.Weight(before, s.Group) > 0
			})
			if !added {
				x.Increase(s.Group, l.most(d, s.Group))
			}
		}
	}
}

// most returns the most that a demand can take of a group.
func (l *Loads) most(d Demand, group fastres.Dim) float64 {
	weight := 0.0
	for _, card := range d.Cards {
		weight = max(weight, l.Names.Weight(card, group))
	}
	return weight * d.Size * float64(d.Count)
}
