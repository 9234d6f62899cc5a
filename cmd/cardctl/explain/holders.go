package explain

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
)

// queueCard is a card, or another resource, of a queue.
type queueCard struct{ queue, card string }

// mostHolders bounds the jobs that Holders names.
const mostHolders = 3

// holders returns the jobs in a queue, or below it, that have a resource.
func (e *explainer) holders(queue, resource string) Holders {
	return remembered(e.held, queueCard{queue, resource}, func() Holders { return e.findHolders(queue, resource) })
}

func (e *explainer) findHolders(queue, resource string) Holders {
	var group card.Group // nil for any other resource
	if name, is := strings.CutPrefix(resource, card.GroupPrefix); is {
		group = e.Settings().Cards.Groups[name]
	}

	var all []Holder
	for _, job := range e.Session.Jobs {
		if own := string(job.Queue); own != queue && !slices.Contains(e.children[queue], own) {
			continue
		}

		if h := e.holder(job, resource, group); h.Quantity > 0 {
			all = append(all, h)
		}
	}

	slices.SortFunc(all, func(a, b Holder) int {
		return cmp.Or(
			cmp.Compare(b.Quantity, a.Quantity), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Owner, b.Owner))
	})
	more := max(0, len(all)-mostHolders)
	return Holders{Queue: queue, Resource: resource, Jobs: first(all, mostHolders), More: more}
}

// holder returns the amount of a resource that is allocated to a job. For a group of cards, it also counts each card.
func (e *explainer) holder(job *api.JobInfo, resource string, group card.Group) Holder {
	g := e.groups[job.UID]
	h := Holder{Namespace: g.Namespace, Owner: g.Owner}
	if group != nil {
		h.Cards = map[string]float64{}
	}

	for status, tasks := range job.TaskStatusIndex {
		if !api.AllocatedStatus(status) {
			continue
		}

		for _, task := range tasks {
			if group != nil {
				h.add(e.Quota.Charged(task), group)
			} else {
				h.Quantity += e.requestOf(task, resource)
			}
		}
	}
	return h
}

// add adds the cards of a group by their weights.
func (h *Holder) add(cards map[string]float64, group card.Group) {
	for name, n := range cards {
		if weight, _ := group.Of(name); weight > 0 {
			h.Cards[name] += n
			h.Quantity += weight * n
		}
	}
}

// requestOf returns the amount of a resource or a card that a task requests, in the units of Shortage.
func (e *explainer) requestOf(task *api.TaskInfo, resource string) float64 {
	switch resource {
	case "cpu":
		return task.Resreq.MilliCPU / 1000
	case "memory":
		return task.Resreq.Memory
	}

	// One of the two is 0: a name is a resource or a card.
	return task.Resreq.Get(v1.ResourceName(resource))/1000 + e.Quota.Charged(task)[resource]
}
