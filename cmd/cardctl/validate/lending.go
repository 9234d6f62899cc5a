package validate

import (
	"maps"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// checkLending notes that what queues lend does not come back: a queue may have more of a card than it deserves, and
// the scheduler does not run the action reclaim, or reclaim keeps gangs.
func (ck *checker) checkLending(c *engine.Configuration) {
	reclaims := slices.ContainsFunc(c.Actions, func(a framework.Action) bool {
		return strings.TrimPrefix(a.Name(), "gang") == "reclaim"
	})
	if c.Given == nil || c.Plugin == plugin.ProportionName {
		return
	}

	lack := "the actions have no reclaim: what others lend comes back when pods end; to take it back, add reclaim after allocate"
	if reclaims {
		if !inspect.KeepsGangs(c.Plugin, c.Arguments, c.Tiers) {
			return
		}
		lack = "reclaim takes nothing back from gangs: to evict jobs as a whole, set reclaimGangs: whole for " + c.Plugin
	}
	for _, name := range slices.Sorted(maps.Keys(ck.queues)) {
		quota := amounts(ck.queues[name], card.QuotaKey)
		for model, deserved := range amounts(ck.queues[name], card.DeservedKey) {
			if deserved >= quota[model] {
				continue
			}
			ck.issues = append(ck.issues, Issue{Source: c.Given.Source, Severity: Note, Object: c.Given.Object,
				Message: "queues such as " + name + " may have more cards than they deserve, and " + lack})
			return
		}
	}
}
