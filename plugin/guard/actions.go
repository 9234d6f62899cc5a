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

// orderProblem returns what is wrong with an order of actions, with the line to write instead, "" for nothing. Only
// allocate binds pods. A pod that an earlier action has placed is passed over by allocate in the same session. So it
// never starts, and more pods are evicted for it.
func orderProblem(actions []framework.Action) string {
	var names, early []string
	for _, action := range actions {
		names = append(names, action.Name())
	}
	at := slices.Index(names, "allocate")
	for i, name := range names {
		if slices.Contains(evicting, name) && i < at || at < 0 && slices.Contains(evicting, name) {
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
