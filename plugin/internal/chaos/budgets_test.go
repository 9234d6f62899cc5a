package chaos

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// validBudgets reports whether a text is a value of volcano.sh/card.budget, of those that worlds draw.
func validBudgets(text string) bool {
	var values map[string]string
	if json.Unmarshal([]byte(text), &values) != nil {
		return false
	}
	for _, value := range values {
		amount, _, _ := strings.Cut(value, "h/")
		if hours, _ := oracle.BudgetOf(value); hours <= 0 || strings.Contains(amount, "e") {
			return false
		}
	}
	return true
}

// budgetsOf returns the budgets of a queue itself by dimension, such as 5h/day.
func (w *chaos) budgetsOf(queue string) map[string]string {
	var values map[string]string
	if w.Plugin != session.ProportionName {
		_ = json.Unmarshal([]byte(w.ownPolicy(queue, card.BudgetKey)), &values)
	}
	all := map[string]string{}
	for name, value := range values {
		all[cardPrefix+name] = value
	}
	return all
}

// hasBudgets reports whether a queue or an ancestor has a budget.
func (w *chaos) hasBudgets(queue string) bool {
	return slices.ContainsFunc(w.Path(queue), func(q string) bool { return len(w.budgetsOf(q)) > 0 })
}

// usedHours counts the card-hours of the pods of a world, from their starts, whoever watched: each pod counts for its
// queue from when it has a node until it is gone.
type usedHours struct {
	at   time.Time
	held map[string]amounts // by queue, without the queues below, since at
	own  map[string]map[string]*oracle.Use
	// doubt: the cards of some pod were not certain.
	doubt bool
}

// noteUse lets the time since the last session pass.
func (c *chaosCycle) noteUse() {
	u := &c.use
	now := c.Clock()
	for queue, held := range u.held {
		if u.own == nil {
			u.own = map[string]map[string]*oracle.Use{}
		}
		if u.own[queue] == nil {
			u.own[queue] = map[string]*oracle.Use{}
		}
		for d, amount := range held {
			if isCard(d) && amount > 0 {
				if u.own[queue][d] == nil {
					u.own[queue][d] = &oracle.Use{}
				}
				u.own[queue][d].Had(u.at, now, amount/1000)
			}
		}
	}
	u.at = now
}

// noteHeld notes the amounts that queues hold until the next session.
func (c *chaosCycle) noteHeld() {
	c.use.held = map[string]amounts{}
	sharers := sharers{}
	c.use.doubt = c.use.doubt || slices.ContainsFunc(slices.Concat(c.World.Jobs, c.World.Orphans), func(j *Job) bool {
		return c.Path(j.Spec.Queue) == nil // its pods count, but their charge is not known here
	})
	c.eachChargeAt(true, func(j *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		if task.Status == api.Pipelined {
			return
		}
		c.use.doubt = c.use.doubt || !c.counted(j.Spec.Queue) // once they count, they do so from their start
		of := c.use.held[j.Spec.Queue]
		if of == nil {
			of = amounts{}
			c.use.held[j.Spec.Queue] = of
		}
		for d, amount := range charge {
			of[d] += amount
		}
		c.use.doubt = sharers.add(j.Spec.Queue, of, c.shares(j, p, task.NodeName)) || c.use.doubt
	})
}

// mostUsed returns the most that a queue and the queues that are below it now can have used of a dimension in a window.
func (c *chaosCycle) mostUsed(queue, d, window string) float64 {
	all := &oracle.Use{}
	for name, own := range c.use.own {
		if own[d] != nil && (c.World.Queues[name] == nil || slices.Contains(c.Path(name), queue)) {
			all.Add(own[d]) // the use of a deleted queue may count anywhere
		}
	}
	_, most := all.Used(window, c.Clock())
	return most
}

// checkBudgets checks that no pod gets a card with a budget that is used up, by the sums of the session.
func (c *chaosCycle) checkBudgets(name string, p placement) {
	rule := c.own.Memory.Budgets.InForce()
	if rule == nil {
		return
	}
	for d, amount := range c.request(p.job, p.pod, p.task) {
		if amount <= 0 || !isCard(d) || c.unsure(c.on(p.pod, p.task)) {
			continue
		}
		for _, b := range rule.All() {
			if queue := c.own.Index.Name(b.Queue); c.own.Names.Name(b.Dim) == d[len(cardPrefix):] && slices.Contains(p.path, queue) {
				if c.seen["placements under a budget"]++; b.Used >= b.Limit {
					violated(name, "%s gets %s by %s: queue %s has used %g of %g", p.task.Name, d, c.action, queue, b.Used/3.6e6, b.Limit/3.6e6)
				}
			}
		}
	}
}

// checkUse checks that the session sums up no more than the pods of the world have used.
func (c *chaosCycle) checkUse(name string) {
	rule := c.own.Memory.Budgets.InForce()
	if rule == nil {
		return
	}
	for _, b := range rule.All() {
		queue, d := c.own.Index.Name(b.Queue), cardPrefix+c.own.Names.Name(b.Dim)
		text, set := c.budgetsOf(queue)[d]
		if !set || c.Path(queue) == nil {
			continue
		}
		_, window := oracle.BudgetOf(text)
		c.seen["sums of budgets"]++
		if most := c.mostUsed(queue, d, window); b.Used/3.6e6 > most+1e-6 && !c.doubtful() {
			violated(name, "queue %s has used %g card-hours of %s, its pods have used at most %g", queue, b.Used/3.6e6, d, most)
		}
	}
}

// doubtful reports whether the cards of some pod are not certain, or its queue was deleted: another queue of the name
// is charged for pods that run from their start.
func (c *chaosCycle) doubtful() bool {
	_, unsure := c.expected()
	for _, is := range unsure {
		c.use.doubt = c.use.doubt || is
	}
	for _, j := range c.World.Jobs {
		c.use.doubt = c.use.doubt || c.orphaned[j]
	}
	return c.use.doubt
}
