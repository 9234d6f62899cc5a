package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Accounts is allocated of every queue: the real one (index.Index) or a what-if
// (index.Overlay).
type Accounts interface {
	Path(q index.Queue) []index.Queue
	IsLeaf(q index.Queue) bool
	Children(q index.Queue) []index.Queue
	Allocated(q index.Queue) fastres.Vector
	Mutable(q index.Queue) fastres.Vector
}

// Charge adds request to allocated of q and of all its ancestors.
//
// Upstream: AllocateFunc and AddSimulateAddTaskFn in OnSessionOpen.
func Charge(a Accounts, q index.Queue, request fastres.Vector) {
	for _, p := range a.Path(q) {
		a.Mutable(p).Add(request)
	}
}

// Refund subtracts request from allocated of q and of all its ancestors. What
// exceeds what q itself was charged is dropped at every level alike, so that a
// parent stays the sum of its children. scratch is overwritten.
//
// Upstream: DeallocateFunc and AddSimulateRemoveTaskFn in OnSessionOpen.
//
// DIVERGES: upstream panics on a refund that exceeds its charge.
func Refund(a Accounts, q index.Queue, request, scratch fastres.Vector) {
	if a.IsLeaf(q) {
		scratch.SetLesser(request, a.Allocated(q))
	} else { // only a job that should not be there: its own is what the children do not have
		scratch.CopyFrom(a.Allocated(q))
		for _, child := range a.Children(q) {
			scratch.Sub(a.Allocated(child))
		}
		scratch.SetLesser(request, scratch)
	}
	for _, p := range a.Path(q) {
		a.Mutable(p).Sub(scratch)
	}
}
