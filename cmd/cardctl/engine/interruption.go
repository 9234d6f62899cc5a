package engine

import (
	"context"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"
)

// interruption is a plugin that ends the actions of a session when a context is done. Actions
// take no context. They ask plugins before each queue, job and pod, always in the goroutine that
// runs them: there it panics, and run recovers. It decides nothing.
type interruption struct {
	ctx     context.Context
	running bool // an action runs, not one of our own questions
}

const interruptionName = "interruption"

// interrupted is the value of the panic.
type interrupted struct{}

// before returns tiers with this plugin in a tier before all others, whose votes end the
// questions to later tiers.
func (i *interruption) before(tiers []conf.Tier) []conf.Tier {
	framework.RegisterPluginBuilder(interruptionName, func(framework.Arguments) framework.Plugin { return i })
	yes := true
	own := conf.PluginOption{Name: interruptionName, EnabledJobEnqueued: &yes, EnabledOverused: &yes, EnabledPredicate: &yes}
	return slices.Insert(slices.Clone(tiers), 0, conf.Tier{Plugins: []conf.PluginOption{own}})
}

// Name is the name of the plugin.
func (i *interruption) Name() string { return interruptionName }

// OnSessionOpen registers the questions at which actions end.
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

// run calls a function that an action is, and returns the error of the context if that ends it.
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
