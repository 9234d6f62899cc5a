package engine

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/guard"
)

func build(t *testing.T, manifests ...string) *World {
	t.Helper()
	path := filepath.Join(t.TempDir(), "f.yaml")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(manifests, "\n---\n")), 0o600))
	objects, err := input.ReadFiles([]string{path}, false, nil, nil)
	require.NoError(t, err)
	require.Empty(t, objects.Problems)
	w, err := Build(objects)
	require.NoError(t, err)
	return w
}

// TestManifests expects the objects that the API server, Volcano's webhook and Volcano's controllers make from
// manifests.
func TestManifests(t *testing.T) {
	w := build(t, `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, annotations: {volcano.sh/card.request: '{"A":3}'}}
spec:
  tasks:
  - {name: master, replicas: 1, template: {spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}}}
  - {replicas: 4, minAvailable: 2, template: {spec: {priorityClassName: high, containers: [{name: c, image: i, resources: {requests: {cpu: 2}, limits: {cpu: 4, nvidia.com/gpu: 1}}}]}}}
`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {volcano.sh/x: kept, other: dropped}}
spec:
  replicas: 3
  template:
    metadata: {annotations: {scheduling.volcano.sh/queue-name: q}}
    spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}
`, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: not-ours}
spec: {replicas: 3, template: {spec: {containers: [{name: c, image: i}]}}}
`, `
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec: {schedulerName: volcano, containers: [{name: c, image: i}]}
`, `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 7
`)
	require.Len(t, w.Groups, 3)
	bare, web, train := w.Groups[0], w.Groups[1], w.Groups[2]

	assert.Equal(t, "Pod/bare", bare.Owner)
	assert.Len(t, bare.Pods, 1)

	assert.Equal(t, "Deployment/web", web.Owner)
	assert.Equal(t, "q", web.Spec.Queue)
	assert.Equal(t, map[string]string{"volcano.sh/x": "kept"}, web.Annotations)
	assert.Equal(t, int32(1), web.Spec.MinMember)
	assert.Len(t, web.Pods, 3)

	assert.Equal(t, "Job/train", train.Owner)
	assert.Equal(t, "default", train.Spec.Queue)
	assert.Equal(t, scheduling.PodGroupPending, train.Status.Phase)
	assert.Equal(t, int32(3), train.Spec.MinMember, "the sum of the tasks' minimums")
	assert.Equal(t, map[string]int32{"master": 1, "default1": 2}, train.Spec.MinTaskMember)
	assert.Equal(t, int64(5), train.Spec.MinResources.Cpu().Value(), "1 + 2 · 2")
	assert.Equal(t, `{"A":3}`, train.Annotations["volcano.sh/card.request"])
	assert.Empty(t, train.Pods, "not before it is admitted")
	require.Len(t, train.Coming, 5)
	worker := train.Coming[1]
	assert.Equal(t, "train-default1-0", worker.Name)
	requests := worker.Spec.Containers[0].Resources.Requests
	assert.Equal(t, int64(2), requests.Cpu().Value())
	gpus := requests["nvidia.com/gpu"]
	assert.Equal(t, int64(1), gpus.Value(), "requests follow from limits")
	assert.Equal(t, int32(7), *worker.Spec.Priority)

	require.NotNil(t, w.Queue("default"))
	assert.Equal(t, scheduling.QueueStateOpen, w.Queue("default").Status.State)
}

// TestObjectsOfACluster has a job with its PodGroup and its pods, and a finished job. It also has pods of an unknown
// PodGroup, and pods that are not Volcano's.
func TestObjectsOfACluster(t *testing.T) {
	const container = "containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]"
	w := build(t, `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, uid: "1234"}
spec: {queue: q, minAvailable: 1, tasks: [{name: w, replicas: 2, template: {spec: {`+container+`}}}]}
`, `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: done}
spec: {queue: q, minAvailable: 1, tasks: [{name: w, replicas: 2, template: {spec: {`+container+`}}}]}
status: {state: {phase: Completed}}
`, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata: {name: train-1234}
spec: {queue: q, minMember: 1}
status: {phase: Running}
`, `
apiVersion: v1
kind: Pod
metadata: {name: train-w-0, annotations: {scheduling.k8s.io/group-name: train-1234}}
spec: {schedulerName: volcano, nodeName: a, `+container+`}
status: {phase: Running}
`, `
apiVersion: v1
kind: Pod
metadata: {name: orphan, annotations: {scheduling.k8s.io/group-name: gone}}
spec: {schedulerName: volcano, nodeName: a, `+container+`}
status: {phase: Running}
`, `
apiVersion: v1
kind: Pod
metadata: {name: finished, annotations: {scheduling.k8s.io/group-name: gone}}
spec: {schedulerName: volcano, nodeName: a, `+container+`}
status: {phase: Succeeded}
`, `
apiVersion: v1
kind: Pod
metadata: {name: system}
spec: {nodeName: a, `+container+`}
status: {phase: Running}
`, `
apiVersion: v1
kind: Pod
metadata: {name: waits-for-another-scheduler}
spec: {`+container+`}
`, `
apiVersion: v1
kind: Node
metadata: {name: a}
status: {capacity: {cpu: 8, pods: 10}}
`)
	require.Len(t, w.Groups, 2)
	done, train := w.Groups[0], w.Groups[1]
	assert.Equal(t, []string{"Job/done", "Completed"}, []string{done.Owner, done.Ended})
	assert.True(t, done.Over())
	assert.Empty(t, done.Coming, "it has ended")
	assert.Equal(t, "Job/train", train.Owner)
	assert.Empty(t, train.Ended)
	assert.Len(t, train.Pods, 1, "the controller knows why there is no second one")
	assert.Empty(t, train.Coming)
	assert.Equal(t, 1, w.Orphans, "the pod that has ended does not count")
	assert.Len(t, w.Stray, 3)
	info := w.info()
	assert.Equal(t, 5000.0, info.Nodes["a"].Idle.MilliCPU, "three pods are on the node")
	assert.Len(t, info.Jobs, 1)

	w.Vacate()
	require.Len(t, w.Groups, 1, "the job that has ended does not come back")
	assert.Equal(t, "Job/train", w.Groups[0].Owner)
}

// TestDumpWithoutPodGroups derives the PodGroups of pods: from their job, from the queue
// that Volcano's job controller writes into pods, and from the queue that users write.
func TestDumpWithoutPodGroups(t *testing.T) {
	const container = "containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]"
	pod := func(name, group, annotation, node, phase string) string {
		return `
apiVersion: v1
kind: Pod
metadata: {name: ` + name + `, annotations: {scheduling.k8s.io/group-name: ` + group + annotation + `}, ownerReferences: [{apiVersion: x/v1, kind: Owner, name: ` + group + `, uid: u}]}
spec: {schedulerName: volcano, nodeName: "` + node + `", ` + container + `}
status: {phase: ` + phase + `}`
	}
	w := build(t, `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: train, uid: "1234"}
spec: {queue: q, minAvailable: 2, tasks: [{name: w, replicas: 2, template: {spec: {`+container+`}}}]}
`, pod("a", "train-1234", "", "node", "Running"), pod("b", "train-1234", "", "", "Pending"),
		pod("c", "eval-5", ", volcano.sh/queue-name: r", "", "Pending"),
		pod("d", "podgroup-6", ", scheduling.volcano.sh/queue-name: s", "node", "Running"),
		pod("e", "ended", "", "node", "Succeeded"),
		pod("g", "podgroup-8", "", "", "Pending"), pod("h", "unknown-9", "", "node", "Running"), `
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: no-uid}
spec: {queue: q, minAvailable: 1, tasks: [{name: w, replicas: 1, template: {spec: {`+container+`}}}]}
status: {state: {phase: Running}}
`, strings.Replace(pod("f", "no-uid-7", ", volcano.sh/queue-name: q", "node", "Running"), "{apiVersion: x/v1, kind: Owner, name: no-uid-7", "{apiVersion: batch.volcano.sh/v1alpha1, kind: Job, name: no-uid", 1))
	type group struct {
		owner, queue string
		minimum      int32
		phase        scheduling.PodGroupPhase
		pods         int
	}
	var got []group
	for _, g := range w.Groups {
		got = append(got, group{g.Owner, g.Spec.Queue, g.Spec.MinMember, g.Status.Phase, len(g.Pods) + len(g.Coming)})
	}
	assert.Equal(t, []group{
		{"Owner/eval-5", "r", 1, scheduling.PodGroupInqueue, 1},
		{"Job/no-uid", "q", 1, scheduling.PodGroupRunning, 1},
		{"Owner/podgroup-6", "s", 1, scheduling.PodGroupRunning, 1},
		{"Owner/podgroup-8", "default", 1, scheduling.PodGroupInqueue, 1},
		{"Job/train", "q", 2, scheduling.PodGroupRunning, 2},
	}, got)
	assert.Equal(t, 1, w.Orphans, "the pod whose queue is not known")
}

// TestSessionsLeaveTheWorldAlone runs all actions twice.
func TestSessionsLeaveTheWorldAlone(t *testing.T) {
	w := build(t, `
apiVersion: v1
kind: Node
metadata: {name: a}
status: {capacity: {cpu: 8, memory: 8Gi, pods: 10}}
`, `
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: q}
`, `
apiVersion: v1
kind: Pod
metadata: {name: bare, annotations: {scheduling.volcano.sh/queue-name: q}}
spec: {schedulerName: volcano, containers: [{name: c, image: i, resources: {limits: {cpu: 1}}}]}
`)
	c, err := Usual(plugin.CapacityName, nil)
	require.NoError(t, err)
	for range 2 {
		s, err := Open(t.Context(), w, c)
		require.NoError(t, err)
		require.NoError(t, s.Run())
		assert.Equal(t, 1000.0, s.Jobs[w.Groups[0].ID()].Allocated.MilliCPU)
		s.Close()
		assert.Empty(t, w.Groups[0].Pods[0].Spec.NodeName)
		assert.Equal(t, scheduling.PodGroupPending, w.Groups[0].Status.Phase)
	}
	events, settled, err := Settle(t.Context(), w, c, nil)
	require.NoError(t, err)
	assert.True(t, settled)
	assert.Equal(t, []Event{
		{Cycle: 1, Kind: Placed, Group: "default/podgroup-bare", Owner: "Pod/bare", Queue: "q", Pod: "bare", Node: "a"},
		{Cycle: 1, Kind: Admitted, Group: "default/podgroup-bare", Owner: "Pod/bare", Queue: "q"},
	}, events)
	assert.Equal(t, v1.PodRunning, w.Groups[0].Pods[0].Status.Phase)
}

func TestConfigure(t *testing.T) {
	conf := func(plugins string) string {
		return "actions: enqueue, allocate\ntiers:\n- plugins:\n  - name: " + strings.ReplaceAll(plugins, " ", "\n  - name: ") + "\n"
	}
	c, err := Configure(conf("gang capacity usage nodeorder our-own"))
	require.NoError(t, err)
	assert.Equal(t, plugin.CapacityName, c.Plugin)
	assert.Equal(t, []string{"usage", "our-own"}, c.LeftOut)
	assert.True(t, c.Has("nodeorder"))
	assert.False(t, c.Has("usage"))
	assert.Len(t, c.Actions, 2)

	_, err = Configure(conf("gang"))
	require.ErrorIs(t, err, ErrNoQuotaPlugin)
	_, err = Configure(conf("capacity capacity-card"))
	require.ErrorIs(t, err, guard.ErrSeveralQuotas)
	_, err = Configure("tiers: 3")
	require.ErrorContains(t, err, "the scheduler configuration: ")
}

// TestSessionsWait runs the scheduler on two worlds at once, with different plugins. Each
// comes out as on its own.
func TestSessionsWait(t *testing.T) {
	const text = `
apiVersion: v1
kind: Node
metadata: {name: node-1}
status: {allocatable: {cpu: 8, memory: 8Gi, pods: 10}}
---
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: j}
spec: {tasks: [{name: w, replicas: 3, template: {spec: {containers: [{name: c, image: i, resources: {limits: {cpu: 1, memory: 1Gi}}}]}}}]}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {name: default}
spec: {capability: {cpu: 4, memory: 4Gi}}
`
	var all sync.WaitGroup
	for _, name := range []string{plugin.Name, plugin.CapacityName, plugin.ProportionName} {
		w := build(t, text)
		all.Add(1)
		go func() {
			defer all.Done()
			for range 5 {
				c, err := Usual(name, nil)
				assert.NoError(t, err)
				events, err := Ahead(t.Context(), w, c, func(*Session) {})
				assert.NoError(t, err)
				assert.Empty(t, Evictions(events))
			}
			c, err := Usual(name, nil)
			assert.NoError(t, err)
			events, settled, err := Settle(t.Context(), w, c, nil)
			assert.NoError(t, err)
			assert.True(t, settled)
			assert.Len(t, events, 4, "one admission and three pods, with %s", name)
		}()
	}
	all.Wait()
}
