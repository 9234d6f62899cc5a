package session_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// deep is a tree of depth 3 with jobs that run and one that waits.
func deep() workload.Cluster {
	c := workload.Cluster{Hierarchy: true, Nodes: oneNode, Queues: []workload.Queue{{Name: "root"}, {Name: "org"}, {Name: "team", Parent: "org"},
		{Name: "a", Parent: "team", Deserved: workload.Resources{"cpu": 4000, testbed.GPU: 4}},
		{Name: "b", Parent: "team", Deserved: workload.Resources{"cpu": 1000}}}}
	c.Jobs = []workload.Job{runningJob("busy", "b", 4), pendingJob("next", "a", 2)}
	return c
}

// TestParallelWhatIfs clones one cycle state in many goroutines, as preemption with
// dry runs does. Each adds and removes tasks in its clone.
func TestParallelWhatIfs(t *testing.T) {
	f := openFixture(t, deep(), session.NewCapacity)
	task := f.Task("next-a")
	require.NoError(t, f.PrePredicateFn(task))
	state := f.GetCycleState(task.UID)
	before := f.Allocated("root").String()
	var workers sync.WaitGroup
	for i := range 32 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			clone := state.Clone()
			for range 50 {
				for j := range i % 5 {
					victim := f.Task(fmt.Sprintf("busy-%c", 'a'+j%4))
					assert.NoError(t, f.SimulateRemoveTaskFn(t.Context(), clone, task, victim, nil))
					assert.NoError(t, f.SimulateAddTaskFn(t.Context(), clone, task, victim, nil))
				}
				assert.True(t, f.SimulateAllocatableFn(t.Context(), clone, f.Queue("a"), task))
			}
			for range 5 {
				assert.NoError(t, f.SimulateAddTaskFn(t.Context(), clone, task, task, nil))
			}
			assert.False(t, f.SimulateAllocatableFn(t.Context(), clone, f.Queue("a"), task), "8 cores are 8 cores")
		}()
	}
	workers.Wait()
	assert.Equal(t, before, f.Allocated("root").String(), "a what-if changed the real accounts")
}
