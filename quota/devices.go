package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// A resource claim gives devices to the pods that name it. Several pods can share a claim, in one
// queue or in several, and use its devices together. A queue is charged for a claim when the first
// pod in the queue, or below, gets a node. It is refunded when the last of these pods leaves. So the
// charge differs from level to level, and the rules of this file find it for each level.
//
// Only the capability of a queue bounds devices. It names a class if it has a bound for the
// count of its devices or for one of their capacities:
//
//	class   dimension         bound
//	no      any               none
//	named   count             as set; none if only capacities are
//	named   capacity, named   as set
//	named   capacity, other   0
//
// A count is in thousandths of devices, a capacity in thousandths of its unit. Comparisons have
// no tolerance.
//
// Upstream: v1.15 capacity/capacity.go, checkDRAAllocatable.

// Bound returns the bound of q in any dimension. For devices, limit has the bounds of the named
// dimensions, and of the count of every named class.
func Bound(limit *index.Rows, names *index.Names, q index.Queue, d fastres.Dim) float64 {
	bounds := limit.Row(q)
	if class, device := names.Class(d); device && !bounds.Has(class) {
		return fastres.MaxQuantity
	}
	return bounds.Get(d)
}

// DeviceClaimsFit decides whether the quotas of a queue allow the claims of one more pod:
//
//	allocated + Σ claims that the queue does not hold ≤ bound
//
// in every dimension of these claims, for the queue and all its ancestors. A refusal has the
// reason OverQuota and the lowest queue with an exceeded bound.
//
// Upstream: v1.15 capacity/capacity.go, queueAllocatableWithReserved, incrementalTaskDRA.
//
// DIVERGES: upstream knows claims of ancestors from events only. It knows claims of a queue only
// if the queue has a quota of devices itself. So a claim of a pod that ran before the session
// counts again for each queue below, or not at all.
func DeviceClaimsFit(a Accounts, limit *index.Rows, names *index.Names, q index.Queue,
	claims []index.DeviceClaim) Verdict {
	for _, p := range a.Path(q) {
		for _, claim := range claims {
			for _, device := range claim.Devices {
				added := Added(a, p, claims, device.Dim)
				if added > 0 && DeviceClaimNumbers(a, limit, names, p, device.Dim, added).Exceeded() {
					return Verdict{OverQuota, p}
				}
			}
		}
	}

	return Verdict{Admitted, q}
}

// DeviceClaimNumbers returns the two sides that DeviceClaimsFit compares in one queue and dimension. added is the
// result of Added.
func DeviceClaimNumbers(a View, limit *index.Rows, names *index.Names, q index.Queue, d fastres.Dim,
	added float64) Numbers {
	return Numbers{a.AllocatedAt(q, d) + added, Bound(limit, names, q, d)}
}

// Added returns the charge of q in dimension d for the claims of one more pod: Σ claims that q
// does not hold.
func Added(a Accounts, q index.Queue, claims []index.DeviceClaim, d fastres.Dim) (added float64) {
	for _, claim := range claims {
		if a.DeviceClaim(q, claim.Name).References > 0 {
			continue
		}

		for _, device := range claim.Devices {
			if device.Dim == d {
				added += device.Quantity
			}
		}
	}

	return added
}

// ChargeDeviceClaims charges q, and all its ancestors, for the claims of a pod that gets a node. A
// queue is charged for a claim that it does not hold:
//
//	allocated = allocated + claim   if references = 0
//	references = references + 1
//
// Upstream: v1.15 capacity/capacity.go, addTaskDRAAllocated.
func ChargeDeviceClaims(a Accounts, q index.Queue, claims []index.DeviceClaim) {
	for _, p := range a.Path(q) {
		for _, claim := range claims {
			held := a.DeviceClaim(p, claim.Name)
			if held.References == 0 {
				held.Devices = claim.Devices
				for _, device := range held.Devices {
					a.Mutable(p).Increase(device.Dim, device.Quantity)
				}
			}

			held.References++
			a.SetDeviceClaim(p, claim.Name, held)
		}
	}
}

// RefundDeviceClaims reverts ChargeDeviceClaims for a pod that leaves its node:
//
//	references = references − 1
//	allocated = allocated − claim   if references = 0
//
// A claim that a queue does not hold is not refunded.
//
// Upstream: v1.15 capacity/capacity.go, removeTaskDRAAllocated.
func RefundDeviceClaims(a Accounts, q index.Queue, claims []index.DeviceClaim) {
	for _, claim := range claims {
		if a.DeviceClaim(q, claim.Name).References == 0 {
			continue
		}

		for _, p := range a.Path(q) {
			held := a.DeviceClaim(p, claim.Name)
			held.References--
			if held.References == 0 {
				allocated := a.Mutable(p)
				for _, device := range held.Devices {
					allocated.Set(device.Dim, max(0, allocated.Get(device.Dim)-device.Quantity))
				}
				held = index.Held{}
			}

			a.SetDeviceClaim(p, claim.Name, held)
		}
	}
}

// EnqueueableDevices decides whether a job that requests devices is admitted:
//
//	min + allocated + inqueue ≤ bound
//
// in every dimension of min, for the queue and all its ancestors. min has dimensions of devices
// only. Devices that jobs hold beyond their minimum count. A claim counts once for each pod of min
// that shares it. A refusal has the reason OverQuota and the lowest queue with an exceeded bound.
//
// Upstream: v1.15 capacity/capacity.go, jobEnqueueable.
func EnqueueableDevices(ix *index.Index, names *index.Names, q index.Queue, min fastres.Vector) Verdict {
	for _, p := range ix.Path(q) {
		for d := range min.Requested() {
			if EnqueueableDeviceNumbers(ix, names, p, d, min.Get(d)).Exceeded() {
				return Verdict{OverQuota, p}
			}
		}
	}

	return Verdict{Admitted, q}
}

// EnqueueableDeviceNumbers returns the two sides that EnqueueableDevices compares in one queue and dimension.
func EnqueueableDeviceNumbers(ix *index.Index, names *index.Names, q index.Queue, d fastres.Dim,
	quantity float64) Numbers {
	total := quantity + ix.AllocatedAt(q, d) + ix.Inqueue.At(q, d)
	return Numbers{total, Bound(&ix.RealCapability, names, q, d)}
}

// PromiseDevices adds the devices of an admitted job to inqueue of its queue, and of all
// ancestors, until the session ends.
//
// Upstream: v1.15 capacity/capacity.go, updateDRAInqueue.
func PromiseDevices(ix *index.Index, q index.Queue, devices fastres.Vector) {
	for _, p := range ix.Path(q) {
		ix.Inqueue.Row(p).Add(devices)
	}
}

// WithdrawDevices reverts PromiseDevices.
func WithdrawDevices(ix *index.Index, q index.Queue, devices fastres.Vector) {
	for _, p := range ix.Path(q) {
		ix.Inqueue.Row(p).Sub(devices)
	}
}
