package card

import (
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Request is how much a pod asks for of one extended resource.
type Request struct {
	Resource v1.ResourceName
	Milli    Milli // more than 0
}

// usage is what the containers of a pod use of one resource.
type usage struct {
	running  int64 // containers and sidecars, which run to the end
	sidecars int64 // sidecars started so far
	peak     int64 // the most that is used while init containers run
}

// Requests returns what a pod asks for of each extended resource, sorted by
// Resource, without those it does not ask for. A nil pod asks for nothing.
//
//	request = max(containers + sidecars, max over init containers i(init[i] + sidecars before i))
//
// A sidecar is an init container that always restarts. The formula is that of
// PodRequests in k8s.io/component-helpers, without the overhead of the pod:
// no card is handed out for it.
func Requests(pod *v1.Pod) []Request {
	if pod == nil {
		return nil
	}
	used := usages{}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if restart := container.RestartPolicy; restart != nil && *restart == v1.ContainerRestartPolicyAlways {
			used.each(container, func(u *usage, milli int64) {
				u.running = add(u.running, milli)
				u.sidecars = add(u.sidecars, milli)
			})
		} else {
			used.each(container, func(u *usage, milli int64) { u.peak = max(u.peak, add(u.sidecars, milli)) })
		}
	}
	for i := range pod.Spec.Containers {
		used.each(&pod.Spec.Containers[i], func(u *usage, milli int64) { u.running = add(u.running, milli) })
	}
	if len(used) == 0 {
		return nil // most pods
	}
	var requests []Request
	for _, name := range slices.Sorted(maps.Keys(used)) {
		if total := max(used[name].running, used[name].peak); total > 0 {
			requests = append(requests, Request{Resource: name, Milli: Milli(total)})
		}
	}
	return requests
}

// usages has an entry for each extended resource that was seen.
type usages map[v1.ResourceName]*usage

// each calls count for each extended resource of a container, with the limit, or
// the request where there is no limit.
func (u usages) each(container *v1.Container, count func(u *usage, milli int64)) {
	limits := container.Resources.Limits
	for name, quantity := range limits {
		if extended(name) {
			count(u.of(name), thousandths(quantity))
		}
	}
	for name, quantity := range container.Resources.Requests {
		if _, limited := limits[name]; !limited && extended(name) {
			count(u.of(name), thousandths(quantity))
		}
	}
}

func (u usages) of(name v1.ResourceName) *usage {
	if u[name] == nil {
		u[name] = &usage{}
	}
	return u[name]
}

// extended reports whether a resource is one that Kubernetes itself knows
// nothing about, as all cards are (IsExtendedResourceName of the core helpers,
// which also checks the syntax; the API server has done that).
func extended(resource v1.ResourceName) bool {
	name := string(resource)
	return strings.Contains(name, "/") &&
		!strings.Contains(name, v1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(name, v1.DefaultResourceRequestsPrefix) &&
		!strings.HasPrefix(name, v1.ResourceHugePagesPrefix) &&
		!strings.HasPrefix(name, v1.ResourceAttachableVolumesPrefix)
}

// add returns a+b for numbers that are not negative, at most math.MaxInt64.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
