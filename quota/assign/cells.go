package assign

import (
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// cell is one queue and one card, or a side: one queue and one group. The path of a cell is the cell and all cells
// above.
type cell struct {
	slot, above int32   // slot: queue × dimension
	room        float64 // milli-cards; negative if usage exceeds the bound
	load        float64 // the most that the open demands can take
	tight       int32   // the lowest tight cell on the path
	component   int32   // parent in the union-find
	unit        float64 // gcd of the sizes that flow through
	node, arc   int32   // in the network; arc: to the cell above
	affected    bool    // an affected demand has taken room
}

// cell returns the cell of a queue and a card. The first call for them makes the cell, and the cells above.
func (a *Assigner) cell(ix *index.Index, q index.Queue, card fastres.Dim) int32 {
	slot := slotOf(ix, q, card)
	if a.cellAt[slot] > 0 {
		return a.cellAt[slot] - 1
	}

	above := none
	if p := ix.Parent(q); p != index.None {
		above = a.cell(ix, p, card)
	}

	return a.addCell(slot, above, room(ix, q, card))
}

// addCell makes the cell of a slot.
func (a *Assigner) addCell(slot, above int32, room float64) int32 {
	at := int32(len(a.cells))
	a.cells = append(a.cells, cell{slot: slot, above: above, room: room, component: at, node: none})
	a.cellAt[slot] = at + 1
	return at
}

func slotOf(ix *index.Index, q index.Queue, d fastres.Dim) int32 {
	return int32(int(q)*ix.Dims() + int(d))
}

// room returns the milli-cards that are neither allocated nor reserved, rounded down to the unit of quantities. It is
// negative if usage exceeds the bound.
func room(ix *index.Index, q index.Queue, card fastres.Dim) float64 {
	return index.RoundDown(groupRoom(ix, q, card))
}

// groupRoom returns the room of a group. It is not rounded, because weights have fractions.
func groupRoom(ix *index.Index, q index.Queue, group fastres.Dim) float64 {
	bound := ix.AdmissionBounds(q).At(q, group)
	if bound >= fastres.MaxQuantity {
		return math.Inf(1)
	}

	return bound - ix.AllocatedAt(q, group) - ix.Inqueue.At(q, group) + ix.Elastic.At(q, group)
}

// pathRoom returns the least room on the path of a cell.
func (a *Assigner) pathRoom(at int32) float64 {
	room := math.Inf(1)
	for ; at != none; at = a.cells[at].above {
		room = min(room, a.cells[at].room)
	}
	return room
}

// takeRoom reduces the room on the path of a cell. A negative amount returns room.
func (a *Assigner) takeRoom(at int32, amount float64) {
	for ; at != none; at = a.cells[at].above {
		a.cells[at].room -= amount
	}
}

// markAffected marks all cells that an option takes room from.
func (a *Assigner) markAffected(o option) {
	for at := o.cell; at != none; at = a.cells[at].above {
		a.cells[at].affected = true
	}
	for _, u := range a.usesOf(o) {
		a.cells[u.side].affected = true
	}
}

// pathAffected reports whether an affected demand has taken room on the path of a cell.
func (a *Assigner) pathAffected(at int32) bool {
	for ; at != none; at = a.cells[at].above {
		if a.cells[at].affected {
			return true
		}
	}
	return false
}

// skipLooseCells removes the cells that are not tight from all paths. An option without a tight cell on its path has no
// cell afterwards.
//
//	load = Σ pods·size of the options here + Σ min(load, room) of the cells below
//	tight: load > room
func (a *Assigner) skipLooseCells() {
	a.loadCells()

	// Parents stand before children, so a cell finds the tight cell above it.
	for i := range a.cells {
		c := &a.cells[i]
		if c.above != none {
			c.above = a.cells[c.above].tight
		}
		c.tight = int32(i)
		if c.load <= c.room {
			c.tight = c.above
		}
	}

	for _, d := range a.open {
		for i := d.from; i < d.to; i++ {
			if at := a.options[i].cell; at != none {
				a.options[i].cell = a.cells[at].tight
			}
		}
	}
}

// loadCells computes the loads of all cells.
func (a *Assigner) loadCells() {
	for i := range a.cells {
		a.cells[i].load = 0
	}

	for _, d := range a.open {
		for _, o := range a.options[d.from:d.to] {
			if o.cell != none {
				a.cells[o.cell].load += d.pods * d.size
			}
		}
	}

	for _, c := range slices.Backward(a.cells) {
		if c.above != none {
			// The room of a cell without load may be negative.
			a.cells[c.above].load += max(0, min(c.load, c.room))
		}
	}
}
