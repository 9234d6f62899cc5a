package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
	"github.com/capacity-card/capacity-card/plugin/release"
)

// TestBadConfiguration puts a good queue next to each kind of invalid queue. The good queue works as before, and the
// bad one is refused with a reason.
func TestBadConfiguration(t *testing.T) {
	tree := []workload.Queue{{Name: "root"}, {Name: "good"}}
	tests := []struct {
		name   string
		queues []workload.Queue
		bad    string // the queue of the bad job
		reason string
		edit   func(*api.ClusterInfo)
	}{
		{"the parent does not exist",
			append(tree[:2:2], workload.Queue{Name: "bad", Parent: "gone"}),
			"bad", `Queue <bad> takes no jobs: queue "bad": the parent queue does not exist: "gone"`, nil},
		{"an ancestor's parent does not exist",
			append(tree[:2:2], workload.Queue{Name: "middle", Parent: "gone"}, workload.Queue{Name: "bad", Parent: "middle"}),
			"bad", `Queue <bad> takes no jobs: queue "middle": the parent queue does not exist: "gone"`, nil},
		{"the parents form a cycle",
			append(tree[:2:2], workload.Queue{Name: "bad", Parent: "loop"}, workload.Queue{Name: "loop", Parent: "bad"}),
			"bad", `Queue <bad> takes no jobs: queue "bad": the parents form a cycle: its parent is "loop"`, nil},
		{"a queue is its own parent",
			append(tree[:2:2], workload.Queue{Name: "bad", Parent: "bad"}),
			"bad", `Queue <bad> takes no jobs: queue "bad": the parents form a cycle: its parent is "bad"`, nil},
		{"a job sits in an inner queue",
			append(tree[:2:2], workload.Queue{Name: "bad"}, workload.Queue{Name: "child", Parent: "bad"}),
			"bad", "Queue <bad> has child queues and takes no jobs itself", nil},
		{"a queue is closed",
			append(tree[:2:2], workload.Queue{Name: "bad", Closed: true}),
			"bad", "Queue <bad> is not open", nil},
		{"a queue has no object",
			append(tree[:2:2], workload.Queue{Name: "bad"}),
			"bad", "Queue <bad> is not open", func(info *api.ClusterInfo) { info.Queues["bad"].Queue = nil }},
		{"the job's queue was deleted", tree, "gone", "The job's queue does not exist", nil},
		{"negative quantities give no room to others",
			append(tree[:2:2], workload.Queue{Name: "bad",
				Guarantee:  workload.Resources{"cpu": -50000, testbed.GPU: -3},
				Capability: workload.Resources{"cpu": 500, testbed.GPU: -3}}),
			"bad", "Queue <bad> has insufficient <cpu> quota: requested <1>, total would be <2>, but capability is <0.5>", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := workload.Cluster{Hierarchy: true, Nodes: oneNode, Queues: test.queues,
				Jobs: []workload.Job{pendingJob("fine", "good", 2), pendingJob("poor", test.bad, 1), runningJob("busy", test.bad, 1)}}
			f := openFixture(t, c, session.BuilderOf(session.CapacityName).Build, func(info *api.ClusterInfo) {
				if test.edit != nil {
					test.edit(info)
				}
			})

			assert.True(t, f.JobEnqueueable(f.Job("fine")), "the good queue is affected")
			assert.True(t, f.Allocatable(f.Queue("good"), f.Task("fine-a")), "the good queue is affected")
			assert.Equal(t, 8000.0, f.Own.Index.RealCapability.Row(f.Own.Index.Lookup("good")).Get(fastres.CPU))

			assert.False(t, f.JobEnqueueable(f.Job("poor")))
			require.Len(t, f.Cache.Events(), 1)
			assert.Contains(t, f.Cache.Events()[0], test.reason)
			assert.Contains(t, f.Job("poor").JobFitErrors, test.reason)
			f.JobEnqueueable(f.Job("poor"))
			assert.Len(t, f.Cache.Events(), 1, "the same reason is recorded twice")

			if queue := f.Queue(test.bad); queue != nil {
				assert.False(t, release.Preemptive(f.Session)(queue, f.Task("poor-a")))
				if test.bad == "bad" && f.Own.Index.Broken(f.Own.Index.Lookup("bad")) != nil {
					assert.False(t, f.Allocatable(queue, f.Task("poor-a")))
					assert.Empty(t, f.Reclaimable(f.Task("fine-a"), []*api.TaskInfo{f.Task("busy-a")}))
				}
			}
			statement := framework.NewStatement(f.Session)
			require.NoError(t, statement.Allocate(f.Task("fine-a"), f.Nodes["node"]))
			require.NoError(t, release.Evict(statement, f.Task("busy-a"), "test"))
			statement.Discard()
		})
	}
}

// TestRootMissing opens a tree without a root queue. A root is added, and the total
// of the cluster bounds it.
func TestRootMissing(t *testing.T) {
	f := openFixture(t, workload.Cluster{Hierarchy: true, Nodes: oneNode,
		Queues: []workload.Queue{{Name: "a"}, {Name: "b", Parent: "root"}},
		Jobs:   []workload.Job{pendingJob("job", "a", 9), runningJob("other", "b", 1)}}, session.NewCapacity)
	assert.True(t, f.JobEnqueueable(f.Job("job")))
	assert.Equal(t, 1000.0, f.Allocated("root").MilliCPU)
	statement := framework.NewStatement(f.Session)
	placed := 0
	for _, task := range f.Job("job").TaskStatusIndex[api.Pending] {
		if f.Allocatable(f.Queue("a"), task) {
			require.NoError(t, statement.Allocate(task, f.Nodes["node"]))
			placed++
		}
	}
	assert.Equal(t, 7, placed, "the added root does not bind")
}

// TestNothingPanics calls every hook with the incomplete objects that Volcano's cache
// may hold, at the highest log level.
func TestNothingPanics(t *testing.T) {
	var verbosity klog.Level
	require.NoError(t, verbosity.Set("5"))
	defer func() { require.NoError(t, verbosity.Set("0")) }()
	for _, build := range []framework.PluginBuilder{session.New, session.NewCapacity, session.NewProportion} {
		t.Run(build(nil).Name(), func(t *testing.T) {
			f := openFixture(t, workload.Cluster{Hierarchy: true, Nodes: oneNode,
				Queues: []workload.Queue{{Name: "root"}, {Name: "a"}, {Name: "hollow"}},
				Jobs:   []workload.Job{runningJob("job", "a", 2), pendingJob("bare", "a", 1), runningJob("odd", "hollow", 2)}}, build,
				func(info *api.ClusterInfo) {
					info.Jobs["default/bare"].PodGroup, info.Queues["hollow"].Queue = nil, nil
				})

			stray := api.NewTaskInfo(cluster.Pod("nowhere", workload.Task{Name: "stray", Request: smallRequest}))
			stray.Job = "default/nowhere"
			unknown := api.NewTaskInfo(cluster.Pod("job", workload.Task{Name: "unknown",
				Request: workload.Resources{"example.com/unheard-of": 1}}))
			unknown.Job = f.Job("job").UID

			assert.True(t, f.JobEnqueueable(f.Job("bare")), "a job without a PodGroup requests nothing")
			f.JobEnqueued(f.Job("bare"))
			tasks := []*api.TaskInfo{stray, unknown, f.Task("job-a"), f.Task("odd-a")}
			for _, task := range tasks {
				for _, queue := range []string{"a", "hollow"} {
					f.Allocatable(f.Queue(queue), task)
					release.Preemptive(f.Session)(f.Queue(queue), task)
				}
				victims := []*api.TaskInfo{stray, unknown, f.Task("job-b"), f.Task("job-b"), f.Task("job-b"), f.Task("odd-b")}
				f.Reclaimable(task, victims)
				f.Preemptable(task, victims)
				require.NoError(t, f.PrePredicateFn(task))
				state := f.GetCycleState(task.UID)
				_ = f.SimulateAddTaskFn(t.Context(), state, task, task, nil)
				_ = f.SimulateRemoveTaskFn(t.Context(), state, task, task, nil)
				for _, queue := range []string{"a", "hollow"} {
					f.SimulateAllocatableFn(t.Context(), state, f.Queue(queue), task)
				}
				f.Own.OnAllocate(&framework.Event{Task: task})
				f.Own.OnDeallocate(&framework.Event{Task: task})
			}
			for _, queue := range []*api.QueueInfo{f.Queue("a"), f.Queue("hollow"), {UID: "nowhere"}} {
				f.Overused(queue)
			}
			assert.False(t, f.Own.AllocatableOf(f.Queue("hollow"), f.Task("job-a")))
			assert.False(t, f.Own.AllocatableOf(nil, f.Task("job-a")))
			assert.False(t, f.Own.Preemptive(nil, []*api.TaskInfo{f.Task("job-a")}))
			assert.Equal(t, util.Reject, f.Own.Admit.JobEnqueueable(&api.JobInfo{Queue: "nowhere"}))
			for _, other := range []string{"a", "hollow", "root"} {
				f.QueueOrderFn(f.Queue("a"), f.Queue(other))
				f.Own.VictimQueueOrder(f.Queue("a"), f.Queue(other), f.Queue("hollow"))
			}
			if f.Own.Variant.Scalars {
				assert.False(t, f.Allocatable(f.Queue("a"), unknown), "no queue has a quota of it")
			}
		})
	}
}

// TestSimulateNeedsASnapshot refuses cycle states without a snapshot, or with a
// snapshot of an earlier session.
func TestSimulateNeedsASnapshot(t *testing.T) {
	c := workload.Cluster{Nodes: oneNode, Queues: []workload.Queue{{Name: "a"}}, Jobs: []workload.Job{runningJob("job", "a", 1)}}
	f := openFixture(t, c, session.NewCapacity)
	task := f.Task("job-a")
	assert.ErrorIs(t, f.SimulateAddTaskFn(t.Context(), f.GetCycleState(task.UID), task, task, nil), session.ErrNoSnapshot)

	require.NoError(t, f.PrePredicateFn(task))
	state := f.GetCycleState(task.UID)
	require.NoError(t, f.SimulateAddTaskFn(t.Context(), state, task, task, nil))
	f.Own.Index.Reset(f.Own.Index.Tree, f.Own.Index.Dims())
	assert.ErrorIs(t, f.SimulateAddTaskFn(t.Context(), state, task, task, nil), session.ErrNoSnapshot)
	assert.False(t, f.SimulateAllocatableFn(t.Context(), state, f.Queue("a"), task))
}

// TestRefundsSaturate refunds more than was charged. No account becomes negative.
func TestRefundsSaturate(t *testing.T) {
	f := openFixture(t, workload.Cluster{Hierarchy: true, Nodes: oneNode,
		Queues: []workload.Queue{{Name: "root"}, {Name: "a"}, {Name: "b"}},
		Jobs:   []workload.Job{runningJob("mine", "a", 1), runningJob("other", "b", 2)}}, session.NewCapacity)
	for range 3 {
		f.Own.OnDeallocate(&framework.Event{Task: f.Task("mine-a")})
	}
	assert.Zero(t, f.Allocated("a").MilliCPU)
	assert.Equal(t, 2000.0, f.Allocated("root").MilliCPU, "the parent is no longer the sum of its children")
}

// TestMetricsOfEvents deallocates a task. The series of its queue change at once, and the series of the ancestors
// change when the session closes.
func TestMetricsOfEvents(t *testing.T) {
	c := workload.Cluster{Hierarchy: true, Nodes: oneNode,
		Queues: []workload.Queue{{Name: "root"}, {Name: "team"}, {Name: "leaf", Parent: "team", Deserved: workload.Resources{"cpu": 4000}}},
		Jobs:   []workload.Job{runningJob("job", "leaf", 3)}}
	testbed.DropMetrics(c.Queues)
	f := openFixture(t, c, session.NewCapacity)
	cpus := func() (cpus [3]float64) {
		for i, q := range c.Queues {
			cpus[i] = testbed.OurSeries("allocated_milli_cpu")[q.Name]
		}
		return cpus
	}
	share := func() float64 { return testbed.OurSeries("share")["leaf"] }
	assert.Equal(t, [3]float64{3000, 3000, 3000}, cpus())
	assert.Equal(t, 0.75, share())

	f.Own.OnDeallocate(&framework.Event{Task: f.Task("job-a")})
	assert.Equal(t, [3]float64{3000, 3000, 2000}, cpus())
	assert.Equal(t, 0.5, share())

	framework.CloseSession(f.Session)
	assert.Equal(t, [3]float64{2000, 2000, 2000}, cpus())
}

// TestMinimumOfUnknownResources enqueues jobs with a minimum that names resources that nothing in the session has. The
// vectors do not have dimensions for all of them.
func TestMinimumOfUnknownResources(t *testing.T) {
	job := pendingJob("job", "a", 0)
	job.MinResources = workload.Resources{"cpu": 1}
	for i := range 40 {
		job.MinResources[fmt.Sprintf("example.com/unheard-of-%d", i)] = 1
	}
	one := pendingJob("one", "a", 0)
	one.MinResources = workload.Resources{"example.com/never": 2}
	c := workload.Cluster{Nodes: oneNode, Queues: []workload.Queue{{Name: "a"}}, Jobs: []workload.Job{job, one}}
	f := openFixture(t, c, session.NewCapacity)
	assert.False(t, f.JobEnqueueable(f.Job("one")))
	assert.Contains(t, f.Job("one").JobFitErrors,
		"Queue <a> has insufficient <example.com/never> quota: requested <2>, total would be <2>, but capability is <0>")
	assert.False(t, f.JobEnqueueable(f.Job("job")))
	assert.Contains(t, f.Job("job").JobFitErrors, "Queue <a> has insufficient <example.com/unheard-of-0> quota", "the first names get the spare dimensions")
	f.JobEnqueued(f.Job("job"))
}

// TestNodesLost has more allocated than the cluster has. Nothing more is admitted,
// and nothing panics.
func TestNodesLost(t *testing.T) {
	for _, hierarchy := range []bool{false, true} {
		c := workload.Cluster{Hierarchy: hierarchy, Queues: []workload.Queue{{Name: "root"}, {Name: "a"}},
			Jobs: []workload.Job{runningJob("job", "a", 3), pendingJob("next", "a", 1)}}
		f := openFixture(t, c, session.NewCapacity)
		assert.False(t, f.Allocatable(f.Queue("a"), f.Task("next-a")))
		assert.Equal(t, hierarchy, f.JobEnqueueable(f.Job("next")), "two of the three pods are elastic; below a root, what is gone does not count")
		assert.Equal(t, 3000.0, f.Allocated("a").MilliCPU)
	}
}

// TestNodesGoneInATree loses 40 of 72 GPUs with their pods. The queues can use the other 32;
// the pods stay charged to their own queue. When they are gone, so is their allowance.
func TestNodesGoneInATree(t *testing.T) {
	s := testbed.NewScene().Node("lost", "A", 40).Node("left", "A", 32).Queue("root", "").Queue("x", "root").Queue("y", "root").
		Pods("run", "x", "", 40, 1, testbed.On("lost")).Pods("x", "x", "", 1, 20).Pods("y", "y", "", 1, 20).Pods("more", "y", "", 20, 1)
	withoutCards(s)
	s.Queues[1].Capability = workload.Resources{testbed.GPU: 40}
	run := testbed.NewSequence(t, s)
	assert.False(t, run.Open(t).Allocatable(run.Last.Queue("x"), run.Last.Task("x-0")), "x has its 40")
	s.Nodes = s.Nodes[1:]
	for range 2 {
		f := run.Open(t)
		assert.False(t, f.Allocatable(f.Queue("x"), f.Task("x-0")), "its pods stay charged")
		assert.True(t, f.Allocatable(f.Queue("y"), f.Task("y-0")))
	}
	f := run.Open(t).Schedule(t)
	assert.Equal(t, 32, 20*f.Placed("y")["A"]+f.Placed("more")["A"], "all that is left")
	s.Jobs = s.Jobs[1:]
	f = run.Open(t)
	assert.Equal(t, 32000.0, f.Own.Index.RealCapability.Row(f.Own.Index.Root()).Get(f.Own.Memory.Names.Intern(testbed.GPU)))

	restarted := testbed.NewSequence(t, s)
	s.Jobs[0] = testbed.NewScene().Pods("run", "x", "", 40, 1, testbed.On("lost")).Jobs[0]
	f = restarted.Open(t)
	assert.True(t, f.Allocatable(f.Queue("y"), f.Task("y-0")), "after a restart")
}

// TestNodesGoneOfAQueueWithoutAPlace loses a node with pods of a queue with a missing parent. The pods count nowhere,
// so they do not raise the bound of the root above the resources of the nodes.
func TestNodesGoneOfAQueueWithoutAPlace(t *testing.T) {
	s := testbed.NewScene().Node("lost", "A", 40).Node("left", "A", 32).Queue("root", "").Queue("x", "root").Queue("orphan", "missing").
		Pods("run", "orphan", "", 40, 1, testbed.On("lost"))
	withoutCards(s)
	run := testbed.NewSequence(t, s)
	for _, want := range []float64{72000, 32000} {
		f := run.Open(t)
		assert.Equal(t, want, f.Own.Index.RealCapability.At(f.Own.Index.Root(), f.Own.Memory.Names.Intern(testbed.GPU)))
		s.Nodes = s.Nodes[len(s.Nodes)-1:]
	}
}

// TestNodesGoneWhileNothingBoundsThem has a node come and go with a pod while no guarantee is kept.
func TestNodesGoneWhileNothingBoundsThem(t *testing.T) {
	s := testbed.NewScene().Node("a", "A", 4).Queue("q", "").Pods("runs", "q", "", 1, 1, testbed.On("a"))
	withoutCards(s)
	s.Hierarchy = false
	run := testbed.NewSequence(t, s)
	open := func(root string) bool {
		s.Arguments = framework.Arguments{arguments.RootCapability: root}
		f := run.Open(t)
		defer framework.CloseSession(f.Session)
		return f.Own.Intake.Gone
	}
	assert.False(t, open("unlimited"))
	s.Node("comes", "A", 4).Pods("left", "q", "", 1, 1, testbed.On("comes"))
	assert.False(t, open("total"))
	s.Nodes = s.Nodes[:1]
	assert.False(t, open("total"), "nobody asks")
	assert.True(t, open("unlimited"))
}

// TestVolcanoClosesTheSession closes sessions with broken queues. Volcano's own code
// walks from each queue up to the root when a session closes; with these queues it
// would panic or never return.
func TestVolcanoClosesTheSession(t *testing.T) {
	for _, build := range []framework.PluginBuilder{session.New, session.NewCapacity, session.NewProportion} {
		for _, hierarchy := range []bool{false, true} {
			f := openFixture(t, workload.Cluster{Hierarchy: hierarchy, Nodes: oneNode,
				Queues: []workload.Queue{{Name: "root"}, {Name: "orphan", Parent: "gone"}, {Name: "tail", Parent: "loop"},
					{Name: "loop", Parent: "pool"}, {Name: "pool", Parent: "loop"}},
				Jobs: []workload.Job{runningJob("one", "orphan", 1), runningJob("two", "tail", 1), runningJob("three", "pool", 1)}}, build)
			orphan := f.Queue("orphan").Queue
			framework.CloseSession(f.Session)
			assert.Equal(t, "gone", orphan.Spec.Parent, "the cache's own object was changed")
		}
	}
}

// TestBoundsFollowConfiguration opens sessions one after the other, as Volcano does. Each session sees the changes
// since the one before.
func TestBoundsFollowConfiguration(t *testing.T) {
	c := workload.Cluster{Hierarchy: true, Nodes: oneNode, Queues: []workload.Queue{{Name: "root"}, {Name: "a"}, {Name: "b"}}}
	var objects []*scheduling.Queue
	for _, q := range c.Queues {
		object := cluster.Queue(q, "/bounds")
		object.Generation = 1
		objects = append(objects, object)
	}
	m, with := session.NewMemory(), arguments.Settings{}
	bound := func(change func([]*scheduling.Queue, *framework.Session)) float64 {
		info, err := cluster.Build(workload.Cluster{Nodes: c.Nodes}, "")
		require.NoError(t, err)
		ssn := offline.Open(offline.NewCache(info), offline.Tiers(true, "none"))
		ssn.Tiers = offline.Tiers(true, session.CapacityName)
		change(objects, ssn)
		for _, object := range objects {
			ssn.Queues[api.QueueID(object.Name)] = api.NewQueueInfo(object)
		}
		o := session.Open(ssn, session.BuilderOf(session.CapacityName).Variant, with, m)
		return o.Index.RealCapability.Row(o.Index.Lookup("a")).Get(fastres.CPU)
	}
	unchanged := func([]*scheduling.Queue, *framework.Session) {}
	update := func(q int, change func(*scheduling.Queue)) func([]*scheduling.Queue, *framework.Session) {
		return func(objects []*scheduling.Queue, _ *framework.Session) {
			objects[q] = objects[q].DeepCopy()
			change(objects[q])
		}
	}
	cores := func(n string) v1.ResourceList { return v1.ResourceList{v1.ResourceCPU: resource.MustParse(n)} }

	assert.Equal(t, 8000.0, bound(unchanged))
	assert.Equal(t, 8000.0, bound(unchanged))
	assert.Equal(t, 8000.0, bound(update(1, func(q *scheduling.Queue) { q.Status.Allocated = cores("5") })))
	assert.Equal(t, 3000.0, bound(update(1, func(q *scheduling.Queue) { q.Generation++; q.Spec.Capability = cores("3") })))
	assert.Equal(t, 3000.0, bound(unchanged))
	assert.Equal(t, 2000.0, bound(update(2, func(q *scheduling.Queue) { q.Generation++; q.Spec.Guarantee.Resource = cores("6") })))
	assert.Equal(t, 2000.0, bound(unchanged))
	assert.Equal(t, 3000.0, bound(func(_ []*scheduling.Queue, ssn *framework.Session) { ssn.TotalResource.MilliCPU = 9000 }))
	assert.Equal(t, 1000.0, bound(update(1, func(q *scheduling.Queue) { q.UID = "another"; q.Spec.Capability = cores("1") })))
	assert.Equal(t, 2000.0, bound(update(1, func(q *scheduling.Queue) { q.Generation = 0; q.Spec.Capability = cores("2") })))
	assert.Equal(t, 1500.0, bound(update(1, func(q *scheduling.Queue) { q.Spec.Capability = cores("1500m") })),
		"objects without a generation are compared by address")
	assert.Equal(t, 2000.0, bound(update(1, func(q *scheduling.Queue) { q.Spec.Capability = nil })))
	with.Bounds.UnsetCapability = intake.UnsetZero
	assert.Equal(t, 0.0, bound(unchanged), "the argument changed")
}

// TestEventsFollowReasons refuses one job in several sessions. An event is recorded
// when the reason changes, not when only its numbers do.
func TestEventsFollowReasons(t *testing.T) {
	m := session.NewMemory()
	refuse := func(capability workload.Resources) []string {
		c := workload.Cluster{Nodes: oneNode, Jobs: []workload.Job{pendingJob("job", "a", 0)},
			Queues: []workload.Queue{{Name: "a", Capability: capability}}}
		info, err := cluster.Build(c, "/events")
		require.NoError(t, err)
		cache := offline.NewCache(info)
		ssn := offline.Open(cache, nil)
		o := session.Open(ssn, session.BuilderOf(session.CapacityName).Variant, arguments.Settings{}, m)
		o.Admit.JobEnqueueable(ssn.Jobs["default/job"])
		return cache.Events()
	}
	const opening = "Normal Unschedulable queue resource quota insufficient: insufficient "
	assert.Equal(t, []string{opening + "cpu; Queue <a> has insufficient <cpu> quota: " +
		"requested <1>, total would be <1>, but capability is <0.5>"}, refuse(workload.Resources{"cpu": 500}))
	assert.Empty(t, refuse(workload.Resources{"cpu": 250}))
	assert.Equal(t, []string{opening + "cpu, insufficient memory; Queue <a> has insufficient <cpu> quota: " +
		"requested <1>, total would be <1>, but capability is <0.25>; Queue <a> has insufficient <memory> quota: " +
		"requested <1024Mi>, total would be <1024Mi>, but capability is <512Mi>"},
		refuse(workload.Resources{"cpu": 250, "memory": 512 << 20}))
	assert.Empty(t, refuse(nil))
	assert.Empty(t, refuse(workload.Resources{"cpu": 250, "memory": 512 << 20}))
}
