package engine

import (
	"math"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// Session is an open session of Volcano's scheduler on a world. A process has one
// at a time. What happens in it changes nothing in the world.
type Session struct {
	*framework.Session
	Quota plugin.Inspection
	*Configuration
}

// informed is the informers that Volcano's predicates look volumes up in; there
// are none.
var informed = sync.OnceValue(func() informers.SharedInformerFactory {
	metrics.Register() // without which Kubernetes' own plugins panic
	return informers.NewSharedInformerFactory(fake.NewClientset(), 0)
})

// Quiet has the scheduler log nothing: it would tell on stderr what a user of this
// tool is told otherwise.
var Quiet = sync.OnceFunc(offline.Quiet)

// Open opens a session on a world.
func Open(w *World, c *Configuration) *Session {
	Quiet()
	conf.EnabledActionMap = map[string]bool{}
	for _, action := range c.Actions {
		conf.EnabledActionMap[action.Name()] = true
	}
	plugin.Register() // in place of what the session before has registered
	build, _ := framework.GetPluginBuilder(c.Plugin)
	var quota framework.Plugin
	framework.RegisterPluginBuilder(c.Plugin, func(arguments framework.Arguments) framework.Plugin {
		quota = build(arguments)
		return quota
	})
	cache := offline.NewCache(w.info())
	cache.Informers = informed()
	s := &Session{Session: framework.OpenSession(cache, c.Tiers, c.Configurations), Configuration: c}
	s.Quota, _ = plugin.Inspect(quota)
	return s
}

// Run runs those of the configuration's actions that have one of the names, all of
// them if none is given.
func (s *Session) Run(names ...string) {
	for _, action := range s.Actions {
		if len(names) == 0 || slices.Contains(names, action.Name()) {
			action.Initialize()
			action.Execute(s.Session)
			action.UnInitialize()
		}
	}
}

// forgetLost drops the jobs whose queue does not exist, as Volcano's cache does:
// its actions take for granted that each job has one.
func (s *Session) forgetLost() {
	for id, job := range s.Jobs {
		if s.Queues[job.Queue] == nil {
			delete(s.Jobs, id)
		}
	}
}

// Close closes the session.
func (s *Session) Close() {
	s.forgetLost()
	framework.CloseSession(s.Session)
}

// Tree returns the accounts of all queues, each followed by those below it, in the
// order of their names.
func (s *Session) Tree() []plugin.Account {
	below := map[string][]plugin.Account{}
	var tops []plugin.Account
	for _, a := range s.Quota.Accounts() {
		if a.Parent == "" {
			tops = append(tops, a)
		} else {
			below[a.Parent] = append(below[a.Parent], a)
		}
	}
	var all []plugin.Account
	var walk func(accounts []plugin.Account)
	walk = func(accounts []plugin.Account) {
		slices.SortFunc(accounts, func(a, b plugin.Account) int { return strings.Compare(a.Queue, b.Queue) })
		for _, a := range accounts {
			all = append(all, a)
			walk(below[a.Queue])
		}
	}
	walk(tops)
	return all
}

// Bounded is nil for what has no bound, which JSON has no number for.
func Bounded(x float64) *float64 {
	if math.IsInf(x, 1) {
		return nil
	}
	return &x
}
