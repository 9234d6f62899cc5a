package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Limits are the bounds of the cluster. The bounds of the queues follow from them. Quantities have the units of package
// fastres.
type Limits struct {
	// Total has the resources of the cluster, without the groups of cards that only bound. It is deserved of a root
	// that sets none.
	Total fastres.Vector

	// Bound is realCapability of the root: the resources of the cluster, its own capability, or
	// fastres.MaxQuantity.
	Bound fastres.Vector

	// OpenRoot selects the rules of Volcano v1.14.2 and later for deserved in a tree.
	OpenRoot bool

	// ZeroLeaf selects the meaning of a cpu or memory capability that a leaf queue does not set: 0 if true, unlimited
	// or the parent's value if false.
	ZeroLeaf bool
}

// TreeBounds computes the bounds of the queues of a tree. It sets
// realCapability, and completes capability, guarantee and deserved:
//
//	guarantee      = max(guarantee, min(Σ guarantee of the children, capability as configured))
//	capability     = as configured; the parent's in each dimension that is not set
//	realCapability = min(capability, max(0, parent's realCapability
//	                 − Σ guarantee of the parent's children) + guarantee)
//
// Resources that are guaranteed to one child are not available to its siblings. A queue passes upwards no more than its
// own capability. Example: two teams have a guarantee of 4 each, below a department with a capability of 4. They keep 4
// from the siblings of the department. The capability of the root bounds no guarantee.
//
// realCapability of the root is l.Bound. If the root sets no capability, its capability is l.Bound too. If a queue does
// not reach the root, realCapability at the top of its subtree stays empty.
//
// If the root sets no deserved, it gets l.Total. deserved of the other queues stays as configured. With l.OpenRoot:
//
//	deserved = max(deserved, guarantee)
//	deserved, guarantee of the root = Σ of the children's
//
// Upstream: capacity/capacity.go, buildHierarchicalQueueAttrs and
// checkHierarchicalQueue.
//
// DIVERGES: upstream uses a guarantee as configured. If it is below the sum of the children's guarantees, other queues
// can use resources that are guaranteed to the children.
func TreeBounds(ix *index.Index, l Limits) {
	propagateGuarantees(ix)

	root := ix.Root()
	if ix.Capability.Row(root).IsEmpty() {
		ix.Capability.Row(root).CopyFrom(l.Bound)
	}
	if ix.Deserved.Row(root).IsEmpty() {
		ix.Deserved.Row(root).CopyFrom(l.Total)
	}

	ix.RealCapability.Row(root).CopyFrom(l.Bound)
	if l.OpenRoot {
		openRoot(ix)
	}

	for q := range index.Queue(ix.Len()) {
		// The root, and the top of a broken subtree, have no parent.
		p := ix.Parent(q)
		if p == index.None {
			continue
		}

		capability := ix.Capability.Row(q)
		cpu := capability.Get(fastres.CPU)
		memory := capability.Get(fastres.Memory)
		capability.InheritFrom(ix.Capability.Row(p))
		if l.ZeroLeaf && ix.IsLeaf(q) {
			capability.Set(fastres.CPU, cpu)
			capability.Set(fastres.Memory, memory)
		}

		bound := ix.RealCapability.Row(q)
		bound.SetExceeded(ix.RealCapability.Row(p), ix.ChildGuarantees.Row(p))
		bound.Add(ix.Guarantee.Row(q))
		bound.CapTo(capability)
	}
}

// openRoot raises deserved of every queue to its guarantee, and sets deserved and guarantee
// of the root to the sums of its children's.
func openRoot(ix *index.Index) {
	root := ix.Root()
	ix.Deserved.Row(root).Reset()
	ix.Guarantee.Row(root).CopyFrom(ix.ChildGuarantees.Row(root))
	for q := range index.Queue(ix.Len()) {
		if q == root || ix.Broken(q) != nil {
			continue
		}

		ix.Deserved.Row(q).RaiseTo(ix.Guarantee.Row(q))
		if ix.Parent(q) == root {
			ix.Deserved.Row(root).Add(ix.Deserved.Row(q))
		}
	}
}

// propagateGuarantees sets ChildGuarantees to the sum of the children's guarantees. It raises every guarantee to this
// sum, as far as the queue's own capability has room for it.
func propagateGuarantees(ix *index.Index) {
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		guarantee := ix.Guarantee.Row(q)
		ofChildren := ix.ChildGuarantees.Row(q)
		p := ix.Parent(q)

		for d := range ofChildren.Present() {
			passed := ofChildren.Get(d)
			if p != index.None && sets(ix.Capability.Row(q), d) {
				passed = min(passed, ix.Capability.At(q, d))
			}
			guarantee.Set(d, max(guarantee.Get(d), passed))
		}

		if p != index.None {
			ix.ChildGuarantees.Row(p).Add(guarantee)
		}
	}
}

// sets reports whether a capability has a value of its own in a dimension. See Vector.InheritFrom.
func sets(capability fastres.Vector, d fastres.Dim) bool {
	if d == fastres.CPU || d == fastres.Memory {
		return capability.Get(d) > 0
	}
	return capability.Has(d)
}

// FlatBounds computes the bounds of the queues in flat mode. It sets
// realCapability, and completes capability and deserved:
//
//	realCapability = min(capability, max(0, total − Σ guarantee) + guarantee)
//	deserved       = max(min(deserved, realCapability), guarantee)
//
// total is l.Bound. A cpu or memory capability that is not set is unlimited, or 0 with
// l.ZeroLeaf. set reports whether a queue has a capability at all.
//
// Upstream: capacity/capacity.go, buildQueueAttrs.
func FlatBounds(ix *index.Index, l Limits, set func(index.Queue) bool) {
	guaranteed := fastres.NewVector(ix.Dims())
	for q := range index.Queue(ix.Len()) {
		guaranteed.Add(ix.Guarantee.Row(q))
	}

	free := fastres.NewVector(ix.Dims())
	free.SetExceeded(l.Bound, guaranteed)
	for q := range index.Queue(ix.Len()) {
		bound := ix.RealCapability.Row(q)
		bound.CopyFrom(free)
		bound.Add(ix.Guarantee.Row(q))

		capability := ix.Capability.Row(q)
		if set(q) || l.ZeroLeaf {
			if !l.ZeroLeaf {
				liftUnset(capability)
			}
			bound.CapTo(capability)
		}

		deserved := ix.Deserved.Row(q)
		deserved.CapTo(bound)
		deserved.RaiseTo(ix.Guarantee.Row(q))
	}
}

// liftUnset makes cpu and memory unlimited if they are not set.
func liftUnset(capability fastres.Vector) {
	for d := fastres.CPU; d <= fastres.Memory; d++ {
		if capability.Get(d) <= 0 {
			capability.Set(d, fastres.MaxQuantity)
		}
	}
}
