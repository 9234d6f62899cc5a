package cards

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
)

// JobRequests returns the cards that a job without pods states in card.request. Their resource is NoResource.
func (s *Snapshot) JobRequests(job *api.JobInfo) []Request {
	if job.PodGroup == nil {
		return nil
	}
	text, ok := job.PodGroup.Annotations[card.RequestKey]
	if !ok {
		return nil
	}

	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	all, known := r.requests[text]
	if known {
		return all
	}

	entries, _ := card.ParseRequest(text)
	for _, e := range entries {
		if e.Count > 0 {
			all = append(all, statedRequest(s.selector(e.List), card.Cards(e.Count)))
		}
	}
	r.requests[text] = all
	return all
}

// MostOf returns the number of cards of a selector in a list of resources, and the resource. bounded is false if the
// list has no resource of these cards.
func (s *Snapshot) MostOf(list v1.ResourceList, selector *Selector) (r ResourceID, most card.Milli, bounded bool) {
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()

	for _, id := range selector.resources {
		if quantity, named := list[s.registry.resources[id]]; named {
			return id, card.MilliOf(quantity), true
		}
	}
	return NoResource, 0, false
}

// MinimumHasCards reports whether the minimum resources of a job include a card resource.
func (s *Snapshot) MinimumHasCards(job *api.JobInfo) bool {
	if job.PodGroup == nil || job.PodGroup.Spec.MinResources == nil {
		return false
	}

	r := s.registry
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, quantity := range *job.PodGroup.Spec.MinResources {
		id, known := r.numbers[name]
		isCard := r.labels.Known(name) || known && r.allOf(resourceRequest{resource: id}) != nil
		if quantity.Sign() > 0 && isCard {
			return true
		}
	}
	return false
}
