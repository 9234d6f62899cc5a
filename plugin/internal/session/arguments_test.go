package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

func TestArgumentProblemsAreReportedOnce(t *testing.T) {
	m := newMemory()
	for range 3 {
		m.parse(capacityBuilder.Variant, framework.Arguments{"zebra": 1})
	}
	assert.Equal(t, 1, m.warnings.Len())
}

// TestUnsetCapability opens flat sessions and trees under each value of
// unsetCapability and rootCapability.
func TestUnsetCapability(t *testing.T) {
	bound := func(build framework.PluginBuilder, hierarchy bool, queue string) float64 {
		f := openFixture(t, workload.Cluster{Hierarchy: hierarchy, Nodes: oneNode, Queues: []workload.Queue{{Name: "root"},
			{Name: "inner"}, {Name: "leaf", Parent: "inner"}, {Name: "set", Parent: "inner", Capability: workload.Resources{"cpu": 2000}}}}, build)
		return f.own.Index.RealCapability.Row(f.own.Index.Lookup(queue)).Get(fastres.CPU)
	}
	with := func(build framework.PluginBuilder, key, value string) framework.PluginBuilder {
		return func(framework.Arguments) framework.Plugin {
			return build(testbed.Pinned(framework.Arguments{key: value}))
		}
	}
	const all, none = 8000.0, 0.0
	for _, hierarchy := range []bool{false, true} {
		assert.Equal(t, all, bound(NewCapacity, hierarchy, "leaf"))
		assert.Equal(t, none, bound(with(NewCapacity, "unsetCapability", "zero"), hierarchy, "leaf"))
		assert.Equal(t, none, bound(New, hierarchy, "leaf"))
		assert.Equal(t, all, bound(with(New, "unsetCapability", "unlimited"), hierarchy, "leaf"))
		assert.Equal(t, 2000.0, bound(New, hierarchy, "set"))
		assert.Equal(t, fastres.MaxQuantity, bound(with(NewCapacity, "rootCapability", "unlimited"), hierarchy, "leaf"))
		assert.Equal(t, 2000.0, bound(with(NewCapacity, "rootCapability", "unlimited"), hierarchy, "set"))
	}
	assert.Equal(t, all, bound(New, true, "inner"))
}

// TestCapacityCardCountsCPUAndMemoryOnly exceeds the capability of a scalar resource,
// which does not count under the name capacity-card.
func TestCapacityCardCountsCPUAndMemoryOnly(t *testing.T) {
	job := pending("job", "a", 1)
	job.Tasks[0].Request = workload.Resources{"cpu": 1000, "rdma/ib": 50}
	job.MinResources = job.Tasks[0].Request
	f := openFixture(t, workload.Cluster{Nodes: oneNode, Jobs: []workload.Job{job}, Queues: []workload.Queue{
		{Name: "a", Capability: workload.Resources{"cpu": 2000, "memory": 1 << 30, "rdma/ib": 1}}}}, New)
	assert.True(t, f.JobEnqueueable(f.job("job")))
	assert.True(t, f.Allocatable(f.queue("a"), f.task("job-a")))
}
