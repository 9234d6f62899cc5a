package guard

import (
	"errors"
	"fmt"
	"strings"

	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// The errors of Check. All other errors are Volcano's own.
var (
	ErrUnknownPlugin = errors.New("no such plugin is registered")
	ErrSeveralQuotas = errors.New("only one quota plugin can be in force")
	ErrBadArgument   = errors.New("the plugin has an invalid argument")
	ErrActionOrder   = errors.New("the actions are in the wrong order")
)

// Check returns an error of one line if the text of a volcano-scheduler.conf is invalid, or if
//   - it names a plugin that is not registered (ErrUnknownPlugin),
//   - it has several quota plugins (ErrSeveralQuotas),
//   - the argument semantics of a quota plugin is not a release of Volcano (ErrBadArgument),
//   - the plugin is capacity-card, and an action may evict without allocate (ErrActionOrder).
//
// Under the other names, Volcano's own actions evict where cards do not count: Warnings has a line if they run before
// allocate. Call Check after all plugins are registered.
func Check(configuration string) error {
	actions, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(configuration)
	if err != nil {
		return errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}

	var unknown, quotas []string
	for _, tier := range tiers {
		for _, option := range tier.Plugins {
			if _, found := framework.GetPluginBuilder(option.Name); !found {
				unknown = append(unknown, option.Name)
			}
			if !isQuotaPlugin(option.Name) {
				continue
			}
			quotas = append(quotas, option.Name)
			if _, err := arguments.Release(option.Arguments); err != nil {
				return fmt.Errorf("%w: %s: %w", ErrBadArgument, option.Name, err)
			}
		}
	}

	if len(unknown) > 0 {
		return fmt.Errorf("%w: %s", ErrUnknownPlugin, strings.Join(unknown, ", "))
	}
	if len(quotas) > 1 {
		return fmt.Errorf("%w: %s", ErrSeveralQuotas, strings.Join(quotas, ", "))
	}
	if problem := orderProblem(actions, true); problem != "" && quotaPlugin(tiers) == plugin.Name {
		return fmt.Errorf("%w: %s", ErrActionOrder, problem)
	}

	return nil
}
