package session

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"
	upstreamproportion "volcano.sh/volcano/pkg/scheduler/plugins/proportion"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// cpus returns the deserved cpu of a queue, in cores.
func (f *fixture) cpus(queue string) float64 {
	return f.own.Index.Deserved.Row(f.own.Index.Lookup(queue)).Get(fastres.CPU) / 1000
}

// cores returns a quantity of cpu.
func cores(n int64) workload.Resources { return workload.Resources{"cpu": n * 1000} }

// wide returns a node with n cores and more memory than any test requests.
func wide(n int64) []workload.Node {
	return []workload.Node{{Name: "node", Allocatable: workload.Resources{"cpu": n * 1000, "memory": 1 << 42, "pods": 1000}}}
}

// TestWeightsOfFlatQueues divides 100 cores among three queues. The first is bound to
// 50, and the third requests 30: proportion divides by requests, capacity by
// capability.
func TestWeightsOfFlatQueues(t *testing.T) {
	c := workload.Cluster{Nodes: wide(100), Queues: []workload.Queue{{Name: "root", Weight: 1},
		{Name: "A", Weight: 2, Capability: cores(50), Guarantee: cores(10)}, {Name: "B", Weight: 3},
		{Name: "C", Weight: 5, Guarantee: cores(20)}}}
	for _, queue := range []struct {
		name string
		wait int64
	}{{"A", 80}, {"B", 60}, {"C", 30}} {
		c.Jobs = append(c.Jobs, workload.Job{Name: queue.name, Queue: queue.name, Phase: workload.Inqueue, MinMember: 1,
			Tasks: []workload.Task{{Name: queue.name, Request: cores(queue.wait), Status: workload.TaskPending}}})
	}
	deserved := func(f *fixture) []float64 { return []float64{f.cpus("A"), f.cpus("B"), f.cpus("C")} }
	assert.Equal(t, []float64{28, 42, 30}, deserved(openFixture(t, c, NewProportion)))

	for _, build := range []framework.PluginBuilder{NewCapacity, New} {
		s := &scene{Cluster: c, build: build, arguments: framework.Arguments{"deservedFrom": "weight", "unsetCapability": "unlimited"}}
		assert.Equal(t, []float64{20, 30, 50}, deserved(s.open(t)), "capacity does not consider requests")
		s.Queues = append([]workload.Queue{}, c.Queues...)
		s.Queues[3].Capability = cores(30)
		f := s.open(t)
		assert.Equal(t, []float64{28, 42, 30}, deserved(f))
		assert.Zero(t, f.cpus("root"), "a queue with the name root has no part where quotas are flat")
	}
}

// company returns a tree of two departments with two teams each.
func company() []workload.Queue {
	return []workload.Queue{{Name: "root", Weight: 1}, {Name: "eng", Weight: 6}, {Name: "biz", Weight: 4},
		{Name: "prod", Parent: "eng", Weight: 8, Capability: cores(100), Guarantee: cores(60)}, {Name: "dev", Parent: "eng", Weight: 2},
		{Name: "marketing", Parent: "biz", Weight: 3}, {Name: "sales", Parent: "biz", Weight: 1}}
}

// TestWeightsOfATree divides 200 cores level by level. deserved of the spec has no
// effect, and a guarantee counts for the ancestors.
func TestWeightsOfATree(t *testing.T) {
	for _, build := range []framework.PluginBuilder{NewCapacity, New} {
		s := &scene{Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200), Queues: company()}, build: build,
			arguments: framework.Arguments{"deservedFrom": "weight", "unsetCapability": "unlimited"}}
		s.Queues[4].Deserved = cores(199)
		f := s.open(t)
		for queue, want := range map[string]float64{"root": 200, "eng": 120, "biz": 80, "prod": 96, "dev": 24, "marketing": 60, "sales": 20} {
			assert.Equal(t, want, f.cpus(queue), queue)
		}
		for queue, want := range map[string]float64{"root": 60, "eng": 60, "prod": 60, "biz": 0, "dev": 0} {
			assert.Equal(t, want*1000, f.own.Index.Guarantee.Row(f.own.Index.Lookup(queue)).Get(fastres.CPU), queue)
		}
		assert.Equal(t, 140000.0, f.own.Index.RealCapability.Row(f.own.Index.Lookup("biz")).Get(fastres.CPU), "the guarantee of prod is not lent")
		assert.Equal(t, 200000.0, f.own.Index.Deserved.Row(f.own.Index.Root()).Get(fastres.CPU))

		s.arguments["deservedFrom"] = "spec"
		assert.Equal(t, 199.0, s.open(t).cpus("dev"))
	}
}

// TestWeightsChange changes weights and nodes between sessions.
func TestWeightsChange(t *testing.T) {
	s := &scene{Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200), Queues: company()}, build: NewCapacity,
		arguments: framework.Arguments{"deservedFrom": "weight"}}
	run := newSequence(t, s)
	assert.Equal(t, 24.0, run.open(t).cpus("dev"))
	s.Queues[4].Weight = 8
	assert.Equal(t, 60.0, run.open(t).cpus("dev"))
	assert.Equal(t, 60.0, run.open(t).cpus("prod"))
	s.Nodes = wide(100)
	f := run.open(t)
	assert.Equal(t, []float64{60, 60, 0}, []float64{f.cpus("eng"), f.cpus("prod"), f.cpus("dev")}, "prod is guaranteed all of it")
	s.Queues[2].Weight = -6
	f = run.open(t)
	assert.Equal(t, []float64{100, 0}, []float64{f.cpus("eng"), f.cpus("biz")}, "a negative weight counts as 0")
}

// TestWeightsOfCards divides cards among the queues in which cards count.
func TestWeightsOfCards(t *testing.T) {
	s := newScene().node("a", "A", 8).node("b", "B", 4).queue("root", "").
		queue("x", "root", "quota", `{"A":8,"B":4}`, "guarantee", `{"A":0,"B":0}`).
		queue("y", "root", "quota", `{"A":8,"B":1}`, "guarantee", `{"A":0,"B":0}`, "deserved", `{"A":7}`).
		queue("plain", "root")
	s.build, s.arguments = NewCapacity, framework.Arguments{"deservedFrom": "weight"}
	s.Queues[1].Weight, s.Queues[2].Weight, s.Queues[3].Weight = 3, 1, 4
	f := s.open(t)
	of := func(queue, card string) float64 {
		d, _ := f.own.Memory.Names.LookupCard(card)
		return f.own.Index.Deserved.Row(f.own.Index.Lookup(queue)).Get(d) / 1000
	}
	assert.Equal(t, []float64{6, 3}, []float64{of("x", "A"), of("x", "B")})
	assert.Equal(t, []float64{2, 1}, []float64{of("y", "A"), of("y", "B")})
	assert.Equal(t, []float64{0, 0}, []float64{of("plain", "A"), of("plain", "B")}, "cards do not count there")
	assert.Equal(t, f.cpus("x"), 3*f.cpus("y"))
	assert.Greater(t, f.cpus("plain"), 0.0)
}

// TestWeightsAgreeWithProportion compares what queues deserve with upstream's
// proportion on random clusters where the two are meant to agree:
//
//   - every queue requests more than its bound in every dimension: proportion gives no
//     queue more than it requests, and nothing to queues without jobs;
//   - no queue has a guarantee: proportion adds guarantees to the total, so no other
//     queue gets less;
//   - up to rounding: quantities are whole units here, and the rounds of proportion stop
//     when the remainder is below a tolerance.
func TestWeightsAgreeWithProportion(t *testing.T) {
	compared, capped := 0, 0
	for seed := range uint64(300) {
		c := workload.Random(seed)
		c.Hierarchy, c.Jobs = false, nil
		for i := range c.Queues {
			q := &c.Queues[i]
			q.Guarantee, q.Parent = nil, ""
			if q.Name == index.RootName {
				q.Name = "flat"
			}
			all := workload.Resources{}
			for _, node := range c.Nodes {
				for name, amount := range node.Allocatable {
					all[name] += 2 * amount
				}
			}
			c.Jobs = append(c.Jobs, workload.Job{Name: q.Name, Queue: q.Name, Phase: workload.Inqueue, MinMember: 1,
				Tasks: []workload.Task{{Name: "asks-" + q.Name, Request: all, Status: workload.TaskPending}}})
		}
		info, err := cluster.Build(c, fmt.Sprint("/weights/", seed))
		require.NoError(t, err)
		var plugin framework.Plugin
		framework.RegisterPluginBuilder(ProportionName, func(a framework.Arguments) framework.Plugin {
			plugin = upstreamproportion.New(a)
			return plugin
		})
		offline.Open(offline.NewCache(info), offline.Tiers(false, ProportionName))
		theirs := examine(plugin)
		f := (&scene{Cluster: c, build: NewCapacity, arguments: framework.Arguments{"deservedFrom": "weight"}}).open(t)
		for q := range index.Queue(f.own.Index.Len()) {
			name := f.own.Index.Name(q)
			want, ours := theirs.account(name, "deserved"), f.own.Intake.Dims.Resource(f.own.Index.Deserved.Row(q))
			for d := range fastres.Dim(f.own.Memory.Names.Len()) {
				resource := f.own.Memory.Names.Name(d)
				if d == fastres.Pods {
					continue // a task requests one
				}
				got := f.own.Index.Deserved.Row(q).Get(d)
				require.InDelta(t, want.Get(v1.ResourceName(resource)), got, float64(len(c.Queues)), "seed %d: %s of %s: %v, %v", seed, resource, name, want, ours)
				if compared++; got > 0 && got == f.own.Index.RealCapability.Row(q).Get(d) {
					capped++
				}
			}
		}
	}
	t.Logf("%d numbers compared, %d of them at a bound", compared, capped)
	assert.Greater(t, capped, 300)
}
