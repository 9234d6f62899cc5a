package intake

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// LimitProblems returns the resources in the limits of holders that the plugin does not count, in the order of their
// names. The limits do not bound them.
func (s Settings) LimitProblems(values *policy.Values) (problems []card.Problem) {
	limited := v1.ResourceList{}
	for _, holders := range values.Holders() {
		for _, limit := range holders.Limits {
			maps.Copy(limited, limit.Resources)
		}
	}

	dims := Dimensions{ignored: api.IgnoredDevicesList.List()}
	for _, name := range slices.Sorted(maps.Keys(limited)) {
		_, _, device := deviceKey(name)
		why := ""
		switch {
		case name == v1.ResourceCPU, name == v1.ResourceMemory:
			continue
		case !s.Scalars:
			why = "capacity-card counts cpu, memory and cards; a number without quotes is a limit of cards"
		case device:
			why = "devices of resource claims have no limits of holders"
		case name != v1.ResourcePods && !dims.isScalar(named{name, unknown}):
			why = "Volcano does not count it"
		default:
			continue
		}

		reason := fmt.Sprintf("%q has no effect: %s", index.Shorten(string(name), 100), why)
		problems = append(problems, card.Problem{Key: card.HolderKey, Reason: reason})
	}
	return problems
}

// FairShareProblems returns the words about usage over time that have no effect with the arguments of the plugin.
func (s Settings) FairShareProblems(values *policy.Values) (problems []card.Problem) {
	const (
		off      = " has no effect without the argument fairShareHalfLife"
		noWeight = " has no effect without the argument fairShare: {by: weight}"
	)

	for _, word := range values.OverTime() {
		switch {
		case !s.FairShare.On:
			problems = append(problems, card.Problem{Key: word.Annotation, Reason: word.Text + off})
		case word.Key == policy.FairShareWeight && !s.FairShare.ByWeight:
			problems = append(problems, card.Problem{Key: word.Annotation, Reason: word.Text + noWeight})
		}
	}
	return problems
}

// UncountedProblems returns the resources of a bound of a queue, such as its capability, that the plugin does not
// count, in the order of their names. Problem.Key is the resource.
func (s Settings) UncountedProblems(bound v1.ResourceList) (problems []card.Problem) {
	if s.Scalars {
		return nil
	}

	const reason = "has no effect: capacity-card counts cpu, memory and cards; " + card.QuotaKey + " bounds cards"
	for _, name := range slices.Sorted(maps.Keys(bound)) {
		_, _, device := deviceKey(name)
		if !device && name != v1.ResourceCPU && name != v1.ResourceMemory {
			problems = append(problems, card.Problem{Key: string(name), Reason: reason})
		}
	}
	return problems
}
