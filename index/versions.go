package index

import "github.com/capacity-card/capacity-card/fastres"

// versionedRows keeps allocated of every queue, with the older versions that snapshots read. It
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
type versionedRows struct {
	rows     fastres.Rows
	newest   []int32 // queue → its newest row
	previous []int32 // row → the row that it replaced, or -1
	version  []int   // row → its version
	current  int     // the version of new rows
	frozen   bool    // a snapshot reads the current version, so the next write begins another
}

func (v *versionedRows) reset(n, dims int) {
	v.rows.Reset(n, dims)
	v.newest = v.newest[:0]
	v.previous = v.previous[:0]
	v.version = v.version[:0]

	for q := range n {
		v.newest = append(v.newest, int32(q))
		v.previous = append(v.previous, -1)
		v.version = append(v.version, 0)
	}
	v.current = 0
	v.frozen = false
}

// row returns the newest row of q, for reading.
func (v *versionedRows) row(q Queue) fastres.Vector { return v.rows.Row(int(v.newest[q])) }

// quantity returns the quantity of d in the newest row of q.
func (v *versionedRows) quantity(q Queue, d fastres.Dim) float64 {
	return v.rows.At(int(v.newest[q]), d)
}

// mutable returns the row of q for writing. It copies a row that a snapshot may read.
func (v *versionedRows) mutable(q Queue) fastres.Vector {
	current := v.begin()
	row := v.newest[q]
	if v.version[row] == current {
		return v.rows.Row(int(row))
	}

	copied := v.rows.Append(v.rows.Row(int(row)))
	v.previous = append(v.previous, row)
	v.version = append(v.version, current)
	v.newest[q] = int32(copied)
	return v.rows.Row(copied)
}

// begin returns the version for a write: a new one if a snapshot reads the current one.
func (v *versionedRows) begin() int {
	if v.frozen {
		v.current++
		v.frozen = false
	}
	return v.current
}

// snapshot returns the current version, for at.
func (v *versionedRows) snapshot() int {
	v.frozen = true
	return v.current
}

// at returns the row of q that was the newest in a version.
func (v *versionedRows) at(q Queue, version int) fastres.Vector {
	row := v.newest[q]
	for v.version[row] > version {
		row = v.previous[row]
	}

	return v.rows.Row(int(row))
}
