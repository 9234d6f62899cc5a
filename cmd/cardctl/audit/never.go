package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// The texts of findings about policies without effect.
const (
	overText      = "the window %s is over"
	jobsText      = "its limit of %s jobs never decides: %s allows %s for all queues below it together"
	actionText    = "%s has no effect: the scheduler's configuration has no action %s"
	budgetText    = "its budget of %s card-hours in %s never decides: with a quota of %s the queue can use %s"
	aboveText     = "its budget of %s card-hours in %s never decides: %s has %s for all queues below it together"
	holderText    = "its limit of %s for %s never decides: its quota is %s"
	evictionsText = "its eviction-budget of %s never decides: %s allows %s for all queues below it together"
	graceText     = "its eviction-grace of %s never decides: %s grants no more than %s"
	orderText     = "its order %s never decides: the leaf queues below it have their own"
	spentText     = "enforce-quota names budgets, and neither it nor a queue below it has a budget of card-hours"
)

// neverApplies finds policies of queues that never decide anything. A value that a window changes is left out. It
// includes the issues of validate about policies without effect.
func (a *auditor) neverApplies(checks *validate.Result, c *engine.Configuration) {
	a.takeOver(NeverApplies, validate.NoEffect, checks)

	actions := map[string]bool{}
	for _, action := range c.Actions {
		actions[strings.TrimPrefix(action.Name(), "gang")] = true
	}

	for _, q := range a.queues {
		a.windowsOver(q)
		a.withoutAction(q, actions)
		a.jobs(q)
		a.budgets(q)
		a.holders(q)
		a.evictions(q)
		a.grace(q)
		a.order(q)
		a.spent(q)
	}
}

func (a *auditor) never(q *queue, resource, format string, arguments ...any) {
	a.add(q.finding(NeverApplies, resource, Configuration), format, arguments...)
}

// windowsOver finds windows that never begin again.
func (a *auditor) windowsOver(q *queue) {
	for _, w := range q.Windows {
		if !w.Holds && w.Next == nil {
			a.never(q, "", overText, w.When)
		}
	}
}

// actionOf are the actions that policies of reclaim and preempt depend on.
var actionOf = map[policy.Key]string{
	policy.ReclaimFence:      "reclaim",
	policy.MinRuntime:        "reclaim",
	policy.ReclaimDelay:      "reclaim",
	policy.PreemptMinRuntime: "preempt",
	policy.ReclaimBudget:     "reclaim",
	policy.EvictionBudget:    "reclaim",
}

// withoutAction finds policies that depend on an action that the scheduler does not run.
func (a *auditor) withoutAction(q *queue, actions map[string]bool) {
	for _, p := range q.Policies {
		action := actionOf[p.Key]
		if p.Queue != q.name || action == "" || actions[action] {
			continue
		}

		// A budget of evictions also bounds the evictions that enforce quotas.
		if p.Key != policy.EvictionBudget || !slices.ContainsFunc(a.queues, enforces) {
			a.never(q, "", actionText, policy.Short(p.Key.String()), action)
		}
	}
}

// enforces reports whether pods above the quota of a queue are evicted.
func enforces(q *queue) bool {
	return slices.ContainsFunc(q.Policies, func(p queues.Policy) bool {
		return p.Key == policy.EnforceQuota && p.Value != "off"
	})
}

// jobs finds a limit of jobs that is not below the limit of a queue above, which refuses first.
func (a *auditor) jobs(q *queue) {
	own := q.own.MaxJobs()
	above := q.boundBy(policy.MaxJobsKey, func(above *policy.Values) bool {
		bound := above.MaxJobs()
		return bound > 0 && bound <= own
	})
	if above != nil {
		a.never(q, "", jobsText, strconv.Itoa(own), above.name, strconv.Itoa(above.own.MaxJobs()))
	}
}

// calendar has the greatest lengths of the windows of the calendar.
var calendar = map[policy.Every]time.Duration{
	policy.EveryDay:   24 * time.Hour,
	policy.EveryWeek:  7 * 24 * time.Hour,
	policy.EveryMonth: 31 * 24 * time.Hour,
}

// budgets finds budgets that never decide: the quota of the queue cannot use them up, or a queue above has the same
// budget or a smaller one.
func (a *auditor) budgets(q *queue) {
	for _, b := range q.own.Budgets() {
		length := calendar[b.Window.Every]
		if b.Window.Every == policy.EveryLength {
			length = b.Window.Length
		}

		quota, bounded := q.quota(b.Card)
		usable := quota * length.Hours()

		if bounded && b.Hours >= usable {
			a.never(q, b.Card, budgetText, explain.Amount("", b.Hours), b.Window.String(),
				explain.Amount(b.Card, quota), explain.Amount("", usable))
		} else if !q.windowSets(card.BudgetKey) {
			a.smallerBudget(q, b)
		}
	}
}

// smallerBudget finds a queue above with the same budget or a smaller one.
func (a *auditor) smallerBudget(q *queue, own policy.Budget) {
	for _, above := range q.above {
		if above.windowSets(card.BudgetKey) {
			continue
		}
		for _, b := range above.own.Budgets() {
			if b.Card == own.Card && b.Window == own.Window && b.Hours <= own.Hours {
				a.never(q, own.Card, aboveText, explain.Amount("", own.Hours), own.Window.String(),
					above.name, explain.Amount("", b.Hours))
				return
			}
		}
	}
}

// holders finds limits of namespaces, users, groups and labels that are not below the quota of the queue.
func (a *auditor) holders(q *queue) {
	for _, key := range q.own.Holders() {
		for _, limit := range key.Limits {
			holder := key.Key + " " + limit.Value
			if limit.Other {
				holder = key.Key + " *"
			}

			for _, e := range limit.Cards {
				if quota, ok := q.reachesQuota(e); ok {
					a.never(q, e.Name, holderText, strconv.FormatInt(e.Cards, 10), holder, quota)
				}
			}
		}
	}
}

// evictions finds a budget of evictions that a budget above uses up first. The budget above allows no more evictions,
// in a time that is not shorter.
func (a *auditor) evictions(q *queue) {
	own := q.own.EvictionBudget()
	above := q.boundBy(policy.EvictionBudgetKey, func(above *policy.Values) bool {
		bound := above.EvictionBudget()
		return bound.Most > 0 && bound.Most <= own.Most && bound.Length >= own.Length
	})
	if above != nil {
		a.never(q, "", evictionsText, own.String(), above.name, above.own.EvictionBudget().String())
	}
}

// boundBy returns the next queue above with values that bound the value of the queue itself. It returns nil if there is
// none, and leaves out values that a window changes.
func (q *queue) boundBy(key string, bounds func(above *policy.Values) bool) *queue {
	if q.windowSets(key) {
		return nil
	}
	for _, above := range q.above {
		if bounds(above.own) && !above.windowSets(key) {
			return above
		}
	}
	return nil
}

// grace finds a notice before evictions that is not shorter than the most that a queue above grants.
func (a *auditor) grace(q *queue) {
	own, set := q.own.EvictionGrace()
	above := q.boundBy(policy.EvictionGraceKey, func(above *policy.Values) bool {
		bound, bounds := above.EvictionGrace()
		return set && bounds && bound <= own
	})
	if above != nil {
		bound, _ := above.own.EvictionGrace()
		a.never(q, "", graceText, own.String(), above.name, bound.String())
	}
}

// order finds an order of jobs that is in force in no leaf queue.
func (a *auditor) order(q *queue) {
	isOrder := func(p queues.Policy) bool { return p.Key == policy.JobOrder && p.Queue == q.name }
	own := slices.IndexFunc(q.Policies, isOrder)
	if own < 0 {
		return
	}

	for _, other := range a.queues {
		inForce := other.leaf && slices.ContainsFunc(other.Policies, isOrder)
		if inForce || other.windowSets(policy.OrderKey) {
			return
		}
	}
	a.never(q, "", orderText, q.Policies[own].Value)
}

// spent finds a queue that enforces budgets of card-hours, although no queue from it down has a budget.
func (a *auditor) spent(q *queue) {
	if !q.own.EnforceBudgets() {
		return
	}

	for _, other := range a.queues {
		has := len(other.own.Budgets()) > 0 || other.windowSets(card.BudgetKey)
		if has && (other == q || slices.Contains(other.above, q)) {
			return
		}
	}
	a.never(q, "", spentText)
}

// quota returns the quota of the queue itself for a card. bounded reports whether there is one that no window of the
// queue changes.
func (q *queue) quota(name string) (quota float64, bounded bool) {
	for _, h := range q.Resources {
		if h.Resource == name && h.Capability != nil {
			return *h.Capability, q.Bounds[name] && !q.windowSets(card.QuotaKey) && !q.windowSets("capability")
		}
	}

	return 0, false
}

// reachesQuota reports whether a limit for a part of the queue is not below the quota of the queue.
func (q *queue) reachesQuota(limit card.Entry) (quota string, reaches bool) {
	n, bounded := q.quota(limit.Name)
	return explain.Amount(limit.Name, n), bounded && n > 0 && float64(limit.Cards) >= n
}

// windowSets reports whether a window of the queue changes a value.
func (q *queue) windowSets(key string) bool {
	for _, w := range q.Windows {
		if _, ok := w.Sets[policy.Short(key)]; ok {
			return true
		}
	}

	return false
}
