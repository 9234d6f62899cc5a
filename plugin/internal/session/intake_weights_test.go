package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// cpus returns the deserved cpu of a queue, in cores.
func cpus(f *testbed.Fixture, queue string) float64 {
	return f.Own.Index.Deserved.Row(f.Own.Index.Lookup(queue)).Get(fastres.CPU) / 1000
}

// TestWeightsOfFlatQueues divides 100 cores among three queues. The first is bound to
// 50, and the third requests 30: proportion divides by requests, capacity by
// capability.
func TestWeightsOfFlatQueues(t *testing.T) {
	c := workload.Cluster{Nodes: wide(100), Queues: []workload.Queue{{Name: "root", Weight: 1},
		{Name: "A", Weight: 2, Capability: coresOf(50), Guarantee: coresOf(10)}, {Name: "B", Weight: 3},
		{Name: "C", Weight: 5, Guarantee: coresOf(20)}}}
	for _, queue := range []struct {
		name string
		wait int64
	}{{"A", 80}, {"B", 60}, {"C", 30}} {
		c.Jobs = append(c.Jobs, workload.Job{Name: queue.name, Queue: queue.name, Phase: workload.Inqueue, MinMember: 1,
			Tasks: []workload.Task{{Name: queue.name, Request: coresOf(queue.wait), Status: workload.TaskPending}}})
	}
	deserved := func(f *testbed.Fixture) []float64 { return []float64{cpus(f, "A"), cpus(f, "B"), cpus(f, "C")} }
	assert.Equal(t, []float64{28, 42, 30}, deserved(openFixture(t, c, session.NewProportion)))

	for _, build := range []framework.PluginBuilder{session.NewCapacity, session.New} {
		s := &testbed.Scene{Cluster: c, Build: build, Arguments: framework.Arguments{"deservedFrom": "weight", "unsetCapability": "unlimited"}}
		assert.Equal(t, []float64{20, 30, 50}, deserved(s.Open(t)), "capacity does not consider requests")
		s.Queues = append([]workload.Queue{}, c.Queues...)
		s.Queues[3].Capability = coresOf(30)
		f := s.Open(t)
		assert.Equal(t, []float64{28, 42, 30}, deserved(f))
		assert.Zero(t, cpus(f, "root"), "a queue with the name root has no part where quotas are flat")
	}
}

// company returns a tree of two departments with two teams each.
func company() []workload.Queue {
	return []workload.Queue{{Name: "root", Weight: 1}, {Name: "eng", Weight: 6}, {Name: "biz", Weight: 4},
		{Name: "prod", Parent: "eng", Weight: 8, Capability: coresOf(100), Guarantee: coresOf(60)}, {Name: "dev", Parent: "eng", Weight: 2},
		{Name: "marketing", Parent: "biz", Weight: 3}, {Name: "sales", Parent: "biz", Weight: 1}}
}

// TestWeightsOfATree divides 200 cores level by level. deserved of the spec has no
// effect, and a guarantee counts for the ancestors.
func TestWeightsOfATree(t *testing.T) {
	for _, build := range []framework.PluginBuilder{session.NewCapacity, session.New} {
		s := &testbed.Scene{Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200), Queues: company()}, Build: build,
			Arguments: framework.Arguments{"deservedFrom": "weight", "unsetCapability": "unlimited"}}
		s.Queues[4].Deserved = coresOf(199)
		f := s.Open(t)
		for queue, want := range map[string]float64{"root": 200, "eng": 120, "biz": 80, "prod": 96, "dev": 24, "marketing": 60, "sales": 20} {
			assert.Equal(t, want, cpus(f, queue), queue)
		}
		for queue, want := range map[string]float64{"root": 60, "eng": 60, "prod": 60, "biz": 0, "dev": 0} {
			assert.Equal(t, want*1000, f.Own.Index.Guarantee.Row(f.Own.Index.Lookup(queue)).Get(fastres.CPU), queue)
		}
		assert.Equal(t, 140000.0, f.Own.Index.RealCapability.Row(f.Own.Index.Lookup("biz")).Get(fastres.CPU), "the guarantee of prod is not lent")
		assert.Equal(t, 200000.0, f.Own.Index.Deserved.Row(f.Own.Index.Root()).Get(fastres.CPU))

		s.Arguments["deservedFrom"] = "spec"
		assert.Equal(t, 199.0, cpus(s.Open(t), "dev"))
	}
}

// TestWeightsChange changes weights and nodes between sessions.
func TestWeightsChange(t *testing.T) {
	s := &testbed.Scene{Cluster: workload.Cluster{Hierarchy: true, Nodes: wide(200), Queues: company()}, Build: session.NewCapacity,
		Arguments: framework.Arguments{"deservedFrom": "weight"}}
	run := testbed.NewSequence(t, s)
	assert.Equal(t, 24.0, cpus(run.Open(t), "dev"))
	s.Queues[4].Weight = 8
	assert.Equal(t, 60.0, cpus(run.Open(t), "dev"))
	assert.Equal(t, 60.0, cpus(run.Open(t), "prod"))
	s.Nodes = wide(100)
	f := run.Open(t)
	assert.Equal(t, []float64{60, 60, 0}, []float64{cpus(f, "eng"), cpus(f, "prod"), cpus(f, "dev")}, "prod is guaranteed all of it")
	s.Queues[2].Weight = -6
	f = run.Open(t)
	assert.Equal(t, []float64{100, 0}, []float64{cpus(f, "eng"), cpus(f, "biz")}, "a negative weight counts as 0")
}

// TestWeightsOfCards divides cards among the queues in which cards count.
func TestWeightsOfCards(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 4).Queue("root", "").
		Queue("x", "root", "quota", `{"A":8,"B":4}`, "guarantee", `{"A":0,"B":0}`).
		Queue("y", "root", "quota", `{"A":8,"B":1}`, "guarantee", `{"A":0,"B":0}`, "deserved", `{"A":7}`).
		Queue("plain", "root")
	s.Build, s.Arguments = session.NewCapacity, framework.Arguments{"deservedFrom": "weight"}
	s.Queues[1].Weight, s.Queues[2].Weight, s.Queues[3].Weight = 3, 1, 4
	f := s.Open(t)
	of := func(queue, card string) float64 {
		d, _ := f.Own.Memory.Names.LookupCard(card)
		return f.Own.Index.Deserved.Row(f.Own.Index.Lookup(queue)).Get(d) / 1000
	}
	assert.Equal(t, []float64{6, 3}, []float64{of("x", "A"), of("x", "B")})
	assert.Equal(t, []float64{2, 1}, []float64{of("y", "A"), of("y", "B")})
	assert.Equal(t, []float64{0, 0}, []float64{of("plain", "A"), of("plain", "B")}, "cards do not count there")
	assert.Equal(t, cpus(f, "x"), 3*cpus(f, "y"))
	assert.Greater(t, cpus(f, "plain"), 0.0)
}
