package guard

import (
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
)

// evicting are the actions that evict pods for other pods, and place the others.
var evicting = []string{"reclaim", "preempt", "gangreclaim", "gangpreempt"}

// orderProblem returns the problem of the order of the actions, with a line to write instead, "" for none.
//
// Only allocate binds pods. Volcano's own actions that evict place a pod, and allocate passes over this pod in the same
// session. If they come first, the pod never starts, and more pods are evicted for it. If evictions are planned, the
// order does not matter.
func orderProblem(actions []framework.Action, planned bool) string {
	var names, early []string
	for _, action := range actions {
		names = append(names, action.Name())
	}
	allocate := slices.Index(names, "allocate")
	for i, name := range names {
		if slices.Contains(evicting, name) && (allocate < 0 || i < allocate && !planned) {
			early = append(early, name)
		}
	}
	if len(early) == 0 {
		return ""
	}

	better := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(early, name) })
	if allocate < 0 {
		better = append(better, "allocate")
	}
	after := slices.Index(better, "allocate") + 1
	better = slices.Insert(better, after, early...)

	runs := "before"
	if allocate < 0 {
		runs = "without"
	}
	return fmt.Sprintf("pods that others are evicted for never start if %s runs %s allocate: set actions: %q",
		strings.Join(early, ", "), runs, strings.Join(better, ", "))
}

// quotaPlugin returns the first quota plugin of a configuration, "" for none.
func quotaPlugin(tiers []conf.Tier) string {
	for _, tier := range tiers {
		for _, option := range tier.Plugins {
			if isQuotaPlugin(option.Name) {
				return option.Name
			}
		}
	}

	return ""
}
