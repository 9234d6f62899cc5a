//go:build !invariants && !race

package plugin

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestHooksDoNotAllocate gates what Volcano calls for every task or job.
func TestHooksDoNotAllocate(t *testing.T) {
	f := openFixture(t, deep(), NewCapacity)
	var queueA, queueB any = f.queue("a"), f.queue("b")
	var next, task any = f.job("next"), f.task("next-a")
	event := &framework.Event{Task: f.task("next-a")}
	busy := []*api.TaskInfo{f.task("busy-a"), f.task("busy-b"), f.task("busy-c"), f.task("busy-d")}
	for _, gate := range []struct {
		name string
		most float64
		call func()
	}{
		{"Allocatable", 0, func() { require.True(t, f.own.allocatable(f.queue("a"), event.Task)) }},
		{"JobEnqueueable", 0, func() { f.own.jobEnqueueable(next) }},
		{"JobEnqueued", 0, func() { f.own.jobEnqueued(next) }},
		{"Preemptive", 0, func() { f.own.preemptive(queueA, task) }},
		{"QueueOrder", 0, func() { f.own.queueOrder(queueA, queueB) }},
		{"VictimQueueOrder", 0, func() { f.own.victimQueueOrder(queueA, queueB, queueA) }},
		{"Allocate and Deallocate", 0, func() { f.own.onAllocate(event); f.own.onDeallocate(event) }},
		{"Reclaimable", 1, func() { f.own.reclaimable(event.Task, busy) }},
		{"the snapshot of a PrePredicate", 1, func() { _ = &whatIf{Overlay: f.own.ix.Snapshot()} }},
	} {
		gate.call() // gauges are made at the first call
		assert.LessOrEqual(t, testing.AllocsPerRun(200, gate.call), gate.most, gate.name)
	}
}

// TestOpeningAllocatesTheSame opens sessions of different sizes, and expects no
// more allocations for the larger.
func TestOpeningAllocatesTheSame(t *testing.T) {
	open := func(queues, jobs int) float64 {
		c := workload.Cluster{Hierarchy: true, Nodes: oneNode, Queues: []workload.Queue{{Name: "root"}}}
		for i := range queues {
			c.Queues = append(c.Queues, workload.Queue{Name: fmt.Sprintf("q%d", i)})
		}
		for i := range jobs {
			c.Jobs = append(c.Jobs, running(fmt.Sprintf("job%d", i), fmt.Sprintf("q%d", i%queues), 2))
		}
		f := openFixture(t, c, NewCapacity)
		m := newMemory()
		once := func() { openSession(f.Session, f.own.variant, f.own.settings, m) }
		once()
		once()
		return testing.AllocsPerRun(20, once)
	}
	small, large := open(3, 20), open(300, 400)
	assert.Equal(t, small, large)
	assert.LessOrEqual(t, large, 64.0)
}
