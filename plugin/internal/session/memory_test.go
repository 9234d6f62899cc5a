package session

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestMemoryForgetsGoneObjects opens sessions with other queues and jobs each time. The
// memory holds those of the last session alone.
func TestMemoryForgetsGoneObjects(t *testing.T) {
	m := newMemory()
	for i := range 50 {
		queue := fmt.Sprintf("queue-%d", i)
		job := pending(fmt.Sprintf("job-%d", i), queue, 1)
		c := workload.Cluster{Hierarchy: i%2 == 0, Nodes: oneNode, Jobs: []workload.Job{job},
			Queues: []workload.Queue{{Name: "root"}, {Name: queue, Capability: workload.Resources{"cpu": 1, "memory": 1}}}}
		info, err := cluster.Build(c, fmt.Sprint(i))
		require.NoError(t, err)
		ssn := offline.Open(offline.NewCache(info), nil)
		ssn.Tiers = offline.Tiers(c.Hierarchy, CapacityName)
		s := openSession(ssn, capacityBuilder.Variant, arguments.Settings{}, m)
		require.False(t, ssn.JobEnqueueable(ssn.Jobs[api.JobID(cluster.Namespace+"/"+job.Name)]))
		m.intake.MendParents(ssn, CapacityName)
		require.Same(t, m, s.Memory)
		assert.Equal(t, 1, m.journal.Len())
		assert.Equal(t, 2, m.metrics.Len())
	}
}

// TestMemoryIsLentOnce lends each of two overlapping sessions memory of its own, and
// the same memory to sessions one after the other.
func TestMemoryIsLentOnce(t *testing.T) {
	b := &Builder{}
	first, second := b.lend(), b.lend()
	assert.NotSame(t, first, second)
	b.giveBack(first)
	assert.Same(t, first, b.lend())
	b.giveBack(second)
	b.giveBack(first)
	assert.NotSame(t, b.lend(), b.lend())
}
