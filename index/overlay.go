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
	rows    fastres.Rows // row i is that of touched[i]
	claims  map[claimKey]Held
}

// Version names the state of allocated at one moment of a session. It is three words, where an
// overlay of it has room for changes.
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

// Valid reports whether the version is of the present session of the index. The methods of
// its overlays are for valid ones only.
func (v Version) Valid() bool { return v.session == v.ix.session }

// Changed returns the queues whose allocated has a private change. A change touches the
// whole path of a queue.
func (o *Overlay) Changed() []Queue { return o.touched }

// Clone returns an independent copy. It costs as much as o has changed rows.
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

// Regroup sets what the groups of cards have of x to what follows from its cards.
func (o *Overlay) Regroup(x fastres.Vector) { o.ix.Regroup(x) }

// Allocated returns allocated of q, with what the overlay changed. It is for reading, and
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
