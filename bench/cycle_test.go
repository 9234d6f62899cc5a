package bench

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/kubernetes/pkg/scheduler/metrics"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/actions/preempt"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/binpack"
	"volcano.sh/volcano/pkg/scheduler/plugins/gang"
	"volcano.sh/volcano/pkg/scheduler/plugins/nodeorder"
	"volcano.sh/volcano/pkg/scheduler/plugins/predicates"
	"volcano.sh/volcano/pkg/scheduler/plugins/priority"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// cycle is one scheduling cycle: a session is opened, actions run, it is closed.
type cycle struct {
	cluster        workload.Cluster
	alone          workload.Cluster // for none and upstream, which have no cards; if empty, cluster is used
	actions        func() []framework.Action
	configurations []conf.Configuration
	// done reports whether the cycle did the work that is measured.
	done func(*offline.Cache) error
}

// informed is the informers that Volcano's predicates look volumes up in; there
// are none.
var informed = sync.OnceValue(func() informers.SharedInformerFactory {
	metrics.Register() // without which Kubernetes' own plugins panic
	return informers.NewSharedInformerFactory(fake.NewClientset(), 0)
})

// first and later are the sessions of a process that are measured. The first has to
// get its memory from the system.
const (
	first = "first"
	later = "later"
)

// measure runs the cycle without a quota plugin and with each of them. Each session gets
// content that was cloned just before, as from Volcano's cache; a later one has had a session
// with the same nodes, queues and pods before.
func (c cycle) measure(b *testing.B, session string, ours implementation) {
	c.compare(b, session, none, implementations[0], ours)
}

func (c cycle) compare(b *testing.B, session string, impls ...implementation) {
	for _, impl := range impls {
		b.Run("impl="+impl.name, func(b *testing.B) {
			if session == first && !fresh() {
				b.Skip("needs a process of its own, see make bench")
			}
			info, err := cluster.Build(c.content(impl), "/bench")
			if err != nil {
				b.Fatal(err)
			}
			if session == later {
				c.run(b, info, impl, func() {}, func() {})
			}
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c.run(b, info, impl, b.StartTimer, b.StopTimer)
				b.StartTimer()
			}
			if session == first && b.N > 1 {
				b.Fatal("needs -benchtime 1x")
			}
		})
	}
}

// content returns the cluster that an implementation runs on.
func (c cycle) content(impl implementation) workload.Cluster {
	if impl.name != "ours" && len(c.alone.Queues) > 0 {
		return c.alone
	}
	return c.cluster
}

// fresh reports whether the process has not had much memory yet.
func fresh() bool {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys < 128<<20
}

func (c cycle) run(b *testing.B, info *api.ClusterInfo, impl implementation, start, stop func()) {
	cache := offline.NewCache(cloneCluster(info))
	cache.Informers = informed()
	tiers := tiersWith(impl)
	runtime.GC() // frees the memory of earlier content
	start()
	ssn := framework.OpenSession(cache, tiers, c.configurations)
	for _, action := range c.actions() {
		action.Execute(ssn)
	}
	framework.CloseSession(ssn)
	stop()
	if err := c.done(cache); err != nil {
		b.Fatal(err)
	}
}

// tiersWith is a usual configuration, with a quota plugin unless there is none.
func tiersWith(impl implementation) []conf.Tier {
	framework.RegisterPluginBuilder(priority.PluginName, priority.New)
	framework.RegisterPluginBuilder(gang.PluginName, gang.New)
	framework.RegisterPluginBuilder(predicates.PluginName, predicates.New)
	framework.RegisterPluginBuilder(nodeorder.PluginName, nodeorder.New)
	framework.RegisterPluginBuilder(binpack.PluginName, binpack.New)
	first := []string{priority.PluginName, gang.PluginName}
	if impl.new != nil {
		name := impl.new(nil).Name()
		framework.RegisterPluginBuilder(name, impl.new)
		first = append(first, name)
	}
	return append(offline.Tiers(true, first...),
		offline.Tiers(true, predicates.PluginName, nodeorder.PluginName, binpack.PluginName)...)
}

// bound expects so many pods to be bound.
func bound(n int) func(*offline.Cache) error {
	return func(c *offline.Cache) error {
		if len(c.Bound) != n {
			return fmt.Errorf("%d pods are bound, want %d", len(c.Bound), n)
		}
		return nil
	}
}

// evicted expects so many pods to be evicted.
func evicted(n int) func(*offline.Cache) error {
	return func(c *offline.Cache) error {
		if len(c.Evicted) != n {
			return fmt.Errorf("%d pods are evicted, want %d", len(c.Evicted), n)
		}
		return nil
	}
}

// BenchmarkCycle enqueues and allocates 1,000 pods on 200 idle nodes.
func BenchmarkCycle(b *testing.B) {
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true}
	for _, session := range []string{first, later} {
		b.Run("session="+session, func(b *testing.B) {
			queues := []int{10, 100, 300, 1000}
			if *full {
				queues = append(queues, 5000) // upstream takes 20 GiB of memory
			}
			forQueues(b, queues, func(b *testing.B, queues int) {
				cycle{
					cluster: workload.Waiting(queues).Make(1),
					actions: func() []framework.Action { return []framework.Action{enqueue.New(), allocate.New()} },
					done:    bound(1000),
				}.measure(b, session, implementations[1])
			})
		})
	}
}

// BenchmarkCycleCards enqueues and allocates 200 pods on 5,000 idle nodes, under the name
// capacity-card. For none and upstream, node affinity keeps the pods to the same nodes.
func BenchmarkCycleCards(b *testing.B) {
	conf.EnabledActionMap = map[string]bool{"enqueue": true, "allocate": true}
	queues := []int{10, 100, 1000}
	if *full {
		queues = append(queues, 5000)
	}
	forCards(b, queues, func(b *testing.B, queues, names int) {
		cycle{
			cluster: namingCards(waitingOn(queues), names),
			alone:   withAffinity(namingCards(waitingOn(queues), names)),
			actions: func() []framework.Action { return []framework.Action{enqueue.New(), allocate.New()} },
			done:    bound(200),
		}.measure(b, later, implementation{"ours", newCards})
	})
}

// BenchmarkReclaimCards and BenchmarkPreemptCards are Reclaim and Preempt for pods that name
// cards.
func BenchmarkReclaimCards(b *testing.B) {
	forCards(b, []int{100, 1000}, func(b *testing.B, queues, names int) {
		cycle{
			cluster: namingCards(reclaiming(queues, 100), names),
			alone:   withAffinity(namingCards(reclaiming(queues, 100), names)),
			actions: func() []framework.Action { return []framework.Action{plugin.NewReclaim()} },
			done:    evicted(100),
		}.measure(b, later, implementation{"ours", newCards})
	})
}

// BenchmarkReclaimGang has a gang of 64 whole nodes take back the GPUs that its queue deserves, on 5,000 nodes with
// 20,000 pods that can be evicted. Without a quota plugin, and with upstream, the action is Volcano's own.
func BenchmarkReclaimGang(b *testing.B) {
	forQueues(b, []int{1000}, func(b *testing.B, queues int) {
		cycle{
			cluster: lent(queues, 64),
			alone:   withAffinity(lent(queues, 64)),
			actions: func() []framework.Action { return []framework.Action{plugin.NewReclaim()} },
			done:    evicted(4 * 64),
		}.measure(b, later, implementation{"ours", newCards})
	})
}

func BenchmarkPreemptCards(b *testing.B) {
	forCards(b, []int{100, 1000}, func(b *testing.B, queues, names int) {
		cycle{
			cluster: namingCards(preempting(queues, 100), names),
			alone:   withAffinity(namingCards(preempting(queues, 100), names)),
			actions: func() []framework.Action { return []framework.Action{plugin.NewPreempt()} },
			done:    evicted(100),
		}.measure(b, later, implementation{"ours", newCards})
	})
}

// forCards measures with pods that name one card, one of three, or none.
func forCards(b *testing.B, queues []int, measure func(b *testing.B, queues, names int)) {
	forQueues(b, queues, func(b *testing.B, queues int) {
		for _, r := range []struct {
			request string
			names   int
		}{{"one", 1}, {"list", 3}, {"untyped", 0}} {
			b.Run("request="+r.request, func(b *testing.B) { measure(b, queues, r.names) })
		}
	})
}

// BenchmarkReclaim has 100 pods take back the GPUs that their queues deserve, on a cluster without an idle GPU.
func BenchmarkReclaim(b *testing.B) {
	queues := []int{100, 1000}
	if *full {
		queues = append(queues, 5000)
	}
	forQueues(b, queues, func(b *testing.B, queues int) {
		cycle{
			cluster: reclaiming(queues, 100),
			actions: func() []framework.Action { return []framework.Action{plugin.NewReclaim()} },
			done:    evicted(100),
		}.measure(b, later, implementations[1])
	})
}

// BenchmarkPreempt has 100 pods take the place of others in their queue, on a
// cluster without an idle GPU.
func BenchmarkPreempt(b *testing.B) {
	forQueues(b, []int{100, 1000}, func(b *testing.B, queues int) {
		cycle{
			cluster: preempting(queues, 100),
			actions: func() []framework.Action { return []framework.Action{plugin.NewPreempt()} },
			done:    evicted(100),
		}.measure(b, later, implementations[1])
	})
}

// BenchmarkPreemptTopology is Preempt with topology awareness, for 20 pods: 16
// goroutines look at nodes, each with a clone of the pod's snapshot for each.
func BenchmarkPreemptTopology(b *testing.B) {
	aware := map[string]any{preempt.EnableTopologyAwarePreemptionKey: true}
	queues := []int{100, 1000}
	if *full {
		queues = append(queues, 5000)
	}
	forQueues(b, queues, func(b *testing.B, queues int) {
		cycle{
			cluster:        preempting(queues, 20),
			actions:        func() []framework.Action { return []framework.Action{plugin.NewPreempt()} },
			configurations: []conf.Configuration{{Name: "preempt", Arguments: aware}},
			done:           evicted(20),
		}.measure(b, later, implementations[1])
	})
}

func forQueues(b *testing.B, counts []int, measure func(b *testing.B, queues int)) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("queues=%d", n), func(b *testing.B) { measure(b, n) })
	}
}
