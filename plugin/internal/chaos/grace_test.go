package chaos

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// graces draws which queues grant notice before evictions, and which jobs and pods ask for it.
func (d *draw) graces() {
	if d.s.Plugin == session.ProportionName || !d.chance(50) {
		return
	}
	for i, act := range d.s.Acts {
		if job, is := act.Deed.(SubmitJob); is && d.chance(60) {
			d.do(act.Cycle, AnnotateGroup{Job: job.Name, Key: policy.EvictionGraceKey, Value: pick(d, "1m", "2m", "10m")})
		}
		set, is := act.Deed.(SetQueue)
		if !is || set.Hollow || !d.chance(70) {
			continue
		}
		d.annotateQueue(i, policy.EvictionGraceKey, pick(d, "1m", "3m", "4m", "90s", "0s", "-1m", "long"))
	}
	for range d.IntN(20) {
		cycle, job := 1+d.IntN(chaosCycles), d.jobs[d.IntN(len(d.jobs))].Name
		asks := pick(d, "1m", "2m", "5m", "10m", "0s", "soon", "")
		if d.chance(60) {
			d.do(cycle, AnnotateGroup{Job: job, Key: policy.EvictionGraceKey, Value: asks})
		} else {
			d.do(cycle, AnnotatePod{Job: job, Pod: d.IntN(6), Key: policy.EvictionGraceKey, Value: asks})
		}
	}
}

// told is the notice that a pod got.
type told struct {
	at    time.Time
	least time.Duration // the shortest grace that it has had since
	found int           // the cycle in which it was noted: its session gave the notice when it opened, or the one before when it closed
}

// graceOf returns how long a pod has notice, as the oracle has it.
func (c *chaosCycle) graceOf(j *Job, p *Pod) time.Duration {
	var path []string
	for _, queue := range c.Path(j.Spec.Queue) {
		path = append(path, c.ownPolicy(queue, policy.EvictionGraceKey))
	}
	path = append(path, c.ownPolicy(index.RootName, policy.EvictionGraceKey)) // above each queue, also without hierarchy
	return oracle.Grace(p.Object.Annotations[policy.EvictionGraceKey], j.Group.Annotations[policy.EvictionGraceKey], path)
}

// noteTold notes which pods have got notice since the session before: it gave them notice when it closed, or this one
// when it opened.
func (c *chaosCycle) noteTold() {
	in, since := c.own.Memory.Grace.InForce(), c.toldAt
	if c.toldAt = c.Clock(); since.IsZero() {
		since = c.toldAt
	}
	before := c.graces
	c.graces = map[api.TaskID]time.Duration{}
	if in == nil {
		c.told = map[api.TaskID]told{} // nobody has notice any more
		return
	}
	for _, j := range c.World.Jobs {
		for _, p := range j.All() {
			id, job := api.TaskID(p.Object.UID), c.jobOf(j)
			if job == nil || job.Tasks[id] == nil {
				continue
			}
			grace := c.graceOf(j, p)
			c.graces[id] = grace
			had, known := c.told[id]
			switch {
			case known:
				had.least = min(had.least, grace)
			case !in.Has(c.own.QueueOf(job.Tasks[id]), job.Tasks[id]):
				continue
			default:
				had = told{since, grace, c.Cycle}
				if last, asked := before[id]; asked {
					had.least = min(last, grace) // it may have asked for more after it got notice
				}
				c.seen["pods with notice"]++
			}
			c.told[id] = had
		}
	}
}

// checkNotice checks that no pod is evicted before the end of its notice.
func (c *chaosCycle) checkNotice(name string, p placement) {
	if c.Plugin != session.ProportionName && (c.action == "reclaim" || c.action == "preempt") {
		c.checkTold(name, p.job, p.pod)
	}
}

// checkEnforcedNotice does the same for pods that were evicted when the session opened.
func (c *chaosCycle) checkEnforcedNotice(name string) {
	for _, j := range c.World.Jobs {
		for _, p := range j.All() {
			if c.enforced[api.TaskID(p.Object.UID)] && !c.unsure(p) {
				c.checkTold(name, j, p)
			}
		}
	}
}

func (c *chaosCycle) checkTold(name string, j *Job, p *Pod) {
	grace := c.graceOf(j, p)
	if c.own.Index.Lookup(j.Spec.Queue) == index.None || grace == 0 {
		return
	}
	had, known := c.told[api.TaskID(p.Object.UID)]
	until := had.at.Add(min(had.least, grace))
	if at, err := time.Parse(time.RFC3339, p.Object.Annotations[policy.EvictionNoticeKey]); err == nil && at.Before(until) {
		until = at // from before a restart
	}
	if !known || c.Clock().Before(until) {
		violated(name, "%s is evicted at %s, its grace is %s, it had notice: %t until %s", p.Object.Name, c.Clock(), grace, known, until)
	}
	c.seen["pods evicted after notice"]++
}

// checkLateness checks that no pod is kept for another one for long after its notice.
func (c *chaosCycle) checkLateness(name string) {
	for task, until := range c.own.Reclaim.Kept() {
		if c.Clock().Sub(until) > time.Minute {
			violated(name, "%s is kept for another pod, its notice ended at %s", task.Name, until)
		}
		c.seen["pods kept as victims while they run"]++
	}
}

// keepsForOthers reports whether cards are earmarked for pods that wait for the end of notices: quotas and nodes keep
// them from others.
func (c *chaosCycle) keepsForOthers() bool {
	for range c.own.Reclaim.Kept() {
		return true
	}
	return false
}
