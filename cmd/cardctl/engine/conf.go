package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	// The actions and plugins that Volcano's scheduler has.
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/guard"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota/evict"
)

// ErrNoQuotaPlugin is about configurations without any of plugin.Names.
var ErrNoQuotaPlugin = errors.New("the scheduler configuration has no quota plugin")

// outside are plugins that need what a snapshot does not have: metrics, other
// services, the devices of nodes.
var outside = []string{"extender", "usage", "rescheduling", "numaaware", "deviceshare", "resourcequota", "pdb", "sla"}

// Configuration is the content of a volcano-scheduler.conf.
type Configuration struct {
	Plugin         string          // the quota plugin, one of plugin.Names
	Arguments      map[string]any  // of the quota plugin, as they are given
	Hierarchy      bool            // quotas form a tree
	Annotated      bool            // the tree is that of the queues' annotations
	Release        release.Release // whose rules the quota plugin follows
	Actions        []framework.Action
	Tiers          []conf.Tier
	Configurations []conf.Configuration
	Given          *input.Configuration // what it was read from, nil for Usual
	LeftOut        []string             // plugins that need more than a snapshot, or that this program does not know
	// Usage holds the usage of queues over time with which sessions begin; nil for what they have now.
	Usage *store.Stored
	// At is the time at which sessions are opened, zero for now.
	At time.Time
	// UsageLacks is why Usage is not known although the order depends on it, "" if it is.
	UsageLacks string
	// Budgets holds what queues have used of their budgets and what was evicted, with which sessions begin where Usage
	// is nil; nil for what pods that run have used. BudgetsLack is why it is not known, "" if it is, or no queue has a
	// budget.
	Budgets     *store.Stored
	BudgetsLack string
	// evicted counts the evictions of earlier cycles of a simulation. It is nil where those that are stored count.
	evicted *evict.Record
}

// stored returns the usage, or else the budgets, with which sessions begin.
func (c *Configuration) stored() *store.Stored {
	stored := cmp.Or(c.Usage, c.Budgets)
	if c.evicted == nil {
		return stored
	}
	own := store.Stored{}
	if stored != nil {
		own = *stored
	}
	own.Record.Evictions = c.evicted
	return &own
}

// keepEvictions lets the next session begin with the evictions of one.
func (c *Configuration) keepEvictions(s *Session) {
	var now time.Time
	if stored := c.stored(); stored != nil {
		now = stored.Now
	}
	c.evicted = s.Quota.Evictions(now)
}

// FairShare are the settings of the order by usage over time.
func (c *Configuration) FairShare() arguments.FairShare {
	return inspect.FairShareOf(c.Plugin, c.Arguments)
}

// CardAttributes are the attributes that name the cards of devices, where they are not those of vendors.
func (c *Configuration) CardAttributes() card.Attributes {
	return inspect.CardAttributes(c.Plugin, c.Arguments)
}

// CardLabels are the labels that name the cards of nodes, where they are not those of vendors.
func (c *Configuration) CardLabels() card.Labels { return inspect.CardLabels(c.Plugin, c.Arguments) }

// CardFractions says what counts of fractions of cards.
func (c *Configuration) CardFractions() card.FractionsBy {
	return inspect.CardFractions(c.Plugin, c.Arguments)
}

// CardGroups are the groups of cards.
func (c *Configuration) CardGroups() card.Groups { return inspect.CardGroups(c.Plugin, c.Arguments) }

// FairByWeight reports whether usage over time is compared with weights, and not with what queues deserve.
func (c *Configuration) FairByWeight() bool { return c.FairShare().By == arguments.FairShareByWeight }

// usual is a configuration with one quota plugin. It follows the example in
// docs/cards.md and adds preempt, so that simulate shows preemption as well.
const usual = `
actions: "enqueue, allocate, reclaim, preempt, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: %s
    enableHierarchy: %t
- plugins:
  - name: predicates
  - name: nodeorder
`

// Usual is the configuration if none is given. Quotas form a tree if some queue has a
// parent.
func Usual(name string, queues []*scheduling.Queue) (*Configuration, error) {
	tree := slices.ContainsFunc(queues, func(q *scheduling.Queue) bool { return q.Spec.Parent != "" && q.Spec.Parent != index.RootName })
	return Configure(fmt.Sprintf(usual, name, tree && name != plugin.ProportionName))
}

// Configure reads a volcano-scheduler.conf.
func Configure(text string) (*Configuration, error) {
	one <- struct{}{}
	defer func() { <-one }()
	plugin.Register()
	actions, tiers, configurations, _, err := scheduler.UnmarshalSchedulerConf(text)
	if err != nil {
		return nil, fmt.Errorf("the scheduler configuration: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	c := &Configuration{Actions: actions, Configurations: configurations}
	for _, tier := range tiers {
		var kept conf.Tier
		for _, option := range tier.Plugins {
			_, registered := framework.GetPluginBuilder(option.Name)
			switch {
			case !registered || slices.Contains(outside, option.Name):
				c.LeftOut = append(c.LeftOut, option.Name)
				continue
			case slices.Contains(plugin.Names, option.Name) && c.Plugin != "":
				return nil, fmt.Errorf("the scheduler configuration: %w: %s, %s", guard.ErrSeveralQuotas, c.Plugin, option.Name)
			case slices.Contains(plugin.Names, option.Name):
				c.Plugin, c.Arguments = option.Name, option.Arguments
				c.Release, err = arguments.Release(option.Arguments)
				if err != nil {
					return nil, fmt.Errorf("the scheduler configuration: %w: %s: %w", guard.ErrBadArgument, option.Name, err)
				}
				c.Hierarchy = option.EnabledHierarchy != nil && *option.EnabledHierarchy && option.Name != plugin.ProportionName
				c.Annotated = c.Hierarchy && inspect.TreeOfAnnotations(option.Name, option.Arguments)
			}
			kept.Plugins = append(kept.Plugins, option)
		}
		c.Tiers = append(c.Tiers, kept)
	}
	if c.Plugin == "" {
		return nil, fmt.Errorf("%w: one of %s", ErrNoQuotaPlugin, strings.Join(plugin.Names, ", "))
	}
	return c, nil
}

// Has reports whether a plugin is part of the configuration.
func (c *Configuration) Has(name string) bool {
	return slices.ContainsFunc(c.Tiers, func(tier conf.Tier) bool {
		return slices.ContainsFunc(tier.Plugins, func(option conf.PluginOption) bool { return option.Name == name })
	})
}
