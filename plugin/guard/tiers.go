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

// voters are the plugins of Volcano that register a hook, by name. The function
// reports whether they do under their options; nil stands for all options.
type voters map[string]func(conf.PluginOption) bool

var (
	// The victims of a reclaimer (Session.Reclaimable). The first tier with a victim
	// decides. Within a tier the victims are those that all plugins name; where these
	// are none so far, the next plugin starts anew.
	reclaimVoters = voters{
		"cdp": nil, "conformance": nil, "gang": nil, "pdb": nil,
		"drf":      func(o conf.PluginOption) bool { return isTrue(o.EnabledHierarchy) },
		"extender": argument("extender.reclaimableVerb"),
	}
	// The admission of a job (Session.JobEnqueueable). The first tier decides in which
	// no plugin rejects and some plugin permits.
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

// among returns the plugins of a tier that vote, quota plugins included, in their
// order.
func (v voters) among(tier conf.Tier, enabled func(conf.PluginOption) bool) (names []string) {
	for _, o := range tier.Plugins {
		votes, known := v[o.Name]
		if enabled(o) && (known && (votes == nil || votes(o)) || slices.Contains(plugin.Names, o.Name)) {
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

// of returns the votes in a configuration, and whether a quota plugin is among them.
func (v voters) of(tiers []conf.Tier, enabled func(conf.PluginOption) bool) (counted votes, found bool) {
	for i, tier := range tiers {
		names := v.among(tier, enabled)
		counted.tiers = append(counted.tiers, names)
		for _, name := range names {
			if slices.Contains(plugin.Names, name) {
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

// behind returns the last plugin of the quota plugin's tier where it may decide
// alone: after two others without a common victim, of which one is the quota plugin.
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

// admitsReclaimable reports whether what reclaim and preempt can take back does not count against the admission of
// jobs, under the name of a quota plugin.
func admitsReclaimable(actions []framework.Action, tiers []conf.Tier, quota string) bool {
	if !slices.ContainsFunc(actions, func(action framework.Action) bool {
		return slices.Contains([]string{"reclaim", "preempt", "gangreclaim", "gangpreempt"}, action.Name())
	}) {
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

// Warnings returns a line for each effect on quotas that a configuration may have by
// mistake. Check accepts such configurations: capability holds under them, and
// Volcano's default configuration is one of them.
func Warnings(configuration string) (warnings []string) {
	actions, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(configuration)
	if err != nil {
		return nil
	}
	for _, key := range passedOver(configuration) {
		warnings = append(warnings, "Volcano ignores an unknown key: "+key)
	}
	if name, problem := quotaPlugin(tiers), orderProblem(actions, false); problem != "" && name != "" && name != plugin.Name {
		warnings = append(warnings, problem)
	}
	warn := func(names []string, format, quota string) {
		if len(names) > 0 {
			warnings = append(warnings, fmt.Sprintf(format, strings.Join(names, ", "), quota))
		}
	}
	for _, action := range actions {
		switch action.Name() {
		case "reclaim":
			if v, found := reclaimVoters.of(tiers, func(o conf.PluginOption) bool { return isTrue(o.EnabledReclaimable) }); found {
				warn(slices.Concat(v.earlier(), v.behind(), v.later()),
					"%s may select victims that %[2]s does not, so queues can lose resources that they deserve "+
						"or that are guaranteed: put %[2]s into the same tier, after %[1]s", v.quota)
			}
		case "enqueue":
			if v, found := enqueueVoters.of(tiers, func(o conf.PluginOption) bool { return isTrue(o.EnabledJobEnqueued) }); found {
				warn(v.earlier(), "%s may admit jobs that %[2]s refuses, and their pods wait: put %[2]s into the same tier", v.quota)
				// sla never rejects, so it may be in a later tier.
				skipped := slices.DeleteFunc(v.later(), func(name string) bool { return name == "sla" })
				warn(skipped, "%s does not check jobs that %[2]s admits: put it into the same tier as %[2]s", v.quota)
				if v.upTo("overcommit") && admitsReclaimable(actions, tiers, v.quota) {
					warn([]string{"overcommit"}, "%s refuses jobs for which %[2]s would have others give resources back, as soon as the nodes "+
						"are full: set enableJobEnqueued: false for %[1]s", v.quota)
				}
			}
		}
	}
	return warnings
}

// passedOver returns the keys of a configuration that Volcano ignores without a
// message, such as enabledHierarchy in place of enableHierarchy.
func passedOver(configuration string) []string {
	var unknown *yaml.TypeError
	if err := yaml.UnmarshalStrict([]byte(configuration), &conf.SchedulerConfiguration{}); errors.As(err, &unknown) {
		return unknown.Errors
	}
	return nil
}
