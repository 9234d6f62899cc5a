package guard

import (
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
)

// evicting are the actions that evict pods for others, and place those.
var evicting = []string{"reclaim", "preempt", "gangreclaim", "gangpreempt"}

// orderProblem returns what is wrong with the actions, with the line to write instead, "" for nothing. Only allocate
// binds pods. Volcano's own actions that evict place a pod, and allocate passes over such a pod in the same session. If
// they come first, the pod never starts, and more pods are evicted for it. Where evictions are planned, any order will
// do.
func orderProblem(actions []framework.Action, planned bool) string {
	var names, early []string
	for _, action := range actions {
		names = append(names, action.Name())
	}
	at := slices.Index(names, "allocate")
	for i, name := range names {
		if slices.Contains(evicting, name) && (at < 0 || i < at && !planned) {
			early = append(early, name)
		}
	}
	if len(early) == 0 {
		return ""
	}

	better := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(early, name) })
	if at < 0 {
		better = append(better, "allocate")
	}
	after := slices.Index(better, "allocate") + 1
	better = slices.Insert(better, after, early...)
	return fmt.Sprintf("pods that others are evicted for never start if %s runs before allocate: set actions: %q",
		strings.Join(early, ", "), strings.Join(better, ", "))
}

// quotaPlugin returns the first quota plugin of a configuration, "" for none.
func quotaPlugin(tiers []conf.Tier) string {
	for _, tier := range tiers {
		for _, option := range tier.Plugins {
			if slices.Contains(plugin.Names, option.Name) {
				return option.Name
			}
		}
	}
	return ""
}
