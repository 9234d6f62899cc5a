package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Enqueueable decides whether a job is admitted, which means that its pods are created
// and scheduled:
//
//	min + allocated + inqueue − elastic ≤ realCapability
//
// in every dimension of min, except pods, for the queue and all its ancestors. min is
// the minimum of the job (PodGroup minResources). elastic is subtracted because running
// jobs can return it. The comparison has no tolerance.
//
// A refusal has the reason OverQuota and the lowest queue whose bound is exceeded.
//
// Upstream: capacity/capacity.go, checkJobEnqueueableHierarchically.
func Enqueueable(ix *index.Index, q index.Queue, min fastres.Vector) Verdict {
	for _, p := range ix.Path(q) {
		if !fastres.FitsNet(min, ix.Allocated(p), ix.Inqueue.Row(p), ix.Elastic.Row(p), ix.RealCapability.Row(p)) {
			return Verdict{OverQuota, p}
		}
	}
	return Verdict{Admitted, q}
}

// Reservation sets dst to what an admitted job still waits for:
//
//	reservation = max(0, min − allocated − gated)
//
// gated is the request of the job's pods with scheduling gates: they do not use quota
// until the gates are removed. Each dimension of min that exceeds allocated is present
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

// ChargeInqueue adds a reservation to inqueue of q and of all its ancestors.
//
// DIVERGES: upstream reserves in the check. A job that a later plugin refuses takes
// room until the session ends (upstream issue 5387). Here the check changes nothing, and
// the reservation follows the decision.
func ChargeInqueue(ix *index.Index, q index.Queue, reservation fastres.Vector) {
	for _, p := range ix.Path(q) {
		ix.Inqueue.Row(p).Add(reservation)
	}
}
