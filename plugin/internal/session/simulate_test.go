package session

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// deep is a tree of depth 3 with jobs that run and one that waits.
func deep() workload.Cluster {
	c := workload.Cluster{Hierarchy: true, Nodes: oneNode, Queues: []workload.Queue{{Name: "root"}, {Name: "org"}, {Name: "team", Parent: "org"},
		{Name: "a", Parent: "team", Deserved: workload.Resources{"cpu": 4000, gpuName: 4}},
		{Name: "b", Parent: "team", Deserved: workload.Resources{"cpu": 1000}}}}
	c.Jobs = []workload.Job{running("busy", "b", 4), pending("next", "a", 2)}
	return c
}

// TestParallelWhatIfs clones one cycle state in many goroutines, as preemption with
// dry runs does. Each adds and removes tasks in its clone.
func TestParallelWhatIfs(t *testing.T) {
	f := openFixture(t, deep(), NewCapacity)
	task := f.task("next-a")
	require.NoError(t, f.PrePredicateFn(task))
	state := f.GetCycleState(task.UID)
	before := f.allocated("root").String()
	var workers sync.WaitGroup
	for i := range 32 {
		workers.Add(1)
		go func() {
			defer workers.Done()
			clone := state.Clone()
			for range 50 {
				for j := range i % 5 {
					victim := f.task(fmt.Sprintf("busy-%c", 'a'+j%4))
					assert.NoError(t, f.SimulateRemoveTaskFn(t.Context(), clone, task, victim, nil))
					assert.NoError(t, f.SimulateAddTaskFn(t.Context(), clone, task, victim, nil))
				}
				assert.True(t, f.SimulateAllocatableFn(t.Context(), clone, f.queue("a"), task))
			}
			for range 5 {
				assert.NoError(t, f.SimulateAddTaskFn(t.Context(), clone, task, task, nil))
			}
			assert.False(t, f.SimulateAllocatableFn(t.Context(), clone, f.queue("a"), task), "8 cores are 8 cores")
		}()
	}
	workers.Wait()
	assert.Equal(t, before, f.allocated("root").String(), "a what-if changed the real accounts")
}
