package guard

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"volcano.sh/volcano/pkg/scheduler"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
)

// What is wrong with a configuration. Anything else is Volcano's own complaint.
var (
	ErrUnknownPlugin = errors.New("no such plugin is registered")
	ErrSeveralQuotas = errors.New("only one quota plugin can be in force")
)

// Check returns what is wrong with the text of a volcano-scheduler.conf, in one
// line. All plugins have to be registered by then.
func Check(configuration string) error {
	_, tiers, _, _, err := scheduler.UnmarshalSchedulerConf(configuration)
	if err != nil {
		return errors.New(strings.Join(strings.Fields(err.Error()), " "))
	}
	var unknown, quotas []string
	for _, tier := range tiers {
		for _, option := range tier.Plugins {
			if _, found := framework.GetPluginBuilder(option.Name); !found {
				unknown = append(unknown, option.Name)
			}
			if slices.Contains(plugin.Names, option.Name) {
				quotas = append(quotas, option.Name)
			}
		}
	}
	switch {
	case len(unknown) > 0:
		return fmt.Errorf("%w: %s", ErrUnknownPlugin, strings.Join(unknown, ", "))
	case len(quotas) > 1:
		return fmt.Errorf("%w: %s", ErrSeveralQuotas, strings.Join(quotas, ", "))
	}
	return nil
}
