package e2e

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	apps "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// deploymentScaling scales the example's Deployment beyond the quota and back.
func deploymentScaling(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml", "deployment-single.yaml")
	c.runs(t, "cr-deployment", map[string]int{h200: 2}, 0)

	c.scale(t, "cr-deployment", 5)
	c.runs(t, "cr-deployment", map[string]int{h200: 3}, 2)
	c.says(t, "cr-deployment", "Queue <cr-queue1> has insufficient <NVIDIA-H200> quota: requested <1>, total would be <4>, but capability is <3>")
	c.deploy(t, "other", sixCards, h200, 1)
	c.runs(t, "other", map[string]int{}, 1)
	c.says(t, "other", insufficient(sixCards, h200, 1, 4, 3))

	c.scale(t, "cr-deployment", 2)
	c.runs(t, "cr-deployment", map[string]int{h200: 2}, 0)
	c.runs(t, "other", map[string]int{h200: 1}, 0)
}

// eitherOrDeployment has the example's Deployment take the cards that it can get of two models.
func eitherOrDeployment(t *testing.T, c *cluster) {
	c.apply(t, "queue-either-or.yaml", "deployment-either-or.yaml")
	c.runs(t, "cr-deployment-either-or", map[string]int{rtx4090: 2, rtx4090D: 1}, 0)
	c.scale(t, "cr-deployment-either-or", 6)
	c.runs(t, "cr-deployment-either-or", map[string]int{rtx4090: 2, rtx4090D: 2}, 2)
	c.says(t, "cr-deployment-either-or", insufficient(twoCards, rtx4090, 1, 3, 2)+"; "+insufficient(twoCards, rtx4090D, 1, 3, 2))
}

// autoscaler has Kubernetes' own autoscaler scale the example's Deployment. Pods that it adds beyond the quota wait.
// Pods that it removes give their cards to others.
func autoscaler(t *testing.T, c *cluster) {
	c.load.set(20)
	c.apply(t, "queue.yaml", "deployment-single.yaml", "hpa.yaml")
	c.runs(t, "cr-deployment", map[string]int{h200: 2}, 0)
	c.load.set(50)
	c.runs(t, "cr-deployment", map[string]int{h200: 3}, 2)
	c.says(t, "cr-deployment", insufficient(sixCards, h200, 1, 4, 3))
	c.load.set(10)
	c.runs(t, "cr-deployment", map[string]int{h200: 1}, 0)
	c.deploy(t, "other", sixCards, h200, 2)
	c.runs(t, "other", map[string]int{h200: 2}, 0)
}

// rollingUpdate replaces the pods of a Deployment that has all of its queue's quota: each new one waits for an old one
// to go.
func rollingUpdate(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	c.deploy(t, "rolling", sixCards, h200, 3)
	c.runs(t, "rolling", map[string]int{h200: 3}, 0)
	before := map[types.UID]bool{}
	for _, pod := range c.pods("rolling") {
		before[pod.UID] = true
	}
	patch := []byte(`{"spec": {
		"strategy": {"rollingUpdate": {"maxUnavailable": 1}},
		"template": {"metadata": {"labels": {"version": "2"}}}}}`)
	_, err := c.Kube.AppsV1().Deployments(c.namespace).Patch(t.Context(), "rolling", types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
	c.until(t, func() string {
		for _, pod := range c.pods("rolling") {
			if before[pod.UID] {
				return "pod " + pod.Name + " is still of the old version"
			}
		}
		return ""
	})
	c.runs(t, "rolling", map[string]int{h200: 3}, 0)
}

// deploymentWithAffinity has the example's pods, which may take either card, kept to the nodes of one.
func deploymentWithAffinity(t *testing.T, c *cluster) {
	c.apply(t, "queue-either-or.yaml", "deployment-affinity.yaml")
	c.runs(t, "cr-deployment-affinity", map[string]int{rtx4090D: 2}, 1)
}

// replicaSetScaling scales a ReplicaSet that has no Deployment above it.
func replicaSetScaling(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	template := example[*apps.Deployment](t, "deployment-single.yaml")
	two, set := int32(2), "bare"
	template.Spec.Template.Labels = map[string]string{"app": set}
	c.create(t, &apps.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: set},
		Spec: apps.ReplicaSetSpec{
			Replicas: &two, Selector: metav1.SetAsLabelSelector(map[string]string{"app": set}), Template: template.Spec.Template,
		},
	})
	c.runs(t, set, map[string]int{h200: 2}, 0)
	scale := func(replicas int) {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		_, err := c.Kube.AppsV1().ReplicaSets(c.namespace).Patch(t.Context(), set, types.MergePatchType, patch, metav1.PatchOptions{}, "scale")
		require.NoError(t, err)
	}
	scale(5)
	c.runs(t, set, map[string]int{h200: 3}, 2)
	c.says(t, set, insufficient(sixCards, h200, 1, 4, 3))
	scale(1)
	c.runs(t, set, map[string]int{h200: 1}, 0)
	c.submit(t, "with-service", sixCards, h200, 2, gang)
	c.runs(t, "with-service", map[string]int{h200: 2}, 0)
}
