package index

import (
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
)

// Overlay is a snapshot of allocated with private changes, for what-if simulations. A new
// overlay copies nothing, and a change copies the rows that it touches.
//
// Clone and the methods that read are safe for concurrent use while nothing changes this
// overlay or the index. Different overlays are independent of one another.
type Overlay struct {
	Version
	touched []Queue      // the queues with a row here
	rows    fastres.Rows // row i belongs to touched[i]
	claims  map[claimKey]Held
}

// Version names the state of allocated at one moment of a session. It has three words. An
// overlay also has room for changes.
type Version struct {
	ix      *Index
	session uint64
	number  int // of the ledger
}

// Version returns the present state. Later changes of the index do not show in overlays of it.
func (ix *Index) Version() Version {
	return Version{ix: ix, session: ix.session, number: ix.allocated.snapshot()}
}

// Overlay returns an overlay without changes.
func (v Version) Overlay() Overlay { return Overlay{Version: v} }

// Valid reports whether the version belongs to the present session of the index. Only then may its
// overlays be used.
func (v Version) Valid() bool { return v.session == v.ix.session }

// Changed returns the queues with a private change of allocated. A change touches the
// whole path of a queue.
func (o *Overlay) Changed() []Queue { return o.touched }

// Clone returns an independent copy. Its cost grows with the number of changed rows.
func (o *Overlay) Clone() Overlay {
	c := Overlay{Version: o.Version, claims: maps.Clone(o.claims)}
	if len(o.touched) > 0 {
		c.touched = slices.Clone(o.touched)
		c.rows = o.rows.Clone()
	}

	return c
}

// Path returns q and its ancestors, from q up. It is for reading.
func (o *Overlay) Path(q Queue) []Queue { return o.ix.Path(q) }

// IsLeaf reports whether q has no children.
func (o *Overlay) IsLeaf(q Queue) bool { return o.ix.IsLeaf(q) }

// Children returns the child queues of q.
func (o *Overlay) Children(q Queue) []Queue { return o.ix.Children(q) }

// Regroup sets the quantities of card groups in x to the weighted sums of their cards.
func (o *Overlay) Regroup(x fastres.Vector) { o.ix.Regroup(x) }

// Allocated returns allocated of q, including the changes of the overlay. It is for reading, and
// invalid after the next change.
func (o *Overlay) Allocated(q Queue) fastres.Vector {
	if i := slices.Index(o.touched, q); i >= 0 {
		return o.rows.Row(i)
	}

	return o.ix.allocated.at(q, o.number)
}

// AllocatedAt returns the quantity of d in allocated of q.
func (o *Overlay) AllocatedAt(q Queue, d fastres.Dim) float64 { return o.Allocated(q).Get(d) }

// Mutable returns allocated of q for writing, in this overlay alone. It is invalid after
// the next call.
func (o *Overlay) Mutable(q Queue) fastres.Vector {
	if i := slices.Index(o.touched, q); i >= 0 {
		return o.rows.Row(i)
	}

	if len(o.touched) == 0 {
		o.rows.Reset(0, o.ix.dims)
	}
	o.touched = append(o.touched, q)

	return o.rows.Row(o.rows.Append(o.ix.allocated.at(q, o.number)))
}
