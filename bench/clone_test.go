package bench

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// cloneCluster copies a cluster as Volcano's cache does for each session (pkg/scheduler/cache/cache.go,
// Snapshot). Nodes, queues, jobs and tasks are new. The objects of Kubernetes in them
// stay the same.
func cloneCluster(info *api.ClusterInfo) *api.ClusterInfo {
	c := &api.ClusterInfo{
		Nodes:    make(map[string]*api.NodeInfo, len(info.Nodes)),
		Queues:   make(map[api.QueueID]*api.QueueInfo, len(info.Queues)),
		Jobs:     make(map[api.JobID]*api.JobInfo, len(info.Jobs)),
		NodeList: slices.Clone(info.NodeList),
	}

	for name, node := range info.Nodes {
		c.Nodes[name] = node.Clone()
	}

	for id, queue := range info.Queues {
		c.Queues[id] = queue.Clone()
	}

	for id, job := range info.Jobs {
		c.Jobs[id] = job.Clone()
	}

	return c
}

// TestClone changes a clone, and finds the cluster as it was.
func TestClone(t *testing.T) {
	info, err := cluster.Build(workload.Cluster{
		Nodes:  []workload.Node{{Name: "n", Allocatable: workload.Resources{"cpu": 8000, "memory": 1 << 30, "pods": 10}}},
		Queues: []workload.Queue{{Name: "q", Weight: 1}},
		Jobs: []workload.Job{{
			Name: "j", Queue: "q", Phase: workload.Running, MinMember: 1,
			Tasks: []workload.Task{
				{Name: "runs", Request: workload.Resources{"cpu": 1000}, Status: workload.TaskRunning, Node: "n"},
			},
		}},
	}, "")
	require.NoError(t, err)

	c := cloneCluster(info)
	c.Nodes["n"].RemoveTask(c.Jobs["default/j"].Tasks["default-runs"]) // without its result, which Volcano v1.15 has not
	require.NotEqual(t, info.Nodes["n"].Idle.MilliCPU, c.Nodes["n"].Idle.MilliCPU)
	delete(c.Queues, "q")
	c.NodeList[0] = "other"

	assert.InDelta(t, 7000, info.Nodes["n"].Idle.MilliCPU, 0)
	assert.Contains(t, info.Queues, api.QueueID("q"))
	assert.Equal(t, []string{"n"}, info.NodeList)
}
