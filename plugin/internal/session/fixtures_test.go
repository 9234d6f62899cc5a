package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// openFixture opens a session. edit makes changes that package workload cannot describe, such as a missing PodGroup.
func openFixture(
	t *testing.T, c workload.Cluster, build framework.PluginBuilder, edit ...func(*api.ClusterInfo),
) *testbed.Fixture {
	t.Helper()
	info, err := cluster.Build(c, t.Name())
	require.NoError(t, err)
	for _, s := range edit {
		s(info)
	}

	f := &testbed.Fixture{Cache: offline.NewCache(info)}
	var ours *session.Plugin
	name := build(nil).Name()
	framework.RegisterPluginBuilder(name, func(a framework.Arguments) framework.Plugin {
		ours = build(testbed.Pinned(name, a)).(*session.Plugin)
		return ours
	})

	f.Session = offline.Open(f.Cache, offline.Tiers(c.Hierarchy, name))
	f.Own = ours.Session
	t.Cleanup(func() { ours.OnSessionClose(f.Session) })
	return f
}

// admit asks whether a job is admitted, and admits it if so, as the action enqueue does.
func admit(f *testbed.Fixture, job string) bool {
	j := f.Job(job)
	if !f.JobEnqueueable(j) {
		return false
	}

	f.JobEnqueued(j)
	j.PodGroup.Status.Phase = scheduling.PodGroupInqueue
	return true
}

// boundOf returns the realCapability of a queue for a card, in whole cards.
func boundOf(f *testbed.Fixture, queue, card string) float64 {
	d, ok := f.Own.Memory.Names.LookupCard(card)
	if !ok {
		return 0
	}

	milli := f.Own.Index.RealCapability.Row(f.Own.Index.Lookup(queue)).Get(d)
	if milli == fastres.MaxQuantity {
		return milli
	}

	return milli / 1000
}

// withoutCards makes the plugin capacity, and the queues so far plain ones.
func withoutCards(s *testbed.Scene) {
	s.Build = session.NewCapacity
	for i := range s.Queues {
		s.Queues[i].Capability = nil
		s.Queues[i].Annotations = nil
	}
}

// oneNode is a node with eight cores, 8 GiB and eight GPUs.
var oneNode = []workload.Node{{
	Name:        "node",
	Allocatable: workload.Resources{"cpu": 8000, "memory": 8 << 30, "pods": 100, testbed.GPU: 8},
}}

// wide returns a node with n cores and more memory than any test requests.
func wide(n int64) []workload.Node {
	return []workload.Node{{
		Name:        "node",
		Allocatable: workload.Resources{"cpu": n * 1000, "memory": 1 << 42, "pods": 1000},
	}}
}

// below adds a queue with a quota of all cards that is guaranteed none.
func below(s *testbed.Scene, name, parent, deserved string) {
	s.Queue(name, parent, "quota", `{"A":8}`, "deserved", deserved, "guarantee", `{"A":0}`)
}

// walls is a tree of two teams with two queues each. The queue held uses all cards and deserves none. The queue claim
// deserves all.
func walls(held, claim string, fences ...string) *testbed.Scene {
	s := testbed.NewScene().Node("a", "A", 8).Queue("root", "")
	below(s, "eng", "root", `{"A":8}`)
	below(s, "biz", "root", `{"A":0}`)

	for _, name := range []string{"web", "db"} {
		below(s, name, "eng", `{"A":0}`)
	}
	for _, name := range []string{"ads", "sales"} {
		below(s, name, "biz", `{"A":0}`)
	}

	for i := range s.Queues {
		if s.Queues[i].Name == claim {
			s.Queues[i].Annotations["volcano.sh/card.deserved"] = `{"A":8}`
		}
	}
	for _, fence := range fences {
		s.Annotate(fence, policy.ReclaimFenceKey, "true")
	}

	return s.Pods("held", held, "A", 8, 1, testbed.Members(0), testbed.On("a")).
		Pods("claim", claim, "A", 1, 2, testbed.InPhase(workload.Inqueue))
}

// smallRequest is the request of a small task.
var smallRequest = workload.Resources{"cpu": 1000, "memory": 1 << 30}

// pendingJob makes a pending job of n small tasks.
func pendingJob(name, queue string, n int) workload.Job {
	j := workload.Job{Name: name, Queue: queue, Phase: workload.Pending, MinMember: 1, MinResources: smallRequest}
	for i := range n {
		j.Tasks = append(j.Tasks, workload.Task{
			Name: name + "-" + string(rune('a'+i)), Request: smallRequest, Status: workload.TaskPending,
		})
	}
	return j
}

// runningJob makes a job with n small tasks that run.
func runningJob(name, queue string, n int) workload.Job {
	j := pendingJob(name, queue, n)

	j.Phase = workload.Running
	for i := range j.Tasks {
		j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, "node"
	}
	return j
}

// batch makes the pods of a job request cores and GiB. The first pods run. The minimum of the job is 0 if pods of it
// run.
func batch(running int, cores, gib int64) func(*workload.Job) {
	return func(j *workload.Job) {
		j.Phase = workload.Inqueue
		if running > 0 {
			j.Phase = workload.Running
			j.MinMember = 0
		}

		for i := range j.Tasks {
			j.Tasks[i].Request = workload.Resources{"cpu": cores * 1000, "memory": gib << 30}
			if i < running {
				j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, "node"
			}
		}
	}
}

// ofPriority gives a job a priority.
func ofPriority(p int32) func(*workload.Job) { return func(j *workload.Job) { j.Priority = p } }

// firstPods gives the first n pods of a job a status and a node.
func firstPods(n int, status workload.Status, node string) func(*workload.Job) {
	return func(j *workload.Job) {
		for i := range n {
			j.Tasks[i].Status, j.Tasks[i].Node = status, node
		}
	}
}

// coresOf returns a quantity of cpu.
func coresOf(n int64) workload.Resources { return workload.Resources{"cpu": n * 1000} }
