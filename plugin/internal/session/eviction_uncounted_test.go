package session_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
	"github.com/capacity-card/capacity-card/plugin/internal/testbed"
)

// borrowedGPUs has 8 GPUs of model A. Queues x and y deserve 4 GPUs each, and y
// borrows the other 4. A job of x waits for one card A.
func borrowedGPUs() *testbed.Scene {
	s := testbed.NewScene().Node("a", "A", 8).Queue("x", "").Queue("y", "").
		Pods("borrowed", "y", "", 8, 1, testbed.On("a"), testbed.Members(0)).
		Pods("wait", "x", "A", 1, 1, testbed.InPhase(workload.Inqueue))
	s.Build = session.NewCapacity
	for i := range s.Queues {
		s.Queues[i].Deserved = workload.Resources{testbed.GPU: 4}
	}
	return s
}

// TestReclaimFromQueueWithoutCards gives x a card quota. Cards do not count in y,
// and x reclaims a GPU of y all the same.
func TestReclaimFromQueueWithoutCards(t *testing.T) {
	assert.Len(t, borrowedGPUs().Open(t).Run(t, session.NewReclaim()).Evicted(), 1, "no queue has a card quota")

	s := borrowedGPUs()
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`}
	assert.Len(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), 1, "x has a card quota")

	s = borrowedGPUs()
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`}
	s.Queues[1].Deserved = workload.Resources{testbed.GPU: 8}
	assert.Empty(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), "y deserves all that it has")

	s = borrowedGPUs().Node("b", "B", 1)
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"B":4}`}
	s.Jobs[1].Tasks[0].Annotations["volcano.sh/card.name"] = "B"
	s.Pods("own", "x", "B", 1, 1, testbed.On("b"))
	assert.Empty(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), "a card A is of no use to a pod that lists B")
}

// TestEvictIgnoredPods has untyped pods that are not counted, untypedCards: ignore.
// They occupy cards, so that reclaim and preempt evict them for a pod that lists
// the card.
func TestEvictIgnoredPods(t *testing.T) {
	s := borrowedGPUs()
	s.Arguments = framework.Arguments{"untypedCards": "ignore"}
	for i, guarantee := range []string{`{"A":1}`, `{"A":0}`} { // what uncounted pods hold is not there beyond guarantees
		s.Queues[i].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`, "volcano.sh/card.guarantee": guarantee}
	}
	assert.Len(t, s.Open(t).Run(t, session.NewReclaim()).Evicted(), 1)

	s = testbed.NewScene().Node("a", "A", 1).Queue("q", "", "quota", `{"A":1}`).
		Pods("low", "q", "", 1, 1, testbed.On("a"), testbed.Members(0)).
		Pods("high", "q", "A", 1, 1, testbed.InPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 })
	s.Arguments = framework.Arguments{"untypedCards": "ignore"}
	assert.Equal(t, []string{"low-0"}, s.Open(t).Run(t, session.NewPreempt()).Evicted())
}
