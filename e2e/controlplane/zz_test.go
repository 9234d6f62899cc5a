package controlplane

import (
	"context"
	"testing"
	"time"
	"os"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

const zzconf = `
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: capacity
    enableHierarchy: true
  - name: predicates
  - name: nodeorder
`

func TestZZ(t *testing.T) {
	ctx := context.Background()
	for round := 0; round < 3; round++ {
		s := time.Now()
		cp, err := Start(ctx, Options{Progress: func(n string, e time.Duration) { t.Log(n, e) }})
		require.NoError(t, err)
		_, err = Start(ctx, Options{})
		require.ErrorIs(t, err, ErrRunning)
		_, err = cp.StartScheduler("actions: \"enqueue\"\ntiers:\n- plugins:\n  - name: nope\n")
		require.ErrorIs(t, err, ErrUnknownPlugin)
		_, err = cp.StartScheduler("actions: \"enqueue\"\ntiers:\n- plugins:\n  - name: capacity\n    enabledHierarchy: true\n")
		require.Error(t, err)
		t.Log(err)
		_, err = cp.StartScheduler("actions: \"enqueue, nope\"\n")
		t.Log(err)
		require.Error(t, err)
		amount := corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")}
		_, err = cp.Kube.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: corev1.NodeStatus{Capacity: amount, Allocatable: amount, Conditions: []corev1.NodeCondition{{Type: "Ready", Status: "True"}}}}, metav1.CreateOptions{})
		require.NoError(t, err)
		for _, name := range []string{"a", "b"} {
			stop, err := cp.StartScheduler(zzconf)
			require.NoError(t, err)
			_, err = cp.Volcano.BatchV1alpha1().Jobs("default").Create(ctx, &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: batch.JobSpec{SchedulerName: "volcano", Queue: "default", MinAvailable: 2, MaxRetry: 3, Tasks: []batch.TaskSpec{{Name: "w", Replicas: 2, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: "Never", Containers: []corev1.Container{{Name: "m", Image: "x", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}}}}}}}}}}, metav1.CreateOptions{})
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				j, err := cp.Volcano.BatchV1alpha1().Jobs("default").Get(ctx, name, metav1.GetOptions{})
				return err == nil && j.Status.Running == 2
			}, 20*time.Second, 50*time.Millisecond)
			stop()
		}
		n, err := cp.CompletePods(ctx, "default", "")
		require.NoError(t, err)
		require.Equal(t, 4, n)
		require.Eventually(t, func() bool {
				j, err := cp.Volcano.BatchV1alpha1().Jobs("default").Get(ctx, "a", metav1.GetOptions{})
				return err == nil && j.Status.State.Phase == batch.Completed
			}, 20*time.Second, 50*time.Millisecond)
		d := cp.directory
		require.NoError(t, cp.Stop())
		_, err = os.Stat(d)
		require.True(t, os.IsNotExist(err))
		t.Log("round", round, time.Since(s))
	}
}
