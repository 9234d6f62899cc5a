package assign

import (
	"cmp"
	"slices"
)

// groupByComponent sorts the open demands by component, then from the largest size to the smallest, and merges equal
// demands. The order depends on queues, cards and sizes alone, so the search takes the same course for every order of
// the demands.
func (a *Assigner) groupByComponent() {
	for _, d := range a.open {
		a.joinOptions(a.options[d.from:d.to])
	}
	for i := range a.open {
		a.open[i].component = a.find(a.first(a.options[a.open[i].from]))
	}

	slices.SortFunc(a.open, a.compareDemands)
	merged := a.open[:0]
	for _, d := range a.open {
		if last := len(merged) - 1; last >= 0 && a.compareDemands(merged[last], d) == 0 {
			merged[last].pods += d.pods
			merged[last].affected = merged[last].affected || d.affected
		} else {
			merged = append(merged, d)
		}
	}
	a.open = merged
}

// joinOptions sorts the options of one demand, and joins the components of all their cells.
func (a *Assigner) joinOptions(options []option) {
	slices.SortFunc(options, a.compareOptions)
	first := a.first(options[0])
	for _, o := range options {
		for at := o.cell; at != none; at = a.cells[at].above {
			a.union(at, first)
		}
		for _, u := range a.usesOf(o) {
			a.union(u.side, first)
		}
	}
}

func (a *Assigner) compareOptions(x, y option) int {
	if order := cmp.Compare(a.slot(x.cell), a.slot(y.cell)); order != 0 {
		return order
	}

	return slices.CompareFunc(a.usesOf(x), a.usesOf(y), func(x, y use) int {
		return cmp.Or(cmp.Compare(a.slot(x.side), a.slot(y.side)), cmp.Compare(x.weight, y.weight))
	})
}

func (a *Assigner) slot(at int32) int32 {
	if at == none {
		return none
	}
	return a.cells[at].slot
}

func (a *Assigner) compareDemands(x, y openDemand) int {
	if x.component != y.component {
		return cmp.Compare(a.cells[x.component].slot, a.cells[y.component].slot)
	}
	if x.size != y.size {
		return cmp.Compare(y.size, x.size)
	}

	return slices.CompareFunc(a.options[x.from:x.to], a.options[y.from:y.to], a.compareOptions)
}

// union merges the components of two cells. The representative with the smaller slot represents the result.
func (a *Assigner) union(x, y int32) {
	x, y = a.find(x), a.find(y)
	if a.cells[x].slot > a.cells[y].slot {
		x, y = y, x
	}
	a.cells[y].component = x
}

// find returns the cell that represents the component of a cell. It halves the path that it follows.
func (a *Assigner) find(at int32) int32 {
	for a.cells[at].component != at {
		a.cells[at].component = a.cells[a.cells[at].component].component
		at = a.cells[at].component
	}
	return at
}
