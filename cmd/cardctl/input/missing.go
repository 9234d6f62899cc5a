package input

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// Kind is a kind of object, as in kubectl get.
type Kind string

// The kinds that callers ask for.
const (
	Nodes           Kind = "nodes"
	Jobs            Kind = "jobs"
	Queues          Kind = "queues"
	PodGroups       Kind = "podgroups"
	Pods            Kind = "pods"
	PriorityClasses Kind = "priorityclasses"
)

// Lacks reports whether the files have no object of a kind although other objects refer to it.
func (o *Objects) Lacks(kind Kind) bool { return o.references(kind) > 0 }

// references counts the objects that refer to a kind that the files lack.
func (o *Objects) references(kind Kind) int {
	if o.complete {
		return 0
	}

	switch {
	case kind == Queues && len(o.Queues) == 0:
		return len(o.PodGroups)
	case kind == PodGroups && len(o.PodGroups) == 0:
		return count(o.Pods, func(pod *v1.Pod) bool {
			return pod.Annotations[scheduling.KubeGroupNameAnnotationKey] != "" &&
				pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed
		})
	case kind == Pods && len(o.Pods) == 0:
		return count(o.PodGroups, func(g *scheduling.PodGroup) bool {
			return g.Status.Phase == scheduling.PodGroupRunning
		})
	case kind == PriorityClasses && len(o.PriorityClasses) == 0:
		return count(o.PodGroups, func(g *scheduling.PodGroup) bool { return g.Spec.PriorityClassName != "" })
	}

	return 0
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, each := range all {
		if is(each) {
			n++
		}
	}

	return n
}

// Missing describes the kinds that the files lack, and the effect.
func (o *Objects) Missing() (all []string) {
	for _, k := range []struct {
		kind         Kind
		name, effect string
	}{
		{Queues, "Queue", "%d PodGroups name a queue, and none exists"},
		{PodGroups, "PodGroup", "PodGroups of %d pods are derived from the jobs and annotations that name their queue"},
		{Pods, "Pod", "%d PodGroups run, and no queue is charged for their pods"},
		{PriorityClasses, "PriorityClass", "%d PodGroups name one, and have the priority 0"},
	} {
		if n := o.references(k.kind); n > 0 {
			all = append(all, fmt.Sprintf("the input has no %s: "+k.effect+"; add them: kubectl get %s -A -o json",
				k.name, n, k.kind))
		}
	}

	return all
}
