package assign

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// settlePasses is the largest number of passes that settle demands without a choice. More passes rarely settle more,
// and the flow decides the rest.
const settlePasses = 8

// Demand is a number of equal pods of one queue. Each pod takes Size of one card.
type Demand struct {
	Queue index.Queue
	Cards []fastres.Dim // distinct; without any, the demand cannot be served
	Size  float64       // milli-cards of one pod, > 0, a multiple of 2^-20
	Count int           // pods, > 0
}

// Answer is the answer to a question.
type Answer uint8

// The answers.
const (
	No      Answer = iota // no assignment exists
	Yes                   // an assignment exists
	Unknown               // the search ended with its budget
)

// Budget is the number of arcs that searches may still visit. A search may exceed it by the arcs of one step. Then the
// budget is negative.
type Budget int

// Assigner decides whether demands can be served. It keeps its memory between calls, so that a call does not allocate.
// The zero Assigner is ready for use.
//
// An Assigner is for one goroutine.
type Assigner struct {
	// Names have the groups of cards.
	Names *index.Names

	cells    []cell  // parents before children
	cellAt   []int32 // queue × dimension: 1 + the position of the cell, 0 for no cell
	open     []openDemand
	options  []option
	uses     []use
	sides    []int32 // the cells of groups
	entered  []int32 // the cells that have a node in the network
	residual network

	limit int  // the number of arcs that the search of a component may visit
	cut   bool // the search ended at its limit
}

// openDemand is a demand that is not settled.
type openDemand struct {
	size, pods float64 // pods: the number that is not placed
	from, to   int32   // its options are options[from:to]
	component  int32   // the representative cell of its component
	arc        int32   // from the source
	affected   bool    // it is asked about, or depends on a demand that is
}

// option is one card of a demand.
type option struct {
	cell     int32   // the lowest cell on the path, none if no cell is tight
	arc      int32   // from the demand's node to the cell's
	mostPods float64 // the most pods of the demand that may take this card

	from, to int32 // uses[from:to]: the groups that a card takes from
}

// Feasible answers whether the asked demands can be served at the same time as the given demands. It reads the accounts
// of ix and changes nothing but the budget.
//
// Feasible assumes that the given demands have an assignment among themselves. It does not check given demands that the
// asked demands do not affect.
//
// The answer is exact for quantities below 2^33, or Unknown. It is Unknown only if a search among mixed sizes reaches
// its limit. The limit is half of the remaining budget, so that one component leaves something for the others.
func (a *Assigner) Feasible(ix *index.Index, given, asked []Demand, budget *Budget) Answer {
	a.gather(ix, given, asked)
	if !a.settleAll() {
		return No
	}
	a.groupByComponent()

	answer := Yes
	for rest := a.open; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].component == rest[0].component {
			n++
		}
		component := rest[:n]
		rest = rest[n:]

		if !slices.ContainsFunc(component, a.isAffected) {
			continue
		}
		switch a.serve(component, budget) {
		case No:
			return No
		case Unknown:
			answer = Unknown
		}
	}

	return answer
}

// gather opens every demand, with one option for each of its cards.
func (a *Assigner) gather(ix *index.Index, given, asked []Demand) {
	for i := range a.cells {
		a.cellAt[a.cells[i].slot] = 0
	}
	if n := ix.Len() * ix.Dims(); n > len(a.cellAt) {
		a.cellAt = make([]int32, n)
	}
	a.cells = a.cells[:0]
	a.open = a.open[:0]
	a.options = a.options[:0]
	a.uses = a.uses[:0]
	a.sides = a.sides[:0]

	for _, d := range given {
		a.add(ix, d, false)
	}
	for _, d := range asked {
		a.add(ix, d, true)
	}
}

// add opens a demand.
func (a *Assigner) add(ix *index.Index, d Demand, asked bool) {
	from := int32(len(a.options))
	for _, card := range d.Cards {
		o := option{cell: a.cell(ix, d.Queue, card), from: int32(len(a.uses))}
		a.addUses(ix, d.Queue, card)
		o.to = int32(len(a.uses))
		a.options = append(a.options, o)
	}

	a.open = append(a.open, openDemand{
		size:     d.Size,
		pods:     float64(d.Count),
		from:     from,
		to:       int32(len(a.options)),
		affected: asked,
	})
}

// isAffected reports whether a demand is asked about, or an affected demand has taken room from one of its options.
func (a *Assigner) isAffected(d openDemand) bool {
	if d.affected {
		return true
	}

	sideAffected := func(u use) bool { return a.cells[u.side].affected }
	return slices.ContainsFunc(a.options[d.from:d.to], func(o option) bool {
		return a.pathAffected(o.cell) || slices.ContainsFunc(a.usesOf(o), sideAffected)
	})
}

// settleAll settles demands without a choice, as long as that leaves fewer options for others. It returns false if an
// affected demand cannot be served.
func (a *Assigner) settleAll() bool {
	options := len(a.options)
	for range settlePasses {
		a.skipLooseCells()
		a.skipLooseSides()

		left, ok := a.settle()
		if !ok {
			return false
		}
		if left == 0 || left == options {
			break
		}
		options = left
	}

	return true
}

// settle drops the options without room for one pod. Then it settles the demands without a choice:
//
//   - A demand with an option without a tight cell can always be served.
//   - A demand with one option is placed there.
//
// settle returns the number of options left. It returns false if an affected demand cannot be served.
func (a *Assigner) settle() (left int, ok bool) {
	still := a.open[:0]
	for _, d := range a.open {
		d.affected = a.isAffected(d)

		unrestricted := false
		to := d.from
		for _, o := range a.options[d.from:d.to] {
			unrestricted = unrestricted || a.unrestricted(o)
			if a.roomFor(o) >= d.size {
				a.options[to] = o
				to++
			}
		}
		d.to = to

		choices := int(to - d.from)
		switch {
		case unrestricted:
		case choices > 1:
			still = append(still, d)
			left += choices
		case !a.placeOnly(d):
			return 0, false
		}
	}

	a.open = still
	return left, true
}

// placeOnly places a demand with at most one option. It returns false if the demand is affected and cannot be served.
func (a *Assigner) placeOnly(d openDemand) bool {
	if d.from == d.to {
		return !d.affected
	}

	only := a.options[d.from]
	a.take(only, d.pods*d.size)
	if !d.affected {
		return true
	}

	a.markAffected(only)
	return a.roomFor(only) >= 0
}
