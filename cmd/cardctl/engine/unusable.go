package engine

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Unusable returns why new pods cannot use what is free on a node: it is not ready, cordoned or
// tainted. It is "" for all others. Pods may tolerate a taint, as all that request a device tolerate
// one with the name of its resource, which does not count.
func Unusable(node *v1.Node) string {
	if !IsReady(node) {
		return "NotReady"
	}
	if node.Spec.Unschedulable {
		return "cordoned"
	}
	for _, taint := range node.Spec.Taints {
		if _, resource := node.Status.Allocatable[v1.ResourceName(taint.Key)]; !resource && taint.Effect != v1.TaintEffectPreferNoSchedule {
			return "tainted " + taint.ToString()
		}
	}
	return ""
}

// IsReady reports whether a node does not say that it is not ready.
func IsReady(node *v1.Node) bool {
	return !slices.ContainsFunc(node.Status.Conditions,
		func(c v1.NodeCondition) bool { return c.Type == v1.NodeReady && c.Status != v1.ConditionTrue })
}
