package fastres

import (
	"math"
	"slices"
)

// Rows is an arena of vectors of the same length, addressed by number. Reset keeps the
// memory for the next session. The zero Rows is empty and ready for Reset.
//
// Invariant: len(words) = n·stride, stride = presenceWords(dims) + dims.
type Rows struct {
	first, stride int // see Vector
	words         []uint64
}

// Reset makes n empty rows of dims dimensions, at least FirstFree. Earlier rows are
// invalid.
func (r *Rows) Reset(n, dims int) {
	r.first = presenceWords(dims)
	r.stride = r.first + dims

	r.words = resize(r.words, n*r.stride)
	clear(r.words)

	for i := range n {
		r.words[i*r.stride] = always
	}
}

// Len returns the number of rows.
func (r *Rows) Len() int {
	if r.stride == 0 {
		return 0
	}

	return len(r.words) / r.stride
}

// Row returns row i, which shares memory with r. It is invalid after the next Reset or
// Append.
func (r *Rows) Row(i int) Vector {
	from := i * r.stride
	to := from + r.stride
	return Vector{words: r.words[from:to:to], first: r.first}
}

// At returns the quantity of d in row i, as Row(i).Get(d) does.
func (r *Rows) At(i int, d Dim) float64 {
	return math.Float64frombits(r.words[i*r.stride+r.first+int(d)])
}

// Append adds a copy of x as the last row and returns its number. x has the length of the
// other rows.
func (r *Rows) Append(x Vector) int {
	i := r.Len()
	r.words = append(r.words, x.words...)
	return i
}

// Truncate drops all rows from n on.
func (r *Rows) Truncate(n int) { r.words = r.words[:n*r.stride] }

// resize returns s with length n and undefined content. It releases a slice that is far
// larger than n, so that one huge session does not keep its memory.
func resize[T any](s []T, n int) []T {
	if cap(s) < n || cap(s) > 8*(n+1024) {
		return make([]T, n, n+n/8)
	}

	return s[:n]
}

// CopyFrom makes r a copy of other that shares no memory with it.
func (r *Rows) CopyFrom(other *Rows) {
	r.first, r.stride = other.first, other.stride
	r.words = append(r.words[:0], other.words...)
}

// Clone returns a copy that shares no memory with r.
func (r *Rows) Clone() Rows {
	c := *r
	c.words = slices.Clone(r.words)
	return c
}
