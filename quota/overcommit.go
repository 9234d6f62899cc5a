package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Overcommits reports whether the overcommit factor of q bounds the admission of jobs in a
// dimension.
func Overcommits(ix *index.Index, q index.Queue, d fastres.Dim) bool {
	return ix.AdmissionBounds(q).At(q, d) < ix.Bounds(q).At(q, d)
}

// BoundAdmission sets the bounds of admission for queues with an overcommit factor (the annotation
// volcano.sh/overcommit-factor):
//
//	bound = min(realCapability, max(deserved, guarantee) × factor)
//
// in the dimensions that deserved names, cards included. cpu and memory below
// fastres.MinResource are not named. In all other dimensions, and for queues without a factor,
// the bound is realCapability. Allocation is bounded by realCapability alone: jobs that exceed a
// lower bound stay admitted, and pods of admitted jobs may borrow.
//
// factor returns the factor of a queue in thousandths, 0 for none. If no queue has a factor, the
// index keeps no separate bounds of admission. Call BoundAdmission when deserved is final.
//
// # Example
//
// A queue may use 16 cards, deserves 4, and has the factor 1.5. Jobs are admitted up to
// 6 cards. The factor 8 would give 32, but realCapability bounds them to 16.
//
// Upstream: none. The design of queue-scoped overcommit in Volcano's issues states the formula.
func BoundAdmission(ix *index.Index, factor func(index.Queue) int64) {
	some := false
	for q := range index.Queue(ix.Len()) {
		milli := factor(q)
		if milli == 0 {
			continue
		}
		if !some {
			some = true
			ix.Admission.CopyFrom(&ix.RealCapability)
			ix.LiftedAdmission.CopyFrom(&ix.Lifted)
		}

		deserved := ix.Deserved.Row(q)
		guarantee := ix.Guarantee.Row(q)
		for d := range deserved.Present() {
			if d <= fastres.Memory && deserved.Get(d) < fastres.MinResource {
				continue
			}

			most := max(deserved.Get(d), guarantee.Get(d)) * float64(milli) / 1000
			for _, rows := range []*index.Rows{&ix.Admission, &ix.LiftedAdmission} {
				if rows.Len() > 0 {
					rows.Row(q).Set(d, min(rows.At(q, d), most))
				}
			}
		}
	}
}
