package plugin

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint/classes"
	"github.com/capacity-card/capacity-card/plugin/intake"
)

// What a configuration means under a name of this package, for programs that check it. Each
// function takes the name of the plugin, and returns nothing for a name of another package.

// variantOf returns what the name of a plugin of this package stands for.
func variantOf(name string) (arguments.Variant, bool) {
	for _, b := range []*builder{cardBuilder, capacityBuilder, proportionBuilder} {
		if b.variant.Name == name {
			return b.variant, true
		}
	}
	return arguments.Variant{}, false
}

// ArgumentProblems returns what is wrong with the arguments of a plugin.
func ArgumentProblems(name string, given framework.Arguments) []string {
	v, known := variantOf(name)
	if !known {
		return nil
	}
	_, problems := arguments.Parse(v, given)
	return problems
}

// CardLabels returns the labels that name the cards of nodes, where they are not those of vendors.
func CardLabels(name string, given framework.Arguments) card.Labels {
	v, _ := variantOf(name)
	with, _ := arguments.Parse(v, given)
	return with.Cards.Labels
}

// CardGroups returns the groups of cards, without those that are wrong.
func CardGroups(name string, given framework.Arguments) card.Groups {
	v, _ := variantOf(name)
	with, _ := arguments.Parse(v, given)
	maps.DeleteFunc(with.Cards.Groups, func(_ string, group card.Group) bool { return group == nil })
	return with.Cards.Groups
}

// TreeOfAnnotations reports whether annotations of the queues describe their tree, if they have
// one, and not the parents in their specs.
func TreeOfAnnotations(name string, given framework.Arguments) bool {
	v, known := variantOf(name)
	with, _ := arguments.Parse(v, given)
	return known && with.Bounds.HierarchyFrom == intake.HierarchyFromAnnotation
}

// ServiceTypes returns a function for the service class of a pod, from the annotations of its
// PodGroup and from its owners, "" for none. It is nil where the plugin has no classes.
func ServiceTypes(name string, given framework.Arguments) func(annotations map[string]string, pod *v1.Pod) string {
	v, known := variantOf(name)
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
	v, known := variantOf(name)
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
	v, known := variantOf(name)
	if !known {
		return nil
	}
	return intake.Settings{Scalars: v.Scalars}.UncountedProblems(bound)
}

// DeviceProblems returns the quotas of device classes of a queue that have no effect.
func DeviceProblems(name string, given framework.Arguments, capability, deserved, guarantee v1.ResourceList) []intake.DeviceProblem {
	v, known := variantOf(name)
	if !known {
		return nil
	}
	with, _ := arguments.Parse(v, given)
	return with.Bounds.Devices.Problems(capability, deserved, guarantee)
}
