package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Preemptive answers whether a queue may take from others for a task: the
// queue's own realCapability has room for it, and
//
//	allocated + request ≤ deserved
//
// in at least one requested dimension, pods aside. Only the queue's own bound
// counts: room under an ancestor's may well be what the victims make.
//
// Upstream: capacity/capacity.go, AddPreemptiveFn.
//
// DIVERGES: upstream does not look at the capability, and evicts for tasks that
// may not run (upstream issue 5048).
func Preemptive(ix *index.Index, q index.Queue, request fastres.Vector) Verdict {
	allocated := ix.Allocated(q)
	switch {
	case !fastres.Fits(allocated, request, ix.RealCapability.Row(q)):
		return Verdict{OverQuota, q}
	case !fastres.FitsSomewhere(allocated, request, ix.Deserved.Row(q)):
		return Verdict{OverDeserved, q}
	}
	return Verdict{Admitted, q}
}
