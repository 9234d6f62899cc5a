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

// What a configuration means under one of the names of the engine. Each function takes the name of the
// plugin, and returns nothing for that of another plugin.

// ArgumentProblems returns what is wrong with the arguments of a plugin.
func ArgumentProblems(name string, given framework.Arguments) []string {
	v, known := arguments.VariantOf(name)
	if !known {
		return nil
	}
	_, problems := arguments.Parse(v, given)
	return problems
}

// CardLabels returns the labels that name the cards of nodes, where they are not those of vendors.
func CardLabels(name string, given framework.Arguments) card.Labels {
	v, _ := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	return with.Cards.Labels
}

// CardAttributes returns the attributes that name the cards of devices, where they are not those of vendors.
func CardAttributes(name string, given framework.Arguments) card.Attributes {
	v, _ := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	return with.Cards.Attributes
}

// CardFractions returns what counts of fractions of cards.
func CardFractions(name string, given framework.Arguments) card.FractionsBy {
	v, _ := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	return with.Cards.Fractions
}

// CardGroups returns the groups of cards, without those that are wrong.
func CardGroups(name string, given framework.Arguments) card.Groups {
	v, _ := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	maps.DeleteFunc(with.Cards.Groups, func(_ string, group card.Group) bool { return group == nil })
	return with.Cards.Groups
}

// DependsOnTime reports whether a rule of a plugin begins or ends at a time, such as a promise that is over, so that a
// pod may get a node although nothing else has changed. queues has the annotations of each queue.
func DependsOnTime(name string, given framework.Arguments, queues []map[string]string) bool {
	v, _ := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	return with.Bounds.InqueueTimeout > 0 || slices.ContainsFunc(queues, func(of map[string]string) bool {
		return of[policy.InqueueTimeoutKey] != "" || of[policy.JobOrderKey] != "" || of[policy.FairShareHoldKey] != "" ||
			of[policy.EnforceQuotaKey] != "" || of[policy.EvictionGraceKey] != "" || of[policy.OverrideKey] != "" || of[card.BudgetKey] != ""
	})
}

// KeepsGangs reports whether reclaim keeps the minimum of jobs, so that a gang gives nothing back.
func KeepsGangs(name string, given framework.Arguments, tiers []conf.Tier) bool {
	v, known := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	return known && !with.WholeGangs && reclaim.GangVotes(tiers, false)
}

// FairShareOf returns the settings of the order by usage over time of a plugin.
func FairShareOf(name string, given framework.Arguments) arguments.FairShare {
	v, _ := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	return with.FairShare
}

// TreeOfAnnotations reports whether annotations of the queues describe their tree, if they have
// one, and not the parents in their specs.
func TreeOfAnnotations(name string, given framework.Arguments) bool {
	v, known := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	return known && with.Bounds.HierarchyFrom == intake.HierarchyFromAnnotation
}

// ServiceTypes returns a function for the service class of a pod, from the annotations of its
// PodGroup and from its owners, "" for none. It is nil where the plugin has no classes.
func ServiceTypes(name string, given framework.Arguments) func(annotations map[string]string, pod *v1.Pod) string {
	v, known := arguments.VariantOf(name)
	with, _ := arguments.Parse(v, given)
	if !known || !with.ByClass {
		return nil
	}
	return func(annotations map[string]string, pod *v1.Pod) string {
		return classes.Stated(annotations, pod, with.Owners)
	}
}

// PolicyProblems returns the policies of a queue that have no effect: limits of namespaces on what the
// plugin does not count, and those that need an argument.
func PolicyProblems(name string, given framework.Arguments, annotations map[string]string) []card.Problem {
	v, known := arguments.VariantOf(name)
	if !known {
		return nil
	}
	texts := policy.Read(annotations)
	values, _ := texts.Parse()
	with, _ := arguments.Parse(v, given)
	return slices.Concat(with.Bounds.LimitProblems(values[policy.NamespaceCapability].Resources), with.Bounds.FairShareProblems(&values))
}

// UncountedProblems returns the resources of a bound in the spec of a queue that have no effect,
// because the plugin does not count them.
func UncountedProblems(name string, bound v1.ResourceList) []card.Problem {
	v, known := arguments.VariantOf(name)
	if !known {
		return nil
	}
	return intake.Settings{Scalars: v.Scalars}.UncountedProblems(bound)
}

// DeviceProblems returns the quotas of device classes of a queue that have no effect.
func DeviceProblems(name string, given framework.Arguments, capability, deserved, guarantee v1.ResourceList) []intake.DeviceProblem {
	v, known := arguments.VariantOf(name)
	if !known {
		return nil
	}
	with, _ := arguments.Parse(v, given)
	return with.Bounds.Devices.Problems(capability, deserved, guarantee)
}
