package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Allocatable decides whether the quota of a queue allows one more task:
//
//	allocated + request ≤ limit
//
// in every dimension that the task requests, except pods, for the queue and all its
// ancestors. limit is realCapability under the names capacity and capacity-card, and
// deserved under the name proportion. All quantities are in the units of package
// fastres. The comparison has no tolerance.
//
// A refusal has the reason OverQuota and the lowest queue with an exceeded limit.
//
// Upstream: capacity/capacity.go, checkQueueAllocatableHierarchically;
// proportion/proportion.go, queueAllocatable.
func Allocatable(a Accounts, limit *index.Rows, q index.Queue, request fastres.Vector) Verdict {
	for _, p := range a.Path(q) {
		if !fastres.Fits(a.Allocated(p), request, limit.Row(p)) {
			return Verdict{OverQuota, p}
		}
	}

	return Verdict{Admitted, q}
}

// AllocatableNumbers returns the two sides that Allocatable compares in one queue and dimension. limit is deserved for
// Preemptive.
func AllocatableNumbers(a View, limit *index.Rows, q index.Queue, d fastres.Dim, quantity float64) Numbers {
	return Numbers{a.AllocatedAt(q, d) + quantity, limit.At(q, d)}
}
