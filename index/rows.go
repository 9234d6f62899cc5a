package index

import "github.com/capacity-card/capacity-card/fastres"

// Rows is one account: a vector for each queue, addressed by the queue. The zero Rows has
// no vectors.
type Rows struct{ rows fastres.Rows }

// Reset makes vectors for n queues, each of dims dimensions and empty. Earlier vectors are
// invalid.
func (r *Rows) Reset(n, dims int) { r.rows.Reset(n, dims) }

// CopyFrom makes r a copy of other. Earlier vectors are invalid.
func (r *Rows) CopyFrom(other *Rows) { r.rows.CopyFrom(&other.rows) }

// Len returns the number of queues.
func (r *Rows) Len() int { return r.rows.Len() }

// Row returns the vector of q, which shares memory with r. It is invalid after the next
// Reset.
func (r *Rows) Row(q Queue) fastres.Vector { return r.rows.Row(int(q)) }

// At returns the quantity of d in the vector of q.
func (r *Rows) At(q Queue, d fastres.Dim) float64 { return r.rows.At(int(q), d) }
