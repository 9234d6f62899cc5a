package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// groupsOfCards has a queue name a group of two cards, and no card.
func groupsOfCards(t *testing.T, c *cluster) {
	const quota = "volcano.sh/card.quota"
	c.reconfigure(t, "reclaimGangs: whole", `reclaimGangs: whole
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

// groupsInATree has two teams of a department that name a group of two cards, and no card. A team borrows the cards
// that the other team leaves idle. It gives back the cards of the group that the other team deserves, and no more.
// Another department keeps its cards.
func groupsInATree(t *testing.T, c *cluster) {
	configuration := strings.NewReplacer("- name: capacity-card\n", "- name: capacity-card\n    enableHierarchy: true\n",
		"reclaimGangs: whole", "reclaimGangs: whole\n      cardGroups:\n        hopper: {NVIDIA-H200: 1, NVIDIA-H800: 1}",
	).Replace(exampleConfiguration(t))
	c.schedule(t, configuration)
	t.Cleanup(func() { c.schedule(t, exampleConfiguration(t)) })
	for _, q := range []struct{ name, parent, quota, deserved string }{
		{"research", "root", `{"@hopper": 6}`, `{"@hopper": 6}`},
		{"training", "research", `{"@hopper": 6}`, `{"@hopper": 4}`},
		{"serving", "research", `{"@hopper": 6}`, `{"@hopper": 2}`},
		{"sales", "root", `{"@hopper": 2}`, `{"@hopper": 1}`},
	} {
		queue := example[*scheduling.Queue](t, "queue.yaml")
		queue.Name, queue.Spec.Parent = q.name, q.parent
		queue.Annotations = map[string]string{"volcano.sh/card.quota": q.quota, "volcano.sh/card.deserved": q.deserved,
			"volcano.sh/card.guarantee": `{"@hopper": 0}`}
		c.create(t, queue)
	}
	c.submit(t, "bystander", "sales", h800, 2) // one more than sales deserves
	c.runs(t, "bystander", map[string]int{h800: 2}, 0)
	c.submit(t, "borrower", "serving", h200, 7)
	c.runs(t, "borrower", map[string]int{h200: 6}, 1)
	full := func(queue string) string {
		return fmt.Sprintf("Queue <%s> has insufficient <@hopper> quota: requested <1>, total would be <7>, but capability is <6> "+
			"(NVIDIA-H200, NVIDIA-H800)", queue)
	}
	c.says(t, "borrower", full("serving"))

	c.submit(t, "owner", "training", h200, 3, gang)
	c.runs(t, "owner", map[string]int{h200: 3}, 0)
	c.runs(t, "borrower", map[string]int{h200: 3}, 4)
	c.submit(t, "owner-2", "training", h200, 1)
	c.runs(t, "owner-2", map[string]int{h200: 1}, 0)
	c.runs(t, "borrower", map[string]int{h200: 2}, 5)

	// Both teams have the cards that they deserve, also after a new scheduler starts. The other model of the group has
	// no quota left either.
	c.schedule(t, configuration)
	c.submit(t, "owner-3", "training", h200, 1)
	c.submit(t, "owner-4", "training", h800, 1)
	c.says(t, "owner-3", full("research"))
	c.says(t, "owner-4", full("research"))
	c.cycles(t, 6)
	c.runs(t, "borrower", map[string]int{h200: 2}, 5)
	c.runs(t, "owner-3", map[string]int{}, 1)
	c.runs(t, "owner-4", map[string]int{}, 1)
	c.runs(t, "bystander", map[string]int{h800: 2}, 0)

	// Cards of a job that ends can be used for either model.
	c.complete(t, "owner-2", 1)
	c.until(t, func() string {
		if waiting := len(c.waiting("owner-3")) + len(c.waiting("owner-4")); waiting != 1 {
			return fmt.Sprintf("one of two pods should get what training deserves, %d wait", waiting)
		}
		return ""
	})
}
