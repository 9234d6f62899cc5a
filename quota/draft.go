package quota

import "github.com/capacity-card/capacity-card/index"

// Books are the accounts that the rules of allocation read, at one time.
type Books struct {
	Queues     Accounts
	Holders    Accounts // nil if no queue limits the holders of jobs
	Guarantees *Guarantees

	// Then are books that are read as well, nil for none: a task has to fit now, and once evictions
	// are over.
	Then *Books
}

// Draft is books as if some tasks had ended or had a node: all accounts are overlays (index.Overlay). The books below
// stay as they are.
//
// The zero Draft is ready for Begin. It must not be copied. A Draft is for one goroutine.
type Draft struct {
	Books
	queues, holders index.Overlay
}

// DraftMark is a state of a draft.
type DraftMark struct{ queues, holders int }

// Begin starts a draft without changes, in memory of an earlier draft. guarantees are the guarantees of the accounts.
// holders is nil if no queue limits the holders of jobs.
func (d *Draft) Begin(queues, holders index.Accounts, guarantees *Guarantees) {
	d.queues.Begin(queues)
	d.Books = Books{Queues: &d.queues, Guarantees: guarantees}

	if holders != nil {
		d.holders.Begin(holders)
		d.Holders = &d.holders
	}
}

// CopyFrom makes d a copy of another draft that shares no changes with it. The copy begins without marks.
func (d *Draft) CopyFrom(other *Draft) {
	d.queues = other.queues.Clone()
	d.Books = Books{Queues: &d.queues, Guarantees: other.Guarantees}

	if other.Holders != nil {
		d.holders = other.holders.Clone()
		d.Holders = &d.holders
	}
}

// Mark returns the present state, for Undo. See index.Overlay.
func (d *Draft) Mark() DraftMark { return DraftMark{d.queues.Mark(), d.holders.Mark()} }

// Undo returns to a state of Mark.
func (d *Draft) Undo(m DraftMark) {
	d.queues.Undo(m.queues)
	d.holders.Undo(m.holders)
}
