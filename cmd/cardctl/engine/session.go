package engine

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	schedulermetrics "volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Session is an open session of Volcano's scheduler on a world. A process has one
// session at a time: Open waits for Close. A session does not change the world.
type Session struct {
	*framework.Session
	Quota inspect.Inspection
	*Configuration
	Devices      offline.DeviceObjects // of the world
	interruption *interruption
}

// one has a value while a session is open, because Volcano registers plugins and actions for the
// process.
var one = make(chan struct{}, 1)

// Quiet turns off the scheduler's log, which would repeat on stderr what the commands
// print.
var Quiet = sync.OnceFunc(offline.Quiet)

// Open opens a session on a world. It returns the error of ctx if that is done before another
// session is closed. Run ends when ctx is done.
func Open(ctx context.Context, w *World, c *Configuration) (s *Session, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case one <- struct{}{}:
	}
	defer func() {
		if s == nil { // a plugin panics
			<-one
		}
	}()
	return open(ctx, w, c), nil
}

// Alone does work that opens sessions of its own, while no other session is open. It returns the error of
// ctx if that is done before.
func Alone(ctx context.Context, work func() error) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case one <- struct{}{}:
	}
	defer func() { <-one }()
	return work()
}

// open opens a session while no other is open.
func open(ctx context.Context, w *World, c *Configuration) *Session {
	Quiet()
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range c.Actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	plugin.Register()
	if !c.At.IsZero() { // either replaces what the session before registered
		plugin.RegisterAt(func() time.Time { return c.At })
	}
	build, _ := framework.GetPluginBuilder(c.Plugin)
	var quota framework.Plugin
	framework.RegisterPluginBuilder(c.Plugin, func(arguments framework.Arguments) framework.Plugin {
		quota = build(arguments)
		plugin.BeginWith(quota, c.stored())
		return quota
	})
	cache := offline.NewCache(w.info())
	cache.Informers = offline.NoInformers()
	cache.SetDevices(w.Devices)
	s := &Session{Configuration: c, Devices: w.Devices, interruption: &interruption{ctx: ctx}}
	s.Session = framework.OpenSession(cache, s.interruption.before(c.Tiers), c.Configurations)
	s.Quota, _ = plugin.Inspect(quota)
	return s
}

// Run runs the actions of the configuration with the given names, or all of them if
// no name is given. If the context of the session is done, it returns its error, and the
// session is only good to be closed.
func (s *Session) Run(names ...string) error {
	for _, action := range s.Actions {
		if len(names) == 0 || slices.Contains(names, action.Name()) {
			if err := s.interruption.run(func() { s.execute(action) }); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Session) execute(action framework.Action) {
	action.Initialize()
	defer action.UnInitialize()
	action.Execute(s.Session)
}

// forgetLost drops the jobs whose queue does not exist, as Volcano's cache does.
// Volcano's actions assume that each job has a queue.
func (s *Session) forgetLost() {
	for id, job := range s.Jobs {
		if s.Queues[job.Queue] == nil {
			delete(s.Jobs, id)
		}
	}
}

// Close closes the session, and deletes its metrics: the names of the next world are others, and
// nobody reads them.
func (s *Session) Close() {
	defer func() { <-one }()
	s.forgetLost()
	jobs := s.Jobs
	framework.CloseSession(s.Session)
	report.DeleteMetrics()
	for _, job := range jobs {
		schedulermetrics.DeleteJobMetrics(job.Name, string(job.Queue), job.Namespace)
	}
}

// Tree returns the accounts of all queues, each followed by those below it. Siblings
// are in the order of their names.
func (s *Session) Tree() []inspect.Account {
	below := map[string][]inspect.Account{}
	var tops []inspect.Account
	for _, a := range s.Quota.Accounts() {
		if a.Parent == "" {
			tops = append(tops, a)
		} else {
			below[a.Parent] = append(below[a.Parent], a)
		}
	}
	var all []inspect.Account
	var walk func(accounts []inspect.Account)
	walk = func(accounts []inspect.Account) {
		slices.SortFunc(accounts, func(a, b inspect.Account) int { return strings.Compare(a.Queue, b.Queue) })
		for _, a := range accounts {
			all = append(all, a)
			walk(below[a.Queue])
		}
	}
	walk(tops)
	return all
}

// Bounded returns nil for an infinite bound, for which JSON has no number.
func Bounded(x float64) *float64 {
	if math.IsInf(x, 1) {
		return nil
	}
	return &x
}
