package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Accounts is allocated of every queue: the real one (index.Index) or a what-if
// (index.Overlay).
type Accounts interface {
	Path(q index.Queue) []index.Queue
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
// exceeds q's own account is dropped at every level alike, so that a parent
// stays the sum of its children. scratch is overwritten.
//
// Upstream: DeallocateFunc and AddSimulateRemoveTaskFn in OnSessionOpen.
//
// DIVERGES: upstream panics on a refund that exceeds its charge.
func Refund(a Accounts, q index.Queue, request, scratch fastres.Vector) {
	scratch.SetLesser(request, a.Allocated(q))
	for _, p := range a.Path(q) {
		a.Mutable(p).Sub(scratch)
	}
}
