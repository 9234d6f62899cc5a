package plugin

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
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
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// scene is a cluster with cards. Its methods add to it.
type scene struct {
	workload.Cluster
	arguments framework.Arguments
	build     framework.PluginBuilder
}

func newScene() *scene { return &scene{build: New} }

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
	var ours *quotaPlugin
	name := s.build(nil).Name()
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	framework.RegisterPluginBuilder(name, func(framework.Arguments) framework.Plugin {
		ours = s.build(s.arguments).(*quotaPlugin)
		return ours
	})
	f.Session = offline.Open(f.cache, offline.Tiers(s.Hierarchy, priority.PluginName, gang.PluginName, name))
	f.own = ours.session
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
	if f.own == nil || f.own.cards == nil {
		return
	}
	type cell struct {
		queue index.Queue
		card  string
	}
	want := map[cell]float64{}
	for _, job := range f.Jobs {
		q := f.own.ix.Lookup(string(job.Queue))
		if q == index.None || !f.own.cards.Counted(q) {
			continue
		}
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) && task.Status != api.Pipelined {
				continue
			}
			d := f.own.cards.PodRequest(q, task.Pod)
			for p := range f.own.cards.Requests(d) {
				name := f.cardFor(task, p)
				for _, q := range f.own.ix.Path(q) {
					want[cell{q, name}] += float64(p.Amount)
				}
			}
		}
	}
	for q := range index.Queue(f.own.ix.Len()) {
		for d := fastres.FirstFree; int(d) < f.own.memory.names.Len(); d++ {
			if f.own.memory.names.IsCard(d) {
				name := f.own.memory.names.Name(d)
				require.Equal(t, want[cell{q, name}], f.own.ix.Allocated(q).Get(d), "queue %s, card %s", f.own.ix.Name(q), name)
			}
		}
	}
}

// cardFor returns the card that a placed task is charged for: the card that the
// labels of its node name, or the first of its list.
func (f *fixture) cardFor(task *api.TaskInfo, p cards.Request) string {
	if node := f.Nodes[task.NodeName]; node != nil {
		for _, has := range card.Discover(node.Node.Labels, node.Node.Status.Allocatable).Cards {
			if string(has.Resource) == f.own.cards.ResourceName(p.Resource) {
				return has.Name
			}
		}
	}
	if n := f.own.cards.Node(task.NodeName); f.Nodes[task.NodeName] == nil && n != nil {
		if d, ok := p.CardOn(n); ok {
			return f.own.memory.names.Name(d) // a lost node: only the Registry has its cards
		}
	}
	if p.Selector.Typed && len(p.Selector.Dims) > 0 {
		return f.own.memory.names.Name(p.Selector.Dims[0])
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
	d, ok := f.own.memory.names.LookupCard(name)
	if !ok {
		return -1
	}
	return f.own.ix.Allocated(f.own.ix.Lookup(queue)).Get(d) / 1000
}

// TestEitherOrInOneSession schedules ten jobs that list A|B with a quota of 1 A and
// 2 B. Three of them run.
func TestEitherOrInOneSession(t *testing.T) {
	for _, hierarchy := range []bool{false, true} {
		s := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", `{"A":1,"B":2}`)
		if hierarchy {
			s.queue("root", "")
			s.Hierarchy = true
		}
		for i := range 10 {
			s.pods(fmt.Sprintf("job%d", i), "q", "A|B", 1, 1)
		}
		f := s.open(t).schedule(t)
		assert.Equal(t, map[string]int{"A": 1, "B": 2}, f.placed(""))
		assert.Equal(t, 1.0, f.cardsOf("q", "A"))
		assert.Equal(t, 2.0, f.cardsOf("q", "B"))
	}
}

// TestQueueWithoutQuotaOfACard schedules pods with and without a card list. None of
// them gets a card that its queue has no quota of.
func TestQueueWithoutQuotaOfACard(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 1).queue("q", "", "quota", `{"B":4}`).queue("none", "").
		pods("either", "q", "A|B", 3, 1).pods("just", "q", "A", 2, 1).pods("any", "q", "", 3, 1).
		pods("elsewhere", "none", "A|B", 1, 1).pods("nothing", "none", "", 1, 1).pods("plain", "none", "", 1, 0)
	f := s.open(t).schedule(t)
	assert.Len(t, f.placed("plain"), 1, "a pod without cards runs on any node")
	delete(f.cache.Bound, "plain-0")
	assert.Equal(t, map[string]int{"B": 1}, f.placed(""), "the cluster has one card of B")
	for _, job := range []string{"just", "elsewhere"} {
		assert.Contains(t, f.job(job).JobFitErrors, "has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0>")
	}
}

// TestElasticGroup schedules a job of ten pods with minMember 1. As many pods run as
// the quota admits.
func TestElasticGroup(t *testing.T) {
	f := newScene().node("a", "A", 8).node("a2", "A", 8).queue("q", "", "quota", `{"A":5}`).
		pods("web", "q", "A", 10, 1).open(t).schedule(t)
	assert.Equal(t, map[string]int{"A": 5}, f.placed("web"))
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <6>, but capability is <5>", f.job("web").JobFitErrors)
}

// TestUntyped schedules untyped pods under each value of untypedCards.
func TestUntyped(t *testing.T) {
	for policy, want := range map[string]int{"charge": 2, "reject": 0, "ignore": 6} {
		t.Run(policy, func(t *testing.T) {
			s := newScene().node("a", "A", 8).queue("q", "", "quota", `{"A":2}`).pods("free", "q", "", 6, 1)
			s.arguments = framework.Arguments{"untypedCards": policy}
			f := s.open(t)
			if policy == "ignore" {
				assert.Len(t, f.schedule(t).cache.Bound, want)
				assert.Equal(t, 0.0, f.cardsOf("q", "A"))
				return
			}
			f.schedule(t)
			assert.Equal(t, want, f.placed("")["A"])
			assert.Equal(t, float64(want), f.cardsOf("q", "A"))
			if policy == "reject" {
				assert.Equal(t, "Pod requests <nvidia.com/gpu> but names no card: set the annotation volcano.sh/card.name", f.job("free").JobFitErrors)
			}
		})
	}
}

// TestSharedCards schedules pods on one node with whole, MPS and MIG cards. Each kind
// of card has a quota of its own.
func TestSharedCards(t *testing.T) {
	labels := map[string]string{"nvidia.com/gpu.product": "H200", "nvidia.com/gpu.memory": "143771", "nvidia.com/gpu.replicas": "2",
		"huawei.com/Ascend910.product": "Ascend-910B"}
	s := newScene().mixedNode("mixed", labels, workload.Resources{
		gpuName: 4, "nvidia.com/gpu.shared": 4, "nvidia.com/mig-1g.18gb": 4, "huawei.com/Ascend910": 4, "nvidia.com/gpumem": 100}).
		queue("q", "", "quota", `{"H200":1,"H200/mps-140g*1/2":2,"H200/mig-1g.18gb-mixed":3,"Ascend-910B":2}`).
		pods("whole", "q", "H200", 4, 1).
		pods("mps", "q", "H200/mps-140g*1/2", 4, 0, requesting("nvidia.com/gpu.shared", 1)).
		pods("mig", "q", "H200/mig-1g.18gb-mixed", 4, 0, requesting("nvidia.com/mig-1g.18gb", 1)).
		pods("npu", "q", "Ascend-910B", 4, 0, requesting("huawei.com/Ascend910", 1)).
		pods("free", "q", "", 4, 0, requesting("nvidia.com/mig-1g.18gb", 1)).
		pods("memory", "q", "", 2, 0, requesting("nvidia.com/gpumem", 1))
	f := s.open(t).schedule(t)
	for job, want := range map[string]int{"whole": 1, "mps": 2, "npu": 2, "memory": 2} {
		got := 0
		for _, n := range f.placed(job) {
			got += n
		}
		assert.Equal(t, want, got, job)
	}
	assert.Equal(t, 3.0, f.cardsOf("q", "H200/mig-1g.18gb-mixed"), "typed and untyped together")
}

// TestLists refuses card lists that cannot be satisfied, and repairs those with empty
// and repeated names.
func TestLists(t *testing.T) {
	labels := map[string]string{"nvidia.com/gpu.product": "H200", "huawei.com/npu.product": "910B"}
	s := newScene().mixedNode("n", labels, workload.Resources{gpuName: 4, "huawei.com/npu": 4, "nvidia.com/mig-1g.18gb": 4}).
		queue("q", "", "quota", `{"H200":4,"910B":4,"H200/mig-1g.18gb-mixed":4}`).
		pods("vendors", "q", "H200|910B", 1, 1).
		pods("shared", "q", "H200|H200/mig-1g.18gb-mixed", 1, 1).
		pods("unknown", "q", "H200|H20/mig-2g.24gb-mixed", 1, 1).
		pods("other", "q", "H200", 1, 0, requesting("nvidia.com/mig-1g.18gb", 1)).
		pods("twice", "q", " H200 || H200|", 1, 1).
		pods("empty", "q", " | ", 1, 1).
		pods("long", "q", strings.Repeat("x", 4096), 1, 1)
	f := s.open(t).schedule(t)
	for job, reason := range map[string]string{
		"vendors": "Cards <H200|910B> do not share one resource name, so no pod can request either of them",
		"shared":  "Cards <H200|H200/mig-1g.18gb-mixed> do not share one resource name, so no pod can request either of them",
		"unknown": "Cards <H200|H20/mig-2g.24gb-mixed> do not share one resource name, so no pod can request either of them",
		"other":   "Pod requests <nvidia.com/mig-1g.18gb>, which is not the resource name of the cards <H200>",
		"twice":   "",
		"empty":   "",
		"long":    "Queue <q> has insufficient <" + strings.Repeat("x", 200) + "…> quota: requested <1>, total would be <1>, but capability is <0>",
	} {
		assert.Equal(t, reason, f.job(job).JobFitErrors, job)
		assert.Equal(t, reason == "", f.cache.Bound[job+"-0"] != "", job)
	}
}

// TestTwoResourcesOfOneCard charges a pod that requests one card through two
// resources for both.
func TestTwoResourcesOfOneCard(t *testing.T) {
	s := newScene().mixedNode("n", map[string]string{"nvidia.com/gpu.product": "A", "example.com/gpu.product": "A"},
		workload.Resources{gpuName: 4, "example.com/gpu": 4}).queue("q", "", "quota", `{"A":3}`).
		pods("two", "q", "", 2, 1, func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Request["example.com/gpu"] = 1
			}
		})
	f := s.open(t).schedule(t)
	assert.Len(t, f.cache.Bound, 1)
	assert.Equal(t, 2.0, f.cardsOf("q", "A"))
}

// TestUntypedPodWithManyCards refuses an untyped pod. With more than two cards the
// reason does not list each.
func TestUntypedPodWithManyCards(t *testing.T) {
	s := newScene().node("a", "A", 1).node("b", "B", 1).queue("q", "").pods("job", "q", "", 1, 1)
	reason := func() string {
		f := s.open(t)
		assert.False(t, f.Allocatable(f.queue("q"), f.task("job-0")))
		return f.job("job").JobFitErrors
	}
	assert.Equal(t, "Queue <q> has insufficient <A> quota: requested <1>, total would be <1>, but capability is <0>; "+
		"Queue <q> has insufficient <B> quota: requested <1>, total would be <1>, but capability is <0>", reason())
	s.node("c", "C", 1)
	assert.Equal(t, "Queue <q> has insufficient quota of every <nvidia.com/gpu> card: requested <1>", reason())
}

// TestAnnotationAlias reads volcano.sh/card.card in place of volcano.sh/card.name.
func TestAnnotationAlias(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 8).queue("q", "", "quota", `{"A":1,"B":1}`).
		pods("job", "q", "", 2, 1, func(j *workload.Job) {
			for i := range j.Tasks {
				j.Tasks[i].Annotations = map[string]string{"volcano.sh/card.card": "B"}
			}
		})
	assert.Equal(t, map[string]int{"B": 1}, s.open(t).schedule(t).placed(""))
}

// TestInnerQuota bounds a subtree by the quota of its inner queue, card by card.
func TestInnerQuota(t *testing.T) {
	s := newScene().node("a", "A", 16).node("b", "B", 16).queue("root", "").
		queue("inner", "root", "quota", `{"A":3}`).
		queue("x", "inner", "quota", `{"A":2,"B":1}`).queue("y", "inner", "quota", `{"A":2,"B":1}`).
		queue("z", "root", "quota", `{"A":9}`).
		pods("x", "x", "A|B", 9, 1).pods("y", "y", "A|B", 9, 1).pods("z", "z", "A", 9, 1)
	f := s.open(t).schedule(t)
	assert.Equal(t, 3.0, f.cardsOf("inner", "A"))
	assert.Equal(t, 2.0, f.cardsOf("inner", "B"), "an inner queue bounds only the cards that its quota names")
	assert.Equal(t, 9.0, f.cardsOf("z", "A"))
	assert.Equal(t, 12.0, f.cardsOf("root", "A"))
}

// TestRootQuota bounds all queues by the quota of the root.
func TestRootQuota(t *testing.T) {
	s := newScene().node("a", "A", 16).queue("root", "", "quota", `{"A":3}`).
		queue("x", "root", "quota", `{"A":2}`).queue("y", "root", "quota", `{"A":2}`).
		pods("x", "x", "A", 9, 1).pods("y", "y", "A", 9, 1)
	s.Queues[0].Capability = nil
	f := s.open(t).schedule(t)
	assert.Equal(t, 3.0, f.cardsOf("root", "A"))
}

// TestCapacityWithCards counts cards under the name capacity in queues with a card
// annotation and below them, and nowhere else.
func TestCapacityWithCards(t *testing.T) {
	s := newScene().node("a", "A", 16).queue("root", "").
		queue("carded", "root", "quota", `{"A":2}`).queue("leaf", "carded", "quota", `{"A":2}`).queue("bare", "carded").
		queue("other", "root").
		pods("leaf", "leaf", "A", 4, 1).pods("bare", "bare", "A", 2, 1).pods("other", "other", "A", 3, 1)
	s.build = NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = nil
	}
	f := s.open(t)
	f.schedule(t)
	assert.Len(t, f.placed("leaf"), 1)
	assert.Equal(t, 2, f.placed("leaf")["A"])
	assert.Empty(t, f.placed("bare"), "a leaf without a quota, below a queue with one, has a quota of 0")
	assert.Equal(t, 3, f.placed("other")["A"], "as upstream")
	assert.Equal(t, 5000.0, f.allocated("root").ScalarResources[gpuName], "scalars count as before")
}

// TestCapacityWithoutCards computes nothing about cards where no queue has a card
// annotation.
func TestCapacityWithoutCards(t *testing.T) {
	s := newScene().node("a", "A", 16).queue("q", "").pods("job", "q", "B", 2, 1)
	s.build = NewCapacity
	f := s.open(t)
	assert.Nil(t, f.own.cards)
	assert.Equal(t, 2, f.schedule(t).placed("")["A"])
}

// TestPreference places pods on the cards that their list names first.
func TestPreference(t *testing.T) {
	s := newScene().node("c", "C", 2).node("b", "B", 2).node("a", "A", 2).queue("q", "", "quota", `{"A":8,"B":8,"C":8}`).
		pods("job", "q", "B|C|A", 3, 1)
	f := s.open(t)
	for node, want := range map[string]float64{"b": 100, "c": 50, "a": 25} {
		score, err := f.NodeOrderFn(f.task("job-0"), f.Nodes[node])
		require.NoError(t, err)
		assert.Equal(t, want, score, node)
	}
	assert.Equal(t, map[string]int{"B": 2, "C": 1}, f.schedule(t).placed(""))

	s.pods("unknown", "q", "Z|C", 1, 1)
	s.arguments = framework.Arguments{"nodeOrderWeight": 2.5}
	f = s.open(t)
	second, err := f.NodeOrderFn(f.task("unknown-0"), f.Nodes["c"])
	require.NoError(t, err)
	assert.Equal(t, 125.0, second, "C is second in the list, although no node has Z")
	score, err := f.NodeOrderFn(f.task("job-0"), f.Nodes["c"])
	require.NoError(t, err)
	assert.Equal(t, 125.0, score)
}
