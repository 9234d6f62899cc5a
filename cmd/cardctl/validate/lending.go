package validate

import (
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// checkLending notes that lent cards do not come back: the scheduler does not run the action reclaim, or reclaim keeps
// gangs. It names the first queue that may have more of a card than it deserves.
func (ck *checker) checkLending(c *engine.Configuration) {
	if c.Given == nil || c.Plugin == plugin.ProportionName {
		return
	}

	reclaims := slices.ContainsFunc(c.Actions, engine.IsReclaim)
	if reclaims && !inspect.KeepsGangs(c.Plugin, c.Arguments, c.Tiers) {
		return
	}

	names := slices.Sorted(maps.Keys(ck.queues))
	at := slices.IndexFunc(names, func(name string) bool {
		quota := ck.amounts(name, card.QuotaKey)
		for model, deserved := range ck.amounts(name, card.DeservedKey) {
			if deserved < quota[model] {
				return true
			}
		}
		return false
	})
	if at < 0 {
		return
	}

	lack := "the actions have no reclaim: what others lend comes back when pods end; " +
		"to take it back, add reclaim after allocate"
	if reclaims {
		lack = "reclaim takes nothing back from gangs: to evict jobs as a whole, set reclaimGangs: whole for " +
			c.Plugin
	}
	ck.reportConfiguration(c, Note, "queues such as "+names[at]+" may have more cards than they deserve, and "+lack)
}
