package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// LiftTotal removes bounds of the resources of cards for the queues in which cards count. It removes the bounds that
// come only from the total of the cluster. Such a bound adds up cards of all models: a job that waits for one model
// would keep the idle cards of another model from everybody. For a queue in which cards count, and each queue p of
// its path:
//
//	bound(p) = no bound         if neither p nor an ancestor sets a capability, and no other queue has a guarantee
//	                            there
//	           realCapability   otherwise
//
// The quotas of cards, the guarantees of cards and the nodes bound these jobs. Jobs of other queues, and their
// reservations, are compared with realCapability as before. A root that only the total bounds has no bound.
//
// dims are the resources of cards. counted reports whether cards count in a queue. sets reports whether a queue itself
// sets a capability. Call LiftTotal after TreeBounds or FlatBounds.
//
// # Example
//
// The nodes have 8 A and 8 B, which are 16 nvidia.com/gpu. Queue a has a quota of 16 A, and queue b one of 8 B.
//
//	a has  a waits for  job of b  total  with LiftTotal
//	8 A    8 A          8 B       24     8 B ≤ 8 B: admitted; the root bounds no nvidia.com/gpu
//
// Upstream: none, because cards are no dimensions there.
//
// DIVERGES: upstream compares every resource at every level. Here, this applies to queues in which cards do not count.
func LiftTotal(ix *index.Index, dims []fastres.Dim, counted func(index.Queue) bool,
	sets func(index.Queue, fastres.Dim) bool) {
	lifts := make([]bool, ix.Len())
	for q := range lifts {
		lifts[q] = counted(index.Queue(q))
	}
	if len(dims) == 0 || !slices.Contains(lifts, true) {
		return
	}

	ix.Lift(lifts)
	for _, d := range dims {
		guaranteed := 0.0 // to all flat queues
		for q := range index.Queue(ix.Len()) {
			guaranteed += ix.Guarantee.At(q, d)
		}

		// Parents have lower numbers than their children.
		bounded := make([]bool, ix.Len())
		for q := range index.Queue(ix.Len()) {
			p := ix.Parent(q)
			switch {
			case ix.Rooted() && q == ix.Root():
				bounded[q] = false
			case p != index.None:
				above := bounded[p] || p == ix.Root() && sets(p, d)
				bounded[q] = above || sets(q, d) || ix.ChildGuarantees.At(p, d) > ix.Guarantee.At(q, d)
			default:
				bounded[q] = ix.Rooted() || sets(q, d) || guaranteed > ix.Guarantee.At(q, d)
			}

			if !bounded[q] {
				ix.Lifted.Row(q).Set(d, fastres.MaxQuantity)
			}
		}
	}
}
