package offline

import (
	"testing"

	"github.com/stretchr/testify/assert"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
)

func podOn(node string, phase v1.PodPhase) *v1.Pod {
	pod := &v1.Pod{}
	pod.Name = "pod"
	pod.UID = "uid"
	pod.Spec.NodeName = node
	pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{
		Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("3")},
	}}}
	pod.Status.Phase = phase
	return pod
}

func nodeOf(name string) *v1.Node {
	node := &v1.Node{}
	node.Name = name
	node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("8"), v1.ResourcePods: resource.MustParse("9")}
	return node
}

// TestAddJob adds a job with a pod on a node. The pod takes room, and the job has its own PodGroup.
func TestAddJob(t *testing.T) {
	info := NewInfo()
	AddNode(info, nodeOf("node"))
	group := &api.PodGroup{}

	job := AddJob(info, "job", group, 7, []*v1.Pod{podOn("node", v1.PodRunning)})

	assert.Equal(t, []string{"node"}, info.NodeList)
	assert.Equal(t, 3000.0, info.Nodes["node"].Used.MilliCPU)
	assert.Equal(t, int32(7), job.Priority)
	assert.NotSame(t, group, info.Jobs["job"].PodGroup)
}

func TestOccupy(t *testing.T) {
	info := NewInfo()
	AddNode(info, nodeOf("node"))

	Occupy(info, NewTask(podOn("node", v1.PodSucceeded)))
	Occupy(info, NewTask(podOn("gone", v1.PodRunning)))

	assert.Empty(t, info.Nodes["node"].Tasks)
}

// TestNewTask expects a copy of the pods that a session writes into.
func TestNewTask(t *testing.T) {
	waits, runs := podOn("", v1.PodPending), podOn("node", v1.PodRunning)

	assert.NotSame(t, waits, NewTask(waits).Pod)
	assert.Same(t, runs, NewTask(runs).Pod)
}

func TestDecided(t *testing.T) {
	deleted := podOn("node", v1.PodRunning)
	deleted.DeletionTimestamp = &metav1.Time{}
	tests := map[string]struct {
		pod  *v1.Pod
		task api.TaskInfo
		want Decision
	}{
		"bound":          {podOn("", v1.PodPending), task(api.Bound, false), Placed},
		"binding":        {podOn("", v1.PodPending), task(api.Binding, false), Placed},
		"bound before":   {podOn("node", v1.PodRunning), task(api.Bound, false), Nothing},
		"released":       {podOn("node", v1.PodRunning), task(api.Releasing, false), Evicted},
		"deleted before": {deleted, task(api.Releasing, false), Nothing},
		"waits":          {podOn("", v1.PodPending), task(api.Pipelined, true), Waits},
		"pipelined":      {podOn("", v1.PodPending), task(api.Pipelined, false), Nothing},
		"pending":        {podOn("", v1.PodPending), task(api.Pending, false), Nothing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.want, Decided(test.pod, &test.task)) })
	}
}

func task(status api.TaskStatus, evicted bool) api.TaskInfo {
	return api.TaskInfo{TransactionContext: api.TransactionContext{Status: status, EvictionOccurred: evicted}}
}

// TestTiers enables all hooks, and the hierarchy on request.
func TestTiers(t *testing.T) {
	for _, hierarchy := range []bool{true, false} {
		tiers := Tiers(hierarchy, "gang", "capacity")
		assert.Len(t, tiers, 1)
		assert.Equal(t, "capacity", tiers[0].Plugins[1].Name)
		assert.Equal(t, hierarchy, *tiers[0].Plugins[1].EnabledHierarchy)
		assert.True(t, *tiers[0].Plugins[0].EnabledAllocatable)
	}
}

// TestCacheRecords records events, bindings and evictions until the next session.
func TestCacheRecords(t *testing.T) {
	c := NewCache(NewInfo())
	c.EventRecorder().Eventf(nil, "Warning", "Reason", "%d cards", 3)
	assert.NoError(t, c.Evict(&api.TaskInfo{Name: "pod"}, ""))
	assert.Equal(t, []string{"Warning Reason 3 cards"}, c.Events())
	assert.Equal(t, []string{"pod"}, c.Evicted)

	c.Renew(NewInfo())
	assert.Empty(t, c.Events())
	assert.Empty(t, c.Evicted)
}
