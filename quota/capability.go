package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Limits is what the bounds of a cluster start from.
type Limits struct {
	Total fastres.Vector // what the cluster has
	Bound fastres.Vector // realCapability of the root: Total, or no bound
	// ZeroLeaf makes a cpu or memory bound that a leaf does not set 0 instead
	// of open.
	ZeroLeaf bool
}

// TreeBounds fills in realCapability, and completes capability, guarantee and
// deserved, of every queue of a tree:
//
//	guarantee      = max(guarantee, Σ guarantee of the children)
//	capability     = as set, each dimension that is not set from the parent
//	realCapability = min(capability, max(0, parent's realCapability
//	                 − Σ guarantee of the parent's children) + guarantee)
//
// The root's realCapability is the bound; its capability and deserved are the
// total where they are not set. deserved of other queues stays as it is set.
//
// Upstream: capacity/capacity.go, buildHierarchicalQueueAttrs and
// checkHierarchicalQueue.
//
// DIVERGES: upstream takes a guarantee as it is set, so that one below the sum
// of its children's lets others use what the children were promised.
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
	for q := range index.Queue(ix.Len()) {
		p := ix.Parent(q)
		if p == index.None {
			continue // the root, or the top of a broken subtree, which is bound to nothing
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

// propagateGuarantees raises every guarantee to the sum below it, and keeps the
// sums in ChildGuarantees.
func propagateGuarantees(ix *index.Index) {
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		guarantee, reserved := ix.Guarantee.Row(q), ix.ChildGuarantees.Row(q)
		if !ix.IsLeaf(q) {
			guarantee.RaiseTo(reserved)
		}
		if p := ix.Parent(q); p != index.None {
			ix.ChildGuarantees.Row(p).Add(guarantee)
		}
	}
}

// FlatBounds fills in realCapability, and completes capability and deserved, of
// queues without a tree. set says which queues have a capability at all.
//
//	realCapability = min(capability, max(0, total − Σ guarantee) + guarantee)
//	deserved       = max(min(deserved, realCapability), guarantee)
//
// Upstream: capacity/capacity.go, buildQueueAttrs.
func FlatBounds(ix *index.Index, l Limits, set func(index.Queue) bool) {
	reserved, free := fastres.NewVector(ix.Dims()), fastres.NewVector(ix.Dims())
	for q := range index.Queue(ix.Len()) {
		reserved.Add(ix.Guarantee.Row(q))
	}
	free.SetExceeded(l.Bound, reserved)
	for q := range index.Queue(ix.Len()) {
		capability, bound := ix.Capability.Row(q), ix.RealCapability.Row(q)
		bound.CopyFrom(free)
		bound.Add(ix.Guarantee.Row(q))
		if set(q) || l.ZeroLeaf {
			if !l.ZeroLeaf {
				open(capability)
			}
			bound.CapTo(capability)
		}
		deserved := ix.Deserved.Row(q)
		deserved.CapTo(bound)
		deserved.RaiseTo(ix.Guarantee.Row(q))
	}
}

// open lifts a cpu or memory bound that is not set.
func open(capability fastres.Vector) {
	for d := fastres.CPU; d <= fastres.Memory; d++ {
		if capability.Get(d) <= 0 {
			capability.Set(d, fastres.MaxQuantity)
		}
	}
}
