package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// TestTimePassesByTheMonotonicClock opens a session with the clock of the machine. What lies between two times with a
// monotonic reading does not depend on the wall clock, so a clock that jumps while the scheduler runs changes nothing.
func TestTimePassesByTheMonotonicClock(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 8).Queue("q", "", "quota", `{"A":8}`).Open(t)
	defer f.Close()
	assert.Contains(t, f.Own.Now.String(), " m=+")
	assert.Contains(t, session.NewMemory().Now().String(), " m=+")
}

// TestMemoryForgetsGoneObjects opens sessions with other queues and jobs each time. The memory holds only the queues
// and jobs of the last session.
func TestMemoryForgetsGoneObjects(t *testing.T) {
	m := session.NewMemory()
	for i := range 50 {
		queue := fmt.Sprintf("queue-%d", i)
		job := pendingJob(fmt.Sprintf("job-%d", i), queue, 1)
		c := workload.Cluster{Hierarchy: i%2 == 0, Nodes: oneNode, Jobs: []workload.Job{job},
			Queues: []workload.Queue{{Name: "root"}, {Name: queue, Capability: workload.Resources{"cpu": 1, "memory": 1}}}}
		info, err := cluster.Build(c, fmt.Sprint(i))
		require.NoError(t, err)
		ssn := offline.Open(offline.NewCache(info), nil)
		ssn.Tiers = offline.Tiers(c.Hierarchy, session.CapacityName)
		s := session.Open(ssn, session.BuilderOf(session.CapacityName).Variant, arguments.Settings{}, m)
		require.False(t, ssn.JobEnqueueable(ssn.Jobs[api.JobID(cluster.Namespace+"/"+job.Name)]))
		m.Intake().MendParents(ssn, session.CapacityName)
		require.Same(t, m, s.Memory)
		assert.Equal(t, 1, m.Journal().Len())
		assert.Equal(t, 2, m.Metrics().Len())
	}
}

// TestMemoryIsLentOnce lends each of two overlapping sessions memory of its own, and
// the same memory to sessions one after the other.
func TestMemoryIsLentOnce(t *testing.T) {
	b := &session.Builder{}
	first, second := b.Lend(), b.Lend()
	assert.NotSame(t, first, second)
	b.GiveBack(first)
	assert.Same(t, first, b.Lend())
	b.GiveBack(second)
	b.GiveBack(first)
	assert.NotSame(t, b.Lend(), b.Lend())
}
