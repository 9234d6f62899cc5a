package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Enqueueable decides whether a job is admitted, which means that its pods are created
// and scheduled:
//
//	min + allocated + inqueue − elastic ≤ bound
//
// in every dimension of min, except pods, for the queue and all its ancestors. min is
// the minimum of the job (PodGroup minResources). elastic is subtracted because running
// jobs can return it. bound is realCapability, or less with an overcommit factor
// (BoundAdmission). The comparison has no tolerance.
//
// A refusal has the reason OverQuota and the lowest queue with an exceeded bound.
//
// Upstream: capacity/capacity.go, checkJobEnqueueableHierarchically.
func Enqueueable(ix *index.Index, q index.Queue, min fastres.Vector) Verdict {
	bounds := ix.AdmissionBounds(q)
	for _, p := range ix.Path(q) {
		if !fastres.FitsNet(min, ix.Allocated(p), ix.Inqueue.Row(p), ix.Elastic.Row(p), bounds.Row(p)) {
			return Verdict{OverQuota, p}
		}
	}

	return Verdict{Admitted, q}
}

// EnqueueableNumbers returns the two sides that Enqueueable compares in one queue and dimension, for a job of the queue
// itself.
func EnqueueableNumbers(ix *index.Index, q index.Queue, d fastres.Dim, quantity float64) Numbers {
	return EnqueueableNumbersOf(ix, q, q, d, quantity)
}

// EnqueueableNumbersOf returns the two sides that Enqueueable compares in a queue p for a job of q.
func EnqueueableNumbersOf(ix *index.Index, q, p index.Queue, d fastres.Dim, quantity float64) Numbers {
	total := quantity + ix.AllocatedAt(p, d) + ix.Inqueue.At(p, d) - ix.Elastic.At(p, d)
	return Numbers{total, ix.AdmissionBounds(q).At(p, d)}
}

// Reservation sets dst to the resources that an admitted job still waits for:
//
//	reservation = max(0, min − allocated − gated)
//
// gated is the request of the job's pods with scheduling gates: they do not use quota
// before the gates are removed. Each dimension of min that exceeds allocated is present
// in dst.
//
// Upstream: util/util.go, GetInqueueResource; pkg/scheduler/api/job_info.go,
// DeductSchGatedResources.
//
// DIVERGES: upstream reserves the whole minimum of a job in phase Inqueue even when a
// part of it is allocated. For Running jobs it mixes units and thousandths of scalars
// (upstream issues 5099, 5391).
func Reservation(dst, min, allocated, gated fastres.Vector) {
	dst.SetExceeded(min, allocated)
	dst.Sub(gated)
}

// usable returns the part of an inqueue of q that counts in its parent, in dimension d:
//
//	min(inqueue, max(0, realCapability − allocated + elastic))
//
// Reservations beyond the room of the queue itself cannot be used, so they do not count for its
// siblings.
func usable(ix *index.Index, q index.Queue, d fastres.Dim, inqueue float64) float64 {
	room := ix.RealCapability.At(q, d) - ix.AllocatedAt(q, d) + ix.Elastic.At(q, d)
	return min(inqueue, max(0, room))
}

// RollUpInqueue adds inqueue of every queue to its parent, from the leaves up, as far as the
// queue has room for it. A queue that is not open adds nothing: its jobs get nothing more.
// Call it once, after Index.RollUp.
//
// DIVERGES: upstream adds inqueue without a bound. A job with a minimum above the capability
// of its queue, or a closed queue, then blocks the siblings.
func RollUpInqueue(ix *index.Index, open func(index.Queue) bool) {
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		p := ix.Parent(q)
		if p == index.None || !open(q) {
			continue
		}

		inqueue := ix.Inqueue.Row(q)
		for d := range inqueue.Present() {
			ix.Inqueue.Row(p).Increase(d, usable(ix, q, d, inqueue.Get(d)))
		}
	}
}

// ChangeInqueue adds a reservation to inqueue of q and its ancestors, as far as the queues below
// have room for it. sign is 1, or -1 to take back what ChangeInqueue or RollUpInqueue has added.
//
// DIVERGES: upstream reserves in the check. A job that a later plugin refuses takes
// room until the session ends (upstream issue 5387). Here the check changes nothing, and
// the reservation follows the decision.
func ChangeInqueue(ix *index.Index, q index.Queue, reservation fastres.Vector, sign float64) {
	for d := range reservation.Present() {
		changeInqueueIn(ix, q, d, sign*reservation.Get(d))
	}
}

// changeInqueueIn adds more to inqueue of q in one dimension. A negative value takes a reservation back.
func changeInqueueIn(ix *index.Index, q index.Queue, d fastres.Dim, more float64) {
	for _, p := range ix.Path(q) {
		inqueue := ix.Inqueue.Row(p)
		before := inqueue.Get(d)
		inqueue.Increase(d, more)
		more = usable(ix, p, d, inqueue.Get(d)) - usable(ix, p, d, before)
	}
}
