package neighbours

import (
	"testing"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// TestGang schedules jobs that run with minMember pods or none, in a queue with quota
// for some of the pods.
func TestGang(t *testing.T) {
	for _, p := range []pair{
		{
			name: "a job whose minimum is above the quota gets nothing",
			cluster: workload.Cluster{
				Queues: []workload.Queue{bounded("q", 2), bounded("r", 1)},
				Jobs:   []workload.Job{job("a", "q", 4, needs(3)), job("b", "q", 2, needs(2)), job("c", "r", 1)},
			},
			both:           "b-0 on n, b-1 on n, c-0 on n",
			neighbourAlone: "a-0 on n, a-1 on n, a-2 on n, a-3 on n, b-0 on n, b-1 on n, c-0 on n",
			quotaAlone:     "a-0 on n, a-1 on n, c-0 on n",
		},
		{
			name: "what is above the minimum waits for quota, and for the minimum of others",
			cluster: workload.Cluster{
				Queues: []workload.Queue{bounded("q", 5)},
				Jobs:   []workload.Job{job("a-elastic", "q", 6, needs(2)), job("b-rigid", "q", 2, needs(2))},
			},
			both: "a-elastic-0 on n, a-elastic-1 on n, a-elastic-2 on n, b-rigid-0 on n, b-rigid-1 on n",
			neighbourAlone: "a-elastic-0 on n, a-elastic-1 on n, a-elastic-2 on n, a-elastic-3 on n, a-elastic-4 on n, a-elastic-5 on n, " +
				"b-rigid-0 on n, b-rigid-1 on n",
			quotaAlone: "a-elastic-0 on n, a-elastic-1 on n, a-elastic-2 on n, a-elastic-3 on n, a-elastic-4 on n",
		},
	} {
		t.Run(p.name, func(t *testing.T) {
			p.neighbour, p.actions, p.tiers = "gang", "allocate", [][]string{{"gang", quota}}
			p.cluster.Nodes = []workload.Node{node("n", 16)}
			p.run(t)
		})
	}
}

// TestGangOfCards schedules a job of two pods that list two cards, in a queue with
// quota for one of each.
func TestGangOfCards(t *testing.T) {
	pair{
		neighbour: "gang", actions: "allocate", tiers: [][]string{{"gang", cards}, {binpack}}, withCards: true,
		cluster: workload.Cluster{
			Nodes:  []workload.Node{cardNode("a", "A", 16), cardNode("b", "B", 8)},
			Queues: []workload.Queue{quoted("q", `{"A":1,"B":1}`), quoted("r", `{"A":2,"B":1}`)},
			Jobs: []workload.Job{
				job("three", "q", 3, needs(3), named("A|B")), job("two", "q", 2, needs(2), named("A|B")), job("same", "r", 3, needs(3), named("A")),
			},
		},
		both: "two-0 on a, two-1 on b",
		// Without the quota plugin cards do not count, and binpack fills the smaller node.
		neighbourAlone: "same-0 on b, same-1 on b, same-2 on b, three-0 on b, three-1 on b, three-2 on b, two-0 on b, two-1 on b",
		quotaAlone:     "same-0 on a, same-1 on a, three-0 on a, three-1 on b",
	}.run(t)
}
