package plugin

import (
	"github.com/capacity-card/capacity-card/plugin/arguments"

	"slices"
	"time"

	"github.com/capacity-card/capacity-card/index/policy"
)

// classOf returns the service class of a job's pods.
func (c *chaosCycle) classOf(j *worldJob) string {
	owners, _ := c.arguments[arguments.OwnerClasses].(map[string]any)
	switch {
	case c.arguments[arguments.ReclaimByClass] != true || c.plugin == ProportionName:
		return ""
	case j.spec.service == "inference" || j.spec.service == "training":
		return j.spec.service
	case owners[j.spec.owner] != nil:
		return owners[j.spec.owner].(string)
	}
	return ""
}

// time returns the value of a policy that is a time, 0 for none.
func (w *world) time(queue, key string) time.Duration {
	d, _ := time.ParseDuration(w.policy(queue, key))
	return d
}

// fences returns the fences that a queue is inside of.
func (w *world) fences(queue string) (fences []string) {
	for _, q := range w.path(queue) {
		if w.ownPolicy(q, policy.ReclaimFenceKey) == "true" {
			fences = append(fences, q)
		}
	}
	return fences
}

// runtime returns how long a pod has run.
func (w *world) runtime(p *worldPod) time.Duration {
	if p.object.Status.StartTime == nil {
		return 0
	}
	return w.clock().Sub(p.object.Status.StartTime.Time)
}

// forbids returns the policy by which a pod of one job is not reclaimed for a pod of another,
// "" where the policies allow it.
func (c *chaosCycle) forbids(to *worldJob, claimant *worldPod, from *worldJob, victim *worldPod) string {
	switch {
	case c.plugin == ProportionName:
		return ""
	case c.classOf(to) == "training" || c.classOf(from) == "inference":
		return "service.type"
	case !slices.Equal(c.fences(to.spec.queue), c.fences(from.spec.queue)):
		return policy.ReclaimFenceKey
	case c.runtime(victim) < c.time(from.spec.queue, policy.MinRuntimeKey):
		return policy.MinRuntimeKey
	case c.clock().Sub(claimant.object.CreationTimestamp.Time) < c.time(to.spec.queue, policy.ReclaimDelayKey):
		return policy.ReclaimDelayKey
	}
	return ""
}

// checkPolicies checks that reclaim and preempt evict no pod that a policy spares.
func (c *chaosCycle) checkPolicies(name string, p placement) {
	switch c.action {
	case "reclaim":
		to, claimant := c.taskOf(c.own.reclaim.Claimant())
		if key := c.forbids(to, claimant, p.job, p.pod); key != "" {
			violated(name, "%s is evicted for %s, against %s", p.task.Name, c.own.reclaim.Claimant().Name, key)
		}
	case "preempt":
		if least := c.time(p.job.spec.queue, policy.PreemptMinRuntimeKey); c.runtime(p.pod) < least && c.plugin != ProportionName {
			violated(name, "%s is evicted after %v, its queue says %v", p.task.Name, c.runtime(p.pod), least)
		}
	}
}
