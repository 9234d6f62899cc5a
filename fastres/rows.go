package fastres

import "slices"

// Rows is an arena of vectors of one length, addressed by number. Its memory is
// kept when it is Reset, so that a session does not pay for the one before.
//
// Invariant: len(quantity) = n·dims, len(present) = n·words(dims).
type Rows struct {
	dims, words int
	quantity    []float64
	present     []uint64
}

// Reset makes n empty rows of dims dimensions. Rows taken before are void.
func (r *Rows) Reset(n, dims int) {
	r.dims, r.words = dims, words(dims)
	r.quantity = resize(r.quantity, n*r.dims)
	r.present = resize(r.present, n*r.words)
	clear(r.quantity)
	clear(r.present)
	for i := range n {
		r.present[i*r.words] = always
	}
}

// Len is the number of rows.
func (r *Rows) Len() int {
	if r.dims == 0 {
		return 0
	}
	return len(r.quantity) / r.dims
}

// Row returns row i. It is void after the next Reset or Append.
func (r *Rows) Row(i int) Vector {
	q, p := i*r.dims, i*r.words
	return Vector{
		quantity: r.quantity[q : q+r.dims : q+r.dims],
		present:  r.present[p : p+r.words : p+r.words],
	}
}

// Append adds a copy of x as the last row and returns its number.
func (r *Rows) Append(x Vector) int {
	i := r.Len()
	r.quantity = append(r.quantity, x.quantity...)
	r.present = append(r.present, x.present...)
	return i
}

// resize returns s with length n; what it holds is undefined. A slice that is
// far larger than needed is let go, so that one huge session is not paid for
// for ever.
func resize[T any](s []T, n int) []T {
	if cap(s) < n || cap(s) > 8*(n+1024) {
		return make([]T, n, n+n/8)
	}
	return s[:n]
}

// Clone returns rows of the same content that share nothing with r.
func (r *Rows) Clone() Rows {
	c := *r
	c.quantity = slices.Clone(r.quantity)
	c.present = slices.Clone(r.present)
	return c
}
