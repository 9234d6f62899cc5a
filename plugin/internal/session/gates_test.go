//go:build !invariants && !race

package session_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
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
	f := openFixture(t, deep(), session.NewCapacity)
	var queueA, queueB any = f.Queue("a"), f.Queue("b")
	var next any = f.Job("next")
	event := &framework.Event{Task: f.Task("next-a")}
	nextTask := []*api.TaskInfo{event.Task}
	busy := []*api.TaskInfo{f.Task("busy-a"), f.Task("busy-b"), f.Task("busy-c"), f.Task("busy-d")}
	checkGates(t, []gate{
		{"Allocatable", 0, func() { require.True(t, f.Own.AllocatableOf(f.Queue("a"), event.Task)) }},
		{"JobEnqueueable", 0, func() { f.Own.Admit.JobEnqueueable(next) }},
		{"JobEnqueued", 0, func() { f.Own.Admit.JobEnqueued(next) }},
		{"Preemptive", 0, func() { f.Own.Preemptive(f.Queue("a"), nextTask) }},
		{"QueueOrder", 0, func() { f.Own.QueueOrder(queueA, queueB) }},
		{"VictimQueueOrder", 0, func() { f.Own.VictimQueueOrder(queueA, queueB, queueA) }},
		{"Allocate and Deallocate", 0, func() { f.Own.OnAllocate(event); f.Own.OnDeallocate(event) }},
		{"Reclaimable", 1, func() { f.Own.Reclaim.Reclaimable(event.Task, busy) }},
		{"the snapshot of a PrePredicate", 1, func() { _ = session.NewWhatIf(f.Own.Index.Version()) }},
	})
}

// TestCardHooksDoNotAllocate is the same where cards count.
func TestCardHooksDoNotAllocate(t *testing.T) { checkCardHooks(t, "{}") }

// TestCardHooksDoNotAllocateForBudgets is the same with budgets of card-hours.
func TestCardHooksDoNotAllocateForBudgets(t *testing.T) {
	checkCardHooks(t, `{"A":"900h/day","B":"900h/30d sliding"}`)
}

func checkCardHooks(t *testing.T, budgets string) {
	s := testbed.NewScene().Node("a", "A", 4).Node("b", "B", 8).Queue("root", "").
		Queue("mine", "root", "quota", `{"A":4,"B":4}`, "deserved", `{"A":4,"B":4}`, "guarantee", `{"A":0}`, "budget", budgets).
		Queue("other", "root", "quota", `{"A":8}`, "deserved", `{"A":1}`, "guarantee", `{"A":0}`).
		Pods("one", "mine", "A", 1, 1).Pods("either", "mine", "A|B", 2, 1, testbed.Members(2)).
		Pods("reserved", "mine", "A|B", 2, 1, testbed.Members(2), testbed.InPhase(workload.Inqueue)).Pods("busy", "other", "A", 4, 1, testbed.On("a")).
		Pods("refused", "mine", "", 0, 0, testbed.CardRequest(`{"A":9}`, workload.Pending))
	f := s.Open(t)
	var one, either, refused any = f.Job("one"), f.Job("either"), f.Job("refused")
	placed := f.Task("one-0")
	placed.NodeName = "a"
	event, eitherTask := &framework.Event{Task: placed}, []*api.TaskInfo{f.Task("either-0")}
	var busy []*api.TaskInfo
	for _, each := range f.Job("busy").Tasks {
		busy = append(busy, each)
	}
	checkGates(t, []gate{
		{"Allocatable", 0, func() { require.True(t, f.Own.AllocatableOf(f.Queue("mine"), f.Task("either-0"))) }},
		{"Predicate", 0, func() { require.NoError(t, f.Own.Predicate(f.Job("either").Tasks["default-either-0"], f.Nodes["b"])) }},
		{"NodeOrder", 0, func() { _, _ = f.Own.NodeOrder(f.Job("either").Tasks["default-either-0"], f.Nodes["b"]) }},
		{"JobEnqueueable of one card", 0, func() { require.True(t, f.Own.Admit.JobEnqueueable(one) > 0) }},
		{"JobEnqueueable of a list", 0, func() { require.True(t, f.Own.Admit.JobEnqueueable(either) > 0) }},
		{"JobEnqueueable of a job that stays refused", 0, func() { require.True(t, f.Own.Admit.JobEnqueueable(refused) < 0) }},
		{"the count of jobs that wait", 0, func() { f.Own.Memory.Journal().Close(f.Session.Jobs) }},
		{"Preemptive", 0, func() { require.True(t, f.Own.Preemptive(f.Queue("mine"), eitherTask)) }},
		{"Allocate and Deallocate", 0, func() { f.Own.OnAllocate(event); f.Own.OnDeallocate(event) }},
		{"Reclaimable", 1, func() {
			victims, _ := f.Own.Reclaim.Reclaimable(placed, busy)
			require.True(t, len(victims) > 0)
		}},
	})
}

// TestQueueGateHooksDoNotAllocate is the same where pods have reservations.
func TestQueueGateHooksDoNotAllocate(t *testing.T) {
	f := testbed.NewScene().Node("a", "A", 8).Node("b", "B", 8).Queue("root", "").Queue("q", "root", "quota", `{"A":8,"B":8}`).
		Pods("gate", "q", "A|B", 2, 1, testbed.OptedIn(true)).Pods("plain", "q", "A", 1, 1).Open(t)
	with := f.Own.Settings
	with.Gates = true
	s := session.Open(f.Session, f.Own.Variant, with, session.NewMemory())
	require.Equal(t, 2, s.Gates.Len())
	held, plain := f.Task("gate-0"), f.Task("plain-0")
	placed := *held
	placed.NodeName = "a"
	event := &framework.Event{Task: &placed}
	for name, call := range map[string]func(){
		"Allocatable of a reserved pod":  func() { require.True(t, s.AllocatableOf(f.Queue("q"), held)) },
		"Allocatable of another pod":     func() { require.True(t, s.AllocatableOf(f.Queue("q"), plain)) },
		"Predicate":                      func() { require.NoError(t, s.Predicate(held, f.Nodes["b"])) },
		"Allocate and Deallocate":        func() { s.OnAllocate(event); s.OnDeallocate(event) },
		"Predicate, without reservation": func() { require.NoError(t, s.Predicate(plain, f.Nodes["a"])) },
	} {
		call()
		assert.Zero(t, testing.AllocsPerRun(200, call), name)
	}
	require.Equal(t, 2, s.Gates.Len())
}

// TestOpeningAllocatesTheSame opens sessions of the shapes S and XL, the latter with
// fewer jobs. Both have the same number of allocations.
func TestOpeningAllocatesTheSame(t *testing.T) {
	open := func(shape workload.Shape, with arguments.Settings) float64 {
		f := openFixture(t, shape.Make(1), session.NewCapacity)
		m := session.NewMemory()
		once := func() { session.Open(f.Session, f.Own.Variant, with, m) }
		once()
		once()
		return testing.AllocsPerRun(20, once)
	}
	// Otherwise later tests would gather the series of thousands of queues.
	t.Cleanup(func() {
		session.CapacityBuilder.Forget()
		testbed.Reset(report.UpstreamSeries())
		testbed.Reset(report.AddedSeries())
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
	f := openFixture(t, workload.M.Make(1), session.NewCapacity)
	open := func(processors int) uint64 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		m := session.NewMemory()
		once := func() { session.Open(f.Session, f.Own.Variant, arguments.Settings{}, m) }
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
		s := testbed.NewScene().Queue("root", "")
		for i := range 1 + queues/3 {
			s.Node(fmt.Sprintf("a%d", i), "A", 8).Node(fmt.Sprintf("b%d", i), "B", 8)
		}
		for i := range queues {
			s.Queue(fmt.Sprintf("q%d", i), "root", "quota", `{"A":4,"B":4}`)
		}
		for i := range jobs {
			queue := fmt.Sprintf("q%d", i%queues)
			s.Pods(fmt.Sprintf("run%d", i), queue, "A|B", 3, 1, testbed.On("a0")).
				Pods(fmt.Sprintf("wait%d", i), queue, "A|B", 3, 1, testbed.Members(2), testbed.InPhase(workload.Inqueue)).
				Pods(fmt.Sprintf("later%d", i), queue, "", 0, 0, testbed.CardRequest(`{"A|B":2}`, workload.Inqueue))
		}
		f := s.Open(t)
		m := session.NewMemory()
		once := func() { session.Open(f.Session, f.Own.Variant, f.Own.Settings, m) }
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
	s := &testbed.Scene{Cluster: deep(), Build: session.NewCapacity, Arguments: framework.Arguments{"reclaimCompares": "damped=9"}}
	f := s.Open(t)
	var queueA, queueB any = f.Queue("a"), f.Queue("b")
	busy := []*api.TaskInfo{f.Task("busy-a"), f.Task("busy-b"), f.Task("busy-c"), f.Task("busy-d")}
	next := f.Task("next-a")
	assert.Zero(t, testing.AllocsPerRun(200, func() { f.Own.QueueOrder(queueA, queueB) }))
	assert.LessOrEqual(t, testing.AllocsPerRun(200, func() {
		victims, _ := f.Own.Reclaim.Reclaimable(next, busy)
		require.True(t, len(victims) > 0)
	}), 1.0)
}

// TestHooksWithPoliciesDoNotAllocate is TestHooksDoNotAllocate where all policies are set.
func TestHooksWithPoliciesDoNotAllocate(t *testing.T) {
	s := &testbed.Scene{Cluster: deep(), Build: session.NewCapacity, Arguments: framework.Arguments{arguments.ReclaimByClass: true,
		arguments.OwnerClasses: map[string]any{"ReplicaSet": "inference", "Job": "training"}}}
	s.Annotate("root", policy.MaxJobsKey, "1000000", policy.OvercommitFactorKey, "1000000", policy.InqueueTimeoutKey, "30m", policy.OrderKey, "displace",
		card.HolderKey, `{"namespace":{"*":{"cpu":"100M","memory":"1Ei"}}}`, policy.ReclaimFenceKey, "true", policy.MinRuntimeKey, "reclaim=0s,preempt=1s",
		policy.ReclaimDelayKey, "0s")
	for i := range s.Jobs {
		testbed.Serving("inference")(&s.Jobs[i])
		if s.Jobs[i].Phase == workload.Running {
			testbed.Serving("training")(&s.Jobs[i])
		}
	}
	f := s.Open(t)
	require.True(t, f.Own.HasPolicies())
	require.NotNil(t, f.Own.Intake.Holders)
	var next any = f.Job("next")
	event := &framework.Event{Task: f.Task("next-a")}
	nextTask := []*api.TaskInfo{event.Task}
	busy := []*api.TaskInfo{f.Task("busy-a"), f.Task("busy-b"), f.Task("busy-c"), f.Task("busy-d")}
	checkGates(t, []gate{
		{"Allocatable", 0, func() { require.True(t, f.Own.AllocatableOf(f.Queue("a"), event.Task)) }},
		{"JobEnqueueable", 0, func() { require.True(t, f.Own.Admit.JobEnqueueable(next) > 0) }},
		{"JobEnqueued", 0, func() { f.Own.Admit.JobEnqueued(next) }},
		{"Preemptive", 0, func() { f.Own.Preemptive(f.Queue("a"), nextTask) }},
		{"Allocate and Deallocate", 0, func() { f.Own.OnAllocate(event); f.Own.OnDeallocate(event) }},
		{"Reclaimable", 1, func() {
			victims, _ := f.Own.Reclaim.Reclaimable(event.Task, busy)
			require.True(t, len(victims) > 0)
		}},
	})
}
