package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Preemption has the accounts that decide whether a queue may take resources from other queues for a task.
type Preemption struct {
	Index *index.Index
	// Allocated is the future in a session: resources of terminating pods need not be taken.
	Allocated View
	// Bound is the bound of allocation, as in Allocatable.
	Bound *index.Rows
	// Levels is how far above a queue the deserved of an ancestor may count in place of its own. The root does not
	// count. It is ancestorReclaimLevel of v1.15, which is reclaimCompares: ancestors=N.
	Levels int
}

// Preemptive decides whether a queue may take resources from other queues for a task:
//
//	allocated + request ≤ bound      in every requested dimension, and
//	allocated + request ≤ deserved   in at least one requested dimension
//
// Pods do not count. Only the queue's own bound counts: the victims may free the resources that an ancestor lacks. The
// second condition may hold for an ancestor instead, up to Levels above the queue. The first comparison has no
// tolerance. The second comparison has the tolerance fastres.MinResource.
//
// A refusal has the reason OverQuota or OverDeserved, and the queue itself.
//
// Upstream: capacity/capacity.go, AddPreemptiveFn.
//
// DIVERGES: before v1.15, upstream does not compare with the capability. It evicts pods
// for a task that is not allowed to run afterwards (upstream issue 5048).
func (p Preemption) Preemptive(q index.Queue, request fastres.Vector) Verdict {
	if !fastres.Fits(p.Allocated.Allocated(q), request, p.Bound.Row(q)) {
		return Verdict{OverQuota, q}
	}

	for _, at := range levelsFrom(p.Index, q, p.Levels) {
		if fastres.FitsSomewhere(p.Allocated.Allocated(at), request, p.Index.Deserved.Row(at)) {
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
