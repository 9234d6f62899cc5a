package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	bus "volcano.sh/apis/pkg/apis/bus/v1alpha1"
	"volcano.sh/apis/pkg/apis/helpers"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// warned waits until a queue has a warning about its annotations that holds all of these words.
func (c *cluster) warned(t *testing.T, queue string, words ...string) {
	t.Helper()
	c.until(t, func() string {
		object, err := c.mirror.Volcano.Scheduling().V1beta1().Queues().Lister().Get(queue)
		if err != nil {
			return err.Error()
		}
		var seen []string
		for _, event := range c.events(object.UID) {
			seen = append(seen, event.Message)
			matches := event.Type == corev1.EventTypeWarning && event.Reason == "BadCardAnnotation" && event.InvolvedObject.Kind == "Queue"
			for _, word := range words {
				matches = matches && strings.Contains(event.Message, word)
			}
			if matches {
				return ""
			}
		}
		return fmt.Sprintf("queue %s should have a warning about %q, it has %q", queue, words, seen)
	})
}

// badAnnotation has a queue with good and bad values. The good values count. If a value becomes bad, the last good
// value stays in force.
func badAnnotation(t *testing.T, c *cluster) {
	c.queue(t, "typos", `{"NVIDIA-H200": 2, "NVIDIA-H800": 1.5, "NVIDIA-GeForce-RTX-4090": "2"}`)
	c.warned(t, "typos", "volcano.sh/card.quota",
		`"NVIDIA-H800": 1.5 is not a whole number of cards`, `"NVIDIA-GeForce-RTX-4090": a string is not a number of cards`)
	c.submit(t, "good", "typos", h200, 1)
	c.runs(t, "good", map[string]int{h200: 1}, 0)
	c.submit(t, "bad", "typos", h800, 1)
	c.runs(t, "bad", map[string]int{}, 1)
	c.says(t, "bad", insufficient("typos", h800, 1, 1, 0))

	c.setQuota(t, "typos", `{"NVIDIA-H200": 3`)
	c.warned(t, "typos", "volcano.sh/card.quota", "the last good value stays in force")
	c.submit(t, "meanwhile", "typos", h200, 2)
	c.runs(t, "meanwhile", map[string]int{h200: 1}, 1)
	c.says(t, "meanwhile", insufficient("typos", h200, 1, 3, 2))
	c.setQuota(t, "typos", `{"NVIDIA-H200": 3, "NVIDIA-H800": 1}`)
	c.runs(t, "meanwhile", map[string]int{h200: 2}, 0)
	c.runs(t, "bad", map[string]int{h800: 1}, 0)
}

// editedWhileWaiting raises the quota of a queue in which a job waits.
func editedWhileWaiting(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	c.submit(t, "waits", sixCards, h200, 5, gang, requesting(`{"NVIDIA-H200": 5}`))
	c.refused(t, "waits", insufficient(sixCards, h200, 5, 5, 3))
	c.setQuota(t, sixCards, `{"NVIDIA-H200": 4}`)
	c.refused(t, "waits", insufficient(sixCards, h200, 5, 5, 4))
	c.setQuota(t, sixCards, `{"NVIDIA-H200": 5}`)
	c.runs(t, "waits", map[string]int{h200: 5}, 0)
}

// quotaRaisedAndLowered changes the quota below pods that run. No pod is evicted, and no job is admitted.
func quotaRaisedAndLowered(t *testing.T, c *cluster) {
	c.queue(t, "moving", `{"NVIDIA-H200": 2}`)
	c.deploy(t, "first", "moving", h200, 4)
	c.runs(t, "first", map[string]int{h200: 2}, 2)
	c.setQuota(t, "moving", `{"NVIDIA-H200": 4}`)
	c.runs(t, "first", map[string]int{h200: 4}, 0)

	c.setQuota(t, "moving", `{"NVIDIA-H200": 2}`)
	c.deploy(t, "second", "moving", h200, 1)
	c.says(t, "second", insufficient("moving", h200, 1, 5, 2))
	c.runs(t, "first", map[string]int{h200: 4}, 0)
	c.scale(t, "first", 2)
	c.runs(t, "first", map[string]int{h200: 2}, 0)
	c.cycles(t, 4)
	c.runs(t, "second", map[string]int{}, 1)
	c.scale(t, "first", 1)
	c.runs(t, "second", map[string]int{h200: 1}, 0)
}

// eventsDoNotRepeat has a pod and a pod group wait over many scheduling cycles, while others come and go. Each is told
// once why, and again when the reason changes.
func eventsDoNotRepeat(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	c.deploy(t, "service", sixCards, h200, 4)
	c.runs(t, "service", map[string]int{h200: 3}, 1)
	c.submit(t, "job", sixCards, h200, 4, gang, requesting(`{"NVIDIA-H200": 4}`))
	pod, group := func() types.UID { return c.waiting("service")[0].UID }, func() types.UID { return c.group("job").UID }
	once := func(ofPod, ofGroup string) {
		c.says(t, "service", ofPod)
		c.refused(t, "job", ofGroup)
		c.cycles(t, 30)
		require.Equal(t, 1, c.eventsOf(pod(), corev1.EventTypeWarning, "FailedScheduling", ofPod))
		require.Equal(t, 1, c.eventsOf(group(), corev1.EventTypeWarning, "Unschedulable", ofGroup))
	}
	// Two of the three that run are more than the service needs at least, and do not keep others out of the queue.
	once(insufficient(sixCards, h200, 1, 4, 3), insufficient(sixCards, h200, 4, 4+3-2, 3))
	c.setQuota(t, sixCards, `{"NVIDIA-H200": 2}`)
	once(insufficient(sixCards, h200, 1, 4, 2), insufficient(sixCards, h200, 4, 4+3-2, 2))
}

// operate has Volcano open or close a queue, as its command line does.
func (c *cluster) operate(t *testing.T, queue string, action bus.Action, becomes scheduling.QueueState) {
	t.Helper()
	object, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), queue, metav1.GetOptions{})
	require.NoError(t, err)
	owner := metav1.NewControllerRef(object, helpers.V1beta1QueueKind)
	_, err = c.Volcano.BusV1alpha1().Commands(c.namespace).Create(t.Context(), &bus.Command{
		ObjectMeta:   metav1.ObjectMeta{GenerateName: queue + "-", OwnerReferences: []metav1.OwnerReference{*owner}},
		TargetObject: owner,
		Action:       string(action),
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	c.until(t, func() string {
		object, err := c.mirror.Volcano.Scheduling().V1beta1().Queues().Lister().Get(queue)
		if err != nil || object.Status.State != becomes {
			return fmt.Sprintf("queue %s should be %s", queue, becomes)
		}
		return ""
	})
}

// queueClosed closes a queue in which a job runs and a pod waits. Running pods go on, and nothing else gets in until
// the queue is open again. Other queues are not affected.
func queueClosed(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml", "job-single.yaml", "queue-either-or.yaml")
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
	c.operate(t, sixCards, bus.CloseQueueAction, scheduling.QueueStateClosing)
	c.submit(t, "late", sixCards, h200, 1, requesting(`{"NVIDIA-H200": 1}`))
	c.refused(t, "late", "Queue <cr-queue1> is not open")
	c.submit(t, "elsewhere", twoCards, rtx4090, 1)
	c.runs(t, "elsewhere", map[string]int{rtx4090: 1}, 0)
	c.cycles(t, 4)
	c.runs(t, "cr-job", map[string]int{h200: 2}, 0)
	c.runs(t, "late", map[string]int{}, 0)
	c.operate(t, sixCards, bus.OpenQueueAction, scheduling.QueueStateOpen)
	c.runs(t, "late", map[string]int{h200: 1}, 0)
}

// metricsOfCards reads the metrics of a queue with cards that are used, waited for, and given back.
func metricsOfCards(t *testing.T, c *cluster) {
	c.apply(t, "queue.yaml")
	c.submit(t, "users", sixCards, h200, 4)
	c.runs(t, "users", map[string]int{h200: 3}, 1)
	thousandths := func(figure string, cards int) string {
		return fmt.Sprintf(`volcano_queue_%s_scalar_resources{queue_name="cr-queue1",resource="NVIDIA-H200"} %d`, figure, 1000*cards)
	}
	c.measures(t, thousandths("allocated", 3), thousandths("request", 4), thousandths("capacity", 3), thousandths("deserved", 3))
	c.setQuota(t, sixCards, `{"NVIDIA-H200": 4}`)
	c.runs(t, "users", map[string]int{h200: 4}, 0)
	c.measures(t, thousandths("allocated", 4), thousandths("capacity", 4))
	c.complete(t, "users", 4)
	c.measures(t, thousandths("allocated", 0))
}

// measures waits until the scheduler's metrics have these lines.
func (c *cluster) measures(t *testing.T, lines ...string) {
	t.Helper()
	require.EventuallyWithT(t, func(collect *assert.CollectT) {
		response := httptest.NewRecorder()
		promhttp.Handler().ServeHTTP(response, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		for _, line := range lines {
			assert.Contains(collect, response.Body.String(), line+"\n")
		}
	}, patience, schedulePeriod)
}
