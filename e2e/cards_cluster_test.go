package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	priority "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// nodeOf reads a node of the example.
func nodeOf(t *testing.T, name string) *corev1.Node {
	t.Helper()
	for _, object := range readExample(t, "nodes.yaml") {
		if node, ok := object.(*corev1.Node); ok && node.Name == name {
			return node
		}
	}
	t.Fatalf("no node %s in the example", name)
	return nil
}

// saysOfNodes waits until a waiting pod's condition is about nodes, and not about quotas.
func (c *cluster) saysOfNodes(t *testing.T, workload string) {
	t.Helper()
	c.until(t, func() string {
		for _, pod := range c.waiting(workload) {
			if message := scheduled(pod).Message; !strings.Contains(message, "nodes are unavailable") {
				return fmt.Sprintf("pod %s should say that it finds no node, it says %q", pod.Name, message)
			}
		}
		return ""
	})
}

// nodeLost takes a node away while pods are on it. They stay charged for the card of the node. Other pods are scheduled
// as before, and pods that need the node wait until it is back.
func nodeLost(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml", "queue-either-or.yaml", "deployment-either-or.yaml")
	const service, lost = "cr-deployment-either-or", "rtx4090d-1"
	c.scale(t, service, 4)
	c.runs(t, service, map[string]int{rtx4090: 2, rtx4090D: 2}, 0)
	require.NoError(t, c.Kube.CoreV1().Nodes().Delete(t.Context(), lost, metav1.DeleteOptions{}))

	c.apply(t, "job-single.yaml")
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
	c.scale(t, service, 5)
	c.runs(t, service, map[string]int{rtx4090: 2, rtx4090D: 2}, 1)
	c.says(t, service, insufficient(twoCards, rtx4090, 1, 3, 2)+"; "+insufficient(twoCards, rtx4090D, 1, 3, 2))
	c.deletePods(t, service, "rtx4090-1")
	c.runs(t, service, map[string]int{rtx4090: 2, rtx4090D: 2}, 1)

	// Kubernetes deletes the pods of the node after some minutes, and other pods take their place.
	c.deletePods(t, service, lost)
	c.runs(t, service, map[string]int{rtx4090: 2}, 3)
	c.saysOfNodes(t, service)
	c.create(t, nodeOf(t, lost))
	c.runs(t, service, map[string]int{rtx4090: 2, rtx4090D: 2}, 1)
}

// deletePods deletes the pods of a workload on a node.
func (c *cluster) deletePods(t *testing.T, workload, node string) {
	t.Helper()
	for _, pod := range c.pods(workload) {
		if pod.Spec.NodeName == node {
			require.NoError(t, c.Kube.CoreV1().Pods(c.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
		}
	}
}

// quotaAboveCluster gives out more cards than there are. Queues then compete for them.
func quotaAboveCluster(t *testing.T, c *cluster) {
	c.queue(t, "large", `{"NVIDIA-H200": 100}`)
	c.queue(t, "small", `{"NVIDIA-H200": 2}`)
	c.deploy(t, "large", "large", h200, 9)
	c.runs(t, "large", map[string]int{h200: 7}, 2) // all that the node has
	c.saysOfNodes(t, "large")
	c.deploy(t, "small", "small", h200, 3)
	c.runs(t, "small", map[string]int{}, 3)
	c.saysOfNodes(t, "small")
	c.scale(t, "large", 4)
	c.runs(t, "large", map[string]int{h200: 4}, 0)
	c.runs(t, "small", map[string]int{h200: 2}, 1)
	c.says(t, "small", insufficient("small", h200, 1, 3, 2))
}

// sharesOfNodes has a quota of half of the cards. Another node raises it. When the node has left, it is as before.
func sharesOfNodes(t *testing.T, c *cluster) {
	c.expectQuota(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "half", Annotations: map[string]string{"volcano.sh/card.quota": `{"NVIDIA-H200": 7}`}}})
	c.queue(t, "half", `{"NVIDIA-H200": "50%"}`)
	c.deploy(t, "service", "half", h200, 9)
	c.runs(t, "service", map[string]int{h200: 3}, 6)
	c.says(t, "service", insufficient("half", h200, 1, 4, 3))

	more := nodeOf(t, "h200-1")
	more.Name = "h200-more"
	more.Labels["kubernetes.io/hostname"] = more.Name
	c.create(t, more)
	c.runs(t, "service", map[string]int{h200: 7}, 2)
	c.says(t, "service", insufficient("half", h200, 1, 8, 7))

	c.scale(t, "service", 0)
	c.runs(t, "service", map[string]int{}, 0)
	require.NoError(t, c.Kube.CoreV1().Nodes().Delete(t.Context(), more.Name, metav1.DeleteOptions{}))
	c.scale(t, "service", 9)
	c.runs(t, "service", map[string]int{h200: 3}, 6)
	c.says(t, "service", insufficient("half", h200, 1, 4, 3))
}

// lentCardsComeBack has a queue borrow from another queue. The lender takes back the cards that it deserves, and no
// more.
func lentCardsComeBack(t *testing.T, c *cluster) {
	c.apply(t, "queue-lending.yaml")
	c.submit(t, "borrower", "training", rtx4090D, 9)
	c.runs(t, "borrower", map[string]int{rtx4090D: 8}, 1)
	c.says(t, "borrower", insufficient("training", rtx4090D, 1, 9, 8))

	c.submit(t, "owner", "inference", rtx4090D, 3, gang)
	c.runs(t, "owner", map[string]int{rtx4090D: 3}, 0)
	c.runs(t, "borrower", map[string]int{rtx4090D: 5}, 4)
	c.submit(t, "owner-2", "inference", rtx4090D, 1)
	c.runs(t, "owner-2", map[string]int{rtx4090D: 1}, 0)
	c.runs(t, "borrower", map[string]int{rtx4090D: 4}, 5)

	// Both queues have the cards that they deserve, so no queue takes any more. If inference deserves more later, it
	// still takes nothing, because training has no more than it deserves.
	nobodyIsEvicted := func() {
		c.cycles(t, 6)
		c.runs(t, "borrower", map[string]int{rtx4090D: 4}, 5)
		c.runs(t, "owner-3", map[string]int{}, 1)
	}
	c.submit(t, "owner-3", "inference", rtx4090D, 1)
	nobodyIsEvicted()
	c.annotate(t, "inference", "volcano.sh/card.deserved", `{"NVIDIA-GeForce-RTX-4090-D": 6}`)
	nobodyIsEvicted()

	// Cards that are guaranteed to training are not lent, even while they are idle.
	require.NoError(t, c.Volcano.BatchV1alpha1().Jobs(c.namespace).Delete(t.Context(), "borrower", metav1.DeleteOptions{}))
	c.runs(t, "owner-3", map[string]int{rtx4090D: 1}, 0)
	c.submit(t, "owner-4", "inference", rtx4090D, 3)
	c.runs(t, "owner-4", map[string]int{rtx4090D: 1}, 2)
	c.says(t, "owner-4", insufficient("inference", rtx4090D, 1, 7, 6))
}

// deploymentTakesBack scales a Deployment in a queue that deserves four cards. An elastic job of another queue has
// seven of eight cards. Volcano's actions skip a Deployment that has one pod, unless jobs reclaim beyond their minimum.
func deploymentTakesBack(t *testing.T, c *cluster) {
	c.apply(t, "queue-lending.yaml")
	c.deploy(t, "serve", "inference", rtx4090D, 1)
	c.runs(t, "serve", map[string]int{rtx4090D: 1}, 0)
	c.submit(t, "trainer", "training", rtx4090D, 7)
	c.runs(t, "trainer", map[string]int{rtx4090D: 7}, 0)
	c.scale(t, "serve", 2)
	c.cycles(t, 6)
	c.runs(t, "serve", map[string]int{rtx4090D: 1}, 1)

	c.reconfigure(t, "reclaimGangs: whole", "reclaimGangs: whole\n      reclaimBeyondMinimum: true",
		"- name: gang\n", "- name: gang\n    enableJobStarving: false\n")
	c.runs(t, "serve", map[string]int{rtx4090D: 2}, 0)
	c.runs(t, "trainer", map[string]int{rtx4090D: 6}, 1)
	c.scale(t, "serve", 6)
	c.runs(t, "serve", map[string]int{rtx4090D: 4}, 2)
	c.runs(t, "trainer", map[string]int{rtx4090D: 4}, 3)
	c.cycles(t, 6)
	c.runs(t, "serve", map[string]int{rtx4090D: 4}, 2)
}

// schedulerRestart has a new scheduler take over: it counts the running pods, on the cards that they run on.
func schedulerRestart(t *testing.T, c *cluster) {
	c.apply(t, "queue-either-or.yaml", "job-either-or.yaml")
	c.runs(t, "cr-job-either-or", map[string]int{rtx4090: 2, rtx4090D: 1}, 0)
	c.schedule(t, exampleConfiguration(t))
	c.submit(t, "next", twoCards, rtx4090+"|"+rtx4090D, 3)
	c.runs(t, "next", map[string]int{rtx4090D: 1}, 2)
	c.says(t, "next", insufficient(twoCards, rtx4090, 1, 3, 2)+"; "+insufficient(twoCards, rtx4090D, 1, 3, 2))
}

// urgent makes a class of high priority for a test, and returns a function that gives it to a job.
func (c *cluster) urgent(t *testing.T) func(*batch.Job) {
	t.Helper()
	classes := c.Kube.SchedulingV1().PriorityClasses()
	_, err := classes.Create(t.Context(), &priority.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "urgent"}, Value: 1000}, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, classes.Delete(context.Background(), "urgent", metav1.DeleteOptions{}))
	})
	return func(job *batch.Job) { job.Spec.PriorityClassName = "urgent" }
}

// preemptionInAQueue has a job of more importance take a card of another in the same queue, and no more than it needs.
func preemptionInAQueue(t *testing.T, c *cluster) {
	c.reconfigure(t, `"enqueue, allocate, reclaim, backfill"`, `"enqueue, allocate, preempt, reclaim, backfill"`)
	urgent := c.urgent(t)
	c.queue(t, "busy", `{"NVIDIA-GeForce-RTX-4090": 8}`)
	c.queue(t, "bystander", `{"NVIDIA-H200": 1}`)
	c.submit(t, "other", "bystander", h200, 1)
	c.submit(t, "batch", "busy", rtx4090, 8) // all that the node has
	c.runs(t, "batch", map[string]int{rtx4090: 8}, 0)

	c.submit(t, "urgent", "busy", rtx4090, 2, gang, urgent)
	c.runs(t, "urgent", map[string]int{rtx4090: 2}, 0)
	c.runs(t, "batch", map[string]int{rtx4090: 6}, 2)
	c.submit(t, "equal", "busy", rtx4090, 1)
	c.cycles(t, 6)
	c.runs(t, "equal", map[string]int{}, 1)
	c.runs(t, "batch", map[string]int{rtx4090: 6}, 2)
	c.runs(t, "other", map[string]int{h200: 1}, 0)
}
