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
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestPodCollector deletes a node with a pod. A pod of another node stays.
func TestPodCollector(t *testing.T) {
	podOn := func(node string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "on-" + node}, Spec: corev1.PodSpec{NodeName: node}}
	}
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	client := fake.NewClientset(node("goes"), node("stays"), podOn("goes"), podOn("stays"))
	// The fake ignores selectors of fields.
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name, found := action.(clienttesting.ListAction).GetListRestrictions().Fields.RequiresExactMatch("spec.nodeName")
		if !found {
			return false, nil, nil
		}
		return true, &corev1.PodList{Items: []corev1.Pod{*podOn(name)}}, nil
	})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	require.NoError(t, (&ControlPlane{Kube: client}).StartPodCollector(ctx))
	exists := func(pod string) bool {
		_, err := client.CoreV1().Pods("default").Get(ctx, pod, metav1.GetOptions{})
		return !apierrors.IsNotFound(err)
	}

	// The node can be deleted before the watch begins.
	require.Eventually(t, func() bool {
		for _, action := range client.Actions() {
			if action.Matches("watch", "nodes") {
				return true
			}
		}
		return false
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, client.CoreV1().Nodes().Delete(ctx, "goes", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool { return !exists("on-goes") }, time.Minute, 10*time.Millisecond)
	assert.True(t, exists("on-stays"))
}
