package chaos

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/internal/world"
)

// whose draws whose a job is, or what its pods say of it.
func (d *draw) whose() (o world.Whose) {
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

func limitsNamespaces(text string) bool {
	var values map[string]resource.Quantity
	if json.Unmarshal([]byte(text), &values) != nil {
		return false
	}
	for _, quantity := range values {
		if quantity.Sign() < 0 || quantity.String() == "1500m" {
			return false
		}
	}
	return true
}

func limitsByHolder(text string) bool {
	var by map[string]map[string]map[string]uint32
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &by) != nil {
		return false
	}
	for key := range by {
		if key != "user" && key != "group" && !strings.HasPrefix(key, "label:") {
			return false
		}
	}
	return true
}

// holderLimit returns what a holder may have of a dimension in a queue and below, and
// whether the queue says so.
func (c *chaosCycle) holderLimit(queue string, h oracle.Holder, dimension string) (most float64, limited bool) {
	if isCard(dimension) && h.Key != "namespace" {
		var by map[string]map[string]map[string]float64
		_ = json.Unmarshal([]byte(c.ownPolicy(queue, card.HolderKey)), &by)
		cards, named := by[h.Key][h.Value]
		if !named && h.Value != "" {
			cards = by[h.Key]["*"]
		}
		n, limited := cards[dimension[len(cardPrefix):]]
		return 1000 * n, limited
	}
	key, name := policy.NamespaceCapabilityKey, dimension
	if isCard(dimension) {
		key, name = card.NamespaceKey, dimension[len(cardPrefix):]
	}
	if h.Key != "namespace" || c.Plugin == session.Name && !isCard(dimension) && name != "cpu" && name != "memory" {
		return 0, false
	}
	var values map[string]resource.Quantity
	_ = json.Unmarshal([]byte(c.ownPolicy(queue, key)), &values)
	quantity, limited := values[name]
	if name == "memory" {
		return float64(quantity.Value()), limited
	}
	return float64(quantity.MilliValue()), limited
}

// limitsHolders reports whether a queue or an ancestor limits what a holder has.
func (c *chaosCycle) limitsHolders(queue string) bool {
	return slices.ContainsFunc(c.Path(queue), func(q string) bool {
		return c.ownPolicy(q, card.NamespaceKey)+c.ownPolicy(q, policy.NamespaceCapabilityKey)+c.ownPolicy(q, card.HolderKey) != ""
	})
}

// ofHolder returns what a holder has in a queue and below, or will have when those have left that count as gone, and
// whether that is certain.
func (c *chaosCycle) ofHolder(queue string, h oracle.Holder, later bool) (has amounts, unsure bool) {
	has = amounts{}
	sharers, leaves := sharers{}, func(*world.Pod, *api.TaskInfo) bool { return false }
	if later {
		leaves = c.leaving()
	}
	c.eachCharge(func(j *world.Job, p *world.Pod, task *api.TaskInfo, charge amounts) {
		if slices.Contains(c.Path(j.Spec.Queue), queue) && slices.Contains(c.World.Orphans, j) {
			unsure = unsure || c.unsure(p) // nor is it certain whose it is
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

// checkHolders compares what the engine has charged to holders with the tasks.
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
func (c *chaosCycle) checkWillHold(name, queue, d string, j *world.Job, task *api.TaskInfo) {
	for _, h := range testbed.HoldersOf(c.jobOf(j)) {
		if most, limited := c.holderLimit(queue, h, d); limited && c.counted(queue) {
			if in, unsure := c.ofHolder(queue, h, true); !unsure && in[d] > most+0.1 {
				violated(name, "%s will have %g of %s in queue %s with %s on %s, its limit is %g", h, in[d], d, queue, task.Name, task.NodeName, most)
			}
		}
	}
}
