package chaos

import (
	"maps"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// checkAdmission checks that no job waits although it fits in addition to all that other jobs have and were promised.
func (c *chaosCycle) checkAdmission(name string) { c.admission(name, false, false) }

// checkBoundedAdmission is checkAdmission where a queue is promised no more than it can
// get.
func (c *chaosCycle) checkBoundedAdmission(name string) { c.admission(name, true, false) }

// checkOwnAdmission is checkAdmission for jobs that have a part of their minimum.
func (c *chaosCycle) checkOwnAdmission(name string) { c.admission(name, false, true) }

func (c *chaosCycle) admission(name string, bounded, own bool) {
	if c.Plugin == session.ProportionName || c.Cycle%3 != 0 && c.Cycle < c.cycles {
		return
	}
	has, unsure := c.expected()
	for queue, more := range c.promised(has, bounded) {
		if has[queue] == nil {
			has[queue] = amounts{}
		}
		for d, amount := range more {
			has[queue][d] += amount
		}
	}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		minimum, certain := c.minimum(j)
		if job == nil || !job.IsPending() || !certain || j.Spec.MinResources == nil || !c.takesJobs(j.Spec.Queue) || unsure[j.Spec.Queue] || unsure[index.RootName] {
			continue
		}
		if own {
			c.lessAllocated(minimum, j, job)
		}
		if fitsUnder(c.Path(j.Spec.Queue), has, minimum, c.lifted(j.Spec.Queue, c.admissionLimit)) && !c.refusedByCount(j) && !c.limitsHolders(j.Spec.Queue) && !c.hasBudgets(j.Spec.Queue) && !c.mayBeHeldBack(j) && !c.JobEnqueueable(job) {
			violated(name, "job %s is not admitted: %s", j.Spec.Name, job.JobFitErrors)
		}
	}
}

// minimum returns the amounts that a job needs to be admitted. Where a pod leaves the choice between cards, it needs
// all of them, and the result is not certain.
func (c *chaosCycle) minimum(j *Job) (a amounts, certain bool) {
	a, certain = amounts{}, true
	for name := range j.Spec.MinResources {
		if n, _ := quantity(j.Spec.MinResources, name); c.Plugin != session.Name || name == "cpu" || name == "memory" {
			a[name] = n
		}
	}
	if !c.counted(j.Spec.Queue) {
		return a, true
	}
	if len(j.Pods) == 0 {
		return a, certain && j.Spec.CardRequest == ""
	}
	different := func(p *Pod) bool { return p.Spec.String() != j.Pods[0].Spec.String() }
	certain = j.Spec.MinMember >= len(j.Pods) || !slices.ContainsFunc(j.Pods, different)
	for i, p := range j.Pods {
		c.mostOfClaims(a, p)
		certain = certain && !hasClaims(p.Spec) && !p.Finished()
		for _, resource := range cardResources {
			amount := 1000 * float64(p.Spec.Requests[resource])
			names := card.ParseList(p.Spec.Cards)
			if amount > 0 && len(names) == 0 {
				names = cardNames
			}
			for _, name := range names {
				a[cardPrefix+name] += amount
			}
			certain = certain && (amount == 0 || len(names) == 1 && resourceOf(names[0]) == resource && c.known(names[0]) &&
				c.isCardResource(resource) && !c.onlyOtherwise(names[0], resource) && i < j.Spec.MinMember)
		}
	}
	return c.withGroups(a), certain
}

// onlyOtherwise reports whether nodes have a card, and all of them through other resources: then no pod gets it through
// this one.
func (w *chaos) onlyOtherwise(name, resource string) bool {
	otherwise := false
	for _, n := range w.Nodes {
		if n.Lost {
			continue
		}
		if cardOf(n.Spec, resource) == name {
			return false
		}
		otherwise = otherwise || slices.ContainsFunc(cardResources, func(r string) bool { return cardOf(n.Spec, r) == name })
	}
	return otherwise
}

// lessAllocated subtracts the amounts of a job's allocated pods from its minimum.
func (c *chaosCycle) lessAllocated(minimum amounts, j *Job, job *api.JobInfo) {
	for _, p := range j.Pods {
		if task := job.Tasks[api.TaskID(p.Object.UID)]; api.AllocatedStatus(task.Status) {
			for d, amount := range c.request(j, p, task) {
				minimum[d] = max(0, minimum[d]-amount)
			}
		}
	}
}

// promised returns the largest amounts that can be reserved for admitted jobs, by queue.
func (c *chaosCycle) promised(has map[string]amounts, bounded bool) map[string]amounts {
	own := map[string]amounts{}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil || job.IsPending() || job.PodGroup.Status.Phase == scheduling.PodGroupCompleted || !c.promises(j, job) {
			continue
		}
		minimum, _ := c.minimum(j)
		c.lessAllocated(minimum, j, job)
		if own[j.Spec.Queue] == nil {
			own[j.Spec.Queue] = amounts{}
		}
		for d, amount := range minimum {
			own[j.Spec.Queue][d] += amount
		}
	}
	return c.rollUp(own, has, bounded)
}

// rollUp adds the promises of queues to their ancestors.
func (c *chaosCycle) rollUp(own, has map[string]amounts, bounded bool) map[string]amounts {
	all := map[string]amounts{}
	var visit func(queue string) amounts
	visit = func(queue string) amounts {
		sum := amounts{}
		maps.Copy(sum, own[queue])
		if c.Tree {
			for _, child := range c.children(queue) {
				for d, amount := range visit(child) {
					sum[d] += amount
				}
			}
		}
		all[queue] = maps.Clone(sum)
		for d := range sum {
			if q := c.World.Queues[queue]; bounded && q != nil && q.Spec.Queue.Closed {
				sum[d] = 0
			} else if bounded {
				sum[d] = min(sum[d], max(0, c.limit(queue, d)-has[queue][d]))
			}
		}
		return sum
	}
	if c.Tree {
		visit(index.RootName)
		return all
	}
	for queue := range own {
		visit(queue)
	}
	return all
}
