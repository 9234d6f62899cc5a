package engine

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	// The actions and plugins that Volcano's scheduler has.
	_ "volcano.sh/volcano/pkg/scheduler/actions"
	_ "volcano.sh/volcano/pkg/scheduler/plugins"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/guard"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/release"
	"github.com/capacity-card/capacity-card/plugin/store"
)

// ErrNoQuotaPlugin is the error of a configuration without a quota plugin.
var ErrNoQuotaPlugin = errors.New("the scheduler configuration has no quota plugin")

// unsupported are the plugins that need more than a snapshot: metrics, other services, or the devices of nodes.
var unsupported = []string{
	"extender", "usage", "rescheduling", "numaaware", "deviceshare", "resourcequota", "pdb", "sla",
}

// Configuration is the content of a volcano-scheduler.conf.
type Configuration struct {
	Plugin         string          // the quota plugin, one of plugin.Names
	Arguments      map[string]any  // of the quota plugin, as they are given
	Hierarchy      bool            // quotas form a tree
	Annotated      bool            // annotations of the queues define the tree
	Release        release.Release // the rules that the quota plugin follows
	Actions        []framework.Action
	Tiers          []conf.Tier
	Configurations []conf.Configuration
	Given          *input.Configuration // the source, nil for Usual
	LeftOut        []string             // unsupported and unknown plugins

	// Upstream has Volcano's own plugin of the same name decide, in place of the plugin of this module. Sessions have
	// no Quota then.
	Upstream bool
	// Cluster is the name of the cluster among several in this process, "" for one. Sessions on different clusters
	// share no memory.
	Cluster string
	// At is the time of the sessions, zero for now.
	At time.Time
	// Usage is the usage of queues over time at the begin of a session, nil for the current usage. If the order depends
	// on an unknown usage, UsageLacks is the reason.
	Usage      *store.Stored
	UsageLacks string
	// Budgets is the use of budgets and the evictions at the begin of a session. It counts if Usage is nil. Without
	// both, the running pods count. If queues have budgets of unknown use, BudgetsLack is the reason.
	Budgets     *store.Stored
	BudgetsLack string
	// memory is shared by the sessions of a simulation, nil for other sessions.
	memory *memory
}

// stored returns the record at the begin of a session, nil for none.
func (c *Configuration) stored() *store.Stored { return cmp.Or(c.Usage, c.Budgets) }

// Now returns the time of the sessions.
func (c *Configuration) Now() time.Time {
	if c.At.IsZero() {
		return time.Now()
	}
	return c.At
}

// WithoutPast returns the configuration with no usage, no used budget and no eviction before the session. The last good
// values of wrong annotations still count: they are in force now.
func (c *Configuration) WithoutPast() *Configuration {
	next := *c
	next.Usage = nil
	next.Budgets = nil

	stored := c.stored()
	if stored != nil && stored.Record.Remembered != nil {
		known := *stored.Record.Remembered
		known.Earmarks = nil
		next.Budgets = &store.Stored{Record: store.Record{Remembered: &known}, Saved: stored.Saved, Now: stored.Now}
	}
	return &next
}

// Settings returns the settings of the quota plugin.
func (c *Configuration) Settings() arguments.Settings {
	settings, _ := inspect.SettingsOf(c.Plugin, c.Arguments)
	return settings
}

// FairShare returns the settings of the order by usage over time.
func (c *Configuration) FairShare() arguments.FairShare { return c.Settings().FairShare }

// timers are further annotations with an effect at a time, next to the annotations of inspect.DependsOnTime. They
// decide who may be evicted.
var timers = []string{policy.MinRuntimeKey, policy.ReclaimDelayKey, policy.EvictionBudgetKey}

// DependsOnTime reports whether the answers of sessions can differ later although no object changes.
func (c *Configuration) DependsOnTime(queues []*scheduling.Queue) bool {
	timed := func(q *scheduling.Queue) bool {
		return inspect.DependsOnTime(q.Annotations) ||
			slices.ContainsFunc(timers, func(key string) bool { return q.Annotations[key] != "" })
	}
	return c.FairShare().HalfLife > 0 || slices.ContainsFunc(queues, timed)
}

// FairByWeight reports whether usage over time is compared with weights instead of deserved amounts.
func (c *Configuration) FairByWeight() bool { return c.FairShare().By == arguments.FairShareByWeight }

// usual is a configuration with one quota plugin. It follows the example in docs/spec/cards.md. In addition it has the
// action preempt, so that simulate shows preemption.
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

// Usual returns the default configuration. Quotas form a tree if some queue has a parent.
func Usual(name string, queues []*scheduling.Queue) (*Configuration, error) {
	tree := slices.ContainsFunc(queues, func(q *scheduling.Queue) bool {
		return q.Spec.Parent != "" && q.Spec.Parent != index.RootName
	})
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
			if !registered || slices.Contains(unsupported, option.Name) {
				c.LeftOut = append(c.LeftOut, option.Name)
				continue
			}

			if slices.Contains(plugin.Names, option.Name) {
				if err := c.setPlugin(option); err != nil {
					return nil, fmt.Errorf("the scheduler configuration: %w", err)
				}
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

// setPlugin reads the options of the quota plugin.
func (c *Configuration) setPlugin(option conf.PluginOption) (err error) {
	if c.Plugin != "" {
		return fmt.Errorf("%w: %s, %s", guard.ErrSeveralQuotas, c.Plugin, option.Name)
	}

	c.Plugin = option.Name
	c.Arguments = option.Arguments
	c.Release, err = arguments.Release(option.Arguments)
	if err != nil {
		return fmt.Errorf("%w: %s: %w", guard.ErrBadArgument, option.Name, err)
	}

	c.Hierarchy = ptr.Deref(option.EnabledHierarchy, false) && option.Name != plugin.ProportionName
	c.Annotated = c.Hierarchy && inspect.TreeOfAnnotations(option.Name, option.Arguments)
	return nil
}

// Has reports whether a plugin is part of the configuration.
func (c *Configuration) Has(name string) bool {
	return slices.ContainsFunc(c.Tiers, func(tier conf.Tier) bool {
		return slices.ContainsFunc(tier.Plugins, func(option conf.PluginOption) bool { return option.Name == name })
	})
}
