package engine

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Unusable returns why a node accepts no new pods: it is not ready, cordoned or tainted. It returns "" for other nodes.
// Some pods may still tolerate the taint.
func Unusable(node *v1.Node) string {
	if !IsReady(node) {
		return "NotReady"
	}
	if node.Spec.Unschedulable {
		return "cordoned"
	}

	for _, taint := range node.Spec.Taints {
		// All pods that request a device tolerate a taint with the name of its resource.
		_, device := node.Status.Allocatable[v1.ResourceName(taint.Key)]
		if !device && taint.Effect != v1.TaintEffectPreferNoSchedule {
			return "tainted " + taint.ToString()
		}
	}

	return ""
}

// IsReady reports whether a node is ready, or has no condition about it.
func IsReady(node *v1.Node) bool {
	return !slices.ContainsFunc(node.Status.Conditions, func(c v1.NodeCondition) bool {
		return c.Type == v1.NodeReady && c.Status != v1.ConditionTrue
	})
}
