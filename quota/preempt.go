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
// allocated is taken from a, which is the future in a session: resources of terminating pods need not be
// taken. bound is the bound of allocation, as in Allocatable. Pods do not count. Only the queue's own
// bound counts: the victims may free the resources that an ancestor lacks. The second condition may
// hold for an ancestor instead, up to levels above the queue. The root does not count. The first
// comparison has no tolerance. The second comparison has the tolerance fastres.MinResource.
//
// A refusal has the reason OverQuota or OverDeserved, and the queue itself.
//
// Upstream: capacity/capacity.go, AddPreemptiveFn. levels is ancestorReclaimLevel of v1.15,
// which is reclaimCompares: ancestors=N.
//
// DIVERGES: before v1.15, upstream does not compare with the capability. It evicts pods
// for a task that is not allowed to run afterwards (upstream issue 5048).
func Preemptive(ix *index.Index, a View, bound *index.Rows, q index.Queue, request fastres.Vector, levels int) Verdict {
	if !fastres.Fits(a.Allocated(q), request, bound.Row(q)) {
		return Verdict{OverQuota, q}
	}

	for _, p := range levelsFrom(ix, q, levels) {
		if fastres.FitsSomewhere(a.Allocated(p), request, ix.Deserved.Row(p)) {
			return Verdict{Admitted, q}
		}
	}

	return Verdict{OverDeserved, q}
}

// levelsFrom returns q and its ancestors up to levels above it, without the root.
func levelsFrom(ix *index.Index, q index.Queue, levels int) []index.Queue {
	path := ix.Path(q)
	below := max(1, len(path)-1) // the last one is the root
	return path[:min(below, levels+1)]
}
