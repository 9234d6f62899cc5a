package session

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
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// fault is an invalid configuration or object beside a good queue.
type fault struct {
	name  string
	scene func(*scene)
	edit  func(*api.ClusterInfo)
	hooks func(*fixture) // calls hooks of the open session, before any action
	// refused: no pod of the job "bad" runs, in trees alone or everywhere.
	refused, refusedInTrees bool
}

var faults = []fault{
	{name: "the root is missing", scene: func(s *scene) { s.Queues = s.Queues[1:] }},
	{name: "the parent does not exist", scene: func(s *scene) { s.queue("bad", "gone").pods("bad", "bad", "A", 1, 1) }, refusedInTrees: true},
	{name: "the parents form a cycle", scene: func(s *scene) {
		s.queue("bad", "loop").queue("loop", "bad").pods("bad", "bad", "A", 1, 1)
	}, refusedInTrees: true},
	{name: "a queue is its own parent", scene: func(s *scene) { s.queue("bad", "bad").pods("bad", "bad", "A", 1, 1) }, refusedInTrees: true},
	{name: "a job sits in an inner queue", scene: func(s *scene) {
		s.queue("bad", "root").queue("child", "bad").pods("bad", "bad", "A", 1, 1)
	}, refusedInTrees: true},
	{name: "a job runs in an inner queue", scene: func(s *scene) {
		s.queue("bad", "root").queue("child", "bad").pods("busy", "bad", "A", 1, 1, on("a")).pods("bad", "bad", "A", 1, 1)
	}, refusedInTrees: true},
	// Volcano's cache drops such jobs, and its actions skip them.
	{name: "the job's queue was deleted", scene: func(s *scene) { s.pods("orphan", "gone", "A", 1, 1) }},
	{name: "the queue is closed", scene: func(s *scene) {
		s.queue("bad", "root").pods("bad", "bad", "A", 1, 1)
		s.Queues[len(s.Queues)-1].Closed = true
	}, refused: true},
	{name: "a queue has no object", scene: func(s *scene) {
		s.queue("bad", "root", "quota", `{"A":9}`).pods("busy", "bad", "A", 1, 1, on("a")).pods("bad", "bad", "A", 1, 1)
	}, edit: func(info *api.ClusterInfo) { info.Queues["bad"].Queue = nil }, refused: true},
	{name: "the root has no object", edit: func(info *api.ClusterInfo) { info.Queues["root"].Queue = nil }},
	{name: "a job has no pod group", scene: func(s *scene) { s.pods("bare", "good", "A", 1, 1) },
		edit: func(info *api.ClusterInfo) { info.Jobs["default/bare"].PodGroup = nil },
		hooks: func(f *fixture) {
			f.own.admit.JobEnqueueable(f.job("bare"))
			f.own.admit.JobEnqueued(f.job("bare"))
			delete(f.Jobs, "default/bare") // Volcano's actions would panic on it, and its cache never has such a job
		}},
	{name: "a task's job is gone", hooks: func(f *fixture) {
		stray := api.NewTaskInfo(cluster.Pod("nowhere", workload.Task{Name: "stray", Request: small}))
		f.own.OnAllocate(&framework.Event{Task: stray})
		f.own.onDeallocate(&framework.Event{Task: stray})
	}},
	{name: "nodes are lost", scene: func(s *scene) {
		s.queue("bad", "root", "quota", `{"A":50}`).pods("busy", "bad", "A", 40, 1, on("lost")).pods("bad", "bad", "Z", 1, 1)
	}},
	{name: "a refund exceeds what was charged", scene: func(s *scene) { s.pods("busy", "good", "A", 1, 1, on("a")) }, hooks: func(f *fixture) {
		for range 3 {
			f.own.onDeallocate(&framework.Event{Task: f.task("busy-0")})
		}
		f.own.OnAllocate(&framework.Event{Task: f.task("busy-0")}) // so that the accounts agree with the tasks again
	}},
	{name: "quantities are negative", scene: func(s *scene) {
		less := workload.Resources{"cpu": -9000000, "memory": -1, gpuName: -5}
		s.Queues = append(s.Queues, workload.Queue{Name: "bad", Parent: "root", Capability: less, Deserved: less, Guarantee: less})
	}},
	{name: "quantities are huge", scene: func(s *scene) {
		more := workload.Resources{"cpu": 1<<63 - 1, "memory": 1<<63 - 1, gpuName: 1<<63 - 1}
		s.Queues = append(s.Queues, workload.Queue{Name: "bad", Parent: "root", Weight: 1, Capability: more, Deserved: more})
		s.pods("busy", "bad", "", 1, 1, func(j *workload.Job) { j.Tasks[0].Request, j.MinResources = more, more })
	}},
	{name: "quantities are missing", scene: func(s *scene) { s.Queues = append(s.Queues, workload.Queue{Name: "bad", Parent: "root"}) }},
	{name: "annotations are not JSON", scene: func(s *scene) {
		s.queue("bad", "root", "quota", `{"A":`, "deserved", "nothing", "guarantee", "[1,2]").
			pods("bad", "bad", "A", 1, 1, cardRequest(`{"A":`, workload.Pending))
	}},
	{name: "annotations have bad keys", scene: func(s *scene) {
		s.queue("bad", "root", "quota", `{"A":1.5,"B":-1,"C":"3","D":null,"":1,"E|F":2,"N":1e40}`, "deserved", `{"A":[]}`, "guarantee", `{"A":{}}`)
	}},
	{name: "cards are unknown, empty, named twice, very long", scene: func(s *scene) {
		long := strings.Repeat("x", 4096)
		s.queue("bad", "root", "quota", `{"`+long+`":1,"Unheard-of":2}`).pods("unknown", "bad", "Nobody's", 1, 1).
			pods("empty", "bad", " | ", 1, 1).pods("twice", "bad", "Z|Z||Z", 1, 1).pods("long", "bad", long, 1, 1)
	}},
	{name: "a node has nothing", scene: func(s *scene) {
		s.Nodes = append(s.Nodes, workload.Node{Name: "empty"}, workload.Node{Name: "odd", Labels: map[string]string{
			"nvidia.com/gpu.product": "", "nvidia.com/gpu.memory": "much", "nvidia.com/gpu.replicas": "-1"}, Allocatable: workload.Resources{gpuName: 1, "nvidia.com/gpu.shared": 1}})
	}},
}

// TestFaults runs all of Volcano's actions in two sessions with each of faults beside
// a good queue. Nothing panics, and the pods of the good queue run as they would alone.
func TestFaults(t *testing.T) {
	for _, variant := range []arguments.Variant{cardBuilder.Variant, capacityBuilder.Variant, proportionBuilder.Variant} {
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
	b := &Builder{Variant: v}
	for range 2 {
		s := newScene().node("a", "A", 16).queue("root", "").queue("good", "root", "quota", `{"A":3}`).pods("good", "good", "A", 2, 1)
		if bad.scene != nil {
			bad.scene(s)
		}
		s.build, s.Hierarchy = b.Build, hierarchy
		f := s.open(t, func(info *api.ClusterInfo, _ *offline.Cache) {
			if bad.edit != nil {
				bad.edit(info)
			}
		})
		if bad.hooks != nil {
			bad.hooks(f)
		}
		for _, action := range []framework.Action{enqueue.New(), allocate.New(), NewReclaim(), NewPreempt()} {
			action.Execute(f.Session)
		}
		assert.Contains(t, f.cache.Bound, "good-0")
		assert.Contains(t, f.cache.Bound, "good-1")
		if bad.refused || bad.refusedInTrees && hierarchy && !v.Proportion {
			assert.NotContains(t, f.cache.Bound, "bad-0")
			require.NotNil(t, f.job("bad"))
			assert.NotEmpty(t, f.job("bad").JobFitErrors, "the job has no reason")
		}
		f.close()
		framework.CloseSession(f.Session)
	}
}
