package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Allocatable answers whether a task may be placed now:
//
//	allocated + request ≤ limit
//
// in every dimension that is requested, pods aside, for the queue and all its
// ancestors. limit is realCapability for capacity, deserved for proportion.
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
