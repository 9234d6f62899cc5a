//go:build !invariants && !race

package session

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// gate bounds the allocations of a call.
type gate struct {
	name string
	most float64
	call func()
}

func checkGates(t *testing.T, all []gate) {
	t.Helper()
	for _, g := range all {
		g.call() // the first call creates gauges
		assert.LessOrEqual(t, testing.AllocsPerRun(200, g.call), g.most, g.name)
	}
}

// TestHooksDoNotAllocate bounds the allocations of hooks that Volcano calls for every
// task or job.
func TestHooksDoNotAllocate(t *testing.T) {
	f := openFixture(t, deep(), NewCapacity)
	var queueA, queueB any = f.queue("a"), f.queue("b")
	var next any = f.job("next")
	event := &framework.Event{Task: f.task("next-a")}
	nextTask := []*api.TaskInfo{event.Task}
	busy := []*api.TaskInfo{f.task("busy-a"), f.task("busy-b"), f.task("busy-c"), f.task("busy-d")}
	checkGates(t, []gate{
		{"Allocatable", 0, func() { require.True(t, f.own.AllocatableOf(f.queue("a"), event.Task)) }},
		{"JobEnqueueable", 0, func() { f.own.admit.JobEnqueueable(next) }},
		{"JobEnqueued", 0, func() { f.own.admit.JobEnqueued(next) }},
		{"Preemptive", 0, func() { f.own.preemptive(f.queue("a"), nextTask) }},
		{"QueueOrder", 0, func() { f.own.queueOrder(queueA, queueB) }},
		{"VictimQueueOrder", 0, func() { f.own.victimQueueOrder(queueA, queueB, queueA) }},
		{"Allocate and Deallocate", 0, func() { f.own.OnAllocate(event); f.own.onDeallocate(event) }},
		{"Reclaimable", 1, func() { f.own.Reclaim.Reclaimable(event.Task, busy) }},
		{"the snapshot of a PrePredicate", 1, func() { _ = &whatIf{queues: f.own.Index.Version()} }},
	})
}

// TestCardHooksDoNotAllocate is the same where cards count.
func TestCardHooksDoNotAllocate(t *testing.T) { checkCardHooks(t, "{}") }

// TestCardHooksDoNotAllocateForBudgets is the same with budgets of card-hours.
func TestCardHooksDoNotAllocateForBudgets(t *testing.T) {
	checkCardHooks(t, `{"A":"900h/day","B":"900h/30d sliding"}`)
}

func checkCardHooks(t *testing.T, budgets string) {
	s := newScene().node("a", "A", 4).node("b", "B", 8).queue("root", "").
		queue("mine", "root", "quota", `{"A":4,"B":4}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0}`, "budget", budgets).
		queue("other", "root", "quota", `{"A":8}`, "deserved", `{"A":1}`, "guarantee", `{"A":0}`).
		pods("one", "mine", "A", 1, 1).pods("either", "mine", "A|B", 2, 1, members(2)).
		pods("reserved", "mine", "A|B", 2, 1, members(2), inPhase(workload.Inqueue)).pods("busy", "other", "A", 4, 1, on("a")).
		pods("refused", "mine", "", 0, 0, cardRequest(`{"A":9}`, workload.Pending))
	f := s.open(t)
	var one, either, refused any = f.job("one"), f.job("either"), f.job("refused")
	placed := f.task("one-0")
	placed.NodeName = "a"
	event, eitherTask := &framework.Event{Task: placed}, []*api.TaskInfo{f.task("either-0")}
	var busy []*api.TaskInfo
	for _, each := range f.job("busy").Tasks {
		busy = append(busy, each)
	}
	checkGates(t, []gate{
		{"Allocatable", 0, func() { require.True(t, f.own.AllocatableOf(f.queue("mine"), f.task("either-0"))) }},
		{"Predicate", 0, func() { require.NoError(t, f.own.Predicate(f.job("either").Tasks["default-either-0"], f.Nodes["b"])) }},
		{"NodeOrder", 0, func() { _, _ = f.own.nodeOrder(f.job("either").Tasks["default-either-0"], f.Nodes["b"]) }},
		{"JobEnqueueable of one card", 0, func() { require.True(t, f.own.admit.JobEnqueueable(one) > 0) }},
		{"JobEnqueueable of a list", 0, func() { require.True(t, f.own.admit.JobEnqueueable(either) > 0) }},
		{"JobEnqueueable of a job that stays refused", 0, func() { require.True(t, f.own.admit.JobEnqueueable(refused) < 0) }},
		{"the count of jobs that wait", 0, f.own.Memory.journal.PublishWaiting},
		{"Preemptive", 0, func() { require.True(t, f.own.preemptive(f.queue("mine"), eitherTask)) }},
		{"Allocate and Deallocate", 0, func() { f.own.OnAllocate(event); f.own.onDeallocate(event) }},
		{"Reclaimable", 1, func() {
			victims, _ := f.own.Reclaim.Reclaimable(placed, busy)
			require.True(t, len(victims) > 0)
		}},
	})
}

// TestQueueGateHooksDoNotAllocate is the same where pods have reservations.
func TestQueueGateHooksDoNotAllocate(t *testing.T) {
	f := newScene().node("a", "A", 8).node("b", "B", 8).queue("root", "").queue("q", "root", "quota", `{"A":8,"B":8}`).
		pods("gate", "q", "A|B", 2, 1, optedIn(true)).pods("plain", "q", "A", 1, 1).open(t)
	with := f.own.Settings
	with.Gates = true
	s := openSession(f.Session, f.own.variant, with, newMemory())
	require.Equal(t, 2, s.gates.Len())
	held, plain := f.task("gate-0"), f.task("plain-0")
	placed := *held
	placed.NodeName = "a"
	event := &framework.Event{Task: &placed}
	for name, call := range map[string]func(){
		"Allocatable of a reserved pod":  func() { require.True(t, s.AllocatableOf(f.queue("q"), held)) },
		"Allocatable of another pod":     func() { require.True(t, s.AllocatableOf(f.queue("q"), plain)) },
		"Predicate":                      func() { require.NoError(t, s.Predicate(held, f.Nodes["b"])) },
		"Allocate and Deallocate":        func() { s.OnAllocate(event); s.onDeallocate(event) },
		"Predicate, without reservation": func() { require.NoError(t, s.Predicate(plain, f.Nodes["a"])) },
	} {
		call()
		assert.Zero(t, testing.AllocsPerRun(200, call), name)
	}
	require.Equal(t, 2, s.gates.Len())
}

// TestOpeningAllocatesTheSame opens sessions of the shapes S and XL, the latter with
// fewer jobs. Both have the same number of allocations.
func TestOpeningAllocatesTheSame(t *testing.T) {
	open := func(shape workload.Shape, with arguments.Settings) float64 {
		f := openFixture(t, shape.Make(1), NewCapacity)
		m := newMemory()
		once := func() { openSession(f.Session, f.own.variant, with, m) }
		once()
		once()
		return testing.AllocsPerRun(20, once)
	}
	// Otherwise later tests would gather the series of thousands of queues.
	t.Cleanup(func() {
		capacityBuilder.idle = nil
		reset(report.UpstreamSeries())
		reset(report.AddedSeries())
	})
	huge := workload.XL
	huge.Nodes, huge.Jobs, huge.TasksPerJob = 100, 5000, 2
	for _, with := range []arguments.Settings{
		{},
		{Bounds: intake.Settings{DeservedFrom: intake.DeservedFromWeight, HierarchyFrom: intake.HierarchyFromAnnotation}, Damping: 3},
	} {
		small, large := open(workload.S, with), open(huge, with)
		assert.Equal(t, small, large)
		assert.LessOrEqual(t, large, 64.0)
	}
}

// TestOpeningAllocatesTheSameOnAnyMachine opens sessions on machines of 1 to 64 processors.
// testing.AllocsPerRun has one.
func TestOpeningAllocatesTheSameOnAnyMachine(t *testing.T) {
	f := openFixture(t, workload.M.Make(1), NewCapacity)
	open := func(processors int) uint64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		m := newMemory()
		once := func() { openSession(f.Session, f.own.variant, arguments.Settings{}, m) }
		once()
		once()
		const runs = 50
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			once()
		}
		runtime.ReadMemStats(&after)
		return (after.Mallocs - before.Mallocs) / runs
	}
	alone := open(1)
	for _, processors := range []int{2, 8, 64} {
		assert.InDelta(t, alone, open(processors), 8, "%d processors: the runtime makes goroutines now and then", processors)
	}
}

// TestOpeningWithCardsAllocatesTheSame is the same where cards count.
func TestOpeningWithCardsAllocatesTheSame(t *testing.T) {
	open := func(queues, jobs int) float64 {
		s := newScene().queue("root", "")
		for i := range 1 + queues/3 {
			s.node(fmt.Sprintf("a%d", i), "A", 8).node(fmt.Sprintf("b%d", i), "B", 8)
		}
		for i := range queues {
			s.queue(fmt.Sprintf("q%d", i), "root", "quota", `{"A":4,"B":4}`)
		}
		for i := range jobs {
			queue := fmt.Sprintf("q%d", i%queues)
			s.pods(fmt.Sprintf("run%d", i), queue, "A|B", 3, 1, on("a0")).
				pods(fmt.Sprintf("wait%d", i), queue, "A|B", 3, 1, members(2), inPhase(workload.Inqueue)).
				pods(fmt.Sprintf("later%d", i), queue, "", 0, 0, cardRequest(`{"A|B":2}`, workload.Inqueue))
		}
		f := s.open(t)
		m := newMemory()
		once := func() { openSession(f.Session, f.own.variant, f.own.Settings, m) }
		once()
		once()
		return testing.AllocsPerRun(20, once)
	}
	small, large := open(3, 20), open(300, 130)
	assert.Equal(t, small, large)
	assert.LessOrEqual(t, large, 64.0)
}

// TestDampedHooksDoNotAllocate is TestHooksDoNotAllocate where reclaim is damped.
func TestDampedHooksDoNotAllocate(t *testing.T) {
	s := &scene{Cluster: deep(), build: NewCapacity, arguments: framework.Arguments{"reclaimDamping": 9}}
	f := s.open(t)
	var queueA, queueB any = f.queue("a"), f.queue("b")
	busy := []*api.TaskInfo{f.task("busy-a"), f.task("busy-b"), f.task("busy-c"), f.task("busy-d")}
	next := f.task("next-a")
	assert.Zero(t, testing.AllocsPerRun(200, func() { f.own.queueOrder(queueA, queueB) }))
	assert.LessOrEqual(t, testing.AllocsPerRun(200, func() {
		victims, _ := f.own.Reclaim.Reclaimable(next, busy)
		require.True(t, len(victims) > 0)
	}), 1.0)
}

// TestHooksWithPoliciesDoNotAllocate is TestHooksDoNotAllocate where all policies are set.
func TestHooksWithPoliciesDoNotAllocate(t *testing.T) {
	s := &scene{Cluster: deep(), build: NewCapacity, arguments: framework.Arguments{arguments.DisplacePromises: true, arguments.InqueueTimeout: "1h", arguments.ReclaimByClass: true,
		arguments.OwnerClasses: map[string]any{"ReplicaSet": "inference", "Job": "training"}}}
	s.annotate("root", policy.MaxJobsKey, "1000000", policy.OvercommitFactorKey, "1000000", policy.InqueueTimeoutKey, "30m",
		policy.NamespaceCapabilityKey, `{"cpu":"100M","memory":"1Ei"}`, policy.ReclaimFenceKey, "true", policy.MinRuntimeKey, "0s",
		policy.PreemptMinRuntimeKey, "1s", policy.ReclaimDelayKey, "0s")
	for i := range s.Jobs {
		serving("inference")(&s.Jobs[i])
		if s.Jobs[i].Phase == workload.Running {
			serving("training")(&s.Jobs[i])
		}
	}
	f := s.open(t)
	require.True(t, f.own.HasPolicies())
	require.NotNil(t, f.own.Intake.Holders)
	var next any = f.job("next")
	event := &framework.Event{Task: f.task("next-a")}
	nextTask := []*api.TaskInfo{event.Task}
	busy := []*api.TaskInfo{f.task("busy-a"), f.task("busy-b"), f.task("busy-c"), f.task("busy-d")}
	checkGates(t, []gate{
		{"Allocatable", 0, func() { require.True(t, f.own.AllocatableOf(f.queue("a"), event.Task)) }},
		{"JobEnqueueable", 0, func() { require.True(t, f.own.admit.JobEnqueueable(next) > 0) }},
		{"JobEnqueued", 0, func() { f.own.admit.JobEnqueued(next) }},
		{"Preemptive", 0, func() { f.own.preemptive(f.queue("a"), nextTask) }},
		{"Allocate and Deallocate", 0, func() { f.own.OnAllocate(event); f.own.onDeallocate(event) }},
		{"Reclaimable", 1, func() {
			victims, _ := f.own.Reclaim.Reclaimable(event.Task, busy)
			require.True(t, len(victims) > 0)
		}},
	})
}
