package validate

import (
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/override"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// checkUncounted finds bounds of resources, quotas of device classes and of cards, and limits of namespaces that have
// no effect with the scheduler's configuration.
func (ck *checker) checkUncounted(c *engine.Configuration) {
	for _, q := range ck.objects.Queues {
		devices := inspect.DeviceProblems(
			c.Plugin, c.Arguments, q.Spec.Capability, q.Spec.Deserved, q.Spec.Guarantee.Resource)
		for _, p := range devices {
			ck.noEffect(q, p.Field+"."+p.Key, "%s", p.Text)
		}

		for field, bound := range boundsOf(q) {
			for _, p := range inspect.UncountedProblems(c.Plugin, bound) {
				ck.noEffect(q, field+"."+p.Key, "%s", p.Reason)
			}
		}

		if c.Plugin == plugin.ProportionName {
			ck.checkCardsUnderProportion(q)
		}
		for _, p := range inspect.PolicyProblems(c.Plugin, c.Arguments, q.Annotations) {
			ck.noEffect(q, annotation(p.Key), "%s", p.Reason)
		}
	}
}

// checkCardsUnderProportion finds the annotations of cards, which proportion does not count. It counts limits of
// resources.
func (ck *checker) checkCardsUnderProportion(q *scheduling.Queue) {
	for _, key := range allCardKeys {
		_, given := q.Annotations[key]
		switch {
		case key != card.HolderKey && given:
			ck.noEffect(q, annotation(key), "has no effect: the plugin %s counts no cards", plugin.ProportionName)
		case key == card.HolderKey && len(policy.HolderCardNames(q.Annotations)) > 0:
			ck.noEffect(q, annotation(key), "cards in it have no effect: the plugin %s counts none",
				plugin.ProportionName)
		}
	}
}

// jobKeys are annotations of jobs and pods, with the problem of a value. A value with a problem counts as not set.
var jobKeys = []struct {
	key     string
	problem func(text string) string
}{
	{policy.ExpectedRuntimeKey, policy.RuntimeProblem},
	{policy.CheckpointKey, policy.CheckpointProblem},
	{policy.EvictionGraceKey, policy.GraceProblem},
}

// checkKeys finds annotations of this module that have no effect: misspelt keys, and keys on the wrong object.
func (ck *checker) checkKeys() {
	for _, a := range ck.objects.Annotated() {
		ck.checkKeysOf(a)
		if q, is := a.Object.(*scheduling.Queue); is {
			ck.reportProblems(Error, q, "Queue", "", policy.Unknown(q.Annotations))
			ck.reportProblems(Error, q, "Queue", "", policy.Problems(q.Annotations))
			ck.checkWindows(q)
		}
	}
}

// knownKeys are the annotations of objects by kind. Templates have the annotations of pods.
var knownKeys = map[string]card.Keys{
	"Queue":      card.QueueKeys,
	"Job":        card.JobKeys,
	"Deployment": card.JobKeys,
	"PodGroup":   card.PodGroupKeys,
	"Pod":        card.PodKeys,
}

// checkKeysOf checks the annotations of an object, or of a template at a field of the object.
func (ck *checker) checkKeysOf(a input.Annotated) {
	known := knownKeys[a.Kind]
	if a.Field != "" {
		known = card.PodKeys
	}
	ck.reportProblems(Error, a.Object, a.Kind, a.Field, known.Unknown(a.Annotations))

	class, classed := a.Annotations[policy.ServiceTypeKey]
	at := a.Field + annotation(policy.ServiceTypeKey)
	if classed && !policy.IsServiceType(class) {
		ck.report(Error, a.Object, a.Kind, at, "%q is not %s or %s",
			index.Shorten(class, 100), policy.Inference, policy.Training)
	}
	if classed && a.Field != "" {
		ck.report(Error, a.Object, a.Kind, at, "is not read on pods: set it on the %s", a.Kind)
	}
	if a.Kind == "Queue" { // policy.Problems reads the keys of queues
		return
	}

	for _, k := range jobKeys {
		text, given := a.Annotations[k.key]
		if !given {
			continue
		}

		if why := k.problem(text); why != "" {
			ck.report(Warning, a.Object, a.Kind, a.Field+annotation(k.key), "%s; it counts as not set", why)
		}
	}
}

// checkWindows reads the windows of a queue.
func (ck *checker) checkWindows(q *scheduling.Queue) {
	text, given := q.Annotations[override.Key]
	if !given {
		return
	}

	windows, problems := override.Parse(text)
	ck.reportProblems(Error, q, "Queue", "", problems)
	ck.reportProblems(Warning, q, "Queue", "", windows.Overlaps(ck.now))
}
