package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Draft is accounts with private changes, such as the refunds of victims that are only considered. A
// change copies the rows that it touches, and does not reach the accounts below.
//
//	             q   root
//	below        5   8
//	refund q 2   3   6
//	Allocated    3   6     below still has 5 and 8
//
// A rule that reads accounts without some tasks reads a Draft. Victims is a Draft, and package constraint
// makes drafts of the accounts of queues and of holders. Only simulations read an index.Overlay: many
// simulations begin from the accounts of one moment, but a Draft shows later changes of the accounts below.
//
// The zero Draft with accounts is ready. Begin starts the next one in the same memory. A Draft is
// for one goroutine.
type Draft struct {
	Accounts               // the accounts below
	changed  []index.Queue // the queues with a row here
	rows     fastres.Rows  // row i belongs to changed[i]
	at       map[index.Queue]int32
	claims   map[heldBy]index.Held

	logs bool // since Mark, changes are logged
	log  []logged
}

// logged is an entry that Undo restores: a row before it was written, or a resource claim.
type logged struct {
	row    int // -1 for a claim
	before fastres.Vector
	fresh  bool // the row, or the claim, was not in the draft
	claim  heldBy
	held   index.Held
}

// heldBy is a queue and a resource claim that it holds.
type heldBy struct {
	queue index.Queue
	claim string
}

// maxSearched is the largest number of queues for which a linear search is faster than a map.
const maxSearched = 12

// Begin starts a draft of accounts without changes.
func (d *Draft) Begin(below Accounts) {
	d.Accounts = below
	d.changed = d.changed[:0]
	d.logs = false
	d.log = d.log[:0]
	clear(d.at)
	clear(d.claims)
}

// Mark returns a mark of the present state, for Undo. A mark is invalid after Begin, and after Undo to an earlier mark.
// Undo restores quantities exactly, even if a refund was cut off at 0.
func (d *Draft) Mark() int {
	d.logs = true
	return len(d.log)
}

// Undo returns to a mark.
func (d *Draft) Undo(mark int) {
	for _, l := range slices.Backward(d.log[mark:]) {
		switch {
		case l.row < 0 && l.fresh:
			delete(d.claims, l.claim)
		case l.row < 0:
			d.claims[l.claim] = l.held
		case l.fresh:
			last := len(d.changed) - 1
			delete(d.at, d.changed[last])
			d.changed = d.changed[:last]
			d.rows.Truncate(last)
		default:
			d.rows.Row(l.row).CopyFrom(l.before)
		}
	}

	d.log = d.log[:mark]
}

// Changed returns the queues with a different allocated than in the accounts below, with all
// their ancestors.
func (d *Draft) Changed() []index.Queue { return d.changed }

// row returns the row of q, −1 for none.
func (d *Draft) row(q index.Queue) int {
	if len(d.changed) > maxSearched {
		if row, known := d.at[q]; known {
			return int(row)
		}
		return -1
	}

	return slices.Index(d.changed, q)
}

// Allocated returns allocated of q with the changes. It is for reading, and invalid after the
// next change.
func (d *Draft) Allocated(q index.Queue) fastres.Vector {
	if i := d.row(q); i >= 0 {
		return d.rows.Row(i)
	}
	return d.Accounts.Allocated(q)
}

// AllocatedAt returns the quantity of dim in allocated of q with the changes.
func (d *Draft) AllocatedAt(q index.Queue, dim fastres.Dim) float64 {
	if i := d.row(q); i >= 0 {
		return d.rows.At(i, dim)
	}
	return d.Accounts.AllocatedAt(q, dim)
}

// Mutable returns allocated of q for writing, in this draft alone. It is invalid after the next
// call.
func (d *Draft) Mutable(q index.Queue) fastres.Vector {
	if i := d.row(q); i >= 0 {
		if d.logs {
			before := fastres.NewVector(d.rows.Row(i).Len())
			before.CopyFrom(d.rows.Row(i))
			d.log = append(d.log, logged{row: i, before: before})
		}

		return d.rows.Row(i)
	}

	if d.logs {
		d.log = append(d.log, logged{row: len(d.changed), fresh: true})
	}

	before := d.Accounts.Allocated(q)
	if len(d.changed) == 0 {
		d.rows.Reset(0, before.Len())
	}

	d.changed = append(d.changed, q)
	if len(d.changed) > maxSearched {
		d.number()
	}

	return d.rows.Row(d.rows.Append(before))
}

// number maps the queues to their rows, as far as they are not mapped yet.
func (d *Draft) number() {
	if d.at == nil {
		d.at = make(map[index.Queue]int32, 4*maxSearched)
	}

	for i := len(d.at); i < len(d.changed); i++ {
		d.at[d.changed[i]] = int32(i)
	}
}

// DeviceClaim returns a resource claim as q holds it, with the changes.
func (d *Draft) DeviceClaim(q index.Queue, name string) index.Held {
	if held, changed := d.claims[heldBy{q, name}]; changed {
		return held
	}
	return d.Accounts.DeviceClaim(q, name)
}

// SetDeviceClaim changes a resource claim of q, in this draft alone.
func (d *Draft) SetDeviceClaim(q index.Queue, name string, held index.Held) {
	if d.claims == nil {
		d.claims = map[heldBy]index.Held{}
	}

	key := heldBy{q, name}
	if d.logs {
		before, known := d.claims[key]
		d.log = append(d.log, logged{row: -1, fresh: !known, claim: key, held: before})
	}

	d.claims[key] = held
}
