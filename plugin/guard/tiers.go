package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v2" // which Volcano reads its configuration with
	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/plugin"
)

// voters are plugins of Volcano's own that have a say in a question, under their
// options: nil stands for all.
type voters map[string]func(conf.PluginOption) bool

var (
	// Which tasks a task may reclaim from (Session.Reclaimable). The first tier that
	// names any decides. In a tier the plugins have to agree, but where they have no
	// task in common the next one starts anew.
	reclaimVoters = voters{
		"cdp": nil, "conformance": nil, "gang": nil, "pdb": nil,
		"drf":      func(o conf.PluginOption) bool { return isTrue(o.EnabledHierarchy) },
		"extender": argument("extender.reclaimableVerb"),
	}
	// Whether a job may get its pods (Session.JobEnqueueable). A tier in which nobody
	// says no and somebody says yes decides.
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

// among returns the plugins of a tier that vote, in their order, with those that
// are quota plugins.
func (v voters) among(tier conf.Tier, enabled func(conf.PluginOption) bool) (names []string) {
	for _, o := range tier.Plugins {
		votes, known := v[o.Name]
		if enabled(o) && (known && (votes == nil || votes(o)) || slices.Contains(plugin.Names, o.Name)) {
			names = append(names, o.Name)
		}
	}
	return names
}

// votes are who votes on something, by tier, and where the quota plugin is.
type votes struct {
	tiers [][]string
	quota string
	in    int // the tier of the quota plugin
}

// of counts the votes of a configuration, if a quota plugin is among them.
func (v voters) of(tiers []conf.Tier, enabled func(conf.PluginOption) bool) (counted votes, found bool) {
	for i, tier := range tiers {
		names := v.among(tier, enabled)
		counted.tiers = append(counted.tiers, names)
		for _, name := range names {
			if slices.Contains(plugin.Names, name) {
				counted.quota, counted.in, found = name, i, true
			}
		}
	}
	return counted, found
}

func (v votes) earlier() []string { return slices.Concat(v.tiers[:v.in]...) }
func (v votes) later() []string   { return slices.Concat(v.tiers[v.in+1:]...) }

// behind returns the last of the tier's plugins where that may have the tier to
// itself: after two others that have no task in common, of which one is the quota
// plugin.
func (v votes) behind() []string {
	own := v.tiers[v.in]
	if last := len(own) - 1; last >= 2 && own[last] != v.quota {
		return own[last:]
	}
	return nil
}

// Warnings returns what a configuration that Check accepts makes of quotas and
// that may not be meant, a line for each. It is not refused: capability holds all
// the same, and Volcano's default configuration is one of these.
func Warnings(configuration string) (warnings []string) {
	actions, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(configuration)
	if err != nil {
		return nil
	}
	for _, key := range passedOver(configuration) {
		warnings = append(warnings, "Volcano passes over what it does not know: "+key)
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
				warn(slices.Concat(v.earlier(), v.behind(), v.later()), "%s may name victims that %[2]s does not, so queues can lose what they deserve "+
					"or are guaranteed when others reclaim: put %[2]s into one tier with them, behind them", v.quota)
			}
		case "enqueue":
			if v, found := enqueueVoters.of(tiers, func(o conf.PluginOption) bool { return isTrue(o.EnabledJobEnqueued) }); found {
				warn(v.earlier(), "%s may let in jobs that %[2]s would not, and their pods wait: put %[2]s into one tier with them", v.quota)
				// sla never says no, so nothing is lost with it.
				unasked := slices.DeleteFunc(v.later(), func(name string) bool { return name == "sla" })
				warn(unasked, "%s is not asked about jobs that %[2]s lets in: put it into one tier with %[2]s", v.quota)
			}
		}
	}
	return warnings
}

// passedOver is what a configuration has that Volcano reads without a word and
// without effect, such as enabledHierarchy for enableHierarchy.
func passedOver(configuration string) []string {
	var unknown *yaml.TypeError
	if err := yaml.UnmarshalStrict([]byte(configuration), &conf.SchedulerConfiguration{}); errors.As(err, &unknown) {
		return unknown.Errors
	}
	return nil
}
