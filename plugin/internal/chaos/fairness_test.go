package chaos

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// borrowsCards reports whether a job that gets some request has more of a card than its queue deserves.
func (c *chaosCycle) borrowsCards(j *Job, has map[string]amounts, request amounts) bool {
	for d, amount := range request {
		if isCard(d) && amount > 0 && has[j.Spec.Queue][d]+amount > c.deserves(j.Spec.Queue, d) {
			return true
		}
	}
	return false
}

// mayBeHeld reports whether another job may hold cards that a job would borrow.
func (c *chaosCycle) mayBeHeld(j *Job, has map[string]amounts, request amounts) bool {
	return c.Arguments[arguments.FairShareHalfLife] != nil && c.borrowsCards(j, has, request) &&
		slices.ContainsFunc(c.World.Jobs, func(other *Job) bool {
			job := c.jobOf(other)
			return other != j && job != nil && job.ReadyTaskNum() < job.MinAvailable && c.time(other.Spec.Queue, nodesHold) > 0
		})
}

// checkHolds checks that nobody borrows a card that another job holds, except for pods for which others were evicted. A
// pod that waits for room is compared with the accounts without the pods that terminate now.
func (c *chaosCycle) checkHolds(name string, p placement) {
	if c.evictedFor(p.pod) {
		return
	}
	q := c.own.Index.Lookup(p.job.Spec.Queue)
	for d, amount := range c.request(p.job, p.pod, p.task) {
		dim, known := c.own.Names.LookupCard(d[min(len(d), len(cardPrefix)):])
		if !isCard(d) || amount <= 0 || !known {
			continue
		}
		holder := c.own.Memory.Fairness.HolderOf(c.own.Names.Name(dim))
		accounts := c.own.Books.Now.Queues
		idle := c.Nodes[p.task.NodeName].Idle
		if p.task.Status == api.Pipelined && !p.task.InitResreq.LessEqual(idle, api.Zero) {
			accounts = c.own.Books.Future.Queues
		}
		if has := accounts.AllocatedAt(q, dim); holder != "" && holder != p.task.Job && has > c.own.Index.Deserved.At(q, dim) {
			violated(name, "%s gets a card of %s, which job %s holds: its queue has %g of %g deserved", p.task.Name, d, holder, has,
				c.own.Index.Deserved.At(q, dim))
		}
	}
}

// evictedFor reports whether pods were evicted for a pod.
func (c *chaosCycle) evictedFor(pod *Pod) bool {
	return slices.ContainsFunc(c.marks, func(m mark) bool { return m.pod == pod })
}
