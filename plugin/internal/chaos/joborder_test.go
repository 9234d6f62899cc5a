package chaos

import (
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint/joborder"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// orderOf returns the order of the jobs of a queue, and for how long one holds back others.
func (w *chaos) orderOf(queue string) (byPriority bool, hold time.Duration) {
	rule, text, bounded := strings.Cut(w.policy(queue, policy.OrderKey), ",hold=")
	if rule != "fifo" && rule != "priority-fifo" {
		return false, 0
	}
	hold = time.Hour
	if bounded {
		hold, _ = time.ParseDuration(text)
	}
	return rule == "priority-fifo", hold
}

// goesBefore reports whether a job goes before another one of its queue.
func (c *chaosCycle) goesBefore(e, j *Job, byPriority bool) bool {
	place := func(j *Job) oracle.InLine {
		return oracle.InLine{Priority: j.Spec.Priority, Created: j.Group.CreationTimestamp.Time, Name: j.Group.Namespace + "/" + j.Group.Name}
	}
	return e != j && e.Spec.Queue == j.Spec.Queue && place(e).Before(place(j), byPriority)
}

// mayBeHeldBack reports whether an earlier job of the queue may hold back a job.
func (c *chaosCycle) mayBeHeldBack(j *Job) bool {
	byPriority, hold := c.orderOf(j.Spec.Queue)
	return hold > 0 && slices.ContainsFunc(c.World.Jobs, func(e *Job) bool {
		job := c.jobOf(e)
		return job != nil && (job.IsPending() || job.ReadyTaskNum()+job.WaitingTaskNum() < job.MinAvailable) && c.goesBefore(e, j, byPriority)
	})
}

// waitsForQuota reports whether a job is not admitted since before the session, could be if the queues had nothing, and
// has not held back others for its time. What limits, budgets and the search decide is not modeled.
func (c *chaosCycle) waitsForQuota(e *Job, hold time.Duration) bool {
	job := c.jobOf(e)
	minimum, certain := c.minimum(e)
	pending := func(phase scheduling.PodGroupPhase) bool { return phase == "" || phase == scheduling.PodGroupPending }
	if job == nil || !certain || e.Spec.MinResources == nil || !pending(e.Group.Status.Phase) || !pending(job.PodGroup.Status.Phase) {
		return false
	}
	if c.Clock().Sub(e.Group.CreationTimestamp.Time) >= hold || c.heldForItsTime(e) {
		return false // it may have
	}
	path := c.Path(e.Spec.Queue)
	return c.takesJobs(e.Spec.Queue) && !c.limitsHolders(e.Spec.Queue) && !c.hasBudgets(e.Spec.Queue) && fitsUnder(path, nil, minimum, c.lifted(e.Spec.Queue, c.admissionLimit)) &&
		!slices.ContainsFunc(path, c.boundsJobs)
}

// heldForItsTime reports whether the PodGroup of a job says that it has.
func (c *chaosCycle) heldForItsTime(e *Job) bool {
	condition := reserve.Condition(c.jobOf(e), joborder.FirstInOrder)
	return condition != nil && condition.Status == v1.ConditionFalse && condition.Reason == joborder.HoldOver
}

// passes fails where an earlier job waits for quota.
func (c *chaosCycle) passes(name string, j *Job, how string) {
	byPriority, hold := c.orderOf(j.Spec.Queue)
	if hold == 0 {
		return
	}
	c.seen["jobs of queues with an order that get something"]++
	for _, e := range c.World.Jobs {
		if c.goesBefore(e, j, byPriority) && c.waitsForQuota(e, hold) {
			violated(name, "job %s of queue %s %s, and job %s goes first and waits", j.Spec.Name, j.Spec.Queue, how, e.Spec.Name)
		}
	}
}

// checkJobOrder checks the jobs that a session admits.
func (c *chaosCycle) checkJobOrder(name string) {
	if c.action != "enqueue" {
		return
	}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job != nil && j.Spec.MinResources != nil && j.Group.Status.Phase != scheduling.PodGroupInqueue && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
			c.passes(name, j, "is admitted")
		}
	}
}

// checkPodOrder checks a pod that is not of the minimum of its job.
func (c *chaosCycle) checkPodOrder(name string, p placement) {
	job := c.jobOf(p.job)
	if job == nil || p.task.BestEffort || job.ReadyTaskNum()+job.WaitingTaskNum() <= job.MinAvailable || c.evictedFor(p.pod) {
		return
	}
	c.passes(name, p.job, "gets the pod "+p.task.Name+" beyond its minimum")
}

// checkHoldTimes checks that the time of each job that holds back others begins after its creation, and ends.
func (c *chaosCycle) checkHoldTimes(name string) {
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		_, hold := c.orderOf(j.Spec.Queue)
		if job == nil || hold == 0 || !c.takesJobs(j.Spec.Queue) {
			continue
		}
		condition := reserve.Condition(job, joborder.FirstInOrder)
		if condition == nil || condition.Status != v1.ConditionTrue {
			continue
		}
		c.seen["jobs that hold back others"]++
		since := condition.LastTransitionTime.Time
		if since.Before(j.Group.CreationTimestamp.Time) || c.Clock().Sub(since) >= hold {
			violated(name, "job %s of queue %s has the condition %v at %v, and holds back others for %v", j.Spec.Name, j.Spec.Queue, condition, c.Clock(), hold)
		}
	}
}
