// Package release hides the differences between releases of Volcano. One source tree serves v1.14.1 and later
// releases. A Go program gets the Volcano that its build list selects, so build tags cannot tell which release it is,
// and the source must compile with each of them. Other packages only know a release by the values in Rules.
//
// # Technique
//
// A declaration that some releases lack is reached through embedding. A field or method of an embedded struct hides
// one that is embedded more deeply. So a fallback two levels down is used only where Volcano has no declaration with
// the name:
//
//	type session struct {
//		*framework.Session // its TotalGuarantee, in v1.14.1
//		absent             // otherwise the field below
//	}
//	type absent struct{ absentTotals }
//	type absentTotals struct{ TotalGuarantee *api.Resource }
//
//	session{Session: ssn}.TotalGuarantee = total // compiles with every release
//
// A hook with different types in different releases is registered by a generic function. The compiler infers the type
// from the method value, and its parts from the constraint:
//
//	func register[F ~func(any, T) bool, T any](add func(string, F), …)
//
//	register(ssn.AddPreemptiveFn, …) // T is any, or []*api.TaskInfo from v1.15 on
//
// A struct of a type that some releases lack is converted to an identical struct, which a constraint ~struct{…}
// permits. If a later release changes the struct, this package does not compile any more. That is better than to
// misread it.
package release

import (
	"fmt"
	"slices"
)

// Release is a release of Volcano with the rules of its quota plugins. Releases are ordered.
type Release int

// The releases with different rules.
const (
	V1141 Release = iota // v1.14.1
	V1144                // v1.14.2 to v1.14.4
	V115                 // v1.15
	V116                 // v1.16
)

// names has the names of the releases in the argument semantics.
var names = []string{V1141: "v1.14.1", V1144: "v1.14.4", V115: "v1.15", V116: "v1.16"}

// String returns the name of a release, such as v1.14.4.
func (r Release) String() string { return names[r] }

// Names returns the names of all releases, in their order.
func Names() []string { return slices.Clone(names) }

// Parse returns the release with a name.
func Parse(name string) (Release, error) {
	if r := slices.Index(names, name); r >= 0 {
		return Release(r), nil
	}
	return Built(), fmt.Errorf("%q is not one of %v", name, names)
}

// Rules has the rules that differ between releases.
type Rules struct {
	// OpenRoot: the root of a tree has no bound except its own capability, and deserves the sum of its children. Every
	// queue deserves at least its guarantee. From v1.14.2 on.
	//
	// Upstream: capacity/capacity.go, buildHierarchicalQueueAttrs, checkHierarchicalQueue.
	OpenRoot bool
	// OrderVictims: Reclaimable decides on candidates in the order in which Volcano evicts them, and refuses a
	// reclaimer without a job or queue. From v1.15 on.
	//
	// Upstream: capacity/capacity.go, AddReclaimableFn.
	OrderVictims bool
	// OverusedByShare: the metric queue_overused is written when the session closes, for queues with a share above 1.
	// Before v1.15, Preemptive writes it.
	//
	// Upstream: capacity/capacity.go, OnSessionClose.
	OverusedByShare bool
	// QueueGates: a pod that only has Volcano's queue allocation gate counts as a pod without gates. A pod that the
	// quotas allow keeps its room until it gets a node (see RemovesQueueGates). From v1.15 on.
	//
	// Upstream: api/job_info.go, GetSchGatedPodResources; capacity/capacity.go,
	// queueGateReservedTasks.
	QueueGates bool

	// DeviceQuotas: the capability of a queue bounds the devices of resource claims. From v1.15 on, if tasks have
	// claims (see KnowsDeviceClaims).
	//
	// Upstream: capacity/capacity.go, checkDRAAllocatable.
	DeviceQuotas bool
}

// Rules returns the rules of a release.
func (r Release) Rules() Rules {
	return Rules{
		OpenRoot:        r >= V1144,
		OrderVictims:    r >= V115,
		OverusedByShare: r >= V115,
		QueueGates:      r >= V115,
		DeviceQuotas:    r >= V115,
	}
}
