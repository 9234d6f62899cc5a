package validate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
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
	for _, tier := range c.Tiers {
		for _, option := range tier.Plugins {
			for _, q := range ck.objects.Queues {
				ck.checkUncountedBy(option, q)
			}
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

// checkUncountedBy finds the values of a queue that a plugin does not count.
func (ck *checker) checkUncountedBy(option conf.PluginOption, q *scheduling.Queue) {
	devices := inspect.DeviceProblems(
		option.Name, option.Arguments, q.Spec.Capability, q.Spec.Deserved, q.Spec.Guarantee.Resource)
	for _, p := range devices {
		ck.noEffect(q, p.Field+"."+p.Key, "%s", p.Text)
	}

	for field, bound := range boundsOf(q) {
		for _, p := range inspect.UncountedProblems(option.Name, bound) {
			ck.noEffect(q, field+"."+p.Key, "%s", p.Reason)
		}
	}

	if option.Name == plugin.ProportionName {
		ck.checkCardsUnderProportion(q)
	}

	for _, p := range inspect.PolicyProblems(option.Name, option.Arguments, q.Annotations) {
		ck.noEffect(q, annotation(p.Key), "%s", p.Reason)
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
	for _, q := range ck.objects.Queues {
		ck.checkKeysOf(q, "Queue", "", q.Annotations, card.QueueKeys)
		ck.reportProblems(Error, q, "Queue", "", policy.Unknown(q.Annotations))
		ck.reportProblems(Error, q, "Queue", "", policy.Problems(q.Annotations))
		ck.checkWindows(q)
	}

	for _, job := range ck.objects.Jobs {
		ck.checkKeysOf(job, "Job", "", job.Annotations, card.JobKeys)
		for i := range job.Spec.Tasks {
			ck.checkTemplate(job, "Job", fmt.Sprintf("spec.tasks[%d].template.", i), &job.Spec.Tasks[i].Template)
		}
	}
	for _, d := range ck.objects.Deployments {
		ck.checkKeysOf(d, "Deployment", "", d.Annotations, card.JobKeys)
		ck.checkTemplate(d, "Deployment", "spec.template.", &d.Spec.Template)
	}

	for _, podGroup := range ck.objects.PodGroups {
		ck.checkKeysOf(podGroup, "PodGroup", "", podGroup.Annotations, card.PodGroupKeys)
	}
	for _, pod := range ck.objects.Pods {
		ck.checkKeysOf(pod, "Pod", "", pod.Annotations, card.PodKeys)
	}
}

// checkKeysOf checks the annotations of an object, or of a template at a field of the object.
func (ck *checker) checkKeysOf(
	object metav1.Object, kind, field string, annotations map[string]string, known card.Keys,
) {
	ck.reportProblems(Error, object, kind, field, known.Unknown(annotations))
	if text, given := annotations[policy.ServiceTypeKey]; given && !policy.IsServiceType(text) {
		ck.report(Error, object, kind, field+annotation(policy.ServiceTypeKey), "%q is not %s or %s",
			index.Shorten(text, 100), policy.Inference, policy.Training)
	}
	if kind == "Queue" { // policy.Problems reads the keys of queues
		return
	}

	for _, k := range jobKeys {
		text, given := annotations[k.key]
		if !given {
			continue
		}

		if why := k.problem(text); why != "" {
			ck.report(Warning, object, kind, field+annotation(k.key), "%s; it counts as not set", why)
		}
	}
}

// checkTemplate checks the annotations of a template of pods.
func (ck *checker) checkTemplate(object metav1.Object, kind, field string, pod *v1.PodTemplateSpec) {
	ck.checkKeysOf(object, kind, field, pod.Annotations, card.PodKeys)
	if _, given := pod.Annotations[policy.ServiceTypeKey]; given {
		ck.report(Error, object, kind, field+annotation(policy.ServiceTypeKey),
			"is not read on pods: set it on the %s", kind)
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
