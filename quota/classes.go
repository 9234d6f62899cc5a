package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Class is the service class of a task. It counts with the argument reclaimByServiceType.
type Class uint8

// The service classes.
const (
	Unclassified Class = iota
	Training
	Inference
)

// Protection says what protects a running task from a reclaimer of another queue.
type Protection uint8

// The protections.
const (
	ByDeserved  Protection = iota // deserved of its queue, and guarantees (Victims)
	ByGuarantee                   // guarantees, at every level
	Spared                        // it is no victim
)

// ProtectionOf returns the protection of a running task from a reclaimer of another queue, by their classes:
//
//	           victim  Unclassified  Training     Inference
//	reclaimer
//	Unclassified       ByDeserved    ByDeserved   Spared
//	Training           Spared        Spared       Spared
//	Inference          ByDeserved    ByGuarantee  Spared
//
// So inference takes resources by day that training uses by night, and training does not take
// them back. An inference queue takes no more than its deserved (Preemptive).
//
// Upstream: none.
func ProtectionOf(reclaimer, victim Class) Protection {
	switch {
	case reclaimer == Training || victim == Inference:
		return Spared
	case reclaimer == Inference && victim == Training:
		return ByGuarantee
	}

	return ByDeserved
}

// TakeByGuarantee decides as Take does, without condition 2: deserved of q does not protect the
// task. With reclaimCompares: damped=N, damping is N above 0, and the reclaimer's queues must stay within deserved, as
// in TakeDamped.
func (v *Victims) TakeByGuarantee(q index.Queue, victim fastres.Vector, to index.Queue, reclaimer fastres.Vector,
	damping int) bool {
	if !victim.IntersectsRequest(reclaimer) || damping > 0 && v.surpasses(q, to, reclaimer, damping) {
		return false
	}
	return v.take(q, victim, to)
}

// surpasses reports whether a reclaimer exceeds deserved of its queue, or of an ancestor up to
// levels above it. Ancestors count below the lowest common ancestor with q.
func (v *Victims) surpasses(q, to index.Queue, reclaimer fastres.Vector, levels int) bool {
	_, up := belowLCA(v.ix, q, to)
	for _, p := range up[:min(len(up), levels+1)] {
		if fastres.ExceedsWith(v.future.Allocated(p), reclaimer, v.ix.Deserved.Row(p)) {
			return true
		}
	}

	return false
}
