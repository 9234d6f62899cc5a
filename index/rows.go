package index

import "github.com/capacity-card/capacity-card/fastres"

// Rows has one vector per queue, addressed by the queue. The zero Rows has none.
type Rows struct{ rows fastres.Rows }

// Reset makes n empty vectors of dims dimensions. Vectors taken before are void.
func (r *Rows) Reset(n, dims int) { r.rows.Reset(n, dims) }

// Len is the number of queues that have a vector.
func (r *Rows) Len() int { return r.rows.Len() }

// Row returns the vector of q. It is void after the next Reset.
func (r *Rows) Row(q Queue) fastres.Vector { return r.rows.Row(int(q)) }
