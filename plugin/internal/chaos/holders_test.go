package chaos

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// ownership draws the labels, the user and the groups of a job or of its pods.
func (d *draw) ownership() (o Whose) {
	if d.chance(50) {
		o.Labels = map[string]string{"team": pick(d, "alpha", "alpha", "beta")}
	}
	if d.chance(60) {
		o.User = pick(d, "ann", "bob")
	}
	if d.chance(60) {
		o.Groups = pick(d, "g1", "g2", "g1,g2", " g2 ,,g1,g2")
	}
	return o
}

// limitsByHolder reports whether a text is a value of volcano.sh/card.quota.by: a number counts cards, and a string is a
// quantity of a resource.
func limitsByHolder(text string) bool {
	var by map[string]map[string]map[string]json.RawMessage
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &by) != nil {
		return false
	}
	for key, limits := range by {
		if key != "namespace" && key != "user" && key != "group" && !strings.HasPrefix(key, "label:") {
			return false
		}
		for _, limit := range limits {
			for _, amount := range limit {
				var cards uint32
				quantity, isResource := quantityOf(amount)
				if isResource && quantity.Sign() < 0 || !isResource && json.Unmarshal(amount, &cards) != nil {
					return false
				}
			}
		}
	}
	return true
}

// quantityOf returns the quantity of a resource in a limit, and false for a number of cards.
func quantityOf(amount json.RawMessage) (quantity resource.Quantity, is bool) {
	is = strings.HasPrefix(string(amount), `"`) && json.Unmarshal(amount, &quantity) == nil
	return quantity, is
}

// holderLimit returns the limit of a holder for a dimension in a queue and below it, and whether the queue sets one.
func (c *chaosCycle) holderLimit(queue string, h oracle.Holder, dimension string) (most float64, limited bool) {
	var by map[string]map[string]map[string]json.RawMessage
	_ = json.Unmarshal([]byte(c.ownPolicy(queue, card.HolderKey)), &by)
	limit, named := by[h.Key][h.Value]
	if !named && h.Value != "" {
		limit = by[h.Key]["*"]
	}
	amount := limit[strings.TrimPrefix(dimension, cardPrefix)]
	quantity, isResource := quantityOf(amount)
	switch {
	case amount == nil || isResource == isCard(dimension):
		return 0, false
	case isCard(dimension):
		n, _ := strconv.ParseFloat(string(amount), 64)
		return 1000 * n, true
	case dimension == "memory":
		return float64(quantity.Value()), true
	}
	return float64(quantity.MilliValue()), c.Plugin != session.Name || dimension == "cpu"
}

// limitsHolders reports whether a queue or an ancestor has limits of holders.
func (c *chaosCycle) limitsHolders(queue string) bool {
	return slices.ContainsFunc(c.Path(queue), func(q string) bool { return c.ownPolicy(q, card.HolderKey) != "" })
}

// ofHolder returns the amounts that a holder has in a queue and below it, and whether they are not certain. If later,
// the amounts are without the pods that count as gone.
func (c *chaosCycle) ofHolder(queue string, h oracle.Holder, later bool) (has amounts, unsure bool) {
	has = amounts{}
	sharers, leaves := sharers{}, func(*Pod, *api.TaskInfo) bool { return false }
	if later {
		leaves = c.leaving()
	}
	c.eachCharge(func(j *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		if slices.Contains(c.Path(j.Spec.Queue), queue) && slices.Contains(c.World.Orphans, j) {
			unsure = unsure || c.unsure(p) // its holders are not certain either
		}
		if !slices.Contains(c.Path(j.Spec.Queue), queue) || !slices.Contains(testbed.HoldersOf(c.jobOf(j)), h) || leaves(p, task) {
			return
		}
		for d, amount := range charge {
			has[d] += amount
		}
		unsure = sharers.add("", has, c.shares(j, p, task.NodeName)) || unsure || c.unsure(c.on(p, task))
	})
	return has, unsure
}

// checkHolders compares the amounts that the engine has charged to holders with the tasks.
func (c *chaosCycle) checkHolders(name string) {
	if c.own.Intake.Holders == nil {
		return
	}
	for account, place := range c.own.Intake.Holders.Quota.Places() {
		queue := c.own.Index.Name(place.Queue)
		want, unsure := c.ofHolder(queue, oracle.Holder(place.Holder), false)
		if unsure || c.Path(queue) == nil {
			continue
		}
		has := c.row(c.own.Intake.Holders.Quota.Accounts.Allocated(account))
		all := maps.Clone(has)
		maps.Copy(all, want)
		for d := range all {
			if !same(has[d], want[d]) {
				violated(name, "%s in queue %s is charged %g of %s, its tasks have %g (%s)", place.Holder, queue, has[d], d, want[d], c.action)
			}
		}
		c.seen["accounts of holders by "+place.Key]++
	}
}

// checkHolderLimit checks that no allocation takes a holder above a limit.
func (c *chaosCycle) checkHolderLimit(name string, p placement) {
	if p.task.Status == api.Pipelined {
		return // checkPipelined
	}
	for _, queue := range p.path {
		for _, h := range testbed.HoldersOf(c.jobOf(p.job)) {
			has, unsure := c.ofHolder(queue, h, false)
			for d, amount := range c.request(p.job, p.pod, p.task) {
				most, limited := c.holderLimit(queue, h, d)
				if !limited || unsure || amount == 0 || d == string(v1.ResourcePods) || isCard(d) && !c.counted(queue) {
					continue
				}
				if c.seen["allocations under a limit by "+h.Key]++; has[d] > most+0.1 {
					violated(name, "%s has %g of %s in queue %s after %s is placed on %s by %s, its limit is %g",
						h, has[d], d, queue, p.task.Name, p.task.NodeName, c.action, most)
				}
			}
		}
	}
}

// checkWillHold checks that no holder will have more than a limit with a pod that waits for others to end.
func (c *chaosCycle) checkWillHold(name, queue, d string, j *Job, task *api.TaskInfo) {
	for _, h := range testbed.HoldersOf(c.jobOf(j)) {
		if most, limited := c.holderLimit(queue, h, d); limited && c.counted(queue) {
			if in, unsure := c.ofHolder(queue, h, true); !unsure && in[d] > most+0.1 {
				violated(name, "%s will have %g of %s in queue %s with %s on %s, its limit is %g", h, in[d], d, queue, task.Name, task.NodeName, most)
			}
		}
	}
}
