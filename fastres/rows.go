package fastres

import "slices"

// Rows is an arena of vectors of one length, addressed by number. Its memory is
// kept when it is Reset, so that a session does not pay for the one before.
//
// Invariant: len(words) = n·stride, stride = presenceWords(dims) + dims.
type Rows struct {
	first, stride int // see Vector
	words         []uint64
}

// Reset makes n empty rows of dims dimensions. Rows taken before are void.
func (r *Rows) Reset(n, dims int) {
	r.first = presenceWords(dims)
	r.stride = r.first + dims
	r.words = resize(r.words, n*r.stride)
	clear(r.words)
	for i := range n {
		r.words[i*r.stride] = always
	}
}

// Len is the number of rows.
func (r *Rows) Len() int {
	if r.stride == 0 {
		return 0
	}
	return len(r.words) / r.stride
}

// Row returns row i. It is void after the next Reset or Append.
func (r *Rows) Row(i int) Vector {
	from, to := i*r.stride, (i+1)*r.stride
	return Vector{words: r.words[from:to:to], first: r.first}
}

// Append adds a copy of x as the last row and returns its number.
func (r *Rows) Append(x Vector) int {
	i := r.Len()
	r.words = append(r.words, x.words...)
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
	c.words = slices.Clone(r.words)
	return c
}
