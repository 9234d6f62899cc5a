package index

import "github.com/capacity-card/capacity-card/fastres"

// Index is a session's queues and their accounts.
type Index struct {
	*Tree

	// What the queues are configured with, and what follows from it. A row is
	// addressed by the number of its queue.
	Capability      Rows // as specified, then with what is inherited
	RealCapability  Rows // the bound that admission is held to
	Deserved        Rows
	Guarantee       Rows // effective: at least Σ of the children's
	ChildGuarantees Rows // Σ guarantee of the children

	// What the queues' jobs use and ask for, each rolled up to every ancestor.
	Request Rows // allocated + pending
	Inqueue Rows // promised to jobs that were enqueued
	Elastic Rows // allocated beyond the jobs' minimum

	allocated ledger
	share     []float64
	own       ownJobs // of the invariant build alone
	dims      int
	session   uint64
}

// Reset prepares the index for a session: every account empty, every vector of
// dims dimensions. Snapshots taken before are void.
func (ix *Index) Reset(t *Tree, dims int) {
	ix.Tree, ix.dims = t, dims
	for _, rows := range []*Rows{
		&ix.Capability, &ix.RealCapability, &ix.Deserved, &ix.Guarantee, &ix.ChildGuarantees,
	} {
		rows.Reset(t.Len(), dims)
	}
	ix.ResetUsage()
}

// ResetUsage is Reset for queues that are configured as they were: it empties
// what jobs use and ask for alone.
func (ix *Index) ResetUsage() {
	n := ix.Len()
	for _, rows := range []*Rows{&ix.Request, &ix.Inqueue, &ix.Elastic} {
		rows.Reset(n, ix.dims)
	}
	ix.allocated.reset(n, ix.dims)
	ix.share = append(ix.share[:0], make([]float64, n)...)
	ix.own.reset(n)
	ix.session++
}

// Dims is the length of every vector of this session.
func (ix *Index) Dims() int { return ix.dims }

// Allocated returns what is allocated to q and below. It is for reading, and
// void after the next change.
func (ix *Index) Allocated(q Queue) fastres.Vector { return ix.allocated.row(q) }

// Mutable returns allocated of q for writing. It is void after the next call.
func (ix *Index) Mutable(q Queue) fastres.Vector { return ix.allocated.mutable(q) }

// Share returns the share of q as it was last set.
func (ix *Index) Share(q Queue) float64 { return ix.share[q] }

// SetShare sets the share of q.
func (ix *Index) SetShare(q Queue, share float64) { ix.share[q] = share }

// RollUp adds the accounts of every queue to its parent's, bottom up. It is
// called once, when the queues' own jobs are all counted.
func (ix *Index) RollUp() {
	for q := Queue(ix.Len()) - 1; q >= 0; q-- {
		p := ix.Parent(q)
		if p == None {
			continue
		}
		ix.Mutable(p).Add(ix.Allocated(q))
		ix.Request.Row(p).Add(ix.Request.Row(q))
		ix.Inqueue.Row(p).Add(ix.Inqueue.Row(q))
		ix.Elastic.Row(p).Add(ix.Elastic.Row(q))
	}
	ix.Check()
}
