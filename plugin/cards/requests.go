package cards

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// resourceRequest is the request of a pod for one extended resource.
type resourceRequest struct {
	resource ResourceID
	amount   card.Milli
	unnamed  *Selector // of a card resource that no node of the session has; nil for others
}

// PodRequest holds the requests and the card list of a pod. Equal pods share one PodRequest.
type PodRequest struct {
	selector  *Selector // nil if the pod is untyped
	resources []resourceRequest
	held      []heldCard  // empty for nearly every pod
	fractions []*fraction // nil for pods with whole cards
	claims    *podClaims  // nil for nearly every pod
}

// noCards is the PodRequest of all pods in queues in which cards do not count.
var noCards = &PodRequest{}

// requests reports whether the pod requests a resource.
func (p *PodRequest) requests(r ResourceID) bool {
	return slices.ContainsFunc(p.resources, func(request resourceRequest) bool { return request.resource == r })
}

// OnlyWhole reports whether the pod requests one resource, and whole cards of it, as nearly every pod does.
func (p *PodRequest) OnlyWhole() bool {
	return len(p.resources) == 1 && p.held == nil && p.fractions == nil && p.claims == nil
}

// None reports whether the pod has no extended resource and no resource claim, and therefore no card.
func (p *PodRequest) None() bool { return len(p.resources) == 0 && p.claims == nil }

// Requests iterates over the cards that a pod requests. An untyped pod requests any card of each card resource, unless
// untypedCards is ignore. A resource claim that is not allocated requests one of the cards that it admits.
func (s *Snapshot) Requests(p *PodRequest) iter.Seq[Request] { return s.RequestsOn(p, "") }

// RequestsOn iterates over the cards that a pod requests on a node. A claim that is not allocated requests the most
// that it can get of each card there.
func (s *Snapshot) RequestsOn(p *PodRequest, node string) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		for _, r := range p.resources {
			selector := s.selectorOf(p, r)
			if selector == nil {
				continue
			}

			request := podRequest(p, selector, r.resource, r.amount)
			if p.fractions != nil {
				request.Amount = p.mostOf(request)
			}
			if !yield(request) {
				return
			}
		}

		if p.claims != nil {
			s.eachClaimed(p, p.claims.own, node, yield)
		}
	}
}

// selectorOf returns the cards that a pod requests through a resource, nil for none.
func (s *Snapshot) selectorOf(p *PodRequest, r resourceRequest) *Selector {
	all := s.registry.allOf(r)
	if p.held != nil { // so that nearly every pod needs no call (BenchmarkPredicateCards)
		if held := p.heldFor(r.resource); held != nil {
			return held[0].selector(p.selector, all)
		}
	}

	if p.selector != nil {
		only := len(p.resources) == 1 && len(p.selector.resources) == 0
		if all == nil && !only && !slices.Contains(p.selector.resources, r.resource) {
			return nil
		}
		return p.selector
	}

	if all == nil || s.settings.Untyped == UntypedIgnore {
		return nil
	}
	return all
}

// Uses reports whether a pod requests cards, or has some by its resource claims.
func (s *Snapshot) Uses(p *PodRequest) bool {
	for range s.Requests(p) {
		return true
	}
	if p.claims == nil {
		return false
	}

	stop := func(Request) bool { return false }
	return p.claims.charged() || !s.eachClaimed(p, p.claims.shared, "", stop)
}

// PodRequest returns the requests of a pod of queue q for cards. It returns no cards if cards do not count in q. It is
// safe for many goroutines.
func (s *Snapshot) PodRequest(q index.Queue, pod *v1.Pod) *PodRequest {
	if q == index.None || !s.Counted(q) {
		return noCards
	}
	return s.Stated(pod)
}

// CountedIn is PodRequest for a caller that has the result of Stated.
func (s *Snapshot) CountedIn(q index.Queue, stated *PodRequest) *PodRequest {
	if q == index.None || !s.Counted(q) {
		return noCards
	}
	return stated
}

// Stated returns the requests of a pod for cards, even if cards do not count in its queue: a pod occupies cards in any
// queue. It is safe for many goroutines.
func (s *Snapshot) Stated(pod *v1.Pod) *PodRequest {
	p, _ := s.read(pod)
	return p
}

// read returns the requests of a pod, and whether the pod is not in the table of pods. Concurrent readers collect such
// pods and add them afterwards.
func (s *Snapshot) read(pod *v1.Pod) (p *PodRequest, isNew bool) {
	reg := s.registry
	if p := reg.pods.get(pod); p != nil {
		return p, false
	}

	requests := card.Requests(pod)
	names := card.NameOf(pod.Annotations)
	reg.mu.Lock()
	defer reg.mu.Unlock()

	p = &PodRequest{selector: s.selector(names)}
	for _, r := range requests {
		if !card.IsPart(r.Resource) {
			id := reg.resource(r.Resource)
			p.resources = append(p.resources, resourceRequest{id, r.Milli, reg.unnamed[id]})
		}
	}
	if len(requests) > 0 {
		p.setFractions(s.fractionsOf(pod))
	}
	p.held = reg.held[pod.UID]
	p.claims = s.claimsOf(pod)

	if p.held != nil || p.claims != nil || p.hasDevices() {
		return p, true // no other pod is like it
	}
	for _, other := range reg.podRequests[p.selector] {
		if slices.Equal(p.resources, other.resources) && sameFractions(p.fractions, other.fractions) {
			return other, true
		}
	}
	reg.podRequests[p.selector] = append(reg.podRequests[p.selector], p)
	return p, true
}
