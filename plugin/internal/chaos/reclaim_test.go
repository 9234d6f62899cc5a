package chaos

import (
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// classOf returns the service class of a job's pods.
func (c *chaosCycle) classOf(j *Job) string {
	owners, _ := c.Arguments[arguments.OwnerClasses].(map[string]any)
	switch {
	case c.Arguments[arguments.ReclaimByClass] != true || c.Plugin == session.ProportionName:
		return ""
	case j.Spec.Service == "inference" || j.Spec.Service == "training":
		return j.Spec.Service
	case owners[j.Spec.Owner] != nil:
		return owners[j.Spec.Owner].(string)
	}
	return ""
}

// time returns the value of a policy that is a time, 0 for none.
func (w *chaos) time(queue, key string) time.Duration {
	d, _ := time.ParseDuration(w.policy(queue, key))
	return d
}

// fences returns the fences that a queue is inside of.
func (w *chaos) fences(queue string) (fences []string) {
	for _, q := range w.Path(queue) {
		if w.ownPolicy(q, policy.ReclaimFenceKey) == "true" {
			fences = append(fences, q)
		}
	}
	return fences
}

// runtime returns how long a pod has run.
func (w *chaos) runtime(p *Pod) time.Duration {
	if p.Object.Status.StartTime == nil {
		return 0
	}
	return w.Clock().Sub(p.Object.Status.StartTime.Time)
}

// young reports whether a pod has run for less than a policy of its queue says.
func (w *chaos) young(p *Pod, queue, key string) bool {
	least := w.time(queue, key)
	return least > 0 && w.runtime(p) < least
}

// forbids returns the policy by which a pod of one job is not reclaimed for a pod of another,
// "" where the policies allow it.
func (c *chaosCycle) forbids(to *Job, evictor *Pod, from *Job, victim *Pod) string {
	switch {
	case c.Plugin == session.ProportionName:
		return ""
	case c.classOf(to) == "training" || c.classOf(from) == "inference":
		return "service.type"
	case !slices.Equal(c.fences(to.Spec.Queue), c.fences(from.Spec.Queue)):
		return policy.ReclaimFenceKey
	case c.young(victim, from.Spec.Queue, reclaimRuntime):
		return policy.MinRuntimeKey
	case c.Clock().Sub(evictor.Object.CreationTimestamp.Time) < c.time(to.Spec.Queue, policy.ReclaimDelayKey):
		return policy.ReclaimDelayKey
	}
	return ""
}

// checkPolicies checks that reclaim and preempt evict no pod that a policy spares.
func (c *chaosCycle) checkPolicies(name string, p placement) {
	switch c.action {
	case "reclaim":
		to, evictor := c.taskOf(c.own.Reclaim.Evictor())
		if key := c.forbids(to, evictor, p.job, p.pod); key != "" {
			violated(name, "%s is evicted for %s, against %s", p.task.Name, c.own.Reclaim.Evictor().Name, key)
		}
	case "preempt":
		if c.young(p.pod, p.job.Spec.Queue, preemptRuntime) && c.Plugin != session.ProportionName {
			violated(name, "%s is evicted after %v", p.task.Name, c.runtime(p.pod))
		}
	}
}
