package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// groupsOfCards has a queue name a group of two cards, and no card.
func groupsOfCards(t *testing.T, c *cluster) {
	const quota = "volcano.sh/card.quota"
	c.reconfigure(t, "cardUnlimitedCpuMemory: true", `cardUnlimitedCpuMemory: true
      cardGroups:
        hopper: {NVIDIA-H200: 1, NVIDIA-H800: 1}
        credits: {NVIDIA-H200: 2, "*": 1/2}`)
	c.queue(t, "hopper", `{"@hopper": 3}`)
	c.submit(t, "first", "hopper", h200, 2)
	c.runs(t, "first", map[string]int{h200: 2}, 0)
	c.submit(t, "second", "hopper", h800, 2)
	c.runs(t, "second", map[string]int{h800: 1}, 1)
	c.says(t, "second", "Queue <hopper> has insufficient <@hopper> quota: requested <1>, total would be <4>, but capability is <3> "+
		"(NVIDIA-H200, NVIDIA-H800)")

	c.annotate(t, "hopper", quota, `{"@hopper": 4, "@hoper": 9}`)
	queue, err := c.Volcano.SchedulingV1beta1().Queues().Get(t.Context(), "hopper", metav1.GetOptions{})
	require.NoError(t, err)
	c.until(t, func() string {
		if c.eventsOf(queue.UID, corev1.EventTypeWarning, "BadCardAnnotation",
			`annotation volcano.sh/card.quota: "@hoper" is not a group of cards: there are @credits, @hopper`) == 0 {
			return "the queue has no warning of the group that does not exist"
		}
		return ""
	})
	c.runs(t, "second", map[string]int{h800: 2}, 0)

	c.queue(t, "credits", `{"@credits": 3}`)
	c.submit(t, "either", "credits", h200+"|"+rtx4090, 8)
	c.runs(t, "either", map[string]int{h200: 1, rtx4090: 2}, 5)
}
