package chaos

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// noteEnforced notes the tasks that were evicted when the session opened: nothing else has been evicted yet.
func (c *chaosCycle) noteEnforced() {
	c.enforced = map[api.TaskID]bool{}
	for _, j := range c.World.Jobs {
		job := c.jobOf(j)
		if job == nil {
			continue
		}
		for _, p := range j.All() {
			if task := job.Tasks[api.TaskID(p.Object.UID)]; task.Status == api.Releasing && p.Object.DeletionTimestamp == nil {
				c.enforced[task.UID] = true
				c.evictor[task.Name] = "enforce-quota"
			}
		}
	}
}

// rate is a budget of evictions, the zero rate for a text that is none.
type rate struct {
	most   int
	length time.Duration
}

func rateOf(text string) (r rate) {
	number, length, _ := strings.Cut(text, "/")
	r.most, _ = strconv.Atoi(number)
	var err error
	if r.length, err = time.ParseDuration(length); err != nil || r.most <= 0 || r.most > 10000 || r.length < time.Minute {
		return rate{}
	}
	return r
}

// loss is an eviction that counts for a budget of a queue. taken: it counts for the budget of evictions by the queue.
type loss struct {
	queue string
	taken bool
	at    time.Time
}

// noteLosses notes the evictions of a session for the budgets of the queues that have one.
func (c *chaosCycle) noteLosses() {
	if c.Plugin == session.ProportionName {
		return
	}
	note := func(path []string, key string, taken bool) {
		for _, queue := range path {
			if c.ownPolicy(queue, key) != "" {
				c.losses = append(c.losses, loss{queue, taken, c.Clock()})
			}
		}
	}
	for _, j := range c.World.Jobs {
		for _, p := range j.All() {
			if c.enforced[api.TaskID(p.Object.UID)] {
				note(c.Path(j.Spec.Queue), loseBudget, false)
				c.seen["pods evicted above a bound"]++
			}
		}
	}
	for task, evictor := range c.own.Reclaim.Evicted() {
		from, _ := c.taskOf(task)
		to, _ := c.taskOf(evictor)
		if from == nil || to == nil {
			continue
		}
		lost, taken := oracle.CountsFor(c.Path(from.Spec.Queue), c.Path(to.Spec.Queue))
		note(lost, loseBudget, false)
		note(taken, takeBudget, true)
	}
}

// checkLosses checks that no queue lost or took more pods in a time than its budget says. Losses from before a
// scheduler started do not count here: the worlds have no store.
func (c *chaosCycle) checkLosses(name string) {
	c.noteLosses()
	keys := map[bool]string{false: loseBudget, true: takeBudget}
	for queue := range c.World.Queues {
		for _, key := range keys {
			if r := rateOf(c.ownPolicy(queue, key)); r.most > 0 {
				c.lossLengths[key+queue] = r.length
			}
		}
	}
	c.losses = slices.DeleteFunc(c.losses, func(l loss) bool { // also losses of deleted queues
		return !l.at.After(c.Clock().Add(-c.lossLengths[keys[l.taken]+l.queue]))
	})
	for queue := range c.World.Queues {
		for taken, key := range keys {
			r, n := rateOf(c.ownPolicy(queue, key)), 0
			for _, l := range c.losses {
				if l.queue == queue && l.taken == taken {
					n++
				}
			}
			if r.most > 0 && n > max(r.most, c.lossesBefore[key+queue]) {
				violated(name, "queue %s has %d evictions in %s, %s is %d", queue, n, r.length, key, r.most)
			}
			c.lossesBefore[key+queue] = n // a budget that is lowered has more than it allows
		}
	}
}

// checkEnforced checks that each pod that was evicted above a bound was needed: without it, a queue on its path with
// the policy would be above its bound. A gang is needed as a whole.
func (c *chaosCycle) checkEnforced(name string) {
	if c.sharing() {
		return
	}
	byJob := map[string][]*api.TaskInfo{}
	for _, j := range c.World.Jobs {
		if slices.ContainsFunc(j.All(), func(p *Pod) bool { return c.enforced[api.TaskID(p.Object.UID)] && c.unsure(p) }) {
			continue // the others can be evicted with it
		}
		for _, p := range j.All() {
			if job := c.jobOf(j); job != nil && c.enforced[api.TaskID(p.Object.UID)] {
				byJob[j.Spec.Name] = append(byJob[j.Spec.Name], job.Tasks[api.TaskID(p.Object.UID)])
			}
		}
	}
	for _, tasks := range byJob {
		j, _ := c.taskOf(tasks[0])
		if !slices.ContainsFunc(c.Path(j.Spec.Queue), func(queue string) bool { return strings.HasPrefix(c.policy(queue, policy.EnforceQuotaKey), "after=") }) {
			violated(name, "%s is evicted, and no queue above it enforces its bounds", tasks[0].Name)
		}
		whole := c.jobOf(j).ReadyTaskNum() < c.jobOf(j).MinAvailable || len(tasks) == 1
		for _, task := range tasks {
			if !task.Preemptable {
				violated(name, "%s is evicted, which may not be", task.Name)
			}
			unit := tasks
			if !whole {
				unit = []*api.TaskInfo{task}
			}
			if !c.neededGone(j.Spec.Queue, unit) {
				violated(name, "%s is evicted, and its queues are not above their bounds without that", task.Name)
			}
		}
	}
}

// neededGone reports whether a queue on the path of some tasks of one job is above its bound with them, and without all
// others that are evicted.
func (c *chaosCycle) neededGone(queue string, tasks []*api.TaskInfo) bool {
	for _, q := range c.Path(queue) {
		text := c.policy(q, policy.EnforceQuotaKey)
		if !strings.HasPrefix(text, "after=") {
			continue
		}
		has, at := amounts{}, c.own.Index.Lookup(q)
		c.eachCharge(func(j *Job, p *Pod, task *api.TaskInfo, charge amounts) {
			stays := api.AllocatedStatus(task.Status) || slices.Contains(tasks, task)
			if stays && slices.Contains(c.Path(j.Spec.Queue), q) {
				for d, amount := range charge {
					has[d] += amount
				}
			}
		})
		bound := c.named(c.own.Index.RealCapability.Row(at))
		for d, amount := range has {
			if amount > bound[d] || strings.HasSuffix(text, ",budgets") && amount > 0 && c.spent(q, d) {
				return true
			}
		}
	}
	return false
}
