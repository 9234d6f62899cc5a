package assign

import (
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// A group of cards bounds the weighted sum of its cards:
//
//	Σ weight · size of the pods assigned to cards of the group in p and below ≤ room(p, group)
//
// A flow network has no such bounds. They are side constraints: the search branches on a flow that exceeds one, just as
// on a flow that splits a pod. The side of a queue and a group is a cell that is on no path. If no group is tight,
// there are no sides.

// use is the amount that a card takes from a group, per milli-card.
type use struct {
	side   int32 // the cell of the group
	weight float64
}

func (a *Assigner) usesOf(o option) []use { return a.uses[o.from:o.to] }

// addUses adds the amounts that a card of a queue takes from groups with a bound.
func (a *Assigner) addUses(ix *index.Index, q index.Queue, card fastres.Dim) {
	for _, s := range a.Names.Groups(card) {
		for _, p := range ix.Path(q) {
			side := a.side(ix, p, s.Group)
			if !math.IsInf(a.cells[side].room, 1) {
				a.uses = append(a.uses, use{side, s.Weight})
			}
		}
	}
}

// side returns the cell of a queue and a group.
func (a *Assigner) side(ix *index.Index, q index.Queue, group fastres.Dim) int32 {
	slot := slotOf(ix, q, group)
	if a.cellAt[slot] > 0 {
		return a.cellAt[slot] - 1
	}

	return a.addCell(slot, none, groupRoom(ix, q, group))
}

// unrestricted reports whether no tight cell restricts an option.
func (a *Assigner) unrestricted(o option) bool { return o.cell == none && o.from == o.to }

// first returns a cell that an option depends on.
func (a *Assigner) first(o option) int32 {
	if o.cell != none {
		return o.cell
	}
	return a.uses[o.from].side
}

// roomFor returns the milli-cards that an option can take.
func (a *Assigner) roomFor(o option) float64 {
	room := a.pathRoom(o.cell)
	for _, u := range a.usesOf(o) {
		room = min(room, a.cells[u.side].room/u.weight)
	}
	return room
}

// take reduces the room that an option takes from. A negative amount returns room.
func (a *Assigner) take(o option, amount float64) {
	a.takeRoom(o.cell, amount)
	for _, u := range a.usesOf(o) {
		a.cells[u.side].room -= u.weight * amount
	}
}

// skipLooseSides removes the uses of groups that are not tight: the open demands cannot take more than the room.
func (a *Assigner) skipLooseSides() {
	if len(a.uses) == 0 {
		return
	}

	for i := range a.uses {
		a.cells[a.uses[i].side].load = 0
	}
	for _, d := range a.open {
		a.eachSide(d, func(side int32, _, most float64) { a.cells[side].load += most * d.pods * d.size })
	}

	for _, d := range a.open {
		for i := d.from; i < d.to; i++ {
			o := &a.options[i]
			to := o.from
			for _, u := range a.usesOf(*o) {
				c := &a.cells[u.side]
				if c.load > c.room {
					a.uses[to] = u
					to++
				}
			}
			o.to = to
		}
	}
}

// eachSide visits the groups that a demand can take from. least and most are the amounts for one milli-card. Options
// that may take no pod do not count for least; it is known once the network is built.
func (a *Assigner) eachSide(d openDemand, visit func(side int32, least, most float64)) {
	options := a.options[d.from:d.to]
	for i, o := range options {
		for _, u := range a.usesOf(o) {
			visited := slices.ContainsFunc(options[:i], func(before option) bool {
				return a.takenBy(before, u.side) > 0
			})
			if visited {
				continue
			}

			least := math.Inf(1)
			most := 0.0
			for _, other := range options {
				w := a.takenBy(other, u.side)
				most = max(most, w)
				if other.mostPods > 0 {
					least = min(least, w)
				}
			}
			visit(u.side, least, most)
		}
	}
}

// takenBy returns the amount that an option takes from a group, per milli-card.
func (a *Assigner) takenBy(o option, side int32) float64 {
	for _, u := range a.usesOf(o) {
		if u.side == side {
			return u.weight
		}
	}
	return 0
}

// sidesOf collects the groups that a component depends on. They are few, and read in order: a list, not a bit set.
func (a *Assigner) sidesOf(demands []openDemand) {
	a.sides = a.sides[:0]
	for _, d := range demands {
		for _, o := range a.options[d.from:d.to] {
			for _, u := range a.usesOf(o) {
				if slices.Contains(a.sides, u.side) {
					continue
				}

				// A room below 0 serves nobody, just as a room of 0.
				a.sides = append(a.sides, u.side)
				a.cells[u.side].room = max(0, a.cells[u.side].room)
			}
		}
	}
}

// fitsSides reports whether the groups have room for the least that the open pods can take. It is a bound of the
// search.
func (a *Assigner) fitsSides(demands []openDemand) bool {
	if len(a.sides) == 0 {
		return true
	}

	for _, side := range a.sides {
		a.cells[side].load = 0
	}
	for _, d := range demands {
		if d.pods > 0 {
			a.eachSide(d, func(side int32, least, _ float64) { a.cells[side].load += least * d.pods * d.size })
		}
	}

	exceeded := func(side int32) bool { return a.cells[side].load > a.cells[side].room }
	return !slices.ContainsFunc(a.sides, exceeded)
}

// excess returns an option, and its demand, through which the flow takes from an exceeded group. It returns the option
// that takes most among the options of demands with a cheaper card. It returns nil if no group is exceeded.
func (a *Assigner) excess(demands []openDemand) (d *openDemand, most *option) {
	for _, side := range a.sides {
		taken := 0.0
		a.eachFlow(demands, side, func(_ *openDemand, _ *option, amount float64) { taken += amount })
		if taken <= a.cells[side].room {
			continue
		}

		largest := 0.0
		a.eachFlow(demands, side, func(from *openDemand, o *option, amount float64) {
			if amount > largest && a.cheaper(from, o, side) {
				d = from
				most = o
				largest = amount
			}
		})
		if d != nil {
			return d, most
		}
	}

	return nil, nil
}

// eachFlow visits the options with a flow that takes from a group, with the amount.
func (a *Assigner) eachFlow(demands []openDemand, side int32, visit func(*openDemand, *option, float64)) {
	for i := range demands {
		d := &demands[i]
		for j := d.from; j < d.to; j++ {
			o := &a.options[j]
			w := a.takenBy(*o, side)
			if w <= 0 {
				continue
			}

			sent := a.residual.arcs[o.arc^1].residual
			if sent > 0 {
				visit(d, o, w*sent)
			}
		}
	}
}

// cheaper reports whether a demand has an option that takes less from a group.
func (a *Assigner) cheaper(d *openDemand, o *option, side int32) bool {
	w := a.takenBy(*o, side)
	return slices.ContainsFunc(a.options[d.from:d.to], func(other option) bool {
		return other.mostPods > 0 && a.takenBy(other, side) < w
	})
}
