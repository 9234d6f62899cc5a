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
	left fastres.Rows // row q: what q would have left, if at[q] = call
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
	allocated, deserved := v.allocated(q), v.ix.Deserved.Row(int(q))
	if victim.Intersects(deserved) && !fastres.ExceedsSomewhere(allocated, victim, deserved) {
		return false
	}
	v.rest.CopyFrom(allocated)
	v.rest.Sub(victim)
	if !v.ix.Guarantee.Row(int(q)).LessEqual(v.rest) {
		return false
	}
	allocated.CopyFrom(v.rest)
	return true
}

// KeepsCard answers whether q, without the victims picked since Begin, has no
// more of card d than it deserves. Then it loses none, whatever else a victim
// may be over: a card is what tenants share, cpu and memory come with it.
func (v *Victims) KeepsCard(q index.Queue, d fastres.Dim) bool {
	return v.allocated(q).Get(d) <= v.ix.Deserved.Row(int(q)).Get(d)
}

// TakeOverused answers whether victim may be taken from q because q uses more
// than it deserves in some dimension, and counts it as gone if so.
//
// Upstream: proportion/proportion.go, AddReclaimableFn.
func (v *Victims) TakeOverused(q index.Queue, victim fastres.Vector) bool {
	allocated := v.allocated(q)
	if allocated.LessEqual(v.ix.Deserved.Row(int(q))) {
		return false
	}
	allocated.Sub(victim)
	return true
}

// allocated is what q has left after the victims picked since Begin.
func (v *Victims) allocated(q index.Queue) fastres.Vector {
	row := v.left.Row(int(q))
	if v.at[q] != v.call {
		v.at[q] = v.call
		row.CopyFrom(v.ix.Allocated(q))
	}
	return row
}
