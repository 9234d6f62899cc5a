package testbed

import (
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

// WithBudget is a node with 32 cards, and a queue with a budget.
func WithBudget(text string) *Scene {
	return NewScene().Node("a", "A", 32).Queue("q", "", "quota", `{"A":32}`, "budget", `{"A":"`+text+`"}`)
}

// ByClass returns arguments with reclaim by service class, and more of them, in pairs.
func ByClass(more ...any) framework.Arguments {
	a := framework.Arguments{arguments.ReclaimByClass: true}
	for i := 0; i < len(more); i += 2 {
		a[more[i].(string)] = more[i+1]
	}
	return a
}

// Tide has a node with eight cards and two queues that deserve eight each. Pods of the training queue use all cards,
// and a pod of the other queue is pending.
func Tide(a framework.Arguments, guarantee, class, claimant string) *Scene {
	s := NewScene().Node("a", "A", 8).
		Lending("day", `{"A":8}`, `{"A":8}`, `{"A":0}`).Lending("night", `{"A":8}`, `{"A":8}`, guarantee).
		Pods("held", "night", "A", 8, 1, Members(0), On("a"), Serving(class)).
		Pods("claim", "day", "A", 1, 2, InPhase(workload.Inqueue), Serving(claimant))
	s.Arguments = a
	return s
}

// ByPrefix moves jobs into the namespace that their name begins with, up to a dot.
func ByPrefix(info *api.ClusterInfo, _ *offline.Cache) {
	for _, job := range info.Jobs {
		if namespace, _, found := strings.Cut(job.Name, "."); found {
			job.Namespace = namespace
			for _, task := range job.Tasks {
				task.Namespace = namespace
			}
		}
	}
}

// Namespaced has team, which limits each namespace to 4 cards of A and to 6 of B, above train,
// which limits it to 3 of A, and serve.
func Namespaced() *Scene {
	all := `{"A":16,"B":16}`
	none := `{"A":0,"B":0}`
	s := NewScene().Node("a", "A", 16).Node("b", "B", 16).Queue("root", "").Queue("team", "root", "quota", all).
		Queue("train", "team", "quota", all, "guarantee", none).
		Queue("serve", "team", "quota", all, "guarantee", none)
	return s.Annotate("team", card.HolderKey, `{"namespace":{"*":{"A":4,"B":6}}}`).
		Annotate("train", card.HolderKey, `{"namespace":{"*":{"A":3}}}`)
}

// Lent is a node with eight cards that the queue other has borrowed, and the queue mine,
// which deserves them.
func Lent(arguments framework.Arguments) *Scene {
	s := NewScene().Node("a", "A", 8).
		Lending("mine", `{"A":8}`, `{"A":8}`, `{"A":0}`).Lending("other", `{"A":8}`, `{"A":0}`, `{"A":0}`)
	s.Arguments = arguments
	return s
}

// ByWork returns arguments where the victims of the least work come first.
func ByWork() framework.Arguments { return framework.Arguments{arguments.VictimOrder: "leastWork"} }

// Claiming adds a pod of the queue mine that requests cards.
func (s *Scene) Claiming(gpus int64) *Scene {
	return s.Pods("claim", "mine", "A", 1, gpus, InPhase(workload.Inqueue))
}
