package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// TestAdmissionPolicies sets the policies of admission on queues (docs/spec/policies.md).
func TestAdmissionPolicies(t *testing.T) {
	c := plane(t, "nodes.yaml")
	c.schedule(t, exampleConfiguration(t))
	for _, each := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{{"MaxJobs", maxJobs}, {"JobOrder", jobOrder}, {"OvercommitFactor", overcommitFactor}, {"InqueueTimeout", inqueueTimeout}, {"NamespaceLimits", namespaceLimits}, {"DisplacedPromise", displacedPromise}, {"Windows", windows}} {
		t.Run(each.name, func(t *testing.T) {
			t.Cleanup(func() { c.clear(t) })
			each.run(t, c)
		})
	}
}

// misconfigured waits until a queue has a warning about a policy.
func (c *cluster) misconfigured(t *testing.T, queue, message string) {
	t.Helper()
	object, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), queue, metav1.GetOptions{})
	require.NoError(t, err)
	c.until(t, func() string {
		if c.eventsOf(object.UID, corev1.EventTypeWarning, "BadPolicyAnnotation", message) == 0 {
			return fmt.Sprintf("queue %s should have the warning %q", queue, message)
		}
		return ""
	})
}

// maxJobs admits two jobs at a time. A wrong value leaves the last good one in force.
func maxJobs(t *testing.T, c *cluster) {
	c.queue(t, "few", `{"NVIDIA-H200": 8}`)
	c.annotate(t, "few", "volcano.sh/max-jobs", "2")
	full := "Queue <few> has insufficient <jobs> quota: requested <1>, total would be <3>, but max-jobs is <2>"
	for _, name := range []string{"one", "two"} {
		c.submit(t, name, "few", h200, 1)
		c.runs(t, name, map[string]int{h200: 1}, 0)
	}
	c.submit(t, "three", "few", h200, 1)
	c.refused(t, "three", full)
	c.annotate(t, "few", "volcano.sh/max-jobs", "none")
	c.misconfigured(t, "few", `annotation volcano.sh/max-jobs: "none" is not a whole number above 0; the last good value stays in force`)
	c.runs(t, "three", map[string]int{}, 0)
	c.complete(t, "one", 1)
	c.runs(t, "three", map[string]int{h200: 1}, 0)
}

// jobOrder has a job of 8 cards wait behind a job that runs, and hold back a small job until its time is over.
// TestScenes covers a restart of the scheduler, which reads the conditions of PodGroups.
func jobOrder(t *testing.T, c *cluster) {
	c.queue(t, "inorder", `{"NVIDIA-H200": 8}`)
	c.annotate(t, "inorder", "volcano.sh/order", "fifo")
	c.submit(t, "runs", "inorder", h200, 1)
	c.runs(t, "runs", map[string]int{h200: 1}, 0)
	c.submit(t, "large", "inorder", h200, 8, gang, requesting(`{"NVIDIA-H200": 8}`))
	c.refused(t, "large", "Queue <inorder> has insufficient <NVIDIA-H200> quota: requested <8>, total would be <9>, but capability is <8>")
	c.submit(t, "small", "inorder", h200, 1)
	c.refusedFor(t, "small", "Queue <inorder> holds the job back: job <"+c.namespace+"/"+c.group("large").Name+"> goes first (order: fifo) and waits for quota, until ")
	c.annotate(t, "inorder", "volcano.sh/order", "fifo,hold=soon")
	c.misconfigured(t, "inorder", `annotation volcano.sh/order: "fifo,hold=soon" is not a list of fifo, priority-fifo or best-effort; hold=TIME; nodes=TIME; displace or displace=off, such as fifo,hold=30m; "hold=soon" is wrong; the last good value stays in force`)
	c.runs(t, "small", map[string]int{}, 0)
	c.annotate(t, "inorder", "volcano.sh/order", "fifo,hold=1s")
	c.runs(t, "small", map[string]int{h200: 1}, 0)
}

// overcommitFactor admits jobs up to twice the deserved amount of the queue. This amount is less than its quota.
func overcommitFactor(t *testing.T, c *cluster) {
	c.queue(t, "eager", `{"NVIDIA-H200": 8}`)
	c.annotate(t, "eager", "volcano.sh/card.guarantee", `{"NVIDIA-H200": 0}`)
	c.annotate(t, "eager", "volcano.sh/card.deserved", `{"NVIDIA-H200": 1}`)
	c.annotate(t, "eager", "volcano.sh/overcommit-factor", "2")
	c.submit(t, "large", "eager", h200, 3, gang, requesting(`{"NVIDIA-H200": 3}`))
	c.refused(t, "large", "Queue <eager> has insufficient <NVIDIA-H200> quota: requested <3>, total would be <3>, but deserved × overcommit-factor is <2>")
	c.submit(t, "small", "eager", h200, 2, gang, requesting(`{"NVIDIA-H200": 2}`))
	c.runs(t, "small", map[string]int{h200: 2}, 0)
	c.annotate(t, "eager", "volcano.sh/overcommit-factor", "5")
	c.runs(t, "large", map[string]int{h200: 3}, 0)
}

// inqueueTimeout has a job that is admitted and finds no node: no node has its card. After a
// second its promise ends, and another one is admitted.
func inqueueTimeout(t *testing.T, c *cluster) {
	const card = "NVIDIA-A100"
	inqueue := func(job string) {
		t.Helper()
		c.until(t, func() string {
			if group := c.group(job); group == nil || group.Status.Phase != scheduling.PodGroupInqueue {
				return fmt.Sprintf("job %s should be Inqueue", job)
			}
			return ""
		})
	}
	c.queue(t, "stuck", `{"NVIDIA-A100": 3}`)
	c.submit(t, "first", "stuck", card, 3, gang, requesting(`{"NVIDIA-A100": 3}`))
	inqueue("first")
	c.submit(t, "next", "stuck", card, 2, gang, requesting(`{"NVIDIA-A100": 2}`))
	c.refused(t, "next", insufficient("stuck", card, 2, 5, 3))
	c.annotate(t, "stuck", "volcano.sh/inqueue-timeout", "1s")
	inqueue("next")
	inqueue("first")
	const text = "The job has been Inqueue for more than 1s without its minimum: its minimum is not reserved any more, and other jobs can be admitted. It starts when there is room"
	c.until(t, func() string {
		group := c.group("first")
		for _, condition := range group.Status.Conditions {
			if condition.Type == "Inqueue" && condition.Status == corev1.ConditionFalse && condition.Reason == "InqueueTimeout" && condition.Message == text {
				return ""
			}
		}
		return fmt.Sprintf("job first should have the condition Inqueue, False: %v", group.Status.Conditions)
	})
	c.cycles(t, 4)
	require.Equal(t, 1, c.eventsOf(c.group("first").UID, corev1.EventTypeWarning, "InqueueTimeout", text))
}

// namespaceLimits has two namespaces share a queue that lets each of them have two cards.
func namespaceLimits(t *testing.T, c *cluster) {
	c.queue(t, "shared", `{"NVIDIA-H200": 8}`)
	c.annotate(t, "shared", "volcano.sh/card.quota.by", `{"namespace": {"*": {"NVIDIA-H200": 2}}}`)
	first := c.namespace
	c.submit(t, "many", "shared", h200, 4)
	c.runs(t, "many", map[string]int{h200: 2}, 2)
	c.says(t, "many", "Queue <shared> has insufficient <NVIDIA-H200> quota for namespace <"+first+">: requested <1>, total would be <3>, but card.quota.by is <2>")
	c.renewNamespace(t)
	c.submit(t, "other", "shared", h200, 2)
	c.runs(t, "other", map[string]int{h200: 2}, 0)
	require.NoError(t, c.Volcano.BatchV1alpha1().Jobs(c.namespace).DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}))
	c.namespace = first
	c.annotate(t, "shared", "volcano.sh/card.quota.by", `{"namespace": {"*": {"NVIDIA-H200": 4}}}`)
	c.runs(t, "many", map[string]int{h200: 4}, 0)

	c.annotate(t, "shared", "volcano.sh/card.quota.by", `{"namespace": {"*": {"NVIDIA-H200": 4, "cpu": "1500m"}}}`)
	c.cpuJob(t, "small", "shared", "1", "100Mi")
	c.runs(t, "small", map[string]int{"": 1}, 0)
	c.cpuJob(t, "more", "shared", "1", "100Mi")
	c.refused(t, "more", "Queue <shared> has insufficient <cpu> quota for namespace <"+first+">: requested <1>, total would be <2>, but card.quota.by is <1.5>")
}

// displacedPromise admits a job of a high priority in place of one that finds no node.
func displacedPromise(t *testing.T, c *cluster) {
	const card = "NVIDIA-A100"
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "e2e-urgent"}, Value: 1000}
	_, err := c.Kube.SchedulingV1().PriorityClasses().Create(t.Context(), class, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, c.Kube.SchedulingV1().PriorityClasses().Delete(context.Background(), class.Name, metav1.DeleteOptions{}))
	})
	phase := func(job string, want scheduling.PodGroupPhase) {
		t.Helper()
		c.until(t, func() string {
			if group := c.group(job); group == nil || group.Status.Phase != want {
				return fmt.Sprintf("job %s should be %s", job, want)
			}
			return ""
		})
	}
	c.queue(t, "busy", `{"NVIDIA-A100": 3}`)
	c.annotate(t, "busy", "volcano.sh/order", "displace")
	c.submit(t, "patient", "busy", card, 3, gang, requesting(`{"NVIDIA-A100": 3}`))
	phase("patient", scheduling.PodGroupInqueue)
	c.submit(t, "urgent", "busy", card, 1, requesting(`{"NVIDIA-A100": 1}`), func(job *batch.Job) { job.Spec.PriorityClassName = class.Name })
	phase("urgent", scheduling.PodGroupInqueue)
	phase("patient", scheduling.PodGroupPending)
	c.until(t, func() string {
		group := c.group("patient")
		told := slices.ContainsFunc(c.events(group.UID), func(event *corev1.Event) bool {
			return event.Reason == "PromiseDisplaced" && strings.Contains(event.Message, "has the priority 1000, and this one 0")
		})
		if !told || c.eventsOf(group.UID, corev1.EventTypeWarning, "Unschedulable", insufficient("busy", card, 3, 4, 3)) == 0 {
			return "job patient should have events that say that it lost its promise, and why it waits"
		}
		return ""
	})
}

// windows starts pods beyond the quota while a window raises it. They stay when it ends, and no further one starts. Its
// begin and its end are one event each.
func windows(t *testing.T, c *cluster) {
	c.queue(t, "night", `{"NVIDIA-H200": 1}`)
	c.submit(t, "sweep", "night", h200, 5)
	c.runs(t, "sweep", map[string]int{h200: 1}, 4)
	object, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), "night", metav1.GetOptions{})
	require.NoError(t, err)
	c.expectQuota(&scheduling.Queue{ObjectMeta: metav1.ObjectMeta{Name: "night", Annotations: map[string]string{"volcano.sh/card.quota": `{"NVIDIA-H200": 2}`}}})
	from := time.Now().UTC().Truncate(time.Second).Add(3 * time.Second)
	until := from.Add(20 * time.Second)
	c.annotate(t, "night", "volcano.sh/override", fmt.Sprintf(`[{"from": %q, "until": %q, "card.quota": {"NVIDIA-H200": 2}}]`,
		from.Format(time.RFC3339), until.Format(time.RFC3339)))
	c.runs(t, "sweep", map[string]int{h200: 2}, 3)
	require.False(t, time.Now().Before(from), "the window has begun")
	events := func(reason string) (n int) {
		for _, event := range c.events(object.UID) {
			if event.Type == corev1.EventTypeNormal && event.Reason == reason {
				n += max(1, int(event.Count))
			}
		}
		return n
	}
	c.until(t, func() string {
		if events("WindowBegan") != 1 || events("WindowEnded") != 1 {
			return fmt.Sprintf("a window should have begun and ended: %d, %d", events("WindowBegan"), events("WindowEnded"))
		}
		return ""
	})
	require.False(t, time.Now().Before(until), "the window has ended")
	c.cycles(t, 4)
	c.runs(t, "sweep", map[string]int{h200: 2}, 3)
	c.complete(t, "sweep", 2)
	c.cycles(t, 4)
	c.runs(t, "sweep", map[string]int{h200: 1}, 2)
	require.Equal(t, []int{1, 1}, []int{events("WindowBegan"), events("WindowEnded")})
}
