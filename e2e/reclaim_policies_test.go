package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
)

// tidal is the directory of the manifests of tidal scheduling, relative to the manifests of cards.
const tidal = "../tidal/"

// TestReclaimPolicies sets the policies that decide who takes from whom (docs/spec/policies.md).
func TestReclaimPolicies(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	for _, each := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{{"Tide", tide}, {"Fence", fence}, {"MinRuntime", minRuntime}, {"PreemptMinRuntime", preemptMinRuntime}, {"ReclaimDelay", reclaimDelay}, {"SoftQuota", softQuota}, {"VictimOrder", victimOrder},
		{"EvictionBudget", evictionBudget}, {"ReclaimBudget", reclaimBudget}, {"EnforceQuota", enforceQuota}, {"EnforceBudgets", enforceBudgets}, {"Checkpoints", checkpoints}, {"EvictionGrace", evictionGrace}} {
		t.Run(each.name, func(t *testing.T) {
			t.Cleanup(func() { c.clear(t) })
			each.run(t, c)
		})
	}
}

// tide applies the manifests of examples/tidal. Inference takes cards from training that training deserves, training
// takes none back, and gets them when inference scales down.
func tide(t *testing.T, c *cluster) {
	c.schedule(t, example[*corev1.ConfigMap](t, tidal+"scheduler.conf.yaml").Data["volcano-scheduler.conf"])
	t.Cleanup(func() { c.schedule(t, exampleConfiguration(t)) })
	c.apply(t, tidal+"queues.yaml", tidal+"training.yaml")
	c.runs(t, "training", map[string]int{rtx4090D: 8}, 0)

	c.apply(t, tidal+"inference.yaml")
	c.runs(t, "inference", map[string]int{rtx4090D: 4}, 0)
	c.runs(t, "training", map[string]int{}, 2) // the whole gang restarts, and has no room
	c.cycles(t, 6)
	c.runs(t, "inference", map[string]int{rtx4090D: 4}, 0)
	c.runs(t, "training", map[string]int{}, 2)

	c.scale(t, "inference", 0)
	c.runs(t, "training", map[string]int{rtx4090D: 8}, 0)
	c.scale(t, "inference", 2)
	c.runs(t, "inference", map[string]int{rtx4090D: 8}, 0)
	c.runs(t, "training", map[string]int{}, 2)
}

// softQuota has the queue training borrow all eight cards. A queue that deserves none takes back the cards above the
// soft quota.
func softQuota(t *testing.T, c *cluster) {
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/card.guarantee", `{"NVIDIA-GeForce-RTX-4090-D": 0}`)
	c.annotate(t, "training", "volcano.sh/soft-quota", `{"NVIDIA-GeForce-RTX-4090-D": 6}`)
	c.annotate(t, "training", "volcano.sh/card.deserved", `{"NVIDIA-GeForce-RTX-4090-D": 4}`)
	c.annotate(t, "inference", "volcano.sh/card.deserved", `{"NVIDIA-GeForce-RTX-4090-D": 0}`)
	c.annotate(t, "inference", "volcano.sh/card.guarantee", `{"NVIDIA-GeForce-RTX-4090-D": 0}`)
	borrowers := func(want int) { c.runs(t, "borrower", map[string]int{rtx4090D: want}, 8-want) }
	c.submit(t, "borrower", "training", rtx4090D, 8)
	borrowers(8)
	c.submit(t, "owner", "inference", rtx4090D, 2, func(j *batch.Job) { j.Spec.MinAvailable = 2 })
	c.runs(t, "owner", map[string]int{rtx4090D: 2}, 0)
	borrowers(6)
	c.submit(t, "late", "inference", rtx4090D, 1)
	c.cycles(t, 6)
	c.runs(t, "late", map[string]int{}, 1)
	borrowers(6)
	c.annotate(t, "training", "volcano.sh/soft-quota", `{"NVIDIA-GeForce-RTX-4090-D": 1.5}`)
	c.misconfigured(t, "training", `annotation volcano.sh/soft-quota: "{\"NVIDIA-GeForce-RTX-4090-D\": 1.5}" is not a JSON object of cards and whole numbers, `+
		`such as {"NVIDIA-H200": 8}; the last good value stays in force`)
	borrowers(6)
}

// borrowAll has the queue training borrow all eight cards, and a job of inference, which deserves four, wait for one of
// them.
func borrowAll(t *testing.T, c *cluster) {
	t.Helper()
	c.submit(t, "borrower", "training", rtx4090D, 8)
	c.runs(t, "borrower", map[string]int{rtx4090D: 8}, 0)
	c.submit(t, "owner", "inference", rtx4090D, 1)
}

// waitsUntil has the job of borrowAll wait for some cycles, and get its card when a policy changes.
func waitsUntil(t *testing.T, c *cluster, queue, key, value string) {
	t.Helper()
	c.cycles(t, 6)
	c.runs(t, "owner", map[string]int{}, 1)
	c.runs(t, "borrower", map[string]int{rtx4090D: 8}, 0)
	c.annotate(t, queue, key, value)
	c.runs(t, "owner", map[string]int{rtx4090D: 1}, 0)
	c.runs(t, "borrower", map[string]int{rtx4090D: 7}, 1)
}

func fence(t *testing.T, c *cluster) {
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/reclaim-fence", "true")
	borrowAll(t, c)
	waitsUntil(t, c, "training", "volcano.sh/reclaim-fence", "false")
}

// minRuntime has a wrong value, too: the last good one stays in force.
func minRuntime(t *testing.T, c *cluster) {
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/min-runtime", "reclaim=1h")
	borrowAll(t, c)
	c.annotate(t, "training", "volcano.sh/min-runtime", "none")
	c.misconfigured(t, "training", `annotation volcano.sh/min-runtime: "none" is not a list of reclaim=TIME; preempt=TIME, such as reclaim=30m,preempt=10m; the last good value stays in force`)
	waitsUntil(t, c, "training", "volcano.sh/min-runtime", "reclaim=0s")
}

func reclaimDelay(t *testing.T, c *cluster) {
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "inference", "volcano.sh/reclaim-delay", "1h")
	borrowAll(t, c)
	waitsUntil(t, c, "inference", "volcano.sh/reclaim-delay", "0s")
}

// preemptMinRuntime has two jobs in a queue. The second job has the higher priority.
func preemptMinRuntime(t *testing.T, c *cluster) {
	c.reconfigure(t, "reclaim, backfill", "preempt, backfill")
	urgent := c.urgent(t)
	c.queue(t, "one", `{"NVIDIA-GeForce-RTX-4090-D": 8}`)
	c.annotate(t, "one", "volcano.sh/min-runtime", "preempt=1h")
	c.submit(t, "low", "one", rtx4090D, 8)
	c.runs(t, "low", map[string]int{rtx4090D: 8}, 0)
	c.submit(t, "high", "one", rtx4090D, 1, urgent)
	c.cycles(t, 6)
	c.runs(t, "high", map[string]int{}, 1)
	c.annotate(t, "one", "volcano.sh/min-runtime", "preempt=0s")
	c.runs(t, "high", map[string]int{rtx4090D: 1}, 0)
	c.runs(t, "low", map[string]int{rtx4090D: 7}, 1)
}

// victimOrder evicts one pod with seven cards for one with four, and not the younger one with one card as well, which
// Volcano's order takes first. gang spares nothing.
func victimOrder(t *testing.T, c *cluster) {
	c.reconfigure(t, "reclaimGangs: whole", "reclaimGangs: whole\n      victimOrder: leastWork",
		"- name: gang\n", "- name: gang\n    enableReclaimable: false\n")
	of := func(cards int64) func(*batch.Job) {
		return func(job *batch.Job) { request(&job.Spec.Tasks[0].Template.Spec, "nvidia.com/gpu", cards) }
	}
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/card.guarantee", `{"NVIDIA-GeForce-RTX-4090-D": 0}`)
	c.submit(t, "large", "training", rtx4090D, 1, of(7))
	c.runs(t, "large", map[string]int{rtx4090D: 7}, 0)
	c.submit(t, "small", "training", rtx4090D, 1)
	c.runs(t, "small", map[string]int{rtx4090D: 1}, 0)
	c.submit(t, "owner", "inference", rtx4090D, 1, of(4))
	c.runs(t, "owner", map[string]int{rtx4090D: 4}, 0)
	c.runs(t, "large", map[string]int{}, 1)
	c.runs(t, "small", map[string]int{rtx4090D: 1}, 0)
	require.Zero(t, c.eventsOf(c.group("small").UID, corev1.EventTypeNormal, "Evict", "reclaim"))
}

func evictionBudget(t *testing.T, c *cluster) {
	budgeted(t, c, "training", "lose")
}
func reclaimBudget(t *testing.T, c *cluster) {
	budgeted(t, c, "inference", "take")
}

// budgeted has a pod of training evicted, none beyond the budget of a queue, and two more when that is raised.
func budgeted(t *testing.T, c *cluster, queue, word string) {
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, queue, "volcano.sh/eviction-budget", word+"=1/1h")
	c.submit(t, "borrower", "training", rtx4090D, 8)
	c.runs(t, "borrower", map[string]int{rtx4090D: 8}, 0)
	for i := range 3 {
		c.submit(t, fmt.Sprint("owner-", i), "inference", rtx4090D, 1)
	}
	c.runs(t, "borrower", map[string]int{rtx4090D: 7}, 1)
	c.cycles(t, 6)
	c.runs(t, "borrower", map[string]int{rtx4090D: 7}, 1)
	c.annotate(t, queue, "volcano.sh/eviction-budget", word+"=3/1h")
	c.runs(t, "borrower", map[string]int{rtx4090D: 5}, 3)
	for i := range 3 {
		c.runs(t, fmt.Sprint("owner-", i), map[string]int{rtx4090D: 1}, 0)
	}
}

// enforceQuota lowers the quota of a queue. An event says so at once, and after the delay as few pods as needed are
// evicted.
func enforceQuota(t *testing.T, c *cluster) {
	const delay = 10 * time.Second
	c.queue(t, "lowered", `{"NVIDIA-GeForce-RTX-4090-D": 8}`)
	c.annotate(t, "lowered", "volcano.sh/enforce-quota", "after="+delay.String())
	c.submit(t, "sweep", "lowered", rtx4090D, 8)
	c.runs(t, "sweep", map[string]int{rtx4090D: 8}, 0)
	object, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), "lowered", metav1.GetOptions{})
	require.NoError(t, err)
	lowered := time.Now()
	c.setQuota(t, "lowered", `{"NVIDIA-GeForce-RTX-4090-D": 5}`)
	c.until(t, func() string {
		for _, event := range c.events(object.UID) {
			if event.Reason == "QuotaEnforced" && strings.Contains(event.Message,
				"queue <lowered> is above its bounds: <8> of <NVIDIA-GeForce-RTX-4090-D>, <5> are allowed; pods above them are evicted from ") {
				return ""
			}
		}
		return "queue lowered should have an event of what is above its quota"
	})
	c.runs(t, "sweep", map[string]int{rtx4090D: 5}, 3)
	require.False(t, time.Now().Before(lowered.Add(delay)), "the delay is over")
	c.cycles(t, 6)
	c.runs(t, "sweep", map[string]int{rtx4090D: 5}, 3)
}

// enforceBudgets uses up the budget of card-hours of a queue. An event says so, and after the delay all its pods with
// the card are evicted, and wait.
func enforceBudgets(t *testing.T, c *cluster) {
	c.queue(t, "granted", `{"NVIDIA-GeForce-RTX-4090-D": 8}`)
	c.annotate(t, "granted", "volcano.sh/card.budget", `{"NVIDIA-GeForce-RTX-4090-D": "0.01h/366d"}`)
	c.annotate(t, "granted", "volcano.sh/enforce-quota", "after=5s,budgets")
	c.submit(t, "sweep", "granted", rtx4090D, 4)
	c.runs(t, "sweep", map[string]int{rtx4090D: 4}, 0)
	object, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), "granted", metav1.GetOptions{})
	require.NoError(t, err)
	c.until(t, func() string {
		for _, event := range c.events(object.UID) {
			if event.Reason == "QuotaEnforced" && strings.Contains(event.Message,
				"queue <granted> is above its bounds: <4> of <NVIDIA-GeForce-RTX-4090-D>, of which the budget is used up; pods above them are evicted from ") {
				return ""
			}
		}
		return "queue granted should have an event of the budget that is used up"
	})
	c.runs(t, "sweep", map[string]int{}, 4)
	c.cycles(t, 6)
	c.runs(t, "sweep", map[string]int{}, 4)
	c.annotate(t, "granted", "volcano.sh/card.budget", `{"NVIDIA-GeForce-RTX-4090-D": "5000h/366d"}`)
	c.runs(t, "sweep", map[string]int{rtx4090D: 4}, 0)
}

// checkpoints has the pod that began first write a checkpoint. So its eviction loses less work than the eviction of a
// pod that began later.
func checkpoints(t *testing.T, c *cluster) {
	c.reconfigure(t, "reclaimGangs: whole", "reclaimGangs: whole\n      victimOrder: leastWork",
		"- name: gang\n", "- name: gang\n    enableReclaimable: false\n")
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/card.guarantee", `{"NVIDIA-GeForce-RTX-4090-D": 0}`)
	of := func(job *batch.Job) { request(&job.Spec.Tasks[0].Template.Spec, "nvidia.com/gpu", 4) }
	c.submit(t, "old", "training", rtx4090D, 1, of)
	c.runs(t, "old", map[string]int{rtx4090D: 4}, 0)
	c.submit(t, "young", "training", rtx4090D, 1, of)
	c.runs(t, "young", map[string]int{rtx4090D: 4}, 0)
	for _, pod := range c.pods("old") {
		c.annotatePod(t, pod.Name, "volcano.sh/checkpoint-time", time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
	}
	c.cycles(t, 2)
	require.Eventually(t, func() bool { return time.Since(c.pods("young")[0].Status.StartTime.Time) > 2*time.Second }, patience, schedulePeriod)
	c.submit(t, "owner", "inference", rtx4090D, 1, of)
	c.runs(t, "owner", map[string]int{rtx4090D: 4}, 0)
	c.runs(t, "old", map[string]int{}, 1)
	c.runs(t, "young", map[string]int{rtx4090D: 4}, 0)
}

// annotatePod sets an annotation of a pod.
func (c *cluster) annotatePod(t *testing.T, pod, key, value string) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	require.NoError(t, err)
	_, err = c.Kube.CoreV1().Pods(c.namespace).Patch(t.Context(), pod, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err)
}

// evictionGrace has a pod of training get notice before it is evicted: an annotation and an event say so, it runs until
// then, and nobody else gets notice.
func evictionGrace(t *testing.T, c *cluster) {
	const grace = 10 * time.Second
	c.apply(t, "queue-lending.yaml")
	c.annotate(t, "training", "volcano.sh/eviction-grace", grace.String())
	c.submit(t, "borrower", "training", rtx4090D, 8, func(job *batch.Job) {
		job.Spec.Tasks[0].Template.Annotations["volcano.sh/eviction-grace"] = "1h"
	})
	c.runs(t, "borrower", map[string]int{rtx4090D: 8}, 0)
	claimed := time.Now()
	c.submit(t, "owner", "inference", rtx4090D, 1)
	c.until(t, func() string {
		told := 0
		for _, pod := range c.pods("borrower") {
			text := pod.Annotations["volcano.sh/eviction-notice"]
			if text == "" {
				continue
			}
			for _, event := range c.events(pod.UID) {
				if event.Reason == "EvictionNotice" && event.Message == "The pod may be evicted from "+text+" on: reclaim, for a pod of another queue" {
					told++
				}
			}
		}
		if told != 1 {
			return fmt.Sprintf("%d pods have notice, should be 1", told)
		}
		return ""
	})
	c.runs(t, "owner", map[string]int{rtx4090D: 1}, 0)
	require.False(t, time.Now().Before(claimed.Add(grace)), "the notice is over")
	c.runs(t, "borrower", map[string]int{rtx4090D: 7}, 1)
	c.annotate(t, "training", "volcano.sh/eviction-grace", "long")
	c.misconfigured(t, "training", `annotation volcano.sh/eviction-grace: "long" is not a duration of 0 or more, such as 30m; the last good value stays in force`)
}
