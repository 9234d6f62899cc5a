package session

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// borrowedGPUs has 8 GPUs of model A. Queues x and y deserve 4 GPUs each, and y
// borrows the other 4. A job of x waits for one card A.
func borrowedGPUs() *scene {
	s := newScene().node("a", "A", 8).queue("x", "").queue("y", "").
		pods("borrowed", "y", "", 8, 1, on("a"), members(0)).
		pods("wait", "x", "A", 1, 1, inPhase(workload.Inqueue))
	s.build = NewCapacity
	for i := range s.Queues {
		s.Queues[i].Deserved = workload.Resources{gpuName: 4}
	}
	return s
}

// TestReclaimFromQueueWithoutCards gives x a card quota. Cards do not count in y,
// and x reclaims a GPU of y all the same.
func TestReclaimFromQueueWithoutCards(t *testing.T) {
	assert.Len(t, borrowedGPUs().open(t).run(t, NewReclaim()).evicted(), 1, "no queue has a card quota")

	s := borrowedGPUs()
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`}
	assert.Len(t, s.open(t).run(t, NewReclaim()).evicted(), 1, "x has a card quota")

	s = borrowedGPUs()
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`}
	s.Queues[1].Deserved = workload.Resources{gpuName: 8}
	assert.Empty(t, s.open(t).run(t, NewReclaim()).evicted(), "y deserves all that it has")

	s = borrowedGPUs().node("b", "B", 1)
	s.Queues[0].Annotations = map[string]string{"volcano.sh/card.quota": `{"B":4}`}
	s.Jobs[1].Tasks[0].Annotations["volcano.sh/card.name"] = "B"
	s.pods("own", "x", "B", 1, 1, on("b"))
	assert.Empty(t, s.open(t).run(t, NewReclaim()).evicted(), "a card A is of no use to a pod that lists B")
}

// TestEvictIgnoredPods has untyped pods that are not counted, untypedCards: ignore.
// They occupy cards, so that reclaim and preempt evict them for a pod that lists
// the card.
func TestEvictIgnoredPods(t *testing.T) {
	s := borrowedGPUs()
	s.arguments = framework.Arguments{"untypedCards": "ignore"}
	for i, guarantee := range []string{`{"A":1}`, `{"A":0}`} { // what uncounted pods hold is not there beyond guarantees
		s.Queues[i].Annotations = map[string]string{"volcano.sh/card.quota": `{"A":4}`, "volcano.sh/card.guarantee": guarantee}
	}
	assert.Len(t, s.open(t).run(t, NewReclaim()).evicted(), 1)

	s = newScene().node("a", "A", 1).queue("q", "", "quota", `{"A":1}`).
		pods("low", "q", "", 1, 1, on("a"), members(0)).
		pods("high", "q", "A", 1, 1, inPhase(workload.Inqueue), func(j *workload.Job) { j.Priority = 9 })
	s.arguments = framework.Arguments{"untypedCards": "ignore"}
	assert.Equal(t, []string{"low-0"}, s.open(t).run(t, NewPreempt()).evicted())
}
