package index

import "github.com/capacity-card/capacity-card/fastres"

// ledger keeps allocated of every queue, with the older versions that snapshots read. It
// is multi-version concurrency control (MVCC) with one writer.
//
// A snapshot is the number of a version, so it costs nothing to take. The first write to
// a row after a snapshot goes to a copy with a new version, and the copy links to the row
// that it replaces. A snapshot reads the row that was the newest in its version.
//
// # Example
//
// The queue q has one row, of version 0, with allocated 5.
//
//	step              current  rows of q, the newest first
//	snapshot() = 0    0        5 (version 0)
//	charge 3          1        8 (version 1), 5 (version 0)
//	charge 1          1        9 (version 1), 5 (version 0)     in place: no snapshot since
//	snapshot() = 1    1        9 (version 1), 5 (version 0)
//	charge 2          2        11 (version 2), 9 (version 1), 5 (version 0)
//
// Then the snapshot 0 reads 5, the snapshot 1 reads 9, and the index reads 11.
//
// # Invariants
//
//   - Along newest[q] and previous, versions strictly decrease.
//   - Only rows of the current version are written, and no snapshot reads them.
type ledger struct {
	rows     fastres.Rows
	newest   []int32 // queue → its newest row
	previous []int32 // row → the row that it replaced, or -1
	version  []int   // row → its version
	current  int     // the version of new rows
	frozen   bool    // a snapshot reads the current version, so the next write begins another
}

func (l *ledger) reset(n, dims int) {
	l.rows.Reset(n, dims)
	l.newest = l.newest[:0]
	l.previous = l.previous[:0]
	l.version = l.version[:0]

	for q := range n {
		l.newest = append(l.newest, int32(q))
		l.previous = append(l.previous, -1)
		l.version = append(l.version, 0)
	}
	l.current = 0
	l.frozen = false
}

// row returns the newest row of q, for reading.
func (l *ledger) row(q Queue) fastres.Vector { return l.rows.Row(int(l.newest[q])) }

// quantity returns the quantity of d in the newest row of q.
func (l *ledger) quantity(q Queue, d fastres.Dim) float64 { return l.rows.At(int(l.newest[q]), d) }

// mutable returns the row of q for writing. It copies a row that a snapshot may read.
func (l *ledger) mutable(q Queue) fastres.Vector {
	current := l.begin()
	row := l.newest[q]
	if l.version[row] == current {
		return l.rows.Row(int(row))
	}

	copied := l.rows.Append(l.rows.Row(int(row)))
	l.previous = append(l.previous, row)
	l.version = append(l.version, current)
	l.newest[q] = int32(copied)
	return l.rows.Row(copied)
}

// begin returns the version for a write: a new one if a snapshot reads the current one.
func (l *ledger) begin() int {
	if l.frozen {
		l.current++
		l.frozen = false
	}
	return l.current
}

// snapshot returns the current version, for at.
func (l *ledger) snapshot() int {
	l.frozen = true
	return l.current
}

// at returns the row of q that was the newest in a version.
func (l *ledger) at(q Queue, version int) fastres.Vector {
	row := l.newest[q]
	for l.version[row] > version {
		row = l.previous[row]
	}

	return l.rows.Row(int(row))
}
