package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

func TestAmountString(t *testing.T) {
	require.Equal(t, "-", amount{}.String())
	require.Equal(t, "16/64Gi/4", amountOf(resources(16, 64, 4)).String())
	require.Equal(t, "0.5/1.5Gi/0", amount{milliCPU: 500, memory: 3 << 29}.String())
}

// TestViewRollsUp checks what the demo's own verdict rests on: what a job occupies counts for its queue and every queue
// above, and a pod without a node or at its end occupies nothing.
func TestViewRollsUp(t *testing.T) {
	job := newJob("llm", "training", 3, 1, resources(4, 16, 1))
	job.UID = "uid"
	pod := func(node string, phase corev1.PodPhase) *corev1.Pod {
		pod := &corev1.Pod{Spec: *job.Spec.Tasks[0].Template.Spec.DeepCopy(), Status: corev1.PodStatus{Phase: phase}}
		pod.Labels = map[string]string{batch.JobNameKey: "llm"}
		pod.Spec.NodeName = node
		return pod
	}
	top := newQueue(root, "", nil, nil, nil)
	v := newView(snapshot{
		nodes:  nodes(),
		queues: append(queues(), top),
		jobs:   []*batch.Job{job},
		podGroups: []*scheduling.PodGroup{{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: types.UID("uid")}}},
			Status:     scheduling.PodGroupStatus{Phase: scheduling.PodGroupRunning},
		}},
		pods: []*corev1.Pod{
			pod("gpu-1", corev1.PodRunning), pod("gpu-1", corev1.PodPending),
			pod("gpu-1", corev1.PodSucceeded), pod("", corev1.PodPending),
		},
	})

	require.Equal(t, []jobRow{{name: "llm", queue: "training", stage: running, pods: 3, running: 1, succeeded: 1}}, v.jobs)
	allocated := map[string]string{}
	for _, queue := range v.queues {
		allocated[queue.name] = queue.allocated.String()
	}
	require.Equal(t, map[string]string{
		"root": "8/32Gi/2", "eng": "8/32Gi/2", "training": "8/32Gi/2", "inference": "-", "biz": "-",
	}, allocated)
	require.Equal(t, "64/256Gi/8", v.queues[0].capability.String())

	want := outcome{jobs: []jobOutcome{{name: "llm", stage: running, running: 2}}, evictions: 1}
	require.Len(t, want.differences(v), 2)
}
