package inspect

import (
	"iter"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Charged returns the cards that an allocated task is charged to its queue, by name, in whole cards.
func (i Inspection) Charged(task *api.TaskInfo) map[string]float64 {
	s := i.s
	charged := map[string]float64{}
	pod := s.Cards.PodRequest(s.QueueOf(task), task.Pod)
	if pod.None() {
		return charged
	}

	node := s.Cards.NodeOf(task)
	for r := range s.Cards.RequestsOn(pod, task.NodeName) {
		for d, amount := range r.On(node) {
			charged[s.Names.Name(d)] += amount.Cards()
		}
	}
	return charged
}

// Claimed iterates over the cards that the resource claims of a task without a node request. The key is the name of a
// claim that pods may share, "" for any other claim.
func (i Inspection) Claimed(task *api.TaskInfo) iter.Seq2[string, Claimed] {
	return func(yield func(string, Claimed) bool) {
		if i.s.Cards == nil || len(task.Pod.Spec.ResourceClaims) == 0 {
			return
		}

		for claim, r := range i.s.Cards.ClaimedOpen(i.s.Cards.Stated(task.Pod)) {
			if !yield(claim, Claimed{r.Selector.Names.String(), r.Amount.Cards()}) {
				return
			}
		}
	}
}

// Claimed is one request of a resource claim, in whole cards.
type Claimed struct {
	Card  string // or a list of alternatives
	Cards float64
}

// SharedCharge is the charge of a queue for a resource claim that several pods share, in whole cards.
type SharedCharge struct {
	Queue, Node, Card string
	Cards             float64
}

// SharedCharges returns the charges of all queues for claims that their pods share.
func (i Inspection) SharedCharges() (all []SharedCharge) {
	s := i.s
	for task, by := range s.Intake.SharedClaims() {
		for _, claim := range by.Claims {
			for _, device := range claim.Devices {
				if s.Names.IsGroup(device.Dim) {
					continue // its cards count, too
				}

				all = append(all, SharedCharge{
					Queue: s.Index.Name(by.Queue),
					Node:  task.NodeName,
					Card:  s.Names.Name(device.Dim),
					Cards: device.Quantity / 1000,
				})
			}
		}
	}
	return all
}
