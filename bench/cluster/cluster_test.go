package cluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
)

var small = workload.Cluster{
	Nodes:  []workload.Node{{Name: "n", Allocatable: workload.Resources{"cpu": 8000, "memory": 1 << 30, "pods": 10}}},
	Queues: []workload.Queue{{Name: "q", Weight: 1, Closed: true, Deserved: workload.Resources{"cpu": 500}}},
	Jobs: []workload.Job{{
		Name: "j", Queue: "q", Phase: workload.Running, MinMember: 2, Priority: 7,
		Tasks: []workload.Task{
			{Name: "runs", Request: workload.Resources{"cpu": 1000}, Status: workload.TaskRunning, Node: "n"},
			{Name: "waits", Request: workload.Resources{"cpu": 1000}, Status: workload.TaskPending},
			{Name: "lost", Request: workload.Resources{"cpu": 1000}, Status: workload.TaskRunning, Node: "gone"},
		},
	}},
}

func TestBuild(t *testing.T) {
	info, err := Build(small, "-1")
	require.NoError(t, err)

	queue := info.Queues["q"]
	require.NotNil(t, queue)
	assert.EqualValues(t, "q-1", queue.Queue.UID)
	assert.EqualValues(t, "Closed", queue.Queue.Status.State)
	assert.Equal(t, "500m", queue.Queue.Spec.Deserved.Cpu().String())

	job := info.Jobs["default/j"]
	require.NotNil(t, job)
	assert.EqualValues(t, 2, job.MinAvailable)
	assert.EqualValues(t, 7, job.Priority)
	assert.Len(t, job.TaskStatusIndex[api.Running], 2)
	assert.Len(t, job.TaskStatusIndex[api.Pending], 1)
	assert.InDelta(t, 7000, info.Nodes["n"].Idle.MilliCPU, 0)
}

func TestBuildUnknownStatus(t *testing.T) {
	c := workload.Cluster{Jobs: []workload.Job{{Name: "j", Tasks: []workload.Task{{Name: "t", Status: "Asleep"}}}}}
	_, err := Build(c, "")
	assert.EqualError(t, err, `task t: unknown status "Asleep"`)
}

func TestPod(t *testing.T) {
	pod := Pod("j", workload.Task{
		Name: "t", Products: []string{"A", "B"}, Gated: true, QueueGated: true, Created: 60, Started: 90,
		Annotations: map[string]string{"volcano.sh/card.name": "A|B"},
	})

	assert.Equal(t, []v1.PodSchedulingGate{{Name: QueueGate}, {Name: "example.com/wait"}}, pod.Spec.SchedulingGates)
	assert.EqualValues(t, 60, pod.CreationTimestamp.Unix())
	assert.EqualValues(t, 90, pod.Status.StartTime.Unix())
	assert.Equal(t, "A|B", pod.Annotations["volcano.sh/card.name"])
	assert.Equal(t, "j", pod.Annotations["scheduling.k8s.io/group-name"])

	terms := pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	require.Len(t, terms, 1)
	assert.Equal(t, []string{"A", "B"}, terms[0].MatchExpressions[0].Values)
	assert.Equal(t, workload.ProductLabel, terms[0].MatchExpressions[0].Key)
}

func TestList(t *testing.T) {
	assert.Nil(t, List(nil))
	list := List(workload.Resources{"cpu": 1500, "memory": 1 << 30, "nvidia.com/gpu": 0})
	assert.Equal(t, "1500m", list.Cpu().String())
	assert.Equal(t, int64(1<<30), list.Memory().Value())
	assert.Contains(t, list, v1.ResourceName("nvidia.com/gpu"), "a name with 0 is present")
}
