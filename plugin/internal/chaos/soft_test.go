package chaos

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// softQuota returns the soft quota of a queue itself, and whether it has one. The soft quota counts as at least the
// deserved amount and the guarantee of the queue.
func (c *chaosCycle) softQuota(queue, dimension string) (most float64, set bool) {
	entries, _ := card.ParseQuota(c.ownPolicy(queue, policy.SoftQuotaKey))
	for _, e := range entries {
		if cardPrefix+e.Name == dimension && c.Plugin != session.ProportionName {
			return max(1000*float64(e.Cards), c.deserves(queue, dimension), c.guarantee(queue, dimension)), true
		}
	}
	return 0, false
}

// hasSoftQuota reports whether a queue or an ancestor has a soft quota.
func (w *chaos) hasSoftQuota(queue string) bool {
	return slices.ContainsFunc(w.Path(queue), func(q string) bool { return w.ownPolicy(q, policy.SoftQuotaKey) != "" })
}

// wantedBy returns the least amount that a queue and the queues below it want. It counts pods of admitted jobs that
// name one card and that no other policy may hold back.
func (c *chaosCycle) wantedBy(queue, dimension string, has map[string]amounts) (sum float64) {
	room := c.limit(queue, dimension)
	if most, set := c.softQuota(queue, dimension); set {
		room = min(room, most)
	}
	room = max(0, room-has[queue][dimension])
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job != nil && !job.IsPending() && j.Spec.Queue == queue && c.takesJobs(queue) && c.counted(queue) && !c.limitsHolders(queue) && !c.hasBudgets(queue) && !c.mayBeHeldBack(j) {
			sum += c.wantedByJob(job, j, dimension, room)
		}
	}
	if c.Tree {
		for _, child := range c.children(queue) {
			sum += c.wantedBy(child, dimension, has)
		}
	}
	return min(sum, room)
}

// wantedByJob returns the least amount that a job wants.
func (c *chaosCycle) wantedByJob(job *api.JobInfo, j *Job, dimension string, room float64) (sum float64) {
	lacks, waiting, all := int(job.MinAvailable-job.ReadyTaskNum()-job.WaitingTaskNum()), 0, 0.0
	for _, p := range j.Pods {
		task := job.Tasks[api.TaskID(p.Object.UID)]
		if task == nil || task.Status != api.Pending || task.SchGated {
			continue
		}
		waiting++
		amount := c.wantOf(p, dimension)
		if all += amount; amount <= room {
			sum += amount
		}
	}
	if lacks > waiting || lacks > 0 && all > room { // some of them would do, but which?
		return 0
	}
	return sum
}

// wantOf returns how much a pod that names one card requests of this card, 0 where that is not certain.
func (c *chaosCycle) wantOf(p *Pod, dimension string) float64 {
	names := card.ParseList(p.Spec.Cards)
	if len(names) != 1 || cardPrefix+names[0] != dimension || !c.known(names[0]) {
		return 0
	}
	resource := resourceOf(names[0])
	others := slices.ContainsFunc(cardResources, func(r string) bool { return r != resource && p.Spec.Requests[r] > 0 })
	if others || !c.isCardResource(resource) {
		return 0
	}
	return 1000 * float64(p.Spec.Requests[resource])
}

// checkSoft checks a pod that takes a queue above its soft quota.
func (c *chaosCycle) checkSoft(name string, p placement) {
	if p.task.Status != api.Allocated || c.evictedFor(p.pod) {
		return
	}
	has, unsure := c.expected()
	for _, is := range unsure {
		if is {
			return
		}
	}
	for d, amount := range c.request(p.job, p.pod, p.task) {
		for i, queue := range p.path {
			if most, set := c.softQuota(queue, d); set && isCard(d) && amount > 0 && has[queue][d] > most {
				c.seen["pods above a soft quota"]++
				c.checkLeft(name, p, d, p.path[i:], has)
			}
		}
	}
}

// checkLeft checks a pod that takes the first queue of a path above its soft quota. The pod leaves other queues the
// amounts that they want.
func (c *chaosCycle) checkLeft(name string, p placement, d string, path []string, has map[string]amounts) {
	others := 0.0
	for i := 1; i < len(path); i++ {
		for _, sibling := range c.children(path[i]) {
			if sibling != path[i-1] {
				others += c.wantedBy(sibling, d, has)
			}
		}
		bound := c.limit(path[i], d)
		if dim, known := c.own.Names.LookupCard(d[len(cardPrefix):]); known && path[i] == index.RootName {
			bound = min(bound, c.own.Intake.Available.Get(dim))
		}
		if others > 0 && has[path[i]][d]+others > bound {
			violated(name, "%s takes queue %s above its soft quota of %s, and others below %s want %g of %g", p.task.Name, path[0], d, path[i], others, bound-has[path[i]][d])
		}
	}
}
