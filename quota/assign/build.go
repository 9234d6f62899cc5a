package assign

import (
	"math"
	"slices"
)

// build makes the network of a component.
func (a *Assigner) build(demands []openDemand) {
	a.residual.reset()
	a.entered = a.entered[:0]

	// Dinic's method visits the newest arc first, and large pods are to go first. So the demands are added in reverse.
	for i := range slices.Backward(demands) {
		d := &demands[i]
		node := a.residual.addNode()
		d.arc = a.residual.addArc(source, node)
		for j := d.to - 1; j >= d.from; j-- {
			o := &a.options[j]
			o.mostPods = d.pods
			o.arc = a.residual.addArc(node, a.enter(o.cell))
		}
	}
}

// enter returns the node of a cell. The first call for a cell adds its node, and the nodes of the cells above.
func (a *Assigner) enter(at int32) int32 {
	if at == none {
		return sink
	}

	c := &a.cells[at]
	if c.node == none {
		c.node = a.residual.addNode()
		c.arc = a.residual.addArc(c.node, a.enter(c.above))
		a.entered = append(a.entered, at)
	}

	return c.node
}

// flow reports whether the pods that are not placed could be served if pods could be split. It is the bound of the
// search.
//
// The capacity of a cell is its room, rounded down to a multiple of the gcd of the sizes that flow through it.
func (a *Assigner) flow(demands []openDemand) bool {
	for i := range a.residual.arcs {
		a.residual.arcs[i].residual = 0
	}
	for _, at := range a.entered {
		a.cells[at].unit = 0
	}

	// Sizes enter from the largest to the smallest.
	unit := 0.0
	due := 0.0
	for i := range demands {
		d := &demands[i]
		if d.pods == 0 {
			continue
		}

		// A size that is no multiple of the gcd makes the gcd smaller, and the capacities larger. The larger sizes are
		// served before it enters: their own capacities are a tighter bound.
		if unit > 0 && remainder(d.size, unit) > 0 {
			if a.residual.augment(source, sink, due) < due {
				return false
			}
			due = 0
		}

		unit = gcd(unit, d.size)
		due += d.pods * d.size
		a.openArcs(d)
	}

	return a.residual.augment(source, sink, due) == due
}

// openArcs gives capacity to the arcs that a demand can use.
func (a *Assigner) openArcs(d *openDemand) {
	arcs := a.residual.arcs
	arcs[d.arc].residual = d.pods * d.size
	for _, o := range a.options[d.from:d.to] {
		pods := min(o.mostPods, math.Floor(a.roomFor(o)/d.size))
		if pods == 0 {
			continue
		}

		arcs[o.arc].residual = pods * d.size
		for at := o.cell; at != none; at = a.cells[at].above {
			c := &a.cells[at]
			c.unit = gcd(c.unit, d.size)
			arcs[c.arc].residual = c.room - remainder(c.room, c.unit) - arcs[c.arc^1].residual
		}
	}
}

// remainder returns the part of x that exceeds whole multiples of y. It is exact for multiples of 2^-20 below 2^33:
// they are whole numbers of that unit below 2^53, so the quotient is never rounded up to a whole number.
func remainder(x, y float64) float64 { return x - y*math.Floor(x/y) }

// gcd returns the greatest common divisor. gcd(0, y) is y.
func gcd(x, y float64) float64 {
	for x != 0 {
		x, y = remainder(y, x), x
	}
	return y
}
