package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Limits are the bounds of the cluster, from which those of the queues follow.
// Quantities have the units of package fastres.
type Limits struct {
	// Total has the resources of the cluster, without the groups of cards that only bound. A root without deserved
	// deserves Total.
	Total fastres.Vector
	// Bound is realCapability of the root: the resources of the cluster, its own capability, or
	// fastres.MaxQuantity.
	Bound fastres.Vector
	// OpenRoot selects the rules of Volcano v1.14.2 and later for deserved in a tree.
	OpenRoot bool
	// ZeroLeaf selects what a cpu or memory capability that a leaf queue does not
	// set means: 0 if true, unlimited or the parent's value if false.
	ZeroLeaf bool
}

// TreeBounds computes how much each queue of a tree can use at most. It sets
// realCapability, and completes capability, guarantee and deserved:
//
//	guarantee      = max(guarantee, min(Σ guarantee of the children, capability as configured))
//	capability     = as configured; the parent's in each dimension that is not set
//	realCapability = min(capability, max(0, parent's realCapability
//	                 − Σ guarantee of the parent's children) + guarantee)
//
// Resources that are guaranteed to one child are not available to its siblings. A queue passes
// upwards no more than its own capability lets its children have: two teams with a guarantee of 4
// each, below a department with a capability of 4, keep 4 from its siblings. The capability of the
// root bounds no guarantee. The root's realCapability is l.Bound. If the root sets no capability, it is l.Bound too. A
// queue that does not reach the root keeps an empty realCapability at the top of its
// subtree.
//
// If the root sets no deserved, that is l.Total. deserved of the other queues stays as
// configured. With l.OpenRoot:
//
//	deserved = max(deserved, guarantee)
//	deserved, guarantee of the root = Σ of the children's
//
// Upstream: capacity/capacity.go, buildHierarchicalQueueAttrs and
// checkHierarchicalQueue.
//
// DIVERGES: upstream uses a guarantee as configured. If it is below the sum of the
// children's guarantees, other queues can use what the children are guaranteed.
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
		p := ix.Parent(q)
		if p == index.None {
			continue // the root, or the top of a broken subtree
		}
		capability, zero := ix.Capability.Row(q), l.ZeroLeaf && ix.IsLeaf(q)
		cpu, memory := capability.Get(fastres.CPU), capability.Get(fastres.Memory)
		capability.InheritFrom(ix.Capability.Row(p))
		if zero {
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

// propagateGuarantees raises every guarantee to the sum of the children's, as far as the queue's
// own capability has room for it, and sets ChildGuarantees to these sums.
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

// FlatBounds computes how much each queue can use at most in flat mode. It sets
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
	guaranteed, free := fastres.NewVector(ix.Dims()), fastres.NewVector(ix.Dims())
	for q := range index.Queue(ix.Len()) {
		guaranteed.Add(ix.Guarantee.Row(q))
	}
	free.SetExceeded(l.Bound, guaranteed)
	for q := range index.Queue(ix.Len()) {
		capability, bound := ix.Capability.Row(q), ix.RealCapability.Row(q)
		bound.CopyFrom(free)
		bound.Add(ix.Guarantee.Row(q))
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

// liftUnset makes cpu and memory unlimited where they are not set.
func liftUnset(capability fastres.Vector) {
	for d := fastres.CPU; d <= fastres.Memory; d++ {
		if capability.Get(d) <= 0 {
			capability.Set(d, fastres.MaxQuantity)
		}
	}
}
