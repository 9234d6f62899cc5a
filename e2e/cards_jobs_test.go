package e2e

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// queueOfSixCards has the example's queue give each of its cards, whole, MPS and MIG, up to the quota, and no other.
func queueOfSixCards(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	quota := map[string]int{}
	text := example[*scheduling.Queue](t, "queue.yaml").Annotations["volcano.sh/card.quota"]
	require.NoError(t, json.Unmarshal([]byte(text), &quota))
	require.Equal(t, map[string]int{h200: 3, h800: 2, rtx4090: 2, mps: 2, migSmall: 3, migLarge: 1}, quota)
	quota[rtx4090D], quota[ascend] = 0, 0 // the cluster has them, the queue does not

	jobs := map[string]string{}
	for card, n := range quota {
		name := fmt.Sprintf("job-%d", len(jobs))
		jobs[card] = name
		// The queue's largest MIG part is the node's only one: another pod finds neither quota nor room.
		c.submit(t, name, sixCards, card, int32(n)+1)
	}
	for card, n := range quota {
		want := map[string]int{card: n}
		if n == 0 {
			want = map[string]int{}
		}
		c.runs(t, jobs[card], want, 1)
		c.says(t, jobs[card], insufficient(sixCards, card, 1, n+1, n))
	}
}

// singleCardJob runs the example's job, and gives its cards to others when it is done.
func singleCardJob(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml", "job-single.yaml")
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
	c.until(t, func() string {
		queue, err := c.mirror.Volcano.Scheduling().V1beta1().Queues().Lister().Get(sixCards)
		if err != nil {
			return err.Error()
		}
		if gpus := queue.Status.Allocated["nvidia.com/gpu"]; gpus.Value() != 2 {
			return fmt.Sprintf("the queue's status should have 2 GPUs, it has %s", gpus.String())
		}
		return ""
	})
	c.submit(t, "after", sixCards, h200, 3, gang, requesting(`{"NVIDIA-H200": 3}`))
	c.refused(t, "after", insufficient(sixCards, h200, 3, 5, 3))
	c.complete(t, "cr-job", 2)
	c.runs(t, "after", map[string]int{h200: 3}, 0)
}

// requestAboveQuota refuses a job that states a request above the quota, and no other job.
func requestAboveQuota(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	c.submit(t, "greedy", sixCards, h200, 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	c.refused(t, "greedy", "Queue <cr-queue1> has insufficient <NVIDIA-H200> quota: requested <5>, total would be <5>, but capability is <3>")
	c.submit(t, "modest", sixCards, h200, 3, gang, requesting(`{"NVIDIA-H200": 3}`))
	c.runs(t, "modest", map[string]int{h200: 3}, 0)
	c.refused(t, "greedy", insufficient(sixCards, h200, 5, 5, 3))
}

// reasonsOnTheOwner has a user ask why a job does not start: the Job and its pod group say it, once for each reason.
// So does the ReplicaSet of a Deployment.
func reasonsOnTheOwner(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	c.submit(t, "greedy", sixCards, h200, 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	const three = "Queue <cr-queue1> has insufficient <NVIDIA-H200> quota: requested <5>, total would be <5>, but capability is <3>"
	const four = "Queue <cr-queue1> has insufficient <NVIDIA-H200> quota: requested <5>, total would be <5>, but capability is <4>"
	c.refused(t, "greedy", three)
	c.cycles(t, 6)
	c.setQuota(t, sixCards, `{"NVIDIA-H200": 4}`)
	c.refused(t, "greedy", four)
	c.cycles(t, 6)
	group := c.group("greedy")
	require.Len(t, group.Status.Conditions, 1)
	require.Equal(t, "OverQuota", group.Status.Conditions[0].Reason)
	require.JSONEq(t, `{"rule": "OverQuota", "queue": "cr-queue1", "cards": "NVIDIA-H200", "requested": 5, "shortages": [
		{"queue": "cr-queue1", "resource": "NVIDIA-H200", "requested": 5, "total": 5, "bound": 4, "against": "capability"}]}`,
		group.Annotations["volcano.sh/card.reason"])
	owner := metav1.GetControllerOf(group)
	require.Equal(t, []string{"batch.volcano.sh/v1alpha1", "Job", "greedy"}, []string{owner.APIVersion, owner.Kind, owner.Name})
	for _, words := range []string{three, four} {
		require.Equal(t, 1, c.eventsOf(owner.UID, corev1.EventTypeWarning, "Unschedulable", words), words)
		require.Equal(t, 1, c.eventsOf(group.UID, corev1.EventTypeWarning, "Unschedulable", words), words)
	}
	c.setQuota(t, sixCards, `{"NVIDIA-H200": 5}`)
	c.runs(t, "greedy", map[string]int{h200: 5}, 0)
	c.until(t, func() string { return notAdmitted(c.group("greedy")) })
	require.NotContains(t, c.group("greedy").Annotations, "volcano.sh/card.reason")

	c.deploy(t, "serve", sixCards, h800, 1)
	c.until(t, func() string {
		sets, err := c.Kube.AppsV1().ReplicaSets(c.namespace).List(t.Context(), metav1.ListOptions{})
		require.NoError(t, err)
		for _, set := range sets.Items {
			if c.eventsOf(set.UID, corev1.EventTypeWarning, "Unschedulable", insufficient(sixCards, h800, 1, 1, 0)) == 1 {
				return ""
			}
		}
		return "the ReplicaSet has no event that says why it does not start"
	})
}

// eitherOrJob has the example's job take the second card when the first one's quota is used up.
func eitherOrJob(t *testing.T, c *cluster) {
	const either = rtx4090 + "|" + rtx4090D
	c.apply(t, "queue-either-or.yaml", "job-either-or.yaml")
	c.runs(t, "cr-job-either-or", map[string]int{rtx4090: 2, rtx4090D: 1}, 0)

	c.submit(t, "two-more", twoCards, either, 2, gang, requesting(`{"`+either+`": 2}`))
	c.refused(t, "two-more", insufficient(twoCards, either, 2, 5, 4))
	c.submit(t, "up-to-two", twoCards, either, 2)
	c.runs(t, "up-to-two", map[string]int{rtx4090D: 1}, 1)
	c.says(t, "up-to-two", insufficient(twoCards, rtx4090, 1, 3, 2)+"; "+insufficient(twoCards, rtx4090D, 1, 3, 2))

	// A job's pods go one by one to whatever becomes free.
	c.complete(t, "cr-job-either-or", 3)
	c.runs(t, "up-to-two", map[string]int{rtx4090: 1, rtx4090D: 1}, 0)
	c.runs(t, "two-more", map[string]int{rtx4090: 1, rtx4090D: 1}, 0)
}

// preference has pods go to the card that they name first, while there is quota for it.
func preference(t *testing.T, c *cluster) {
	c.apply(t, "queue-either-or.yaml")
	c.submit(t, "ab", twoCards, rtx4090+"|"+rtx4090D, 2)
	c.runs(t, "ab", map[string]int{rtx4090: 2}, 0)
	c.complete(t, "ab", 2)
	c.submit(t, "ba", twoCards, rtx4090D+"|"+rtx4090, 3)
	c.runs(t, "ba", map[string]int{rtx4090D: 2, rtx4090: 1}, 0)
}

// eitherOrWithAffinity has pods that may take either card, with an affinity to the nodes of one card. They are charged
// for the card of their node, and the other card is left to other pods.
func eitherOrWithAffinity(t *testing.T, c *cluster) {
	c.apply(t, "queue-either-or.yaml")
	only := func(product string) func(*batch.Job) {
		return func(job *batch.Job) {
			job.Spec.Tasks[0].Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{
						{Key: "nvidia.com/gpu.product", Operator: corev1.NodeSelectorOpIn, Values: []string{product}},
					},
				}}},
			}}
		}
	}
	c.submit(t, "second", twoCards, rtx4090+"|"+rtx4090D, 3, only(rtx4090D))
	c.runs(t, "second", map[string]int{rtx4090D: 2}, 1)
	c.submit(t, "first", twoCards, rtx4090, 2, only(rtx4090))
	c.runs(t, "first", map[string]int{rtx4090: 2}, 0)
}

// mixedList refuses lists of cards that do not share one resource name.
func mixedList(t *testing.T, c *cluster) {
	c.queue(t, "mixed", `{"NVIDIA-H200": 2, "Ascend-910B": 2, "NVIDIA-H200/mig-1g.18gb-mixed": 2, "NVIDIA-H200/mig-3g.71gb-mixed": 1}`)
	words := func(list string) string {
		return "Cards <" + list + "> do not share one resource name, so no pod can request either of them"
	}
	for name, list := range map[string]string{
		"whole-or-mig": h200 + "|" + migSmall,
		"mig-or-mig":   migSmall + "|" + migLarge,
		"vendors":      h200 + "|" + ascend,
	} {
		c.submit(t, name, "mixed", list, 1)
		c.says(t, name, words(list))
		c.submit(t, name+"-told", "mixed", list, 1, requesting(`{"`+list+`": 1}`))
		c.refused(t, name+"-told", words(list))
	}
	c.submit(t, "whole", "mixed", h200, 1)
	c.runs(t, "whole", map[string]int{h200: 1}, 0)
}

// untypedPods has pods request GPUs without naming a card. They are charged for the card of their node, or refused if
// the scheduler is configured so.
func untypedPods(t *testing.T, c *cluster) {
	untyped := func(job *batch.Job) { delete(job.Spec.Tasks[0].Template.Annotations, "volcano.sh/card.name") }
	c.apply(t, "queue.yaml")
	c.submit(t, "untyped", sixCards, h200, 9, untyped)
	c.runs(t, "untyped", map[string]int{h200: 3, h800: 2, rtx4090: 2}, 2)
	c.says(t, "untyped", "Queue <cr-queue1> has insufficient quota of every <nvidia.com/gpu> card: requested <1>")
	c.submit(t, "typed", sixCards, h200, 1)
	c.runs(t, "typed", map[string]int{}, 1)
	c.says(t, "typed", insufficient(sixCards, h200, 1, 4, 3))

	c.reconfigure(t, "reclaimGangs: whole", "reclaimGangs: whole\n      untypedCards: reject")
	c.submit(t, "rejected", sixCards, h200, 1, untyped)
	c.runs(t, "rejected", map[string]int{}, 1)
	c.says(t, "rejected", "Pod requests <nvidia.com/gpu> but names no card: set the annotation volcano.sh/card.name")
}

// severalVendors has one queue with cards of two vendors.
func severalVendors(t *testing.T, c *cluster) {
	c.queue(t, "vendors", `{"NVIDIA-H200": 1, "Ascend-910B": 2}`)
	c.submit(t, "npu", "vendors", ascend, 3)
	c.submit(t, "gpu", "vendors", h200, 2)
	c.runs(t, "npu", map[string]int{ascend: 2}, 1)
	c.runs(t, "gpu", map[string]int{h200: 1}, 1)
	c.says(t, "npu", insufficient("vendors", ascend, 1, 3, 2))
	c.says(t, "gpu", insufficient("vendors", h200, 1, 2, 1))
}

// podGroup has a user make a pod group and its pods, without any job.
func podGroup(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	group := func(name string, cards int) string {
		return fmt.Sprintf(`
apiVersion: scheduling.volcano.sh/v1beta1
kind: PodGroup
metadata:
  name: %s
  annotations:
    volcano.sh/card.request: '{"NVIDIA-H200": %d}'
spec:
  queue: cr-queue1
  minMember: 1
  minResources: {cpu: 0}
`, name, cards)
	}
	objects, err := decode([]byte(group("greedy", 4) + "\n---\n" + group("modest", 3) + `
---
apiVersion: v1
kind: Pod
metadata:
  name: bare
  labels: {app: bare}
  annotations:
    scheduling.k8s.io/group-name: modest
    scheduling.volcano.sh/queue-name: cr-queue1
    volcano.sh/card.name: NVIDIA-H200
spec:
  schedulerName: volcano
  restartPolicy: Never
  containers:
  - name: train
    image: pytorch/pytorch:latest
    resources:
      limits:
        nvidia.com/gpu: 2
`))
	require.NoError(t, err)
	c.create(t, objects[1:]...)
	c.runs(t, "bare", map[string]int{h200: 2}, 0)
	c.create(t, objects[0])
	c.refused(t, "greedy", insufficient(sixCards, h200, 4, 6, 3))
}

// otherDevices has no quota for devices that are no cards.
func otherDevices(t *testing.T, c *cluster) {
	c.queue(t, "rdma", `{"NVIDIA-H200": 2}`)
	c.submit(t, "rdma", "rdma", h200, 2, gang, func(job *batch.Job) {
		limits := job.Spec.Tasks[0].Template.Spec.Containers[0].Resources.Limits
		limits["rdma/ib"] = limits["nvidia.com/gpu"]
	})
	c.runs(t, "rdma", map[string]int{h200: 2}, 0)
}

// unlimitedCPUAndMemory frees pods with cards from the queue's cpu and memory, and only those, and only if configured.
func unlimitedCPUAndMemory(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml", "job-single.yaml")
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
	c.cpuJob(t, "much-cpu", sixCards, "5", "1Gi")
	c.refused(t, "much-cpu", insufficient(sixCards, "cpu", 5, 5, 4))
	c.cpuJob(t, "much-memory", sixCards, "1", "5Gi")
	c.refused(t, "much-memory", "Queue <cr-queue1> has insufficient <memory> quota: "+
		"requested <5120Mi>, total would be <5120Mi>, but capability is <4096Mi>")
	c.cpuJob(t, "plain", sixCards, "3", "1Gi")
	c.runs(t, "plain", map[string]int{"": 1}, 0)

	none := example[*scheduling.Queue](t, "queue.yaml")
	none.Name, none.Spec.Capability = "cards-only", nil
	c.create(t, none)
	c.reconfigure(t, "reclaimGangs: whole", "reclaimGangs: whole\n      cardUnlimitedCpuMemory: false\n      unsetCapability: zero")
	c.cpuJob(t, "no-cpu", "cards-only", "1", "0")
	c.refused(t, "no-cpu", insufficient("cards-only", "cpu", 1, 1, 0))
	c.submit(t, "held", sixCards, h200, 1)
	c.refused(t, "held", insufficient(sixCards, "cpu", 16, 2*16+3+16, 4)+"; Queue <cr-queue1> has insufficient <memory> quota: "+
		"requested <131072Mi>, total would be <394240Mi>, but capability is <4096Mi>")
}

// jobOfRoles runs the example's job of a master and workers, with a node affinity as many have it from before.
func jobOfRoles(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml", "job-roles.yaml")
	c.runs(t, "cr-job-roles", map[string]int{h200: 3}, 0)
	c.submit(t, "fourth", sixCards, h200, 1, requesting(`{"NVIDIA-H200": 1}`))
	c.refused(t, "fourth", insufficient(sixCards, h200, 1, 4, 3))
}
