package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v2" // the package that Volcano reads its configuration with
	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// voters are the plugins of Volcano that register a hook, by name. The function reports whether a plugin does so under
// its options; nil stands for all options.
type voters map[string]func(conf.PluginOption) bool

var (
	// reclaimVoters choose the victims of a reclaimer (Session.Reclaimable). The first tier with a victim decides.
	// Within a tier, the victims are the pods that all plugins name. If there are none so far, the names of the next
	// plugin count alone.
	reclaimVoters = voters{
		"cdp": nil, "conformance": nil, "gang": nil, "pdb": nil,
		"drf":      func(o conf.PluginOption) bool { return isTrue(o.EnabledHierarchy) },
		"extender": argument("extender.reclaimableVerb"),
	}
	// enqueueVoters admit a job (Session.JobEnqueueable). The first tier decides in which no plugin rejects and some
	// plugin permits.
	enqueueVoters = voters{
		"overcommit": nil, "resourcequota": nil, "sla": nil,
		"extender": argument("extender.jobEnqueueableVerb"),
	}
)

func argument(key string) func(conf.PluginOption) bool {
	return func(o conf.PluginOption) bool {
		verb, _ := o.Arguments[key].(string)
		return verb != ""
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

func isQuotaPlugin(name string) bool { return slices.Contains(plugin.Names, name) }

// among returns the plugins of a tier that vote, in their order. Quota plugins always do.
func (v voters) among(tier conf.Tier, enabled func(conf.PluginOption) bool) (names []string) {
	for _, o := range tier.Plugins {
		votes, known := v[o.Name]
		if enabled(o) && (known && (votes == nil || votes(o)) || isQuotaPlugin(o.Name)) {
			names = append(names, o.Name)
		}
	}
	return names
}

// votes are the plugins that vote, by tier, and the tier of the quota plugin.
type votes struct {
	tiers [][]string
	quota string
	in    int // the tier of the quota plugin
}

// votes returns the votes in a configuration, and whether a quota plugin is among them.
func (v voters) votes(tiers []conf.Tier, enabled func(conf.PluginOption) bool) (counted votes, found bool) {
	for i, tier := range tiers {
		names := v.among(tier, enabled)
		counted.tiers = append(counted.tiers, names)

		for _, name := range names {
			if isQuotaPlugin(name) {
				counted.quota = name
				counted.in = i
				found = true
			}
		}
	}

	return counted, found
}

func (v votes) earlier() []string { return slices.Concat(v.tiers[:v.in]...) }
func (v votes) later() []string   { return slices.Concat(v.tiers[v.in+1:]...) }

// behind returns the last plugin of the quota plugin's tier if it may decide alone. That is so if it follows the quota
// plugin and another plugin, since these two may have no victim in common.
func (v votes) behind() []string {
	own := v.tiers[v.in]
	if last := len(own) - 1; last >= 2 && own[last] != v.quota {
		return own[last:]
	}
	return nil
}

// upTo reports whether a plugin votes in the tier of the quota plugin or before it.
func (v votes) upTo(name string) bool {
	return slices.Contains(slices.Concat(v.tiers[:v.in+1]...), name)
}

// admitsReclaimable reports whether a quota plugin admits jobs as if resources that reclaim and preempt can take back
// were free.
func admitsReclaimable(actions []framework.Action, tiers []conf.Tier, quota string) bool {
	evicts := func(action framework.Action) bool { return slices.Contains(evicting, action.Name()) }
	if !slices.ContainsFunc(actions, evicts) {
		return false
	}

	v, _ := arguments.VariantOf(quota)
	for _, tier := range tiers {
		for _, option := range tier.Plugins {
			if option.Name == quota {
				with, _ := arguments.Parse(v, option.Arguments)
				return with.AdmitReclaimable
			}
		}
	}

	return false
}

// Warnings returns a line for each effect on quotas that a configuration may have by mistake. Check accepts such
// configurations: capability holds under them, and Volcano's default configuration is one of them.
func Warnings(configuration string) []string {
	actions, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(configuration)
	if err != nil {
		return nil
	}

	var w warnings
	for _, key := range unknownKeys(configuration) {
		w = append(w, "Volcano ignores an unknown key: "+key)
	}
	name := quotaPlugin(tiers)
	if problem := orderProblem(actions, false); problem != "" && name != "" && name != plugin.Name {
		w = append(w, problem)
	}

	for _, action := range actions {
		switch action.Name() {
		case "reclaim":
			w.ofReclaim(tiers)
		case "enqueue":
			w.ofEnqueue(actions, tiers)
		}
	}

	return w
}

type warnings []string

// add adds a warning about plugins, if any, and the quota plugin: the two arguments of the format.
func (w *warnings) add(names []string, format, quota string) {
	if len(names) > 0 {
		*w = append(*w, fmt.Sprintf(format, strings.Join(names, ", "), quota))
	}
}

// ofReclaim adds the warnings about plugins that choose victims without the quota plugin.
func (w *warnings) ofReclaim(tiers []conf.Tier) {
	v, found := reclaimVoters.votes(tiers, func(o conf.PluginOption) bool { return isTrue(o.EnabledReclaimable) })
	if !found {
		return
	}
	w.add(slices.Concat(v.earlier(), v.behind(), v.later()),
		"%s may select victims that %[2]s does not, so queues can lose resources that they deserve "+
			"or that are guaranteed: put %[2]s into the same tier, after %[1]s", v.quota)
}

// ofEnqueue adds the warnings about plugins that admit jobs without the quota plugin, or the other way round.
func (w *warnings) ofEnqueue(actions []framework.Action, tiers []conf.Tier) {
	v, found := enqueueVoters.votes(tiers, func(o conf.PluginOption) bool { return isTrue(o.EnabledJobEnqueued) })
	if !found {
		return
	}
	w.add(v.earlier(),
		"%s may admit jobs that %[2]s refuses, and their pods wait: put %[2]s into the same tier", v.quota)

	// sla never rejects, so it may be in a later tier.
	skipped := slices.DeleteFunc(v.later(), func(name string) bool { return name == "sla" })
	w.add(skipped, "%s does not check jobs that %[2]s admits: put it into the same tier as %[2]s", v.quota)

	if v.upTo("overcommit") && admitsReclaimable(actions, tiers, v.quota) {
		w.add([]string{"overcommit"},
			"%s refuses jobs for which %[2]s would have others give resources back, as soon as the nodes are full: "+
				"set enableJobEnqueued: false for %[1]s", v.quota)
	}
}

// unknownKeys returns the keys of a configuration that Volcano ignores without a message, such as enabledHierarchy in
// place of enableHierarchy.
func unknownKeys(configuration string) []string {
	var unknown *yaml.TypeError
	if err := yaml.UnmarshalStrict([]byte(configuration), &conf.SchedulerConfiguration{}); errors.As(err, &unknown) {
		return unknown.Errors
	}
	return nil
}
