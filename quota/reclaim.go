package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Victims selects the running tasks that are evicted for a reclaimer: a pending task of another
// queue that deserves the resources. A task is taken if all of these hold:
//
//  1. it requests a dimension that the reclaimer requests, except pods
//  2. allocated > deserved in a dimension that it requests and deserved names,
//     or it requests no dimension that deserved names
//  3. allocated − victim ≥ guarantee in every dimension of guarantee; a card counts only
//     if the task has it
//
// allocated is taken from the future (plugin/earmark), without the victims of the same call. Condition 2 holds for the
// victim's queue. Condition 3 holds for all queues that lose something: the victim's queue and its
// ancestors below the lowest common ancestor with the reclaimer's queue. Quantities have the units
// of package fastres. Comparison 3 has the tolerance fastres.MinResource.
//
// # Example
//
// A queue has allocated 60 cpu, deserved 40 and guarantee 10. All its tasks request 15.
//
//	victim  allocated before  above deserved  allocated after  taken
//	1st     60                yes             45               yes
//	2nd     45                yes             30               yes
//	3rd     30                no                               no
//
// So a queue may end below its deserved, by less than the last victim. With a guarantee
// of 35, the 2nd victim is spared as well: 30 is below it.
//
// A Victims is used in one session, from Reset on. Victims are refunded in an overlay of the future, which the caller
// has, and which may have other changes as well.
//
// Upstream: capacity/capacity.go, AddReclaimableFn.
//
// DIVERGES: upstream compares only the guarantee of the victim's own queue, so an inner
// queue can fall below its guarantee.
type Victims struct {
	ix       *index.Index
	names    *index.Names
	future   Accounts
	accounts Accounts // the overlay without the victims taken in this call
}

// Reset prepares v for a session with the queues ix and their future. names has the dimensions.
func (v *Victims) Reset(ix *index.Index, future Accounts, names *index.Names) {
	*v = Victims{ix: ix, names: names, future: future}
}

// Begin starts a call, with an overlay of the future in which no task counts as a victim yet.
func (v *Victims) Begin(overlay Accounts) { v.accounts = overlay }

// Take decides whether a running task of q may be evicted for a reclaimer of the queue to. If it
// may, Take counts it as gone. victim and reclaimer are the requests of the two tasks. to
// is None for a reclaimer without a queue. The rule is the formula of Victims.
func (v *Victims) Take(q index.Queue, victim fastres.Vector, to index.Queue, reclaimer fastres.Vector) bool {
	return victim.IntersectsRequest(reclaimer) && v.AboveDeserved(q, victim) && v.take(q, victim, to)
}

// take takes a victim of q if the queues that lose it keep their guarantees.
func (v *Victims) take(q index.Queue, victim fastres.Vector, to index.Queue) bool {
	if !v.keepsGuarantee(q, victim) {
		return false
	}

	losing := v.ix.Path(q)
	if to != index.None {
		losing, _ = belowLCA(v.ix, q, to)
	}

	for _, p := range losing {
		if p != q && !v.keepsGuarantee(p, victim) {
			return false
		}
	}

	for _, p := range v.ix.Path(q) {
		v.accounts.Mutable(p).Sub(victim)
	}

	return true
}

// AboveDeserved reports whether q is above deserved in a dimension that the victim requests, or deserves nothing that
// the victim requests (condition 2).
func (v *Victims) AboveDeserved(q index.Queue, victim fastres.Vector) bool {
	deserved := v.ix.Deserved.Row(q)
	return !victim.Intersects(deserved) || fastres.ExceedsSomewhere(v.accounts.Allocated(q), victim, deserved)
}

// keepsGuarantee reports whether q is not below guarantee without the victim. A guarantee of
// a card protects the pods that have the card.
func (v *Victims) keepsGuarantee(q index.Queue, victim fastres.Vector) bool {
	allocated := v.accounts.Allocated(q)
	guarantee := v.ix.Guarantee.Row(q)
	for d := range guarantee.Present() {
		if victim.Get(d) == 0 && v.names.IsCard(d) {
			continue
		}
		left := max(0, allocated.Get(d)-victim.Get(d))
		if guarantee.Get(d)-left >= fastres.MinResource {
			return false
		}
	}

	return true
}

// TakeDamped decides as Take does, with reclaimCompares: damped=levels. to is
// the queue of the reclaimer. In addition to the conditions of Take:
//
//   - Condition 2 also holds for up to levels of q's ancestors.
//   - to, and up to levels of its ancestors, stay at or below deserved with the
//     reclaimer, in the dimensions that it requests and deserved names.
//
// Only queues below the lowest common ancestor of q and to count: this ancestor, and the
// queues above it, neither lose nor gain.
//
// After the exchange the reclaimer's queue is not above deserved, so no other queue can
// reclaim from it in turn. Exchanges end.
//
// Upstream: none in v1.14.1. There, only the conditions of Take for q apply, and a queue
// that is above deserved in one dimension can reclaim for another (upstream issues 4947,
// 4949).
func (v *Victims) TakeDamped(q index.Queue, victim fastres.Vector, to index.Queue, reclaimer fastres.Vector,
	levels int) bool {
	if !victim.IntersectsRequest(reclaimer) {
		return false
	}

	// A job in an inner queue: q is an ancestor of to.
	from, _ := belowLCA(v.ix, q, to)
	if len(from) == 0 {
		return v.Take(q, victim, to, reclaimer)
	}
	if v.surpasses(q, to, reclaimer, levels) {
		return false
	}

	for _, p := range from[:min(len(from), levels+1)] {
		if !v.AboveDeserved(p, victim) {
			return false
		}
	}

	return v.take(q, victim, to)
}

// TakeContended decides as Take does, with reclaimCompares: ancestors=levels. to is the
// queue of the reclaimer, and reclaimer is its request. deserves says that to deserves a resource
// that the reclaimer requests. In addition to the conditions of Take:
//
//   - Condition 2 also holds for the ancestors 1 to levels above q. The root, and an ancestor that
//     is as many levels above to, do not count.
//   - Two queues that borrow from the same parent do not contend. If q deserves nothing that the
//     victim requests, and q and to share an ancestor below the root among their first levels, then
//     deserves has to be true.
//
// Upstream: v1.15 capacity/capacity.go, AddReclaimableFn, getReclaimeeAncestorToCheck,
// sharesAnyNonRootAncestorWithinLevel.
//
// DIVERGES: upstream subtracts a victim only from the ancestors that it compares. If leaves
// have different depths, it evicts more than an ancestor has above deserved.
func (v *Victims) TakeContended(q index.Queue, victim fastres.Vector, to index.Queue, reclaimer fastres.Vector,
	deserves bool, levels int,
) bool {
	if !victim.IntersectsRequest(reclaimer) || !v.AboveDeserved(q, victim) {
		return false
	}
	from := levelsFrom(v.ix, q, levels)[1:]
	up := levelsFrom(v.ix, to, levels)[1:]
	shared := func(p index.Queue) bool { return slices.Contains(up, p) }
	if !deserves && !victim.Intersects(v.ix.Deserved.Row(q)) && slices.ContainsFunc(from, shared) {
		return false
	}
	for i, p := range from {
		same := i < len(up) && up[i] == p
		if !same && !v.AboveDeserved(p, victim) {
			return false
		}
	}
	return v.take(q, victim, to)
}

// TakeForGang decides as Take does, without condition 1: a gang is several tasks, and one of
// them is likely to request the resources of a victim. With the protection ByGuarantee, condition 2
// does not count either.
//
// Upstream: v1.15 capacity/capacity.go, AddUnifiedEvictableFn.
func (v *Victims) TakeForGang(q index.Queue, victim fastres.Vector, to index.Queue, protection Protection) bool {
	return (protection == ByGuarantee || v.AboveDeserved(q, victim)) && v.take(q, victim, to)
}

// KeepsCard reports whether q, without the victims of this call, has at most its deserved
// of card d:
//
//	allocated ≤ deserved
//
// Then the queue keeps its cards, even if a victim's cpu or memory is above deserved:
// tenants share cards, and cpu and memory come with them. d is a dimension of a card.
//
// Upstream: none.
func (v *Victims) KeepsCard(q index.Queue, d fastres.Dim) bool {
	return v.accounts.AllocatedAt(q, d) <= v.ix.Deserved.At(q, d)
}

// TakeOverused decides whether a running task of q may be evicted under the name proportion. If
// it may, TakeOverused counts it as gone:
//
//	allocated > deserved   in some dimension
//
// victim is the request of the task. There is no guarantee under this name.
//
// Upstream: proportion/proportion.go, AddReclaimableFn.
func (v *Victims) TakeOverused(q index.Queue, victim fastres.Vector) bool {
	if v.accounts.Allocated(q).LessEqual(v.ix.Deserved.Row(q)) {
		return false
	}
	v.accounts.Mutable(q).Sub(victim)
	return true
}
