package chaos

import (
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint/budget"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// spare gives some queues small budgets of evictions in long windows, and has some enforce their quotas.
func (d *draw) spare() {
	if d.s.Plugin == session.ProportionName || !d.chance(45) {
		return
	}
	for i, act := range d.s.Acts {
		set, is := act.Deed.(SetQueue)
		if !is || set.Hollow || set.Name == index.RootName || !d.chance(70) {
			continue
		}
		set.Annotations = maps.Clone(set.Annotations)
		if set.Annotations == nil {
			set.Annotations = map[string]string{}
		}
		for key, text := range map[string]string{policy.EvictionBudgetKey: pick(d, "lose=1/1h", "lose=1/12m,take=1/2h", "take=2/10m,lose=2/2h", "take=2/10m", ""),
			policy.EnforceQuotaKey: pick(d, "after=0s", "after=1m", "after=4m", "after=3m,budgets", "")} {
			if text != "" {
				set.Annotations[key] = text
			}
		}
		if len(set.Annotations) == 0 {
			continue
		}
		if strings.HasSuffix(set.Annotations[policy.EnforceQuotaKey], "budgets") && d.chance(80) {
			set.Annotations[card.BudgetKey] = pick(d, `{"A":"0.1h/day"}`, `{"A":"0.2h/1h","B":"0.1h/week"}`, `{"A":"0.1h/1h sliding","@g":"0.1h/3h"}`)
		}
		d.s.Acts[i].Deed = set
	}
}

// spreads reports whether a budget spreads evictions over more time than a world gets to come to rest.
func (w *chaos) spreads() bool {
	for queue := range w.Queues {
		for _, key := range []string{loseBudget, takeBudget} {
			if rateOf(w.ownPolicy(queue, key)).length >= 30*time.Minute {
				return true
			}
		}
	}
	return false
}

// refills reports whether a queue gets cards again whenever a budget starts again, and loses them when it is used up.
func (w *chaos) refills() bool {
	for queue := range w.Queues {
		if strings.HasSuffix(w.policy(queue, policy.EnforceQuotaKey), "budgets") && w.hasBudgets(queue) {
			return true
		}
	}
	return false
}

// above is the excess of a queue over its bound of a dimension, with the bounds since it began.
type above struct {
	queue, dim string
	has        float64
	after      time.Duration
	bounds     []oracle.Bound
}

// largestBounds returns the bounds of a queue for the pods below it that are bounded least.
func (c *chaosCycle) largestBounds(q index.Queue) map[string]float64 {
	if c.own.Index.Lifted.Len() > 0 {
		return c.named(c.own.Index.Lifted.Row(q))
	}
	return c.named(c.own.Index.RealCapability.Row(q))
}

// noteAbove notes the queues with enforced quotas that are above their bounds.
func (c *chaosCycle) noteAbove() (all map[string]above) {
	all = map[string]above{}
	for queue := range c.World.Queues {
		text, on := strings.CutPrefix(c.policy(queue, policy.EnforceQuotaKey), "after=")
		text, spends := strings.CutSuffix(text, ",budgets")
		at := c.own.Index.Lookup(queue)
		if !on || at == index.None || c.own.Index.Broken(at) != nil {
			continue
		}
		after, _ := time.ParseDuration(text)
		has, bound := amounts{}, c.largestBounds(at)
		c.eachCharge(func(j *Job, _ *Pod, task *api.TaskInfo, charge amounts) {
			if (api.AllocatedStatus(task.Status) || c.enforced[task.UID]) && slices.Contains(c.Path(j.Spec.Queue), queue) {
				for d, amount := range charge {
					has[d] += amount
				}
			}
		})
		delete(has, string(v1.ResourcePods)) // no quota bounds their number
		for d, amount := range has {
			if spends && c.spent(queue, d) {
				bound[d] = 0
			}
			if amount-bound[d] >= 0.1 {
				key := queue + " " + d
				all[key] = above{queue, d, amount, after, append(c.above[key].bounds, oracle.Bound{From: c.Clock(), Bound: bound[d]})}
			}
		}
	}
	return all
}

// spent reports whether the session has a queue's own budget of a card as used up.
func (c *chaosCycle) spent(queue, d string) bool {
	rule := c.own.Memory.Budgets.InForce()
	return rule != nil && slices.ContainsFunc(rule.All(), func(b budget.Budget) bool {
		return c.own.Index.Name(b.Queue) == queue && cardPrefix+c.own.Names.Name(b.Dim) == d && b.Used >= b.Limit
	})
}

// checkTolerated compares the pods that are evicted when a session opens with the rules of the documentation. A budget
// of evictions leaves out some of the pods.
func (c *chaosCycle) checkTolerated(name string) {
	if c.Plugin == session.ProportionName || c.sharing() {
		c.doubtAbove = true
		return
	}
	c.above = c.noteAbove()
	_, unsure := c.expected()
	for _, is := range unsure {
		c.doubtAbove = c.doubtAbove || is // the bounds of a queue may be known for longer, or not as long
	}
	if c.doubtAbove {
		return
	}
	excess := map[string]float64{}
	for key, a := range c.above {
		if x := a.has - oracle.Tolerated(a.bounds, c.Clock(), a.after); x >= 0.1 {
			excess[key] = x
		}
	}
	var evicted []string
	for id := range c.enforced {
		for _, job := range c.Jobs {
			if task := job.Tasks[id]; task != nil {
				evicted = append(evicted, task.Namespace+"/"+task.Name)
			}
		}
	}
	slices.Sort(evicted)
	wrong := func(toldBefore bool) (expected []string, is bool) {
		gangs, bounded := c.gangs(excess, toldBefore)
		expected = oracle.Enforced(excess, gangs)
		unexpected := slices.ContainsFunc(evicted, func(pod string) bool { return !slices.Contains(expected, pod) })
		return expected, unexpected || !bounded && len(evicted) < len(expected)
	}
	expected, is := wrong(true)
	c.seen["pods above a bound for too long"] += len(expected)
	if _, either := wrong(false); is && either {
		violated(name, "evicted are %v, and should be %v, for %v", evicted, expected, excess)
	}
}

// gangs returns the jobs with pods as the oracle knows them, and whether budgets or notices bound some. toldBefore:
// notices that this session was the first to find were given when the session before closed, and not now.
func (c *chaosCycle) gangs(excess map[string]float64, toldBefore bool) (gangs []oracle.Gang, bounded bool) {
	for _, j := range c.World.Jobs {
		if job := c.jobOf(j); job != nil && c.Path(j.Spec.Queue) != nil && c.Queues[job.Queue] != nil {
			if g, within := c.gangOf(j, job, excess, toldBefore); len(g.Members) > 0 {
				gangs, bounded = append(gangs, g), bounded || within
			}
		}
	}
	return gangs, bounded
}

// gangOf returns a job as the oracle knows it, and whether a budget of evictions bounds it.
func (c *chaosCycle) gangOf(j *Job, job *api.JobInfo, excess map[string]float64, toldBefore bool) (g oracle.Gang, bounded bool) {
	path := c.Path(j.Spec.Queue)
	g = oracle.Gang{QueuePriority: c.Queues[job.Queue].Queue.Spec.Priority, Priority: job.Priority}
	ready := int(job.ReadyTaskNum())
	succeeded := map[string]int{}
	for _, p := range j.All() {
		task := job.Tasks[api.TaskID(p.Object.UID)]
		if task == nil {
			continue
		}
		if task.Status == api.Succeeded {
			succeeded[task.TaskRole]++
		}
		if c.enforced[task.UID] {
			ready++
		} else if !api.AllocatedStatus(task.Status) {
			continue
		}
		m := oracle.Member{Name: task.Namespace + "/" + task.Name, Role: task.TaskRole, Priority: task.Priority,
			Fixed: !task.Preemptable || !c.enforced[task.UID] && !api.PreemptableStatus(task.Status)}
		if m.Ran = c.unsaved(j, task.Pod); c.graceOf(j, p) > 0 {
			bounded = true // it is evicted when its notice is over
			if had, known := c.told[task.UID]; known && had.at.Before(c.Clock()) && (toldBefore || had.found < c.Cycle) {
				m.Ran = -1
			}
		}
		for d, amount := range c.request(j, p, task) {
			for _, queue := range path {
				if key := queue + " " + d; excess[key] > 0 && amount > 0 {
					if m.Has == nil {
						m.Has = map[string]float64{}
					}
					m.Has[key] = amount
				}
			}
		}
		g.Members = append(g.Members, m)
	}
	g.Minimum = int(job.MinAvailable) - (ready - len(g.Members))
	if len(job.TaskMinAvailable) > 0 && job.MinAvailable >= job.TaskMinAvailableTotal {
		g.Minimums = map[string]int{}
		for role, least := range job.TaskMinAvailable {
			g.Minimums[role] = int(least) - succeeded[role]
		}
	}
	for _, queue := range path {
		if r := rateOf(c.ownPolicy(queue, loseBudget)); r.most > 0 {
			bounded, g.Larger = true, g.Larger || len(g.Members) > r.most
		}
	}
	return g, bounded
}
