package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Enqueueable answers whether a job with the minimum min may get pods:
//
//	min + allocated + inqueue − elastic ≤ realCapability
//
// in every dimension of min, pods aside, for the queue and all its ancestors.
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

// Promise sets dst to what an enqueued job still waits for:
//
//	max(0, min − allocated − gated)
//
// where gated is requested by pods that are not to be scheduled yet.
//
// Upstream: plugins/util/util.go, GetInqueueResource; api/job_info.go,
// DeductSchGatedResources.
//
// DIVERGES: upstream counts the whole minimum of an Inqueue job even when some
// of it is allocated, and for Running jobs mixes units and thousandths of
// scalars (upstream issues 5099, 5391).
func Reservation(dst, min, allocated, gated fastres.Vector) {
	dst.SetExceeded(min, allocated)
	dst.Sub(gated)
}

// ChargeInqueue adds a promise to inqueue of q and of all its ancestors.
//
// DIVERGES: upstream charges in the check, so that a job that a later plugin
// refuses takes room for the rest of the session (upstream issue 5387). Here
// the check changes nothing and the charge follows the decision.
func ChargeInqueue(ix *index.Index, q index.Queue, promise fastres.Vector) {
	for _, p := range ix.Path(q) {
		ix.Inqueue.Row(p).Add(promise)
	}
}
