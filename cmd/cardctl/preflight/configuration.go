package preflight

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v2" // the package that Volcano reads its configuration with
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/guard"
	"github.com/capacity-card/capacity-card/plugin/inspect"
)

// checkConfiguration returns the present configuration and the next one, nil if they are not known. The checks are
// about the place of the quota plugin, and about the errors and warnings of the scheduler's guard for the next
// configuration.
func (s *Subject) checkConfiguration() (now, next *engine.Configuration, checks []Check) {
	if s.Configuration == nil {
		lack := s.Lacks[input.ConfigurationPart]
		return nil, s.Next, []Check{unknown("plugin", lack), unknown("actions", lack)}
	}

	now, err := engine.Configure(s.Configuration.Text)
	if err != nil {
		broken := Check{Name: "plugin", Result: Stop, Message: err.Error()}
		return nil, s.Next, []Check{broken, unknown("actions", "the configuration cannot be read")}
	}

	// The image of this project has its own plugins under all names.
	now.Given = s.Configuration
	now.Upstream = now.Plugin != plugin.Name && (len(s.Schedulers) == 0 || !isOurs(s.Schedulers[0].Container.Image))

	next = s.Next
	check := Check{Name: "plugin", Result: OK, Message: place(now) + ", and stays"}
	switch {
	case next != nil:
		check.Message = fmt.Sprintf("%s; %s in %s", place(now), place(next), next.Given.Origin)
	case now.Plugin == s.Plugin:
		ours := *now
		ours.Upstream = false
		next = &ours
	default:
		next, check, err = s.replace(now)
		if err != nil {
			check = Check{Name: "plugin", Result: Stop, Message: err.Error()}
			return now, nil, []Check{check, unknown("actions", "the next configuration cannot be read")}
		}
	}
	return now, next, []Check{check, s.checkActions(next)}
}

// place names the quota plugin of a configuration and its tier.
func place(c *engine.Configuration) string {
	for i, tier := range c.Tiers {
		for _, option := range tier.Plugins {
			if option.Name == c.Plugin {
				return fmt.Sprintf("%s is in tier %d", c.Plugin, i+1)
			}
		}
	}
	return c.Plugin
}

// overcommit is a plugin that refuses jobs before a quota plugin behind it is asked.
const overcommit = "overcommit"

// replace returns the configuration with the quota plugin of the subject in place of the present one, as
// docs/install.md has it: in the tier of gang and conformance, behind them, and without the plugin overcommit.
func (s *Subject) replace(now *engine.Configuration) (*engine.Configuration, Check, error) {
	check := Check{Name: "plugin", Result: Note}
	var with conf.SchedulerConfiguration
	if err := yaml.Unmarshal([]byte(s.Configuration.Text), &with); err != nil {
		return nil, check, err
	}

	// The new plugin goes into the last tier that has gang or conformance.
	added := conf.PluginOption{Name: s.Plugin}
	to := 0
	for i := range with.Tiers {
		tier := &with.Tiers[i]
		tier.Plugins = slices.DeleteFunc(tier.Plugins, func(option conf.PluginOption) bool {
			switch option.Name {
			case "gang", "conformance":
				to = i
			case now.Plugin, overcommit:
				if option.Name == now.Plugin {
					added.Arguments = option.Arguments
					if now.Hierarchy {
						added.EnabledHierarchy = option.EnabledHierarchy
					}
				}
				check.Do = append(check.Do, fmt.Sprintf("remove from tier %d: - name: %s", i+1, option.Name))
				return true
			}
			return false
		})
	}

	with.Tiers[to].Plugins = append(with.Tiers[to].Plugins, added)
	with.Tiers = slices.DeleteFunc(with.Tiers, func(tier conf.Tier) bool { return len(tier.Plugins) == 0 })

	var kept []string
	if added.EnabledHierarchy != nil {
		kept = append(kept, "enableHierarchy: true")
	}
	if len(added.Arguments) > 0 {
		kept = append(kept, "the arguments of "+now.Plugin)
	}
	line := "- name: " + s.Plugin
	if len(kept) > 0 {
		line += " with " + strings.Join(kept, " and ")
	}
	check.Do = append(check.Do, fmt.Sprintf("add at the end of tier %d: %s", to+1, line))
	check.Message = fmt.Sprintf("%s; %s goes into tier %d", place(now), s.Plugin, to+1)

	text, err := yaml.Marshal(with)
	if err != nil {
		return nil, check, err
	}
	next, err := engine.Configure(string(text))
	if err != nil {
		return nil, check, err
	}

	next.Given = &input.Configuration{Text: string(text)}
	return next, check, nil
}

// checkActions asks the guard of the scheduler about the next configuration: order of actions, tiers, unknown keys and
// arguments.
func (s *Subject) checkActions(next *engine.Configuration) Check {
	var names []string
	for _, action := range next.Actions {
		names = append(names, action.Name())
	}
	c := Check{Name: "actions", Result: OK, Message: strings.Join(names, ", ")}

	if err := guard.Check(next.Given.Text); err != nil {
		c.detail(Stop, err.Error())
		c.Message += ": the scheduler does not start with this configuration"
	}

	if len(next.LeftOut) > 0 {
		c.Details = append(c.Details, Line("plugins that need more than objects, or are not known, are left out "+
			"of the checks below: "+strings.Join(next.LeftOut, ", ")))
	}
	for _, warning := range slices.Concat(
		guard.Warnings(next.Given.Text), inspect.ArgumentProblems(next.Plugin, next.Arguments)) {
		c.detail(Note, warning)
	}
	return c
}
