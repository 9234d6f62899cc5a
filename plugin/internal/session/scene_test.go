package session

import (
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

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
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// scene is a cluster with cards, and a scheduler of its own. Its methods add to it.
type scene struct {
	workload.Cluster
	arguments framework.Arguments
	build     framework.PluginBuilder
}

func newScene() *scene { return &scene{build: (&Builder{Variant: cardBuilder.Variant}).Build} }

// withoutCards makes the plugin capacity, and the queues so far plain ones.
func (s *scene) withoutCards() {
	s.build = NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability, s.Queues[i].Annotations = nil, nil
	}
}

// node adds a node with n cards of one model.
func (s *scene) node(name, model string, n int64) *scene {
	return s.mixedNode(name, map[string]string{"nvidia.com/gpu.product": model}, workload.Resources{gpuName: n})
}

// mixedNode adds a node with labels and resources.
func (s *scene) mixedNode(name string, labels map[string]string, has workload.Resources) *scene {
	has = has.Clone()
	has["cpu"], has["memory"], has["pods"] = 64000, 256<<30, 100
	s.Nodes = append(s.Nodes, workload.Node{Name: name, Labels: labels, Allocatable: has})
	return s
}

// queue adds a queue with cpu and memory for everything. annotations are pairs, such
// as "quota" and its text.
func (s *scene) queue(name, parent string, annotations ...string) *scene {
	q := workload.Queue{Name: name, Parent: parent, Weight: 1, Annotations: map[string]string{},
		Capability: workload.Resources{"cpu": 1 << 30, "memory": 1 << 50}}
	for i := 0; i < len(annotations); i += 2 {
		q.Annotations["volcano.sh/card."+annotations[i]] = annotations[i+1]
	}
	s.Queues = append(s.Queues, q)
	s.Hierarchy = s.Hierarchy || parent != ""
	return s
}

// pods adds a job of n pods that each request a number of GPUs. cards is their card
// list, "" for untyped pods.
func (s *scene) pods(job, queue, cards string, n int, gpus int64, change ...func(*workload.Job)) *scene {
	j := workload.Job{Name: job, Queue: queue, Phase: workload.Pending, MinMember: 1}
	for i := range n {
		t := workload.Task{Name: fmt.Sprintf("%s-%d", job, i), Status: workload.TaskPending,
			Request: workload.Resources{"cpu": 100, "memory": 1 << 20}}
		if gpus > 0 {
			t.Request[gpuName] = gpus
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

// on makes the pods of a job run on a node.
func on(node string) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase = workload.Running
		for i := range j.Tasks {
			j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, node
		}
	}
}

func members(n int32) func(*workload.Job) { return func(j *workload.Job) { j.MinMember = n } }
func inPhase(p workload.Phase) func(*workload.Job) {
	return func(j *workload.Job) { j.Phase = p }
}

// requesting makes every pod request n of a resource in place of GPUs.
func requesting(resource string, n int64) func(*workload.Job) {
	return func(j *workload.Job) {
		for i := range j.Tasks {
			delete(j.Tasks[i].Request, gpuName)
			j.Tasks[i].Request[resource] = n
		}
	}
}

// open opens a session with gang, priority and the quota plugin.
func (s *scene) open(t *testing.T, edit ...func(*api.ClusterInfo, *offline.Cache)) *fixture {
	t.Helper()
	info, err := cluster.Build(s.Cluster, t.Name())
	require.NoError(t, err)
	f := &fixture{cache: offline.NewCache(info)}
	for _, each := range edit {
		each(info, f.cache)
	}
	var ours *Plugin
	name := s.build(nil).Name()
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	framework.RegisterPluginBuilder(name, func(framework.Arguments) framework.Plugin {
		ours = s.build(testbed.Pinned(s.arguments)).(*Plugin)
		return ours
	})
	f.Session = offline.Open(f.cache, offline.Tiers(s.Hierarchy, priority.PluginName, gang.PluginName, name))
	f.own = ours.Session
	f.terminating = map[api.TaskID]bool{}
	for _, job := range f.Jobs {
		for _, task := range job.TaskStatusIndex[api.Releasing] {
			f.terminating[task.UID] = f.own != nil && f.own.Settings.Cards.Terminating == cards.TerminatingHold
		}
	}
	f.close = sync.OnceFunc(func() {
		f.checkCards(t)
		ours.OnSessionClose(f.Session)
	})
	t.Cleanup(f.close)
	return f
}

// run runs actions of Volcano on the session. After each of them the accounts must
// agree with the tasks.
func (f *fixture) run(t *testing.T, actions ...framework.Action) *fixture {
	t.Helper()
	conf.EnabledActionMap = map[string]bool{"enqueue": true}
	for _, action := range actions {
		action.Execute(f.Session)
		f.checkCards(t)
	}
	return f
}

func (f *fixture) schedule(t *testing.T) *fixture {
	t.Helper()
	return f.run(t, enqueue.New(), allocate.New())
}

// checkCards counts the cards of all tasks on their nodes again, and compares the
// sums with the accounts.
func (f *fixture) checkCards(t *testing.T) {
	t.Helper()
	if f.own == nil || f.own.Cards == nil {
		return
	}
	type cell struct {
		queue index.Queue
		card  string
	}
	want := map[cell]float64{}
	f.model.begin()
	for _, job := range f.Jobs {
		q := f.own.Index.Lookup(string(job.Queue))
		if q == index.None || !f.own.Cards.Counted(q) {
			continue
		}
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined && !f.terminating[task.UID] {
				continue
			}
			d := f.own.Cards.PodRequest(q, task.Pod)
			f.model.each(f.own.Index.Path(q), task, func(q index.Queue, name string, milli float64) { want[cell{q, name}] += milli })
			for p := range f.own.Cards.Requests(d) {
				if p.Resource == cards.Devices {
					continue
				}
				name := f.cardFor(task, p)
				for _, q := range f.own.Index.Path(q) {
					want[cell{q, name}] += float64(p.Amount)
				}
			}
		}
	}
	f.model.end()
	for c, milli := range maps.Clone(want) {
		d, _ := f.own.Memory.Names.LookupCard(c.card)
		for _, share := range f.own.Memory.Names.Groups(d) {
			want[cell{c.queue, f.own.Memory.Names.Name(share.Group)}] += share.Of(milli)
		}
	}
	for q := range index.Queue(f.own.Index.Len()) {
		for d := fastres.FirstFree; int(d) < f.own.Memory.Names.Len(); d++ {
			if f.own.Memory.Names.IsCard(d) {
				name := f.own.Memory.Names.Name(d)
				require.Equal(t, want[cell{q, name}], f.own.Index.Allocated(q).Get(d), "queue %s, card %s\n%v", f.own.Index.Name(q), name, f.model)
			}
		}
	}
}

// cardFor returns the card that a placed task is charged for: the one that it holds,
// the card that the labels of its node name, or the first of its list.
func (f *fixture) cardFor(task *api.TaskInfo, p cards.Request) string {
	if d, holds := p.Held(); holds {
		return f.own.Memory.Names.Name(d)
	}
	if node := f.Nodes[task.NodeName]; node != nil {
		for _, has := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable, nil).Cards {
			if string(has.Resource) == f.own.Cards.ResourceName(p.Resource) {
				return has.Name
			}
		}
	}
	if n := f.own.Cards.Node(task.NodeName); f.Nodes[task.NodeName] == nil && n != nil {
		for d := range p.On(n) {
			return f.own.Memory.Names.Name(d) // a node that only the informer has
		}
	}
	if p.Selector.Typed && len(p.Selector.Dims) > 0 {
		return f.own.Memory.Names.Name(p.Selector.Dims[0])
	}
	return ""
}

// placed returns the number of bound pods whose name starts with a prefix, by the
// card of their node.
func (f *fixture) placed(prefix string) map[string]int {
	models := map[string]int{}
	for pod, node := range f.cache.Bound {
		if strings.HasPrefix(pod, prefix) {
			models[f.Nodes[node].Node.Labels["nvidia.com/gpu.product"]]++
		}
	}
	return models
}

// cardsOf returns what is allocated to a queue of a card, in whole cards.
func (f *fixture) cardsOf(queue, name string) float64 {
	d, ok := f.own.Memory.Names.LookupCard(name)
	if !ok {
		return -1
	}
	return f.own.Index.Allocated(f.own.Index.Lookup(queue)).Get(d) / 1000
}
