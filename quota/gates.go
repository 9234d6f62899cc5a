package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// A pod with a queue allocation gate waits until the quotas allow it. Then its gate is removed, and
// it needs a node, which an autoscaler may have to add. The request of the pod is reserved until it
// has the node: no other pod may take the room meanwhile, and the gate of no other pod is removed for
// the same room.
//
// DIVERGES: upstream keeps reservations of the queue itself only. Several queues below one
// bound then have more gates removed than the bound has room for. Here reserved rolls up, as
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

// Unreserve subtracts the request of a pod from reserved of its queue, and of all ancestors.
// request equals the request that was reserved.
//
// Upstream: capacity/capacity.go, removeTaskFromReservedCache.
func Unreserve(ix *index.Index, q index.Queue, request fastres.Vector) {
	for _, p := range ix.Path(q) {
		ix.Reserved.Row(p).Sub(request)
	}
}

// FitsBeside decides whether a queue has room for a quantity in one dimension next to all
// reservations:
//
//	allocated + reserved + quantity ≤ limit
//
// for the queue and all its ancestors. quantity does not include the reservation of the pod
// itself. A refusal has the reason Reserved and the lowest queue with an exceeded limit. Ask
// Allocatable or CardFits first: for a pod with a reservation for all of its request, their answer
// is final.
//
// DIVERGES: upstream also asks a pod with a reservation, about the reservations of all others. If
// these exceed the limit together, none of the pods gets a node again. This happens if the limit was
// lowered, or if pods have the annotation and never had the gate.
//
// Upstream: capacity/capacity.go, queueAllocatableWithReserved.
func FitsBeside(ix *index.Index, a View, limit *index.Rows, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	if ix.Reserved.Len() == 0 || quantity <= 0 {
		return Verdict{Admitted, q}
	}

	for _, p := range ix.Path(q) {
		if BesideNumbers(ix, a, limit, p, d, quantity).Exceeded() {
			return Verdict{Reserved, p}
		}
	}

	return Verdict{Admitted, q}
}

// BesideNumbers returns the two sides that FitsBeside compares in one queue. Some pod has a reservation.
func BesideNumbers(ix *index.Index, a View, limit *index.Rows, q index.Queue, d fastres.Dim, quantity float64) Numbers {
	return Numbers{a.AllocatedAt(q, d) + ix.Reserved.At(q, d) + quantity, limit.At(q, d)}
}
