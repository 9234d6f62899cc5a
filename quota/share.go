package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// ShareRule computes the share of a queue, a ratio without unit, from allocated and
// deserved.
type ShareRule func(allocated, deserved fastres.Vector) float64

// Share computes the part of its deserved that a queue uses. Volcano serves the queue with the
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

// WeightedShare is Share under the name proportion. There, the share of a queue without deserved
// is 0.
//
// Upstream: proportion/proportion.go, updateQueueAttrShare.
func WeightedShare(allocated, deserved fastres.Vector) float64 {
	return fastres.MaxRatio(allocated, deserved)
}

// RefreshShare computes the share of q and of all its ancestors again, after allocated
// has changed.
//
// DIVERGES: upstream refreshes the share of q alone. Its ancestors keep their share from the
// start of the session. So does the order of queues in different subtrees.
func RefreshShare(ix *index.Index, q index.Queue, rule ShareRule) {
	for _, p := range ix.Path(q) {
		ix.SetShare(p, rule(ix.Allocated(p), ix.Deserved.Row(p)))
	}
}
