package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Preemptive decides whether a queue may take resources from other queues for a task:
//
//	allocated + request ≤ bound      in every requested dimension, and
//	allocated + request ≤ deserved   in at least one requested dimension
//
// bound is that of allocation, as in Allocatable. Pods do not count. Only the queue's own bounds count: the victims may free the
// resources that an ancestor lacks. The first comparison has no tolerance. The second
// has the tolerance fastres.MinResource.
//
// A refusal has the reason OverQuota or OverDeserved, and the queue itself.
//
// Upstream: capacity/capacity.go, AddPreemptiveFn.
//
// DIVERGES: upstream does not compare with the capability. It evicts pods for a task
// that is not allowed to run afterwards (upstream issue 5048).
func Preemptive(ix *index.Index, bound *index.Rows, q index.Queue, request fastres.Vector) Verdict {
	allocated := ix.Allocated(q)
	switch {
	case !fastres.Fits(allocated, request, bound.Row(q)):
		return Verdict{OverQuota, q}
	case !fastres.FitsSomewhere(allocated, request, ix.Deserved.Row(q)):
		return Verdict{OverDeserved, q}
	}
	return Verdict{Admitted, q}
}
