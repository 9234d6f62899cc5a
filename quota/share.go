package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// ShareRule computes the share of a queue, a ratio without unit, from allocated and
// deserved.
type ShareRule func(allocated, deserved fastres.Vector) float64

// Share computes how much of its deserved a queue uses. Volcano serves the queue with the
// smallest share first.
//
//	share = max(allocated / deserved)   over the dimensions of deserved
//
// A queue without deserved is best effort: its share is 1, so it comes after every queue
// that uses less than its deserved.
//
// Upstream: capacity/capacity.go, updateQueueAttrShare.
func Share(allocated, deserved fastres.Vector) float64 {
	if deserved.IsEmpty() {
		return 1
	}
	return fastres.MaxRatio(allocated, deserved)
}

// WeightedShare is Share under the name proportion, where the share of a queue without
// deserved is 0.
//
// Upstream: proportion/proportion.go, updateQueueAttrShare.
func WeightedShare(allocated, deserved fastres.Vector) float64 {
	return fastres.MaxRatio(allocated, deserved)
}

// RaiseShare computes the share of q and of all its ancestors again, after a request was charged.
// No other ratio has changed:
//
//	share = max(share, allocated / deserved)   over the dimensions of the request
//
// DIVERGES: upstream refreshes the share of q alone. Its ancestors keep the share of the
// session's start, and so does the order of queues in different subtrees.
func RaiseShare(ix *index.Index, q index.Queue, request fastres.Vector, rule ShareRule) {
	for _, p := range ix.Path(q) {
		allocated, deserved := ix.Allocated(p), ix.Deserved.Row(p)
		now := fastres.MaxRatioWith(allocated, 0, request, deserved)
		if now <= ix.Share(p) {
			continue
		}
		if deserved.IsEmpty() { // but for pods
			now = rule(allocated, deserved)
		}
		ix.SetShare(p, now)
	}
}

// LowerShare computes the share of q and of all its ancestors again, after a refund. A share has
// changed only where a dimension of the refund had the greatest ratio. That comparison
// may round, so it errs to the side of computing the share from all dimensions.
//
// DIVERGES: as RaiseShare.
func LowerShare(ix *index.Index, q index.Queue, refund fastres.Vector, rule ShareRule) {
	const rounding = 1 + 1e-9
	for _, p := range ix.Path(q) {
		allocated, deserved := ix.Allocated(p), ix.Deserved.Row(p)
		if rounding*fastres.MaxRatioWith(allocated, 1, refund, deserved) >= ix.Share(p) {
			ix.SetShare(p, rule(allocated, deserved))
		}
	}
}
