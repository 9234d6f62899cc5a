package stock

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
)

// JobOnNode counts the pods and cards of a job on a node.
type JobOnNode struct {
	Node  string   `json:"node"`
	Pods  int      `json:"pods"`
	Cards []Amount `json:"cards,omitempty"` // the charges of its queue
}

// Amount is a quantity of a card, or of any card of a list, in whole cards.
type Amount struct {
	Card  string  `json:"card"`
	Cards float64 `json:"cards"`
}

// Amounts returns quantities by card in the order of the names.
func Amounts(sums map[string]float64) (all []Amount) {
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, Amount{name, sums[name]})
	}
	return all
}

// NodesOf returns the pods and cards of a job of an open session by node, in the order of the names.
func NodesOf(s *engine.Session, job *api.JobInfo) (all []JobOnNode) {
	pods := map[string]int{}
	cards := sums[string]{}
	for _, task := range job.Tasks {
		switch {
		case api.AllocatedStatus(task.Status):
			pods[task.NodeName]++
			for name, n := range s.Quota.Charged(task) {
				cards.add(task.NodeName, name, n)
			}

		// A pod that terminates is still on its node, but its queue is no longer charged.
		case task.Status == api.Releasing:
			pods[task.NodeName]++
		}
	}

	for _, node := range slices.Sorted(maps.Keys(pods)) {
		all = append(all, JobOnNode{Node: node, Pods: pods[node], Cards: Amounts(cards[node])})
	}

	return all
}

// Claimed returns the cards that the resource claims of pods without a node request. The keys are cards, or lists of
// cards.
func Claimed(s *engine.Session, g *engine.Group, pods []*v1.Pod) map[string]float64 {
	sums := map[string]float64{}
	job := s.Jobs[g.ID()]
	if job == nil {
		return sums
	}

	counts := map[string]*v1.Pod{} // by claim, the pod that counts for it
	for _, pod := range pods {
		task := job.Tasks[api.TaskID(pod.UID)]
		if task == nil {
			continue
		}

		for claim, r := range s.Quota.Claimed(task) {
			// A claim that pods may share has a name. It counts once.
			if counts[claim] == nil || claim == "" {
				counts[claim] = pod
			}
			if counts[claim] == pod {
				sums[r.Card] += r.Cards
			}
		}
	}

	return sums
}
