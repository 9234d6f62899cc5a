package engine

import (
	"context"
	"slices"
	"sync"
	"time"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	schedulermetrics "volcano.sh/volcano/pkg/scheduler/metrics"
	"volcano.sh/volcano/pkg/scheduler/plugins/capacity"
	"volcano.sh/volcano/pkg/scheduler/plugins/proportion"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/inspect"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Session is an open session of Volcano's scheduler on a world. A process has one session at a time: Open waits for
// Close. A session does not change the world.
type Session struct {
	*framework.Session
	Quota inspect.Inspection
	*Configuration
	interruption *interruption
}

// upstream has Volcano's own quota plugins, by name.
var upstream = map[string]framework.PluginBuilder{
	plugin.CapacityName:   capacity.New,
	plugin.ProportionName: proportion.New,
}

// one has a value while a session is open. Volcano registers plugins and actions for the process, so that two sessions
// would interfere.
var one = make(chan struct{}, 1)

// Quiet turns off the scheduler's log on stderr. It repeats the output of the commands.
var Quiet = sync.OnceFunc(offline.Quiet)

// Open opens a session on a world. It returns the error of ctx if ctx is done before another session is closed. Run
// ends when ctx is done.
func Open(ctx context.Context, w *World, c *Configuration) (s *Session, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := acquire(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if s == nil { // a plugin panics
			<-one
		}
	}()

	return open(ctx, w, c), nil
}

// Alone does work that opens sessions of its own, while no other session is open. It returns the error of ctx if ctx is
// done before.
func Alone(ctx context.Context, work func() error) error {
	if err := acquire(ctx); err != nil {
		return err
	}
	defer func() { <-one }()

	return work()
}

// acquire waits until no session is open.
func acquire(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case one <- struct{}{}:
		return nil
	}
}

// open opens a session while no other is open.
func open(ctx context.Context, w *World, c *Configuration) *Session {
	Quiet()
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range c.Actions {
		conf.EnabledActionMap[action.Name()] = true
	}

	// Later sessions of a simulation go on with the state of the session before.
	begins := c.memory == nil || c.memory.built == nil

	// Register replaces the time of the session before.
	plugin.Register()
	switch {
	case c.memory != nil:
		c.memory.register()
	case !c.At.IsZero():
		plugin.RegisterAt(func() time.Time { return c.At })
	case c.Cluster != "":
		memoryOf(c.Cluster).register()
	}

	// The plugin begins with the stored record, and is kept for the inspection.
	build, _ := framework.GetPluginBuilder(c.Plugin)
	if c.Upstream {
		build = upstream[c.Plugin]
	}
	var quota framework.Plugin
	framework.RegisterPluginBuilder(c.Plugin, func(arguments framework.Arguments) framework.Plugin {
		quota = build(arguments)
		if begins {
			plugin.BeginWith(quota, c.stored())
		}
		return quota
	})

	cache := offline.NewCache(w.info())
	cache.Informers = offline.NoInformers()
	cache.SetDevices(w.Devices)

	s := &Session{Configuration: c, interruption: &interruption{ctx: ctx}}
	s.Session = framework.OpenSession(cache, s.interruption.before(c.Tiers), c.Configurations)
	s.Quota, _ = plugin.Inspect(quota)

	return s
}

// memory has the plugins and the clock of one simulation, or of one cluster among several. Its sessions share the
// memory of a scheduler: in a simulation, a job that others were evicted for has their room in the next cycle. Other
// simulations and clusters do not see it.
type memory struct {
	built map[string]framework.PluginBuilder
	now   func() time.Time
}

// clusters has the memory of each cluster among several. Only one session at a time uses it.
var clusters = map[string]*memory{}

// memoryOf returns the memory of a cluster among several.
func memoryOf(cluster string) *memory {
	m := clusters[cluster]
	if m == nil {
		m = &memory{now: time.Now}
		clusters[cluster] = m
	}
	return m
}

// skipTo sets the clock to the first end of a notice, and reports whether one is still to come.
func (m *memory) skipTo(notices []Event) bool {
	now := m.now()
	var first time.Duration
	for _, e := range notices {
		if wait := e.Until.Sub(now); wait > 0 && (first == 0 || wait < first) {
			first = wait
		}
	}

	if first == 0 {
		return false
	}

	before := m.now
	m.now = func() time.Time { return before().Add(first) }
	return true
}

// register registers the plugins of a simulation.
func (m *memory) register() {
	if m.built == nil {
		plugin.RegisterAt(func() time.Time { return m.now() })

		m.built = map[string]framework.PluginBuilder{}
		for _, name := range plugin.Names {
			m.built[name], _ = framework.GetPluginBuilder(name)
		}
	}
	for name, build := range m.built {
		framework.RegisterPluginBuilder(name, build)
	}
}

// Run runs the named actions of the configuration, or all actions if there are no names. If the context of the session
// is done, Run returns its error, and the caller can only close the session.
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

// forgetLost drops the jobs without an existing queue, as Volcano's cache does. Volcano's actions assume that each job
// has a queue.
func (s *Session) forgetLost() {
	for id, job := range s.Jobs {
		if s.Queues[job.Queue] == nil {
			delete(s.Jobs, id)
		}
	}
}

// Close closes the session and deletes its metrics. Nobody reads them, and the next world has other names.
func (s *Session) Close() {
	defer func() { <-one }()

	s.forgetLost()
	if s.Upstream { // our plugins do it themselves
		intake.MendParents(s.Session, s.Plugin)
	}
	jobs := s.Jobs
	framework.CloseSession(s.Session)

	report.DeleteMetrics()
	for _, job := range jobs {
		schedulermetrics.DeleteJobMetrics(job.Name, string(job.Queue), job.Namespace)
	}
}

// Amounts returns what an annotation that is in force in a queue states, in whole cards.
func (s *Session) Amounts(queue, key string) map[string]float64 {
	return Cards(s.Quota.Annotations(queue)[key])
}

// Tree returns the accounts of all queues. Each is followed by the queues below it. Siblings are in the order of their
// names.
func (s *Session) Tree() []inspect.Account {
	all := s.Quota.Accounts() // parents first
	paths := map[string][]string{}
	for _, a := range all {
		paths[a.Queue] = append(slices.Clone(paths[a.Parent]), a.Queue)
	}
	slices.SortFunc(all, func(a, b inspect.Account) int { return slices.Compare(paths[a.Queue], paths[b.Queue]) })
	return all
}
