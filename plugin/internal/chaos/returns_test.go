package chaos

import (
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// returns reports whether resources that reclaim and preempt can take back do not count against admission.
func (c *chaosCycle) returns() bool {
	given, set := c.Arguments[arguments.AdmitReclaimable]
	return given == true || !set && c.Plugin == session.Name
}

// admittedNow returns the jobs that the action enqueue admitted.
func (c *chaosCycle) admittedNow() (jobs []*Job) {
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job != nil && j.Group.Status.Phase != scheduling.PodGroupInqueue && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue {
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// preempted returns the most that preempt can take from jobs of a leaf for jobs that were admitted: all that the leaf
// has, if some job of it has a lower priority.
func (c *chaosCycle) preempted(leaf index.Queue, d string, admitted []*Job) float64 {
	if !slices.Contains(c.Actions, "preempt") && !slices.Contains(c.Actions, "gangpreempt") {
		return 0
	}
	name := c.own.Index.Name(leaf)
	for _, j := range admitted {
		if j.Spec.Queue == name && slices.ContainsFunc(c.World.Jobs, func(other *Job) bool {
			return other.Spec.Queue == name && other.Spec.Priority < j.Spec.Priority
		}) {
			return c.row(c.own.Index.Allocated(leaf))[d]
		}
	}
	return 0
}

// net returns the amount that counts against the bound of a queue.
func (c *chaosCycle) net(q index.Queue, d string) float64 {
	ix := c.own.Index
	return c.row(ix.Allocated(q))[d] + c.row(ix.Inqueue.Row(q))[d] - c.row(ix.Elastic.Row(q))[d]
}

// givenBack returns the most that the leaves below a queue can give back to jobs that were admitted.
func (c *chaosCycle) givenBack(queue, d string, admitted []*Job) (sum float64) {
	ix := c.own.Index
	at := ix.Lookup(queue)
	if !c.returns() {
		return 0
	}
	for q := range index.Queue(ix.Len()) {
		if !ix.IsLeaf(q) || !slices.Contains(ix.Path(q), at) {
			continue
		}
		sum += c.preempted(q, d, admitted)
		if slices.Contains(c.Actions, "reclaim") || slices.Contains(c.Actions, "gangreclaim") {
			held := c.row(ix.Allocated(q))[d] - c.row(ix.Elastic.Row(q))[d]
			sum += max(0, held-max(c.row(ix.Deserved.Row(q))[d], c.row(ix.Guarantee.Row(q))[d]))
		}
	}
	return sum
}

// checkReturned checks the promises to the jobs that a session admits. Together with the amounts that others keep, the
// promises are within the bounds of admission of all queues. If they fit only because others give something back, some
// queue of these jobs stays within its deserved amount. Lists of cards and groups are not checked.
func (c *chaosCycle) checkReturned(name string) {
	if c.action != "enqueue" || c.Plugin == session.ProportionName || c.Arguments[arguments.CardUnlimitedCPUMemory] == true {
		return
	}
	jobs := c.admittedNow()
	for _, j := range jobs {
		if job := c.jobOf(j); job.ReadyTaskNum() >= job.MinAvailable {
			continue // it has its minimum, if on other cards than it names
		}
		minimum, certain := c.minimum(j)
		c.lessAllocated(minimum, j, c.jobOf(j))
		for level, queue := range c.Path(j.Spec.Queue) {
			below := slices.DeleteFunc(slices.Clone(jobs), func(other *Job) bool { return !slices.Contains(c.Path(other.Spec.Queue), queue) })
			if !certain || slices.ContainsFunc(below, func(other *Job) bool { return c.jobOf(other).PodGroup.Spec.MinResources == nil }) {
				continue // Volcano admits them without a question
			}
			for d, amount := range minimum {
				at := c.own.Index.Lookup(queue)
				limit := c.row(c.own.Index.AdmissionBounds(c.own.Index.Lookup(j.Spec.Queue)).Row(at))[d] // other checks compare the bounds
				if amount <= 0 || d == "pods" || c.net(at, d) <= limit+0.2 {
					continue
				}
				freer := func(other *Job) bool {
					return c.row(c.own.Index.AdmissionBounds(c.own.Index.Lookup(other.Spec.Queue)).Row(at))[d] > limit
				}
				if slices.ContainsFunc(below, freer) {
					continue // no bound of the total holds for a job that was admitted after this one
				}
				c.seen["admissions with what others give back"]++
				if c.net(at, d)-c.givenBack(queue, d, below) > limit+0.2 {
					violated(name, "job %s is admitted, queue %s has and promises %g of %s of %g, and others give back %g",
						j.Spec.Name, queue, c.net(at, d), d, limit, c.givenBack(queue, d, below))
				}
				deserves := func(other *Job) bool {
					q := c.own.Index.Lookup(other.Spec.Queue)
					most := max(c.row(c.own.Index.Deserved.Row(q))[d], c.row(c.own.Index.Guarantee.Row(q))[d]) + c.preempted(q, d, below)
					return c.net(q, d) <= most+0.2 || c.preempted(q, d, below) > 0
				}
				if level > 0 && !slices.ContainsFunc(below, deserves) {
					violated(name, "job %s is admitted, queue %s has and promises %g of %s of %g, and none of the jobs below it is within what its queue deserves",
						j.Spec.Name, queue, c.net(at, d), d, limit)
				}
			}
		}
	}
}
