package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Accounts gives the rules allocated of every queue: of the session (index.Index), or as if some tasks
// had ended or had a node (index.Overlay). Each method is documented there.
type Accounts interface {
	index.Accounts
	Changed() []index.Queue
	Mutable(q index.Queue) fastres.Vector
	SetDeviceClaim(q index.Queue, name string, held index.Held)
}

// Charge adds the request of a task that gets a node to allocated of its queue, and of
// all ancestors:
//
//	allocated = allocated + request
//
// Upstream: AllocateFunc and AddSimulateAddTaskFn in OnSessionOpen.
func Charge(a Accounts, q index.Queue, request fastres.Vector) {
	for _, p := range a.Path(q) {
		a.Mutable(p).Add(request)
	}
}

// Refund subtracts the request of a task that leaves its node from allocated of its
// queue, and of all ancestors:
//
//	refund    = min(request, allocated of the queue itself)
//	allocated = allocated − refund
//
// The refund of a group of cards is the weighted sum of the refunds of its cards. The account of a group follows from
// its cards in the same way.
//
// The same refund counts at every level, so the account of a parent stays the sum of its children. Refund returns it:
// request itself, or scratch, which has the length of request and is overwritten.
//
// Upstream: DeallocateFunc and AddSimulateRemoveTaskFn in OnSessionOpen.
//
// DIVERGES: upstream panics if a refund exceeds the charge.
func Refund(a Accounts, q index.Queue, request, scratch fastres.Vector) (refund fastres.Vector) {
	switch {
	case a.IsLeaf(q) && request.Within(a.Allocated(q)):
		scratch = request
	case a.IsLeaf(q):
		scratch.SetLesser(request, a.Allocated(q))
		a.Regroup(scratch)
	default:
		// A job in an inner queue: the queue's own part is allocated without its children.
		scratch.CopyFrom(a.Allocated(q))
		for _, child := range a.Children(q) {
			scratch.Sub(a.Allocated(child))
		}
		scratch.SetLesser(request, scratch)
		a.Regroup(scratch)
	}

	for _, p := range a.Path(q) {
		a.Mutable(p).Sub(scratch)
	}

	return scratch
}
