package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// ShareRule is the share of a queue, from allocated and deserved.
type ShareRule func(allocated, deserved fastres.Vector) float64

// Share is the greatest allocated/deserved over deserved's dimensions. A queue
// without deserved is best effort: its share is 1 whatever it uses, so that it
// comes after every queue that has not got what it deserves.
//
// Upstream: capacity/capacity.go, updateQueueAttrShare.
func Share(allocated, deserved fastres.Vector) float64 {
	if deserved.IsEmpty() {
		return 1
	}
	return fastres.MaxRatio(allocated, deserved)
}

// WeightedShare is Share without best effort: the share of a queue without
// deserved is 0.
//
// Upstream: proportion/proportion.go, updateQueueAttrShare.
func WeightedShare(allocated, deserved fastres.Vector) float64 {
	return fastres.MaxRatio(allocated, deserved)
}

// RefreshShare sets the share of q and of all its ancestors.
//
// DIVERGES: upstream refreshes q's alone, so that the order of queues in
// different subtrees is that of the start of the session.
func RefreshShare(ix *index.Index, q index.Queue, rule ShareRule) {
	for _, p := range ix.Path(q) {
		ix.SetShare(p, rule(ix.Allocated(p), ix.Deserved.Row(p)))
	}
}
