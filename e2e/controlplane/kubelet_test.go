package controlplane

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// TestKubeletRunsCommands updates pods with commands that end sooner or later, and pods that are being deleted.
func TestKubeletRunsCommands(t *testing.T) {
	const gone = corev1.PodPhase("gone")
	long, now := metav1.NewTime(time.Now().Add(-time.Hour)), metav1.Now()
	future := metav1.NewTime(time.Now().Add(time.Hour))
	for name, c := range map[string]struct {
		node    string
		phase   corev1.PodPhase
		script  string
		started metav1.Time
		deleted *metav1.Time // when it ends at the latest
		want    corev1.PodPhase
		status  int32
	}{
		"starts":                    {node: "worker", phase: corev1.PodPending, script: "sleep 10", want: corev1.PodRunning},
		"node does not exist":       {node: "missing", phase: corev1.PodPending, script: "sleep 10", want: corev1.PodPending},
		"runs":                      {node: "worker", phase: corev1.PodRunning, script: "sleep 10", started: now, want: corev1.PodRunning},
		"succeeds":                  {node: "worker", phase: corev1.PodRunning, script: "sleep 10", started: long, want: corev1.PodSucceeded},
		"fails":                     {node: "worker", phase: corev1.PodRunning, script: "exit 3", started: long, want: corev1.PodFailed, status: 3},
		"terminates":                {node: "worker", phase: corev1.PodRunning, script: "sleep 10", started: now, deleted: &future, want: corev1.PodRunning},
		"has terminated":            {node: "worker", phase: corev1.PodRunning, script: "sleep 10", started: now, deleted: &long, want: gone},
		"deleted on a missing node": {node: "missing", phase: corev1.PodPending, script: "sleep 10", deleted: &future, want: gone},
	} {
		t.Run(name, func(t *testing.T) {
			second := int64(1)
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "p", UID: "1"},
				Spec: corev1.PodSpec{NodeName: c.node, RestartPolicy: corev1.RestartPolicyNever,
					Containers: []corev1.Container{{Name: "c", Command: []string{"sh", "-c", c.script}}}},
				Status: corev1.PodStatus{Phase: c.phase, StartTime: &c.started},
			}
			if c.deleted != nil {
				pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = c.deleted, &second
			}
			kube := fake.NewClientset(pod)
			pods, nodes := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil), cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
			require.NoError(t, pods.Add(pod))
			require.NoError(t, nodes.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker"}}))
			k := &kubelet{kube: kube, pods: corelisters.NewPodLister(pods), nodes: corelisters.NewNodeLister(nodes), commands: true,
				work: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]())}
			defer k.work.ShutDown()
			require.NoError(t, k.sync(context.Background(), cache.MetaObjectToName(pod)))

			got, err := kube.CoreV1().Pods("default").Get(context.Background(), "p", metav1.GetOptions{})
			if c.want == gone {
				assert.True(t, apierrors.IsNotFound(err), "%v", err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.want, got.Status.Phase)
			if terminated := got.Status.Phase == corev1.PodSucceeded || got.Status.Phase == corev1.PodFailed; terminated {
				assert.Equal(t, c.status, got.Status.ContainerStatuses[0].State.Terminated.ExitCode)
			}
		})
	}
}
