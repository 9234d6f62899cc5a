package testbed

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// Scene is a cluster with cards, and a scheduler of its own. Its methods add to it.
type Scene struct {
	workload.Cluster
	Arguments framework.Arguments
	Build     framework.PluginBuilder
}

// NewScene returns a scene without nodes, queues and jobs, for the plugin capacity-card.
func NewScene() *Scene { return &Scene{Build: session.BuilderOf(session.Name).Build} }

// Node adds a node with n cards of one model.
func (s *Scene) Node(name, model string, n int64) *Scene {
	return s.MixedNode(name, map[string]string{"nvidia.com/gpu.product": model}, workload.Resources{GPU: n})
}

// MixedNode adds a node with labels and resources.
func (s *Scene) MixedNode(name string, labels map[string]string, has workload.Resources) *Scene {
	has = has.Clone()
	has["cpu"] = 64000
	has["memory"] = 256 << 30
	has["pods"] = 100
	s.Nodes = append(s.Nodes, workload.Node{Name: name, Labels: labels, Allocatable: has})
	return s
}

// Queue adds a queue with cpu and memory for everything. annotations are pairs, such
// as "quota" and its text.
func (s *Scene) Queue(name, parent string, annotations ...string) *Scene {
	q := workload.Queue{
		Name:        name,
		Parent:      parent,
		Weight:      1,
		Annotations: map[string]string{},
		Capability:  workload.Resources{"cpu": 1 << 30, "memory": 1 << 50},
	}
	for i := 0; i < len(annotations); i += 2 {
		q.Annotations["volcano.sh/card."+annotations[i]] = annotations[i+1]
	}

	s.Queues = append(s.Queues, q)
	s.Hierarchy = s.Hierarchy || parent != ""
	return s
}

// Pods adds a job of n pods that each request a number of GPUs. cards is their card
// list, "" for untyped pods.
func (s *Scene) Pods(job, queue, cards string, n int, gpus int64, change ...func(*workload.Job)) *Scene {
	j := workload.Job{Name: job, Queue: queue, Phase: workload.Pending, MinMember: 1}
	for i := range n {
		t := workload.Task{
			Name:    fmt.Sprintf("%s-%d", job, i),
			Status:  workload.TaskPending,
			Request: workload.Resources{"cpu": 100, "memory": 1 << 20},
		}
		if gpus > 0 {
			t.Request[GPU] = gpus
		}
		if cards != "" {
			t.Annotations = map[string]string{card.NameKey: cards}
		}
		j.Tasks = append(j.Tasks, t)
	}

	for _, c := range change {
		c(&j)
	}
	s.Jobs = append(s.Jobs, j)
	return s
}

// Open opens a session with gang, priority and the quota plugin.
func (s *Scene) Open(t *testing.T, edit ...func(*api.ClusterInfo, *offline.Cache)) *Fixture {
	t.Helper()
	info, err := cluster.Build(s.Cluster, t.Name())
	require.NoError(t, err)
	f := &Fixture{Cache: offline.NewCache(info)}
	for _, each := range edit {
		each(info, f.Cache)
	}

	var ours *session.Plugin
	name := s.Build(nil).Name()
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	framework.RegisterPluginBuilder(name, func(framework.Arguments) framework.Plugin {
		ours = s.Build(Pinned(name, s.Arguments)).(*session.Plugin)
		return ours
	})

	f.Session = offline.Open(f.Cache, offline.Tiers(s.Hierarchy, priority.PluginName, gang.PluginName, name))
	f.Own = ours.Session
	f.terminating = map[api.TaskID]bool{}
	for _, job := range f.Jobs {
		for _, task := range job.TaskStatusIndex[api.Releasing] {
			f.terminating[task.UID] = f.Own != nil && f.Own.Settings.Cards.Terminating == cards.TerminatingHold
		}
	}

	f.Close = sync.OnceFunc(func() {
		f.CheckCards(t)
		ours.OnSessionClose(f.Session)
	})
	t.Cleanup(f.Close)
	return f
}

// Run runs actions of Volcano on the session. After each of them the accounts must
// agree with the tasks.
func (f *Fixture) Run(t *testing.T, actions ...framework.Action) *Fixture {
	t.Helper()
	conf.EnabledActionMap = map[string]bool{"enqueue": true}
	for _, action := range actions {
		action.Execute(f.Session)
		f.CheckCards(t)
	}
	return f
}

// Schedule runs the actions enqueue and allocate.
func (f *Fixture) Schedule(t *testing.T) *Fixture {
	t.Helper()
	return f.Run(t, enqueue.New(), allocate.New())
}

// Placed counts the bound pods with a prefix in their name, by the card of their node.
func (f *Fixture) Placed(prefix string) map[string]int {
	models := map[string]int{}
	for pod, node := range f.Cache.Bound {
		if strings.HasPrefix(pod, prefix) {
			models[f.Nodes[node].Node.Labels["nvidia.com/gpu.product"]]++
		}
	}
	return models
}

// CardsOf returns the allocated amount of a card of a queue, in whole cards.
func (f *Fixture) CardsOf(queue, name string) float64 {
	d, ok := f.Own.Memory.Names.LookupCard(name)
	if !ok {
		return -1
	}
	return f.Own.Index.Allocated(f.Own.Index.Lookup(queue)).Get(d) / 1000
}

// WithArguments sets the arguments of the plugin.
func (s *Scene) WithArguments(a framework.Arguments) *Scene {
	s.Arguments = a
	return s
}

// Lending adds a queue with a quota, deserved and guarantee of cards.
func (s *Scene) Lending(name, quota, deserved, guarantee string) *Scene {
	return s.Queue(name, "", "quota", quota, "deserved", deserved, "guarantee", guarantee)
}

// Deserving adds a queue with a deserved of cores and GiB.
func (s *Scene) Deserving(name, parent string, cores, gib int64) *Scene {
	s.Queue(name, parent)
	s.Queues[len(s.Queues)-1].Deserved = workload.Resources{"cpu": cores * 1000, "memory": gib << 30}
	return s
}

// At builds plugins with a fixed time of their sessions, in seconds.
func (s *Scene) At(seconds int64) *Scene {
	builder := session.BuilderOf(s.Build(nil).Name())
	builder.Now = func() time.Time { return time.Unix(seconds, 0) }
	s.Build = builder.Build
	return s
}

// Annotate sets policies of a queue of a scene. "" removes one.
func (s *Scene) Annotate(queue string, pairs ...string) *Scene {
	for i := range s.Queues {
		if s.Queues[i].Name != queue {
			continue
		}

		// Earlier sessions keep the annotations that they have read.
		own := map[string]string{}
		maps.Copy(own, s.Queues[i].Annotations)
		for p := 0; p < len(pairs); p += 2 {
			if pairs[p+1] == "" {
				delete(own, pairs[p])
			} else {
				own[pairs[p]] = pairs[p+1]
			}
		}
		s.Queues[i].Annotations = own
	}

	return s
}
