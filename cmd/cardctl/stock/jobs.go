package stock

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
)

// Job has the pods and cards of a job of a session.
type Job struct {
	Priority int32
	Nodes    []JobOnNode // in the order of their names
}

// JobOnNode counts the pods and cards of a job on a node.
type JobOnNode struct {
	Node  string   `json:"node"`
	Pods  int      `json:"pods"`
	Cards []Amount `json:"cards,omitempty"` // that its queue is charged for
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

// Jobs returns what the jobs of an open session have, by namespace/name.
func Jobs(s *engine.Session) map[string]Job {
	all := make(map[string]Job, len(s.Jobs))
	for id, job := range s.Jobs {
		all[string(id)] = Job{Priority: job.Priority, Nodes: nodesOf(s, job)}
	}
	return all
}

// nodesOf returns what a job has on each node. The queue of a pod that is being evicted is not charged.
func nodesOf(s *engine.Session, job *api.JobInfo) (all []JobOnNode) {
	pods, cards := map[string]int{}, map[string]map[string]float64{}
	for status, tasks := range job.TaskStatusIndex {
		if !api.AllocatedStatus(status) && status != api.Releasing {
			continue
		}
		for _, task := range tasks {
			pods[task.NodeName]++
			if !api.AllocatedStatus(status) {
				continue
			}
			for name, n := range s.Quota.Charged(task) {
				if cards[task.NodeName] == nil {
					cards[task.NodeName] = map[string]float64{}
				}
				cards[task.NodeName][name] += n
			}
		}
	}
	for _, node := range slices.Sorted(maps.Keys(pods)) {
		all = append(all, JobOnNode{Node: node, Pods: pods[node], Cards: Amounts(cards[node])})
	}
	return all
}

// Claimed returns the cards that the resource claims of pods of a job request, which have no node: by card, or by a
// list of them. A claim that pods share counts once.
func Claimed(s *engine.Session, g *engine.Group, pods []*v1.Pod) map[string]float64 {
	sums, job := map[string]float64{}, s.Jobs[g.ID()]
	if job == nil {
		return sums
	}
	of := map[string]*v1.Pod{} // the pod that counts for a claim
	for _, pod := range pods {
		task := job.Tasks[api.TaskID(pod.UID)]
		if task == nil {
			continue
		}
		for claim, r := range s.Quota.Claimed(task) {
			if of[claim] == nil || claim == "" {
				of[claim] = pod
			}
			if of[claim] == pod {
				sums[r.Card] += r.Cards
			}
		}
	}
	return sums
}
