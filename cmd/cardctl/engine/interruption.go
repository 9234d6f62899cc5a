package engine

import (
	"context"
	"slices"

	"k8s.io/utils/ptr"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"
)

// interruption is a plugin that ends the actions of a session when a context is done. Actions take no context. They
// call plugins before each queue, job and pod, in the goroutine that runs them. There the plugin panics, and run
// recovers. The plugin decides nothing.
type interruption struct {
	ctx     context.Context
	running bool // an action runs; cardctl also calls the hooks itself
}

const interruptionName = "interruption"

// interrupted is the value of the panic.
type interrupted struct{}

// before returns tiers with this plugin in a first tier of its own. After a vote in one tier, Volcano does not ask the
// later tiers.
func (i *interruption) before(tiers []conf.Tier) []conf.Tier {
	framework.RegisterPluginBuilder(interruptionName, func(framework.Arguments) framework.Plugin { return i })
	option := conf.PluginOption{
		Name:               interruptionName,
		EnabledJobEnqueued: ptr.To(true),
		EnabledOverused:    ptr.To(true),
		EnabledPredicate:   ptr.To(true),
	}

	return slices.Insert(slices.Clone(tiers), 0, conf.Tier{Plugins: []conf.PluginOption{option}})
}

// Name returns the name of the plugin.
func (i *interruption) Name() string { return interruptionName }

// OnSessionOpen registers the hooks in which actions end.
func (i *interruption) OnSessionOpen(s *framework.Session) {
	s.AddJobEnqueueableFn(interruptionName, func(any) int {
		i.check()
		return util.Abstain
	})
	s.AddOverusedFn(interruptionName, func(any) bool {
		i.check()
		return false
	})
	s.AddPrePredicateFn(interruptionName, func(*api.TaskInfo) error {
		i.check()
		return nil
	})
}

// OnSessionClose does nothing.
func (i *interruption) OnSessionClose(*framework.Session) {}

func (i *interruption) check() {
	if i.running && i.ctx.Err() != nil {
		panic(interrupted{})
	}
}

// run runs an action. If the context ends the action, run returns the error of the context.
func (i *interruption) run(action func()) (err error) {
	if err := i.ctx.Err(); err != nil {
		return err
	}

	i.running = true
	defer func() {
		i.running = false
		if p := recover(); p == any(interrupted{}) {
			err = i.ctx.Err()
		} else if p != nil {
			panic(p)
		}
	}()

	action()
	return i.ctx.Err()
}
