package index

import "github.com/capacity-card/capacity-card/fastres"

// Index holds the queues of a session, with one vector for each queue and account. Vectors
// have the units of package fastres. Later sessions reuse its memory. The zero Index is
// ready for Reset.
type Index struct {
	*Tree

	// The configuration of the queues, and what package quota computes from it.
	Capability     Rows // as configured, later also the inherited values
	RealCapability Rows // the bound of allocation, and of admission
	// Lifted is RealCapability for the queues in which cards count. It leaves out the bounds of resources that only
	// the total of the cluster gives (quota.LiftTotal). It has no rows if no queue is lifted: see Bounds.
	Lifted Rows
	// Admission and LiftedAdmission are the bounds of admission if some queue has a bound of its own. Otherwise they
	// have no rows: see AdmissionBounds.
	Admission       Rows
	LiftedAdmission Rows
	// Raised holds the bounds of admission for a job that is owed resources by others, while this job is asked about.
	// Otherwise it is nil: see quota.Returns.
	Raised          *Rows
	Deserved        Rows
	Guarantee       Rows // effective: at least Σ guarantee of the children, up to the capability
	ChildGuarantees Rows // Σ guarantee of the children

	// The usage of the queues' jobs, rolled up to every ancestor.
	Request Rows // allocated + pending
	Inqueue Rows // reserved for admitted jobs
	Elastic Rows // allocated beyond the minimum of the jobs
	// Terminating is the part of allocated that belongs to pods under deletion.
	Terminating Rows
	// Reserved is kept for pods that may have a node and have none yet. It has no rows before
	// the first such pod: see quota.Reserve.
	Reserved Rows

	names     *Names // nil if no groups of cards are known
	allocated versionedRows
	claims    deviceClaims
	share     []float64 // a ratio without unit
	lifts     []bool    // by queue: its bounds are Lifted
	own       ownJobs
	dims      int
	session   uint64
}

// Reset begins a session with the queues of t. Every account is empty, and every vector
// has dims dimensions, at least fastres.FirstFree. Earlier vectors and snapshots are
// invalid.
func (ix *Index) Reset(t *Tree, dims int) {
	ix.Tree = t
	ix.dims = dims

	for _, rows := range []*Rows{
		&ix.Capability, &ix.RealCapability, &ix.Deserved, &ix.Guarantee, &ix.ChildGuarantees,
	} {
		rows.Reset(t.Len(), dims)
	}

	ix.Lifted.Reset(0, dims)
	ix.lifts = nil
	ix.ResetUsage()
}

// ResetUsage begins a session with the same queues and the same configuration. It empties
// the shares and the accounts of usage: allocated, Request, Inqueue, Elastic, Terminating and
// Reserved. Earlier vectors of these accounts, and earlier snapshots, are invalid.
func (ix *Index) ResetUsage() {
	n := ix.Len()
	for _, rows := range []*Rows{&ix.Request, &ix.Inqueue, &ix.Elastic, &ix.Terminating} {
		rows.Reset(n, ix.dims)
	}

	ix.Reserved.Reset(0, ix.dims)
	ix.Admission.Reset(0, ix.dims)
	ix.LiftedAdmission.Reset(0, ix.dims)
	ix.Raised = nil

	ix.allocated.reset(n, ix.dims)
	ix.claims.reset()
	ix.share = append(ix.share[:0], make([]float64, n)...)
	ix.own.reset(n)
	ix.session++
}

// Lift makes Bounds return Lifted for some queues. Lifted begins as a copy of RealCapability.
func (ix *Index) Lift(lifts []bool) {
	ix.lifts = lifts
	ix.Lifted.CopyFrom(&ix.RealCapability)
}

// Bounds returns the bounds of allocation of q and its ancestors: RealCapability, or Lifted.
func (ix *Index) Bounds(q Queue) *Rows {
	if ix.lifts != nil && ix.lifts[q] {
		return &ix.Lifted
	}

	return &ix.RealCapability
}

// LargestBound returns the largest bound of q that applies to some queue below it.
func (ix *Index) LargestBound(q Queue, d fastres.Dim) float64 {
	if ix.lifts != nil {
		return ix.Lifted.At(q, d)
	}

	return ix.RealCapability.At(q, d)
}

// AdmissionBounds returns the bounds of admission of q and its ancestors: Raised while it is set, or else Bounds,
// lowered where some queue has a bound of its own.
func (ix *Index) AdmissionBounds(q Queue) *Rows {
	switch {
	case ix.Raised != nil:
		return ix.Raised
	case ix.Admission.Len() == 0:
		return ix.Bounds(q)
	case ix.lifts != nil && ix.lifts[q]:
		return &ix.LiftedAdmission
	}

	return &ix.Admission
}

// SetNames tells the index the names of its dimensions, for the groups of cards.
func (ix *Index) SetNames(names *Names) { ix.names = names }

// Regroup sets the quantities of card groups in x to the weighted sums of their cards.
func (ix *Index) Regroup(x fastres.Vector) { ix.names.Regroup(x) }

// Dims returns the number of dimensions of every vector of the session.
func (ix *Index) Dims() int { return ix.dims }

// Allocated returns allocated of q: the sum of the requests of tasks in q, and below q,
// that have a node. It is for reading, and invalid after the next change.
func (ix *Index) Allocated(q Queue) fastres.Vector { return ix.allocated.row(q) }

// AllocatedAt returns the quantity of d in allocated of q, as Allocated(q).Get(d) does.
func (ix *Index) AllocatedAt(q Queue, d fastres.Dim) float64 { return ix.allocated.quantity(q, d) }

// Mutable returns allocated of q for writing. It is invalid after the next call. A writer
// changes the whole path of q (see quota.Charge).
func (ix *Index) Mutable(q Queue) fastres.Vector { return ix.allocated.mutable(q) }

// Changed returns nil: no account differs from itself.
func (ix *Index) Changed() []Queue { return nil }

// Share returns the share of q that SetShare set last, 0 at first. See quota.Share.
func (ix *Index) Share(q Queue) float64 { return ix.share[q] }

// SetShare sets the share of q.
func (ix *Index) SetShare(q Queue, share float64) { ix.share[q] = share }

// RollUp adds allocated, request, elastic and terminating of every queue to its parent's,
// from the leaves up. Call it once, after the usage of all jobs is added to the queues that
// they are in. quota.RollUpInqueue rolls up inqueue, which has a bound at each level.
func (ix *Index) RollUp() {
	for q := Queue(ix.Len()) - 1; q >= 0; q-- {
		p := ix.Parent(q)
		if p == None {
			continue
		}

		ix.Mutable(p).Add(ix.Allocated(q))
		ix.Request.Row(p).Add(ix.Request.Row(q))
		ix.Elastic.Row(p).Add(ix.Elastic.Row(q))
		ix.Terminating.Row(p).Add(ix.Terminating.Row(q))
	}

	ix.Check()
}
