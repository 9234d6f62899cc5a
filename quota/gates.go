package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// A pod with a queue allocation gate waits until the quotas allow it. Then its gate is
// removed, and it needs a node, for which an autoscaler may have to add one. What the pod
// requests is reserved until it has the node: no other pod may take the room meanwhile, and
// the gate of no other pod is removed for the same room.
//
// DIVERGES: upstream keeps reservations of the queue itself only. Several queues below one
// bound then have more gates removed than it has room for. Here reserved rolls up, as
// allocated does.

// Reserve adds the request of a pod to reserved of its queue, and of all ancestors:
//
//	reserved = reserved + request
//
// Upstream: capacity/capacity.go, addTaskToReservedCache.
func Reserve(ix *index.Index, q index.Queue, request fastres.Vector) {
	if ix.Reserved.Len() == 0 {
		ix.Reserved.Reset(ix.Len(), ix.Dims())
	}
	for _, p := range ix.Path(q) {
		ix.Reserved.Row(p).Add(request)
	}
}

// Release subtracts the request of a pod from reserved of its queue, and of all ancestors.
// request is what was reserved for it.
//
// Upstream: capacity/capacity.go, removeTaskFromReservedCache.
func Release(ix *index.Index, q index.Queue, request fastres.Vector) {
	for _, p := range ix.Path(q) {
		ix.Reserved.Row(p).Sub(request)
	}
}

// AllocatableBeside decides whether the quota of a queue allows one more pod beside those
// with a reservation:
//
//	allocated + reserved + request ≤ limit
//
// in every dimension that the pod requests, except pods, for the queue and all its ancestors.
// A refusal has the reason Reserved and the lowest queue whose limit is exceeded. Ask
// Allocatable first; for a pod with a reservation its answer is the final one.
//
// DIVERGES: upstream asks a pod with a reservation as well, about the reservations of all
// others. Where these exceed the limit together, because it was lowered, or because pods have
// the annotation and never had the gate, none of them gets a node again.
//
// Upstream: capacity/capacity.go, queueAllocatableWithReserved.
func AllocatableBeside(a Accounts, limit, reserved *index.Rows, q index.Queue, request fastres.Vector) Verdict {
	for _, p := range a.Path(q) {
		if !fastres.FitsBeside(request, a.Allocated(p), reserved.Row(p), limit.Row(p)) {
			return Verdict{Reserved, p}
		}
	}
	return Verdict{Admitted, q}
}

// CardFitsBeside is AllocatableBeside for a quantity of one card, in milli-cards. quantity
// is without what is reserved of the card for the pod itself.
func CardFitsBeside(a Accounts, bound, reserved *index.Rows, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	for _, p := range a.Path(q) {
		if a.Allocated(p).Get(d)+reserved.Row(p).Get(d)+quantity > bound.Row(p).Get(d) {
			return Verdict{Reserved, p}
		}
	}
	return Verdict{Admitted, q}
}
