package index

import (
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
)

// Version is allocated of all queues at one moment of a session. It is a base of overlays.
type Version struct {
	ix      *Index
	session uint64
	number  int // of versionedRows
}

// Version returns the present state. Later changes of the index do not show in it.
func (ix *Index) Version() Version {
	return Version{ix: ix, session: ix.session, number: ix.allocated.snapshot()}
}

// Valid reports whether the version belongs to the present session of the index. Only then may it be read.
func (v Version) Valid() bool { return v.session == v.ix.session }

// Path returns q and its ancestors, from q up. It is for reading.
func (v Version) Path(q Queue) []Queue { return v.ix.Path(q) }

// IsLeaf reports whether q has no children.
func (v Version) IsLeaf(q Queue) bool { return v.ix.IsLeaf(q) }

// Children returns the child queues of q.
func (v Version) Children(q Queue) []Queue { return v.ix.Children(q) }

// Regroup sets the quantities of card groups in x to the weighted sums of their cards.
func (v Version) Regroup(x fastres.Vector) { v.ix.Regroup(x) }

// Allocated returns allocated of q. It is for reading.
func (v Version) Allocated(q Queue) fastres.Vector { return v.ix.allocated.at(q, v.number) }

// AllocatedAt returns the quantity of d in allocated of q.
func (v Version) AllocatedAt(q Queue, d fastres.Dim) float64 { return v.Allocated(q).Get(d) }

// DeviceClaim returns a resource claim as q holds it.
func (v Version) DeviceClaim(q Queue, name string) Held {
	return v.ix.claims.at(claimKey{q, name}, v.number)
}

// Accounts is allocated of all queues, for reading. An Index, a Version and an Overlay are Accounts.
type Accounts interface {
	Path(q Queue) []Queue
	IsLeaf(q Queue) bool
	Children(q Queue) []Queue
	Regroup(x fastres.Vector)
	Allocated(q Queue) fastres.Vector
	AllocatedAt(q Queue, d fastres.Dim) float64
	DeviceClaim(q Queue, name string) Held
}

// Overlay is accounts as if some tasks had ended or had a node: a base, and private changes of it. A change copies the
// rows that it touches, and does not reach the base.
//
//	             q   root
//	base         5   8
//	refund q 2   3   6
//	Allocated    3   6     the base still has 5 and 8
//
// Everything that is only considered is an Overlay. The base decides which later changes show: of an Index or an
// Overlay all of them, in rows without a private change, and of a Version none.
//
// The zero Overlay is ready for Begin. Clone and the methods that read are safe for concurrent use while nothing
// changes this overlay or the base. Different overlays are independent of one another.
type Overlay struct {
	Accounts              // the base
	changed  []Queue      // the queues with a row here
	rows     fastres.Rows // row i belongs to changed[i]
	at       []int32      // queue → its row + 1, or 0; complete where many queues have rows
	claims   map[claimKey]Held

	logs bool // since Mark, changes are logged
	log  []logged
}

// logged is an entry that Undo restores: a row before it was written, or a resource claim.
type logged struct {
	row    int // -1 for a claim
	before fastres.Vector
	fresh  bool // the row, or the claim, was not in the overlay
	claim  claimKey
	held   Held
}

// maxSearched is the largest number of queues for which a linear search is faster than a table.
const maxSearched = 12

// Over returns an overlay of accounts without changes.
func Over(base Accounts) Overlay { return Overlay{Accounts: base} }

// Begin starts an overlay without changes in memory that is used again.
func (o *Overlay) Begin(base Accounts) {
	o.Accounts = base
	o.forget(0)
	o.logs = false
	o.log = o.log[:0]
	clear(o.claims)
}

// forget removes the rows from n on.
func (o *Overlay) forget(n int) {
	for _, q := range o.changed[n:] {
		if int(q) < len(o.at) {
			o.at[q] = 0
		}
	}
	o.changed = o.changed[:n]
}

// Clone returns an independent copy that begins without marks. Its cost grows with the number of changed rows.
func (o *Overlay) Clone() Overlay {
	c := Overlay{Accounts: o.Accounts, claims: maps.Clone(o.claims)}
	if len(o.changed) > 0 {
		c.changed = slices.Clone(o.changed)
		c.rows = o.rows.Clone()
	}
	if len(o.changed) > maxSearched {
		c.at = slices.Clone(o.at)
	}
	return c
}

// Mark returns a mark of the present state, for Undo. A mark is invalid after Begin, and after Undo to an earlier mark.
// Undo restores quantities exactly, even if a refund was cut off at 0.
func (o *Overlay) Mark() int {
	o.logs = true
	return len(o.log)
}

// Undo returns to a mark.
func (o *Overlay) Undo(mark int) {
	for _, l := range slices.Backward(o.log[mark:]) {
		switch {
		case l.row < 0 && l.fresh:
			delete(o.claims, l.claim)
		case l.row < 0:
			o.claims[l.claim] = l.held
		case l.fresh:
			o.forget(l.row)
			o.rows.Truncate(l.row)
		default:
			o.rows.Row(l.row).CopyFrom(l.before)
		}
	}

	o.log = o.log[:mark]
}

// Changed returns the queues with a private change of allocated. A change touches the whole path of a queue.
func (o *Overlay) Changed() []Queue { return o.changed }

// Own returns the row of a queue with a private change, for writing. It reports false for any other queue.
func (o *Overlay) Own(q Queue) (row fastres.Vector, changed bool) {
	i := o.row(q)
	if i < 0 {
		return fastres.Vector{}, false
	}
	return o.rows.Row(i), true
}

// row returns the row of q, −1 for none.
func (o *Overlay) row(q Queue) int {
	if len(o.changed) <= maxSearched {
		return slices.Index(o.changed, q)
	}
	if int(q) >= len(o.at) {
		return -1
	}
	return int(o.at[q]) - 1
}

// Allocated returns allocated of q with the changes. It is for reading, and invalid after the next change.
func (o *Overlay) Allocated(q Queue) fastres.Vector {
	if i := o.row(q); i >= 0 {
		return o.rows.Row(i)
	}
	return o.Accounts.Allocated(q)
}

// AllocatedAt returns the quantity of d in allocated of q with the changes.
func (o *Overlay) AllocatedAt(q Queue, d fastres.Dim) float64 {
	if i := o.row(q); i >= 0 {
		return o.rows.At(i, d)
	}
	return o.Accounts.AllocatedAt(q, d)
}

// Mutable returns allocated of q for writing, in this overlay alone. It is invalid after the next call.
func (o *Overlay) Mutable(q Queue) fastres.Vector {
	if i := o.row(q); i >= 0 {
		if o.logs {
			before := fastres.NewVector(o.rows.Row(i).Len())
			before.CopyFrom(o.rows.Row(i))
			o.log = append(o.log, logged{row: i, before: before})
		}
		return o.rows.Row(i)
	}

	if o.logs {
		o.log = append(o.log, logged{row: len(o.changed), fresh: true})
	}

	before := o.Accounts.Allocated(q)
	if len(o.changed) == 0 {
		o.rows.Reset(0, before.Len())
	}
	o.changed = append(o.changed, q)
	if len(o.changed) > maxSearched {
		o.number()
	}
	return o.rows.Row(o.rows.Append(before))
}

// number enters the rows of queues in the table, as far as they are missing.
func (o *Overlay) number() {
	from := len(o.changed) - 1
	if from == maxSearched {
		from = 0
	}

	for i, q := range o.changed[from:] {
		if missing := int(q) + 1 - len(o.at); missing > 0 {
			o.at = append(o.at, make([]int32, missing)...)
		}
		o.at[q] = int32(from + i + 1)
	}
}

// DeviceClaim returns a resource claim as q holds it, with the changes.
func (o *Overlay) DeviceClaim(q Queue, name string) Held {
	if held, changed := o.claims[claimKey{q, name}]; changed {
		return held
	}
	return o.Accounts.DeviceClaim(q, name)
}

// SetDeviceClaim changes a resource claim of q, in this overlay alone.
func (o *Overlay) SetDeviceClaim(q Queue, name string, held Held) {
	if o.claims == nil {
		o.claims = map[claimKey]Held{}
	}

	key := claimKey{q, name}
	if o.logs {
		before, known := o.claims[key]
		o.log = append(o.log, logged{row: -1, fresh: !known, claim: key, held: before})
	}
	o.claims[key] = held
}
