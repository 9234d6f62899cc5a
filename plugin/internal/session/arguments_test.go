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

func TestArgumentProblemsAreReportedOnce(t *testing.T) {
	m := session.NewMemory()
	for range 3 {
		m.Parse(session.BuilderOf(session.CapacityName).Variant, framework.Arguments{"zebra": 1})
	}
	assert.Equal(t, 1, m.Warnings().Len())
}

// TestUnsetCapability opens flat sessions and trees under each value of
// unsetCapability and rootCapability.
func TestUnsetCapability(t *testing.T) {
	bound := func(build framework.PluginBuilder, hierarchy bool, queue string) float64 {
		f := openFixture(t, workload.Cluster{Hierarchy: hierarchy, Nodes: oneNode, Queues: []workload.Queue{{Name: "root"},
			{Name: "inner"}, {Name: "leaf", Parent: "inner"}, {Name: "set", Parent: "inner", Capability: workload.Resources{"cpu": 2000}}}}, build)
		return f.Own.Index.RealCapability.Row(f.Own.Index.Lookup(queue)).Get(fastres.CPU)
	}
	with := func(build framework.PluginBuilder, key, value string) framework.PluginBuilder {
		return func(framework.Arguments) framework.Plugin {
			return build(testbed.Pinned(build(nil).Name(), framework.Arguments{key: value}))
		}
	}
	const all, none = 8000.0, 0.0
	for _, hierarchy := range []bool{false, true} {
		assert.Equal(t, all, bound(session.NewCapacity, hierarchy, "leaf"))
		assert.Equal(t, none, bound(with(session.NewCapacity, "unsetCapability", "zero"), hierarchy, "leaf"))
		assert.Equal(t, none, bound(with(session.New, "unsetCapability", "zero"), hierarchy, "leaf"))
		assert.Equal(t, all, bound(with(session.New, "unsetCapability", "unlimited"), hierarchy, "leaf"))
		assert.Equal(t, 2000.0, bound(session.New, hierarchy, "set"))
		assert.Equal(t, fastres.MaxQuantity, bound(with(session.NewCapacity, "rootCapability", "unlimited"), hierarchy, "leaf"))
		assert.Equal(t, 2000.0, bound(with(session.NewCapacity, "rootCapability", "unlimited"), hierarchy, "set"))
	}
	assert.Equal(t, all, bound(session.New, true, "inner"))
}

// TestCapacityCardCountsCPUAndMemoryOnly exceeds the capability of a scalar resource,
// which does not count under the name capacity-card.
func TestCapacityCardCountsCPUAndMemoryOnly(t *testing.T) {
	job := pendingJob("job", "a", 1)
	job.Tasks[0].Request = workload.Resources{"cpu": 1000, "rdma/ib": 50}
	job.MinResources = job.Tasks[0].Request
	f := openFixture(t, workload.Cluster{Nodes: oneNode, Jobs: []workload.Job{job}, Queues: []workload.Queue{
		{Name: "a", Capability: workload.Resources{"cpu": 2000, "memory": 1 << 30, "rdma/ib": 1}}}}, session.New)
	assert.True(t, f.JobEnqueueable(f.Job("job")))
	assert.True(t, f.Allocatable(f.Queue("a"), f.Task("job-a")))
}
