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

// The texts of findings about what is configured.
const (
	overQuotaText  = "the quotas of %d queues below it add up to %s, more than its quota of %s"
	overNodesText  = "the quotas of %d queues below it add up to %s, more than the %s of the nodes"
	overBothText   = "the quotas of %d queues below it add up to %s, more than its quota of %s and the %s of the nodes"
	allLeavesText  = "the quotas of all %d leaf queues add up to %s, more than the %s of the nodes"
	overlapText    = "the groups %s and %s have cards in common (%s): they bound, and what queues deserve or are guaranteed of them has no effect"
	overlapAnyText = "the groups %s and %s can have cards in common: they bound, and what queues deserve or are guaranteed of them has no effect"

	overText      = "the window %s is over"
	jobsText      = "its limit of %s jobs never decides: %s allows %s for all queues below it together"
	actionText    = "%s has no effect: the scheduler's configuration has no action %s"
	budgetText    = "its budget of %s h in %s never decides: with a quota of %s the queue can use %s h"
	aboveText     = "its budget of %s h in %s never decides: %s has %s h for all queues below it together"
	namespaceText = "its limit of %s for a namespace never decides: its quota is %s"
	holderText    = "its limit of %s for %s never decides: its quota is %s"
	evictionsText = "its eviction-budget of %s never decides: %s allows %s for all queues below it together"
	graceText     = "its eviction-grace of %s never decides: %s grants no more than %s"
	orderText     = "its order %s never decides: the leaf queues below it have their own"
	spentText     = "enforce-quota names budgets, and neither it nor a queue below it has a budget of card-hours"
)

// sums finds levels on which quotas add up to more than the queue above has, or the nodes, and what validate finds of
// sums.
func (a *auditor) sums(checks *validate.Result) {
	for _, s := range checks.Sums {
		overQuota, overNodes := s.Quota != nil && s.Quotas > *s.Quota, s.Nodes != nil && s.Quotas > *s.Nodes
		f := Finding{Check: SumOfQuotas, Queue: s.Queue, Resource: s.Card, Basis: Configuration, Amount: &s.Quotas, Used: s.Nodes}
		if overQuota {
			f.Used = s.Quota
		}
		sum := explain.Amount(s.Card, s.Quotas)
		switch {
		case s.Queue == "" && overNodes && !hasEqual(checks.Sums, s):
			a.add(f, allLeavesText, s.Queues, sum, explain.Amount(s.Card, *s.Nodes))
		case s.Queue == "":
		case overQuota && overNodes:
			a.add(f, overBothText, s.Queues, sum, explain.Amount(s.Card, *s.Quota), explain.Amount(s.Card, *s.Nodes))
		case overQuota:
			a.add(f, overQuotaText, s.Queues, sum, explain.Amount(s.Card, *s.Quota))
		case overNodes:
			a.add(f, overNodesText, s.Queues, sum, explain.Amount(s.Card, *s.Nodes))
		}
	}
	a.takeOver(SumOfQuotas, validate.Sums, checks)
}

// hasEqual reports whether the sum of all leaf queues is that of a level as well.
func hasEqual(all []validate.Sum, leaves validate.Sum) bool {
	return slices.ContainsFunc(all, func(s validate.Sum) bool { return s.Queue != "" && s.Card == leaves.Card && s.Quotas == leaves.Quotas })
}

// overlaps finds groups of cards that overlap, and what validate finds of groups.
func (a *auditor) overlaps(checks *validate.Result) {
	for _, o := range checks.Overlaps {
		f := Finding{Check: OverlappingGroups, Basis: Configuration, Resource: card.GroupPrefix + o.One}
		one, other := card.GroupPrefix+o.One, card.GroupPrefix+o.Other
		if len(o.Cards) == 0 {
			a.add(f, overlapAnyText, one, other)
		} else {
			a.add(f, overlapText, one, other, strings.Join(o.Cards, ", "))
		}
	}
	a.takeOver(OverlappingGroups, validate.Groups, checks)
}

// takeOver adds the issues of a topic that validate finds on queues.
func (a *auditor) takeOver(check Check, topic validate.Topic, checks *validate.Result) {
	for _, i := range checks.Issues {
		if i.Topic == topic {
			a.report.Items = append(a.report.Items, Finding{Check: check, Queue: strings.TrimPrefix(i.Object, "Queue/"), Field: i.Field,
				Basis: Configuration, Message: i.Message})
		}
	}
}

// neverApplies finds policies of queues that can never decide anything, and values of which validate finds the same.
func (a *auditor) neverApplies(checks *validate.Result, c *engine.Configuration) {
	a.takeOver(NeverApplies, validate.NoEffect, checks)
	actions := map[string]bool{}
	for _, action := range c.Actions {
		actions[strings.TrimPrefix(action.Name(), "gang")] = true
	}
	for i := range a.queues {
		q := &a.queues[i]
		a.windowsOver(q)
		for _, p := range q.Policies {
			if p.Queue == q.Queue {
				a.withoutAction(q, p, actions)
			}
		}
		if values := ownValues(q); values != nil {
			a.jobs(q, values.MaxJobs())
			a.budgets(q, values)
			a.namespaces(q, values)
			a.holders(q, values)
			a.evictions(q, values.EvictionBudget())
			a.grace(q, values)
			a.order(q)
			a.spent(q, values)
		}
	}
}

// ownValues returns the policies that a queue itself sets, nil for none.
func ownValues(q *queues.Queue) *policy.Values {
	own := map[string]string{}
	for _, p := range q.Policies {
		if p.Queue == q.Queue {
			own[p.Policy] = p.Value
		}
	}
	if len(own) == 0 {
		return nil
	}
	texts := policy.Read(own)
	values, _ := texts.Parse()
	return &values
}

// above visits the policies of the queues above one, until visit returns true.
func (a *auditor) above(q *queues.Queue, visit func(above *queues.Queue, values *policy.Values) bool) {
	of := a.byName[q.Parent]
	for range a.queues { // parents can form a cycle
		if of == nil {
			return
		}
		if values := ownValues(of); values != nil && visit(of, values) {
			return
		}
		of = a.byName[of.Parent]
	}
}

func (a *auditor) never(q *queues.Queue, resource, format string, arguments ...any) {
	a.add(Finding{Check: NeverApplies, Queue: q.Queue, Resource: resource, Basis: Configuration}, format, arguments...)
}

// windowsOver finds windows that do not begin any more.
func (a *auditor) windowsOver(q *queues.Queue) {
	for _, w := range q.Windows {
		if !w.Holds && w.Next == nil {
			a.never(q, "", overText, w.When)
		}
	}
}

// takers are the actions for which policies decide who takes from whom.
var takers = map[string]string{policy.ReclaimFenceKey: "reclaim", policy.MinRuntimeKey: "reclaim", policy.ReclaimDelayKey: "reclaim",
	policy.PreemptMinRuntimeKey: "preempt", policy.ReclaimBudgetKey: "reclaim", policy.EvictionBudgetKey: "reclaim"}

// withoutAction finds a policy of reclaim or preempt where the scheduler does not run the action.
func (a *auditor) withoutAction(q *queues.Queue, p queues.Policy, actions map[string]bool) {
	enforces := func(q queues.Queue) bool {
		return slices.ContainsFunc(q.Policies, func(p queues.Policy) bool { return p.Policy == policy.EnforceQuotaKey && p.Value != "off" })
	}
	if p.Policy == policy.EvictionBudgetKey && slices.ContainsFunc(a.queues, enforces) {
		return // it bounds those evictions
	}
	if action := takers[p.Policy]; action != "" && !actions[action] {
		a.never(q, "", actionText, p.Name(), action)
	}
}

// jobs finds a limit of jobs that is not below that of a queue above: that one refuses first. A window could change
// either.
func (a *auditor) jobs(q *queues.Queue, most int) {
	if most == 0 || sets(q, policy.Short(policy.MaxJobsKey)) {
		return
	}
	for _, p := range q.Policies {
		above := a.byName[p.Queue]
		if p.Policy != policy.MaxJobsKey || p.Queue == q.Queue || above == nil || sets(above, p.Name()) {
			continue
		}
		if n, err := strconv.Atoi(p.Value); err == nil && most >= n {
			a.never(q, "", jobsText, strconv.Itoa(most), p.Queue, p.Value)
			return
		}
	}
}

// longestMonth is the longest window of the calendar.
const longestMonth = 31 * 24 * time.Hour

// budgets finds budgets that the quota of the queue cannot use up in their windows.
func (a *auditor) budgets(q *queues.Queue, values *policy.Values) {
	for _, b := range values.Budgets() {
		length := map[policy.Every]time.Duration{policy.EveryLength: b.Window.Length, policy.EveryDay: 24 * time.Hour,
			policy.EveryWeek: 7 * 24 * time.Hour, policy.EveryMonth: longestMonth}[b.Window.Every]
		quota, bounded := a.quotaOf(q, b.Card)
		if can := quota * length.Hours(); bounded && b.Hours >= can {
			a.never(q, b.Card, budgetText, explain.Amount("", b.Hours), b.Window.String(), explain.Amount(b.Card, quota), explain.Amount("", can))
			continue
		}
		if sets(q, policy.Short(card.BudgetKey)) {
			continue
		}
		a.above(q, func(above *queues.Queue, of *policy.Values) bool {
			for _, bound := range of.Budgets() {
				if bound.Card == b.Card && bound.Window == b.Window && bound.Hours <= b.Hours && !sets(above, policy.Short(card.BudgetKey)) {
					a.never(q, b.Card, aboveText, explain.Amount("", b.Hours), b.Window.String(), above.Queue, explain.Amount("", bound.Hours))
					return true
				}
			}
			return false
		})
	}
}

// evictions finds a budget of evictions that one above uses up first: that one allows no more in a time that is no
// shorter.
func (a *auditor) evictions(q *queues.Queue, own policy.Rate) {
	if own.Most == 0 || sets(q, policy.Short(policy.EvictionBudgetKey)) {
		return
	}
	a.above(q, func(above *queues.Queue, values *policy.Values) bool {
		of := values.EvictionBudget()
		if of.Most == 0 || of.Most > own.Most || of.Length < own.Length || sets(above, policy.Short(policy.EvictionBudgetKey)) {
			return false
		}
		a.never(q, "", evictionsText, own.String(), above.Queue, of.String())
		return true
	})
}

// grace finds notice before evictions of which a queue above grants no more.
func (a *auditor) grace(q *queues.Queue, values *policy.Values) {
	own, set := values.EvictionGrace()
	if !set || sets(q, policy.Short(policy.EvictionGraceKey)) {
		return
	}
	a.above(q, func(above *queues.Queue, values *policy.Values) bool {
		of, bounds := values.EvictionGrace()
		if !bounds || of > own || sets(above, policy.Short(policy.EvictionGraceKey)) {
			return false
		}
		a.never(q, "", graceText, own.String(), above.Queue, of.String())
		return true
	})
}

// order finds an order of jobs that no leaf queue has: each below has one of its own, or of a queue between. A window
// could change that.
func (a *auditor) order(q *queues.Queue) {
	ofQueue := func(p queues.Policy) bool { return p.Policy == policy.JobOrderKey && p.Queue == q.Queue }
	own := slices.IndexFunc(q.Policies, ofQueue)
	if own < 0 {
		return
	}
	for i := range a.queues {
		of := &a.queues[i]
		if slices.ContainsFunc(of.Policies, ofQueue) && a.isLeaf(of) || sets(of, policy.Short(policy.JobOrderKey)) {
			return
		}
	}
	a.never(q, "", orderText, q.Policies[own].Value)
}

func (a *auditor) isLeaf(q *queues.Queue) bool {
	return !slices.ContainsFunc(a.queues, func(below queues.Queue) bool { return below.Parent == q.Queue })
}

// spent finds a queue that enforces budgets of card-hours which neither it nor a queue below it has.
func (a *auditor) spent(q *queues.Queue, values *policy.Values) {
	if !values.EnforceBudgets() || sets(q, policy.Short(card.BudgetKey)) {
		return
	}
	has := func(of *queues.Queue) bool {
		own := ownValues(of)
		return own != nil && len(own.Budgets()) > 0 || sets(of, policy.Short(card.BudgetKey))
	}
	for i := range a.queues {
		below := &a.queues[i]
		under := below == q
		if has(below) {
			a.above(below, func(above *queues.Queue, _ *policy.Values) bool {
				under = under || above == q
				return under
			})
			if under {
				return
			}
		}
	}
	a.never(q, "", spentText)
}

// holders finds limits of users, groups and labels that are not below the quota of the queue.
func (a *auditor) holders(q *queues.Queue, values *policy.Values) {
	for _, key := range values[policy.HolderCards].Holders {
		for _, limit := range key.Limits {
			for _, e := range limit.Cards {
				if quota, bounded := a.quotaOf(q, e.Name); bounded && quota > 0 && float64(e.Cards) >= quota {
					of := key.Key + " " + limit.Value
					if limit.Other {
						of = key.Key + " *"
					}
					a.never(q, e.Name, holderText, strconv.FormatInt(e.Cards, 10), of, explain.Amount(e.Name, quota))
				}
			}
		}
	}
}

// namespaces finds limits of namespaces that are not below the quota of the queue.
func (a *auditor) namespaces(q *queues.Queue, values *policy.Values) {
	for _, e := range values[policy.NamespaceCards].Cards {
		if quota, bounded := a.quotaOf(q, e.Name); bounded && quota > 0 && float64(e.Cards) >= quota {
			a.never(q, e.Name, namespaceText, strconv.FormatInt(e.Cards, 10), explain.Amount(e.Name, quota))
		}
	}
}

// quotaOf returns the quota that a queue itself has of a card, and whether it has one that no window of the queue
// changes.
func (a *auditor) quotaOf(q *queues.Queue, name string) (quota float64, bounded bool) {
	for _, h := range q.Resources {
		if h.Resource == name && h.Capability != nil {
			return *h.Capability, q.Bounds[name] && !sets(q, policy.Short(card.QuotaKey)) && !sets(q, "capability")
		}
	}
	return 0, false
}

// sets reports whether a window of a queue sets a key.
func sets(q *queues.Queue, key string) bool {
	for _, w := range q.Windows {
		if _, has := w.Sets[key]; has {
			return true
		}
	}
	return false
}
