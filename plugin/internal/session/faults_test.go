package session_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/actions/allocate"
	"volcano.sh/volcano/pkg/scheduler/actions/enqueue"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// fault is an invalid configuration or object next to a good queue.
type fault struct {
	name  string
	scene func(*testbed.Scene)
	edit  func(*api.ClusterInfo)
	hooks func(*testbed.Fixture) // calls hooks of the open session, before any action
	// refused: no pod of the job "bad" runs, in trees alone or everywhere.
	refused, refusedInTrees bool
}

var faults = []fault{
	{name: "the root is missing", scene: func(s *testbed.Scene) { s.Queues = s.Queues[1:] }},
	{name: "the parent does not exist", scene: func(s *testbed.Scene) { s.Queue("bad", "gone").Pods("bad", "bad", "A", 1, 1) }, refusedInTrees: true},
	{name: "the parents form a cycle", scene: func(s *testbed.Scene) {
		s.Queue("bad", "loop").Queue("loop", "bad").Pods("bad", "bad", "A", 1, 1)
	}, refusedInTrees: true},
	{name: "a queue is its own parent", scene: func(s *testbed.Scene) { s.Queue("bad", "bad").Pods("bad", "bad", "A", 1, 1) }, refusedInTrees: true},
	{name: "a job sits in an inner queue", scene: func(s *testbed.Scene) {
		s.Queue("bad", "root").Queue("child", "bad").Pods("bad", "bad", "A", 1, 1)
	}, refusedInTrees: true},
	{name: "a job runs in an inner queue", scene: func(s *testbed.Scene) {
		s.Queue("bad", "root").Queue("child", "bad").Pods("busy", "bad", "A", 1, 1, testbed.On("a")).Pods("bad", "bad", "A", 1, 1)
	}, refusedInTrees: true},
	// Volcano's cache drops such jobs, and its actions skip them.
	{name: "the job's queue was deleted", scene: func(s *testbed.Scene) { s.Pods("orphan", "gone", "A", 1, 1) }},
	{name: "the queue is closed", scene: func(s *testbed.Scene) {
		s.Queue("bad", "root").Pods("bad", "bad", "A", 1, 1)
		s.Queues[len(s.Queues)-1].Closed = true
	}, refused: true},
	{name: "a queue has no object", scene: func(s *testbed.Scene) {
		s.Queue("bad", "root", "quota", `{"A":9}`).Pods("busy", "bad", "A", 1, 1, testbed.On("a")).Pods("bad", "bad", "A", 1, 1)
	}, edit: func(info *api.ClusterInfo) { info.Queues["bad"].Queue = nil }, refused: true},
	{name: "the root has no object", edit: func(info *api.ClusterInfo) { info.Queues["root"].Queue = nil }},
	{name: "a job has no pod group", scene: func(s *testbed.Scene) { s.Pods("bare", "good", "A", 1, 1) },
		edit: func(info *api.ClusterInfo) { info.Jobs["default/bare"].PodGroup = nil },
		hooks: func(f *testbed.Fixture) {
			f.Own.Admit.JobEnqueueable(f.Job("bare"))
			f.Own.Admit.JobEnqueued(f.Job("bare"))
			delete(f.Jobs, "default/bare") // Volcano's actions would panic on it, and its cache never has such a job
		}},
	{name: "a task's job is gone", hooks: func(f *testbed.Fixture) {
		stray := api.NewTaskInfo(cluster.Pod("nowhere", workload.Task{Name: "stray", Request: smallRequest}))
		f.Own.OnAllocate(&framework.Event{Task: stray})
		f.Own.OnDeallocate(&framework.Event{Task: stray})
	}},
	{name: "nodes are lost", scene: func(s *testbed.Scene) {
		s.Queue("bad", "root", "quota", `{"A":50}`).Pods("busy", "bad", "A", 40, 1, testbed.On("lost")).Pods("bad", "bad", "Z", 1, 1)
	}},
	{name: "a refund exceeds what was charged", scene: func(s *testbed.Scene) { s.Pods("busy", "good", "A", 1, 1, testbed.On("a")) }, hooks: func(f *testbed.Fixture) {
		for range 3 {
			f.Own.OnDeallocate(&framework.Event{Task: f.Task("busy-0")})
		}
		f.Own.OnAllocate(&framework.Event{Task: f.Task("busy-0")}) // so that the accounts agree with the tasks again
	}},
	{name: "quantities are negative", scene: func(s *testbed.Scene) {
		less := workload.Resources{"cpu": -9000000, "memory": -1, testbed.GPU: -5}
		s.Queues = append(s.Queues, workload.Queue{Name: "bad", Parent: "root", Capability: less, Deserved: less, Guarantee: less})
	}},
	{name: "quantities are huge", scene: func(s *testbed.Scene) {
		more := workload.Resources{"cpu": 1<<63 - 1, "memory": 1<<63 - 1, testbed.GPU: 1<<63 - 1}
		s.Queues = append(s.Queues, workload.Queue{Name: "bad", Parent: "root", Weight: 1, Capability: more, Deserved: more})
		s.Pods("busy", "bad", "", 1, 1, func(j *workload.Job) { j.Tasks[0].Request, j.MinResources = more, more })
	}},
	{name: "quantities are missing", scene: func(s *testbed.Scene) { s.Queues = append(s.Queues, workload.Queue{Name: "bad", Parent: "root"}) }},
	{name: "annotations are not JSON", scene: func(s *testbed.Scene) {
		s.Queue("bad", "root", "quota", `{"A":`, "deserved", "nothing", "guarantee", "[1,2]").
			Pods("bad", "bad", "A", 1, 1, testbed.CardRequest(`{"A":`, workload.Pending))
	}},
	{name: "annotations have bad keys", scene: func(s *testbed.Scene) {
		s.Queue("bad", "root", "quota", `{"A":1.5,"B":-1,"C":"3","D":null,"":1,"E|F":2,"N":1e40}`, "deserved", `{"A":[]}`, "guarantee", `{"A":{}}`)
	}},
	{name: "cards are unknown, empty, named twice, very long", scene: func(s *testbed.Scene) {
		long := strings.Repeat("x", 4096)
		s.Queue("bad", "root", "quota", `{"`+long+`":1,"Unheard-of":2}`).Pods("unknown", "bad", "Nobody's", 1, 1).
			Pods("empty", "bad", " | ", 1, 1).Pods("twice", "bad", "Z|Z||Z", 1, 1).Pods("long", "bad", long, 1, 1)
	}},
	{name: "a node has nothing", scene: func(s *testbed.Scene) {
		s.Nodes = append(s.Nodes, workload.Node{Name: "empty"}, workload.Node{Name: "odd", Labels: map[string]string{
			"nvidia.com/gpu.product": "", "nvidia.com/gpu.memory": "much", "nvidia.com/gpu.replicas": "-1"}, Allocatable: workload.Resources{testbed.GPU: 1, "nvidia.com/gpu.shared": 1}})
	}},
}

// TestFaults runs all of Volcano's actions in two sessions with a good queue and each of faults. Nothing panics, and
// the pods of the good queue run as they would without the fault.
func TestFaults(t *testing.T) {
	for _, variant := range []arguments.Variant{session.BuilderOf(session.Name).Variant, session.BuilderOf(session.CapacityName).Variant, session.BuilderOf(session.ProportionName).Variant} {
		for _, hierarchy := range []bool{false, true} {
			for _, each := range faults {
				name := variant.Name + "/flat/" + each.name
				if hierarchy {
					name = variant.Name + "/tree/" + each.name
				}
				t.Run(name, func(t *testing.T) { each.run(t, variant, hierarchy) })
			}
		}
	}
}

func (bad *fault) run(t *testing.T, v arguments.Variant, hierarchy bool) {
	t.Helper()
	b := &session.Builder{Variant: v}
	for range 2 {
		s := testbed.NewScene().Node("a", "A", 16).Queue("root", "").Queue("good", "root", "quota", `{"A":3}`).Pods("good", "good", "A", 2, 1)
		if bad.scene != nil {
			bad.scene(s)
		}
		s.Build, s.Hierarchy = b.Build, hierarchy
		f := s.Open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
			if bad.edit != nil {
				bad.edit(info)
			}
		})
		if bad.hooks != nil {
			bad.hooks(f)
		}
		for _, action := range []framework.Action{enqueue.New(), allocate.New(), session.NewReclaim(), session.NewPreempt()} {
			action.Execute(f.Session)
		}
		assert.Contains(t, f.Cache.Bound, "good-0")
		assert.Contains(t, f.Cache.Bound, "good-1")
		if bad.refused || bad.refusedInTrees && hierarchy && !v.Proportion {
			assert.NotContains(t, f.Cache.Bound, "bad-0")
			require.NotNil(t, f.Job("bad"))
			assert.NotEmpty(t, f.Job("bad").JobFitErrors, "the job has no reason")
		}
		f.Close()
		framework.CloseSession(f.Session)
	}
}
