package index

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
)

// Overlay answers what-if questions: the allocated accounts as they were when
// it was taken, with changes of its own. Taking one copies nothing; a change
// copies the rows it touches. Clone and the reading methods are safe for many
// goroutines at once as long as nobody changes this overlay or the index;
// different overlays are independent.
type Overlay struct {
	ix      *Index
	session uint64
	moment  int
	touched []Queue      // the queues with a row here
	rows    fastres.Rows // row i is that of touched[i]
}

// Snapshot returns an overlay without changes. It sees nothing that happens to
// the index later.
func (ix *Index) Snapshot() Overlay {
	return Overlay{ix: ix, session: ix.session, moment: ix.allocated.snapshot()}
}

// Valid reports whether the session that the overlay was taken in still runs.
// The other methods are for valid overlays only.
func (o *Overlay) Valid() bool { return o.session == o.ix.session }

// Clone returns an independent copy; it costs what o has changed.
func (o *Overlay) Clone() Overlay {
	c := Overlay{ix: o.ix, session: o.session, moment: o.moment}
	if len(o.touched) > 0 {
		c.touched = slices.Clone(o.touched)
		c.rows = o.rows.Clone()
	}
	return c
}

// Path returns q, its parent, and so on up to the top.
func (o *Overlay) Path(q Queue) []Queue { return o.ix.Path(q) }

// IsLeaf reports whether q has no children.
func (o *Overlay) IsLeaf(q Queue) bool { return o.ix.IsLeaf(q) }

// Children returns the queues right below q.
func (o *Overlay) Children(q Queue) []Queue { return o.ix.Children(q) }

// Allocated returns what is allocated to q and below. It is for reading, and
// void after the next change.
func (o *Overlay) Allocated(q Queue) fastres.Vector {
	if i := slices.Index(o.touched, q); i >= 0 {
		return o.rows.Row(i)
	}
	return o.ix.allocated.at(q, o.moment)
}

// Mutable returns allocated of q for writing. It is void after the next call.
func (o *Overlay) Mutable(q Queue) fastres.Vector {
	if i := slices.Index(o.touched, q); i >= 0 {
		return o.rows.Row(i)
	}
	if len(o.touched) == 0 {
		o.rows.Reset(0, o.ix.dims)
	}
	o.touched = append(o.touched, q)
	return o.rows.Row(o.rows.Append(o.ix.allocated.at(q, o.moment)))
}
