package validate

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

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
				for _, p := range inspect.DeviceProblems(option.Name, option.Arguments, q.Spec.Capability, q.Spec.Deserved, q.Spec.Guarantee.Resource) {
					ck.report(Warning, q, "Queue", p.Field+"."+p.Key, "%s", p.Text).Topic = NoEffect
				}
				for field, bound := range boundsOf(q) {
					for _, p := range inspect.UncountedProblems(option.Name, bound) {
						ck.report(Warning, q, "Queue", field+"."+p.Key, "%s", p.Reason).Topic = NoEffect
					}
				}
				for _, key := range allCardKeys {
					if _, given := q.Annotations[key]; given && option.Name == plugin.ProportionName {
						ck.report(Warning, q, "Queue", annotation(key), "has no effect: the plugin %s counts no cards", option.Name).Topic = NoEffect
					}
				}
				for _, p := range inspect.PolicyProblems(option.Name, option.Arguments, q.Annotations) {
					ck.report(Warning, q, "Queue", annotation(p.Key), "%s", p.Reason).Topic = NoEffect
				}
			}
		}
	}
}

// problemsOfJobs say why annotations of jobs and pods are wrong, which count as not set then.
var problemsOfJobs = []struct {
	key     string
	problem func(text string) string
}{
	{policy.ExpectedRuntimeKey, policy.RuntimeProblem},
	{policy.CheckpointKey, policy.CheckpointProblem},
	{policy.EvictionGraceKey, policy.GraceProblem},
}

// checkKeys finds annotations of this module that have no effect: misspelt keys, and keys
// on the wrong object.
func (ck *checker) checkKeys() {
	check := func(object metav1.Object, kind, field string, annotations map[string]string, known card.Keys) {
		for _, p := range known.Unknown(annotations) {
			ck.report(Error, object, kind, field+annotation(p.Key), "%s", p.Reason)
		}
		if text, given := annotations[policy.ServiceTypeKey]; given && !policy.IsServiceType(text) {
			ck.report(Error, object, kind, field+annotation(policy.ServiceTypeKey), "%q is not %s or %s", index.Shorten(text, 100), policy.Inference,
				policy.Training)
		}
		for _, of := range problemsOfJobs {
			if text, given := annotations[of.key]; given && kind != "Queue" {
				if why := of.problem(text); why != "" {
					ck.report(Warning, object, kind, field+annotation(of.key), "%s; it counts as not set", why)
				}
			}
		}
	}
	template := func(object metav1.Object, kind, field string, pod *v1.PodTemplateSpec) {
		check(object, kind, field, pod.Annotations, card.PodKeys)
		if _, given := pod.Annotations[policy.ServiceTypeKey]; given {
			ck.report(Error, object, kind, field+annotation(policy.ServiceTypeKey), "is not read on pods: set it on the %s", kind)
		}
	}
	for _, q := range ck.objects.Queues {
		check(q, "Queue", "", q.Annotations, card.QueueKeys)
		for _, p := range policy.Unknown(q.Annotations) {
			ck.report(Error, q, "Queue", annotation(p.Key), "%s", p.Reason)
		}
		for _, p := range policy.Problems(q.Annotations) {
			ck.report(Error, q, "Queue", annotation(p.Key), "%s", p.Reason)
		}
		ck.checkWindows(q)
	}
	for _, job := range ck.objects.Jobs {
		check(job, "Job", "", job.Annotations, card.JobKeys)
		for i := range job.Spec.Tasks {
			template(job, "Job", fmt.Sprintf("spec.tasks[%d].template.", i), &job.Spec.Tasks[i].Template)
		}
	}
	for _, d := range ck.objects.Deployments {
		check(d, "Deployment", "", d.Annotations, card.JobKeys)
		template(d, "Deployment", "spec.template.", &d.Spec.Template)
	}
	for _, podGroup := range ck.objects.PodGroups {
		check(podGroup, "PodGroup", "", podGroup.Annotations, card.PodKeys)
	}
	for _, pod := range ck.objects.Pods {
		check(pod, "Pod", "", pod.Annotations, card.PodKeys)
	}
}

// checkWindows reads the windows of a queue.
func (ck *checker) checkWindows(q *v1beta1.Queue) {
	text, given := q.Annotations[override.Key]
	if !given {
		return
	}
	windows, problems := override.Parse(text)
	for _, p := range problems {
		ck.report(Error, q, "Queue", annotation(p.Key), "%s", p.Reason)
	}
	for _, p := range windows.Overlaps(ck.now) {
		ck.report(Warning, q, "Queue", annotation(p.Key), "%s", p.Reason)
	}
}
