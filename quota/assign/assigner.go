package assign

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// settlePasses is the largest number of passes that settle demands without a choice.
// More passes rarely settle more, and the flow decides what they leave.
const settlePasses = 8

// Demand is a number of equal pods of one queue. Each pod takes Size of one card.
type Demand struct {
	Queue index.Queue
	Cards []fastres.Dim // distinct; without any, the demand cannot be served
	Size  float64       // milli-cards of one pod, > 0, a whole number
	Count int           // pods, > 0
}

// Assigner decides whether demands can be served. It keeps its memory between calls, so
// that a call does not allocate. The zero Assigner is ready for use.
//
// An Assigner is for one goroutine.
type Assigner struct {
	cells    []cell  // parents before children
	cellAt   []int32 // queue × dimension: 1 + the position of the cell, 0 for no cell
	open     []openDemand
	options  []option
	entered  []int32 // the cells that have a node in the network
	residual network
}

// openDemand is a demand that is not settled.
type openDemand struct {
	size, pods float64 // pods: those that are not placed
	from, to   int32   // its options are options[from:to]
	component  int32   // the representative cell of its component
	arc        int32   // from the source
}

// option is one card of a demand.
type option struct {
	cell     int32   // the lowest cell on the path, none if no cell is tight
	arc      int32   // from the demand's node to the cell's
	mostPods float64 // the most pods of the demand that may take this card
}

// Feasible reports whether all demands can be served at the same time. It reads the
// accounts of ix and changes nothing.
//
// The answer is exact for quantities below 2^53, with one exception: it is false when
// the search among mixed sizes exceeds its budget. Then a job waits although it could be
// admitted, but no quota is exceeded.
func (a *Assigner) Feasible(ix *index.Index, demands []Demand) bool {
	a.gather(ix, demands)
	options := len(a.options)
	for range settlePasses {
		a.skipLooseCells()
		left, ok := a.settle()
		if !ok {
			return false
		}
		if left == 0 || left == options {
			break
		}
		options = left
	}
	a.groupByComponent()
	a.residual.visited = 0
	for rest := a.open; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].component == rest[0].component {
			n++
		}
		if !a.serve(rest[:n]) {
			return false
		}
		rest = rest[n:]
	}
	return true
}

// gather opens every demand, with one option for each of its cards.
func (a *Assigner) gather(ix *index.Index, demands []Demand) {
	for i := range a.cells {
		a.cellAt[a.cells[i].slot] = 0
	}
	if n := ix.Len() * ix.Dims(); n > len(a.cellAt) {
		a.cellAt = make([]int32, n)
	}
	a.cells, a.open, a.options = a.cells[:0], a.open[:0], a.options[:0]
	for _, d := range demands {
		from, pods := int32(len(a.options)), float64(d.Count)
		for _, card := range d.Cards {
			a.options = append(a.options, option{cell: a.cell(ix, d.Queue, card)})
		}
		a.open = append(a.open, openDemand{size: d.Size, pods: pods, from: from, to: int32(len(a.options))})
	}
}

// settle drops each option that has no room for one pod. Then it settles the demands
// without a choice: a demand that has an option without a tight cell is served whatever
// else happens, and a demand with one option is placed there. settle returns the number
// of options left, and false if some demand cannot be served.
func (a *Assigner) settle() (left int, ok bool) {
	still := a.open[:0]
	for _, d := range a.open {
		unrestricted, to := false, d.from
		for _, o := range a.options[d.from:d.to] {
			unrestricted = unrestricted || o.cell == none
			if a.pathRoom(o.cell) >= d.size {
				a.options[to] = o
				to++
			}
		}
		d.to = to
		switch choices := int(to - d.from); {
		case unrestricted:
		case choices == 0:
			return 0, false
		case choices == 1:
			at := a.options[d.from].cell
			if a.takeRoom(at, d.pods*d.size); a.pathRoom(at) < 0 {
				return 0, false
			}
		default:
			still, left = append(still, d), left+choices
		}
	}
	a.open = still
	return left, true
}
