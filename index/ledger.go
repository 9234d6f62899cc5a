package index

import "github.com/capacity-card/capacity-card/fastres"

// ledger keeps allocated of every queue, and the older rows that snapshots
// still see.
//
// A snapshot is a moment: it costs a number. The first change of a row after a
// moment goes to a copy, and the copy remembers the row it replaced; a reader at
// an earlier moment walks back until it finds a row that is old enough.
//
// Invariants: slot[q] is q's newest row; born is never decreasing along slot[q],
// and prev[s] is older than s; a row is written only while born = now.
type ledger struct {
	rows fastres.Rows
	slot []int32 // queue → newest row
	prev []int32 // row → the row it replaced, or -1
	born []int   // row → the moment it was made in
	now  int
	seen bool // somebody has a snapshot of now
}

func (l *ledger) reset(n, dims int) {
	l.rows.Reset(n, dims)
	l.slot, l.prev, l.born = l.slot[:0], l.prev[:0], l.born[:0]
	for q := range n {
		l.slot = append(l.slot, int32(q))
		l.prev = append(l.prev, -1)
		l.born = append(l.born, 0)
	}
	l.now, l.seen = 0, false
}

func (l *ledger) row(q Queue) fastres.Vector { return l.rows.Row(int(l.slot[q])) }

// mutable returns the row of q for writing, a copy if a snapshot sees it.
func (l *ledger) mutable(q Queue) fastres.Vector {
	if l.seen {
		l.now++
		l.seen = false
	}
	s := l.slot[q]
	if l.born[s] == l.now {
		return l.rows.Row(int(s))
	}
	copied := l.rows.Append(l.rows.Row(int(s)))
	l.prev = append(l.prev, s)
	l.born = append(l.born, l.now)
	l.slot[q] = int32(copied)
	return l.rows.Row(copied)
}

// snapshot returns the present moment, to be given to at.
func (l *ledger) snapshot() int {
	l.seen = true
	return l.now
}

// at returns the row of q as it was at a moment.
func (l *ledger) at(q Queue, moment int) fastres.Vector {
	s := l.slot[q]
	for l.born[s] > moment {
		s = l.prev[s]
	}
	return l.rows.Row(int(s))
}
