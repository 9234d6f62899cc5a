package reserve

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// roomBudget is the number of arcs that one question of a room may visit.
const roomBudget assign.Budget = 1 << 12

// room is a queue without jobs. Its bound of a card is the amount that is left for some demands. The zero room is ready
// for open.
type room struct {
	ix       index.Index
	tree     *index.Tree
	assigner assign.Assigner
}

// open sets the bounds of the cards of demands, and of their groups. left returns the milli-cards that are left of a
// card or a group.
func (r *room) open(dims int, demands []assign.Demand, left func(fastres.Dim) float64) {
	if r.tree == nil {
		r.tree = index.BuildTree([]index.Node{{Name: "room"}}, "")
	}

	r.ix.Reset(r.tree, dims)
	bound := r.bound()
	set := func(d fastres.Dim) {
		if bound.Get(d) == 0 { // left may look at all nodes
			bound.Set(d, max(0, left(d)))
		}
	}

	for _, demand := range demands {
		for _, d := range demand.Cards {
			set(d)
			for _, share := range r.assigner.Names.Groups(d) {
				set(share.Group)
			}
		}
	}
}

// bound returns the bounds of the room, for writing.
func (r *room) bound() fastres.Vector { return r.ix.RealCapability.Row(0) }

// serves answers whether the room serves demands.
func (r *room) serves(demands []assign.Demand) assign.Answer {
	budget := roomBudget
	return r.assigner.Feasible(&r.ix, nil, demands, &budget)
}
