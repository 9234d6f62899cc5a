package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Victims picks the tasks that may be asked to leave for a reclaimer. Those
// picked since Begin count as gone. The zero Victims is ready for Begin; its
// memory is kept from one call to the next.
type Victims struct {
	ix   *index.Index
	left index.Rows // row q: what q would have left, if at[q] = call
	at   []int
	call int
	rest fastres.Vector
}

// Reset binds v to the accounts of a session.
func (v *Victims) Reset(ix *index.Index) {
	v.ix = ix
	v.left.Reset(ix.Len(), ix.Dims())
	v.at = append(v.at[:0], make([]int, ix.Len())...)
	v.call = 0
	v.rest = fastres.NewVector(ix.Dims())
}

// Begin starts a new set of victims.
func (v *Victims) Begin() { v.call++ }

// Take answers whether victim, a running task of q, may be taken for reclaimer,
// and counts it as gone if so. It may when
//
//   - it shares a dimension with reclaimer, pods aside;
//   - it shares no dimension with deserved, or allocated > deserved in one that
//     it uses and deserved has;
//   - allocated − victim ≥ guarantee.
//
// Upstream: capacity/capacity.go, AddReclaimableFn.
func (v *Victims) Take(q index.Queue, victim, reclaimer fastres.Vector) bool {
	if !victim.IntersectsRequest(reclaimer) {
		return false
	}
	allocated := v.allocated(q)
	if !v.spares(q, allocated, victim) {
		return false
	}
	allocated.CopyFrom(v.rest)
	return true
}

// spares answers whether q, which has allocated left, can do without victim, and
// sets rest to what it has without.
func (v *Victims) spares(q index.Queue, allocated, victim fastres.Vector) bool {
	deserved := v.ix.Deserved.Row(q)
	if victim.Intersects(deserved) && !fastres.ExceedsSomewhere(allocated, victim, deserved) {
		return false
	}
	v.rest.CopyFrom(allocated)
	v.rest.Sub(victim)
	return v.ix.Guarantee.Row(q).LessEqual(v.rest)
}

// TakeDamped is Take where, below the lowest queue that q and to, the reclaimer's
// queue, are both in,
//
//   - what is asked of q is asked of up to levels of its ancestors as well;
//   - to, and up to levels of its ancestors, rise above deserved in nothing that
//     reclaimer requests and deserved has.
//
// What is above is left out: it neither loses nor gains. A queue that has what it
// took back is then below what it deserves, and nobody can take it back in turn.
//
// Upstream: none in v1.14.1. It looks at q alone, and lets a queue that is over
// deserved in one dimension reclaim for another (upstream issues 4947, 4949).
func (v *Victims) TakeDamped(q index.Queue, victim fastres.Vector, to index.Queue, reclaimer fastres.Vector, levels int) bool {
	if !victim.IntersectsRequest(reclaimer) {
		return false
	}
	from, up := apart(v.ix, q, to)
	if len(from) == 0 { // only a job that should not be where it is
		return v.Take(q, victim, reclaimer)
	}
	for _, p := range up[:min(len(up), levels+1)] {
		if fastres.ExceedsWith(v.ix.Allocated(p), reclaimer, v.ix.Deserved.Row(p)) {
			return false
		}
	}
	for _, p := range from[:min(len(from), levels+1)] {
		if !v.spares(p, v.allocated(p), victim) {
			return false
		}
	}
	for _, p := range from {
		v.allocated(p).Sub(victim)
	}
	return true
}

// KeepsCard answers whether q, without the victims picked since Begin, has no
// more of card d than it deserves. Then it loses none, whatever else a victim
// may be over: a card is what tenants share, cpu and memory come with it.
func (v *Victims) KeepsCard(q index.Queue, d fastres.Dim) bool {
	return v.allocated(q).Get(d) <= v.ix.Deserved.Row(q).Get(d)
}

// TakeOverused answers whether victim may be taken from q because q uses more
// than it deserves in some dimension, and counts it as gone if so.
//
// Upstream: proportion/proportion.go, AddReclaimableFn.
func (v *Victims) TakeOverused(q index.Queue, victim fastres.Vector) bool {
	allocated := v.allocated(q)
	if allocated.LessEqual(v.ix.Deserved.Row(q)) {
		return false
	}
	allocated.Sub(victim)
	return true
}

// allocated is what q has left after the victims picked since Begin.
func (v *Victims) allocated(q index.Queue) fastres.Vector {
	row := v.left.Row(q)
	if v.at[q] != v.call {
		v.at[q] = v.call
		row.CopyFrom(v.ix.Allocated(q))
	}
	return row
}
