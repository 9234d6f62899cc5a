package explain

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// mostHolders bounds the jobs that Holders names.
const mostHolders = 3

// holders are the jobs that have what is short, in the queue and those below it. Each answer is kept: nothing is
// charged for good while jobs are explained, and many jobs lack the same.
func (e *explainer) holders(s report.Shortage) Holders {
	key := held{s.Queue, s.Resource}
	known, found := e.held[key]
	if !found {
		known = e.holdersOf(s)
		e.held[key] = known
	}
	return known
}

// held is a resource of a queue.
type held struct{ queue, resource string }

func (e *explainer) holdersOf(s report.Shortage) Holders {
	below := map[string]bool{s.Queue: true}
	for _, queue := range e.children[s.Queue] {
		below[queue] = true
	}
	var all []Holder
	name, isGroup := strings.CutPrefix(s.Resource, card.GroupPrefix)
	group := e.CardGroups()[name]
	for id, job := range e.Session.Jobs {
		if !below[string(job.Queue)] {
			continue
		}
		of := Holder{Namespace: e.groups[id].Namespace, Owner: e.groups[id].Owner}
		if isGroup {
			of.Quantity, of.Cards = e.allocatedOfGroup(job, group)
		} else {
			of.Quantity = e.allocatedOf(job, s)
		}
		if of.Quantity > 0 {
			all = append(all, of)
		}
	}
	slices.SortFunc(all, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(b.Quantity, a.Quantity), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner, b.Owner))
	})
	return Holders{Queue: s.Queue, Resource: s.Resource, Jobs: first(all, mostHolders), More: max(0, len(all)-mostHolders)}
}

// allocatedOf returns the amount of the short resource that is allocated to the pods of a job.
func (e *explainer) allocatedOf(job *api.JobInfo, s report.Shortage) (total float64) {
	for status, tasks := range job.TaskStatusIndex {
		if !api.AllocatedStatus(status) {
			continue
		}
		for _, task := range tasks {
			total += e.requestOf(task, s.Resource)
		}
	}
	return total
}

// allocatedOfGroup returns what a job has of a group of cards, and how many of each card of the group.
func (e *explainer) allocatedOfGroup(job *api.JobInfo, group card.Group) (total float64, cards map[string]float64) {
	cards = map[string]float64{}
	for status, tasks := range job.TaskStatusIndex {
		if !api.AllocatedStatus(status) {
			continue
		}
		for _, task := range tasks {
			for name, n := range e.Quota.Charged(task) {
				if weight, _ := group.Of(name); weight > 0 {
					cards[name] += n
					total += weight * n
				}
			}
		}
	}
	return total, cards
}

// requestOf returns what a task requests of a resource or a card, in the units of Shortage.
func (e *explainer) requestOf(task *api.TaskInfo, resource string) float64 {
	switch resource {
	case "cpu":
		return task.Resreq.MilliCPU / 1000
	case "memory":
		return task.Resreq.Memory
	}
	return task.Resreq.Get(v1.ResourceName(resource))/1000 + e.Quota.Charged(task)[resource] // one of them is 0
}
