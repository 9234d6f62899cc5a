package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// fixture is a Volcano session on a cluster in memory, with one plugin of the engine.
type fixture struct {
	*framework.Session
	cache *offline.Cache
	own   *Session
	close func() // at the end of the test at the latest

	model       *claimModel         // the resource claims of pods, nil for none
	terminating map[api.TaskID]bool // pods that were being deleted when the session opened, where they hold cards
}

// openFixture opens a session. edit changes what package workload cannot describe,
// such as a missing PodGroup.
func openFixture(t *testing.T, c workload.Cluster, build framework.PluginBuilder, edit ...func(*api.ClusterInfo)) *fixture {
	t.Helper()
	info, err := cluster.Build(c, t.Name())
	require.NoError(t, err)
	for _, s := range edit {
		s(info)
	}
	f := &fixture{cache: offline.NewCache(info)}
	var ours *Plugin
	name := build(nil).Name()
	framework.RegisterPluginBuilder(name, func(a framework.Arguments) framework.Plugin {
		ours = build(testbed.Pinned(a)).(*Plugin)
		return ours
	})
	f.Session = offline.Open(f.cache, offline.Tiers(c.Hierarchy, name))
	f.own = ours.Session
	t.Cleanup(func() { ours.OnSessionClose(f.Session) })
	return f
}

func (f *fixture) job(name string) *api.JobInfo { return f.Jobs[api.JobID(cluster.Namespace+"/"+name)] }
func (f *fixture) queue(name string) *api.QueueInfo {
	return f.Queues[api.QueueID(name)]
}

func (f *fixture) task(name string) *api.TaskInfo {
	for _, job := range f.Jobs {
		for _, task := range job.Tasks {
			if task.Name == name {
				return task
			}
		}
	}
	return nil
}

// fitsNode asks about the cards of a task on a node.
func (f *fixture) fitsNode(task *api.TaskInfo, node string) cards.NodeFit {
	a := f.own.AskCards(task)
	return f.own.FitsNode(&f.own.Books.Now, &a, node)
}

func (f *fixture) allocated(queue string) *api.Resource {
	return f.own.Intake.Dims.Resource(f.own.Index.Allocated(f.own.Index.Lookup(queue)))
}

var (
	oneNode = []workload.Node{{Name: "node", Allocatable: workload.Resources{"cpu": 8000, "memory": 8 << 30, "pods": 100, gpuName: 8}}}
	small   = workload.Resources{"cpu": 1000, "memory": 1 << 30}
)

const gpuName = "nvidia.com/gpu"

// pending makes a pending job of n small tasks.
func pending(name, queue string, n int) workload.Job {
	j := workload.Job{Name: name, Queue: queue, Phase: workload.Pending, MinMember: 1, MinResources: small}
	for i := range n {
		j.Tasks = append(j.Tasks, workload.Task{Name: name + "-" + string(rune('a'+i)), Request: small, Status: workload.TaskPending})
	}
	return j
}

// running makes a job with n small tasks that run.
func running(name, queue string, n int) workload.Job {
	j := pending(name, queue, n)
	j.Phase = workload.Running
	for i := range j.Tasks {
		j.Tasks[i].Status, j.Tasks[i].Node = workload.TaskRunning, "node"
	}
	return j
}
