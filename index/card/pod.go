package card

import (
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Request is the quantity of one extended resource that a pod requests.
type Request struct {
	Resource v1.ResourceName
	Milli    Milli // above 0
}

// usage is the usage of one resource by the containers of a pod, in thousandths.
type usage struct {
	running  int64 // containers and sidecars, which run at the same time
	sidecars int64 // the sidecars started so far
	peak     int64 // the most that is used while init containers run
}

// Requests returns the extended resources that a pod requests, sorted by Resource. A nil
// pod requests nothing.
//
//	request = max(Σ containers + Σ sidecars, max over init containers i(init[i] + Σ sidecars before i))
//
// The quantity of a container is its limit, or its request if it has no limit. Sums saturate at
// math.MaxInt64 thousandths.
//
// Source: k8s.io/component-helpers, resource/helpers.go, PodRequests. The overhead of the
// pod does not count, because no card serves it.
func Requests(pod *v1.Pod) []Request {
	if pod == nil {
		return nil
	}

	used := usages{}
	for i := range pod.Spec.InitContainers {
		container := &pod.Spec.InitContainers[i]
		if isSidecar(container) {
			used.each(container, func(u *usage, milli int64) {
				u.running = add(u.running, milli)
				u.sidecars = add(u.sidecars, milli)
			})
			continue
		}
		used.each(container, func(u *usage, milli int64) { u.peak = max(u.peak, add(u.sidecars, milli)) })
	}
	for i := range pod.Spec.Containers {
		used.each(&pod.Spec.Containers[i], func(u *usage, milli int64) { u.running = add(u.running, milli) })
	}
	if len(used) == 0 {
		return nil // most pods
	}

	var requests []Request
	for _, name := range slices.Sorted(maps.Keys(used)) {
		total := max(used[name].running, used[name].peak)
		if total > 0 {
			requests = append(requests, Request{Resource: name, Milli: Milli(total)})
		}
	}

	return requests
}

// isSidecar reports whether an init container keeps running along with the containers.
func isSidecar(container *v1.Container) bool {
	return container.RestartPolicy != nil && *container.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// usages holds the usage of each extended resource that a container names.
type usages map[v1.ResourceName]*usage

// each calls count for each extended resource of a container. The quantity is the limit, or the
// request if there is no limit.
func (u usages) each(container *v1.Container, count func(u *usage, milli int64)) {
	limits := container.Resources.Limits
	for name, quantity := range limits {
		if extended(name) {
			count(u.get(name), thousandths(quantity))
		}
	}

	for name, quantity := range container.Resources.Requests {
		_, limited := limits[name]
		if !limited && extended(name) {
			count(u.get(name), thousandths(quantity))
		}
	}
}

func (u usages) get(name v1.ResourceName) *usage {
	if u[name] == nil {
		u[name] = &usage{}
	}
	return u[name]
}

// extended reports whether a resource is an extended resource, as all card resources are.
//
// Source: Kubernetes, pkg/apis/core/v1/helper, IsExtendedResourceName, without the check of
// the syntax: the API server has done it.
func extended(resource v1.ResourceName) bool {
	name := string(resource)
	return strings.Contains(name, "/") &&
		!strings.Contains(name, v1.ResourceDefaultNamespacePrefix) &&
		!strings.HasPrefix(name, v1.DefaultResourceRequestsPrefix) &&
		!strings.HasPrefix(name, v1.ResourceHugePagesPrefix) &&
		!strings.HasPrefix(name, v1.ResourceAttachableVolumesPrefix)
}

// add returns a+b, at most math.MaxInt64. a and b are not negative.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
