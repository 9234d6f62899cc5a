package inspect

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint/classes"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/reclaim"
)

// The functions below read a configuration without a session. Each takes the name of a plugin and its arguments. For a
// plugin that is not one of this engine, it returns nothing.

// SettingsOf returns the settings of a plugin, without wrong groups of cards, and whether the plugin is one of this
// engine.
func SettingsOf(name string, given framework.Arguments) (settings arguments.Settings, known bool) {
	v, known := arguments.VariantOf(name)
	settings, _ = arguments.Parse(v, given)
	maps.DeleteFunc(settings.Cards.Groups, func(_ string, group card.Group) bool { return group == nil })
	return settings, known
}

// ArgumentProblems returns the problems of the arguments of a plugin.
func ArgumentProblems(name string, given framework.Arguments) []string {
	v, known := arguments.VariantOf(name)
	if !known {
		return nil
	}
	_, problems := arguments.Parse(v, given)
	return problems
}

// timed are the annotations of queues that begin or end to hold at a time.
var timed = []string{policy.InqueueTimeoutKey, policy.OrderKey, policy.EnforceQuotaKey,
	policy.EvictionGraceKey, policy.OverrideKey, card.BudgetKey}

// DependsOnTime reports whether a rule in the annotations of a queue begins or ends at a time, such as a promise that
// expires. A pod may then get a node although nothing else has changed.
func DependsOnTime(annotations map[string]string) bool {
	return slices.ContainsFunc(timed, func(key string) bool { return annotations[key] != "" })
}

// KeepsGangs reports whether reclaim keeps the minimum of jobs, so that a gang gives nothing back.
func KeepsGangs(name string, given framework.Arguments, tiers []conf.Tier) bool {
	settings, known := SettingsOf(name, given)
	return known && !settings.WholeGangs && reclaim.GangVotes(tiers, false)
}

// TreeOfAnnotations reports whether annotations of the queues describe their tree, rather than the parents in their
// specs.
func TreeOfAnnotations(name string, given framework.Arguments) bool {
	settings, known := SettingsOf(name, given)
	return known && settings.Bounds.HierarchyFrom == intake.HierarchyFromAnnotation
}

// ServiceTypes returns a function that reads the service class of a pod from the annotations of its PodGroup and from
// its owners, "" for none. It is nil if the plugin has no classes.
func ServiceTypes(name string, given framework.Arguments) func(annotations map[string]string, pod *v1.Pod) string {
	settings, known := SettingsOf(name, given)
	if !known || !settings.ByClass {
		return nil
	}
	return func(annotations map[string]string, pod *v1.Pod) string {
		return classes.Stated(annotations, pod, settings.Owners)
	}
}

// PolicyProblems returns the policies of a queue that have no effect: limits of holders on resources that the plugin
// does not count, and policies that need an argument.
func PolicyProblems(name string, given framework.Arguments, annotations map[string]string) []card.Problem {
	settings, known := SettingsOf(name, given)
	if !known {
		return nil
	}

	values, _ := policy.Parse(annotations)
	return slices.Concat(settings.Bounds.LimitProblems(&values), settings.Bounds.FairShareProblems(&values))
}

// UncountedProblems returns the resources in a bound of a queue's spec that the plugin does not count.
func UncountedProblems(name string, bound v1.ResourceList) []card.Problem {
	v, known := arguments.VariantOf(name)
	if !known {
		return nil
	}
	return intake.Settings{Scalars: v.Scalars}.UncountedProblems(bound)
}

// DeviceProblems returns the quotas of device classes of a queue that have no effect.
func DeviceProblems(
	name string, given framework.Arguments, capability, deserved, guarantee v1.ResourceList,
) []intake.DeviceProblem {
	settings, known := SettingsOf(name, given)
	if !known {
		return nil
	}
	return settings.Bounds.Devices.Problems(capability, deserved, guarantee)
}
