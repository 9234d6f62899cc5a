package cards

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// ResourceID is the number of an extended resource in a Registry.
type ResourceID int32

// NoResource is the resource of a request that no pod has made yet: a job states
// in card.request how many cards it will need, not how its pods request them.
const NoResource ResourceID = -1

// Selector is the set of cards that satisfy a request. Pods with the same list
// share one Selector.
type Selector struct {
	Names card.List // the preferred first; sorted where the pod is untyped
	Typed bool      // a pod lists Names; else they are all cards of one resource

	// Dims are the cards of Names that a node or a queue of this session has, in
	// the order of Names. rank[i] is the position of Dims[i] in Names.
	Dims []fastres.Dim
	rank []int
	// resources are the resource names that all cards of the selector share. They
	// are empty where no node has any of the cards. mixed: the cards share none, so
	// no pod can request either of them.
	resources []ResourceID
	mixed     bool
	// fractions are the resources through which pods get fractions of some of the cards, and never whole
	// ones. A pod that requests another resource does not depend on them.
	fractions []ResourceID
}

// accepts reports whether a request for r can be served by the selector.
func (s *Selector) accepts(r ResourceID) bool {
	if slices.Contains(s.fractions, r) {
		return true
	}
	return !s.mixed && (slices.Contains(s.resources, r) || len(s.resources) == 0 && len(s.fractions) == 0)
}

// Request is Amount of one card out of Selector.
type Request struct {
	Selector *Selector // nil in the zero Request, which requests no card
	Resource ResourceID
	// Amount is the most that the pod takes of one card of Selector, whatever node it gets (Of, On).
	Amount card.Milli
	pod    *PodRequest // nil where no pod states the request
	// claimed is the card that a resource claim takes on a node, whatever else the node has; 0 where the node decides.
	claimed fastres.Dim
	gone    bool // no device is that card any more
}

// Of returns the most that a pod takes of a card, whatever node it gets.
func (r Request) Of(d fastres.Dim) card.Milli {
	if r.pod == nil || r.pod.fractions == nil {
		return r.Amount
	}
	if f := r.pod.fraction(r.Resource); f != nil {
		return f.of(d)
	}
	return r.Amount
}

// resourceRequest is the request of a pod for one extended resource.
type resourceRequest struct {
	resource ResourceID
	amount   card.Milli
	unnamed  *Selector // of a card resource that no node of the session has; nil for others
}

// PodRequest holds the requests and the card list of a pod. Equal pods share one
// PodRequest.
type PodRequest struct {
	selector  *Selector // nil where the pod is untyped
	resources []resourceRequest
	held      []heldCard  // empty for nearly every pod
	fractions []*fraction // nil for pods with whole cards
	claims    *podClaims  // nil for nearly every pod
}

// noCards is the PodRequest of all pods where cards do not count.
var noCards = &PodRequest{}

// requests reports whether the pod requests a resource.
func (p *PodRequest) requests(r ResourceID) bool {
	return slices.ContainsFunc(p.resources, func(request resourceRequest) bool { return request.resource == r })
}

// OnlyWhole reports whether the pod requests one resource, and whole cards of it: nearly every pod does.
func (p *PodRequest) OnlyWhole() bool {
	return len(p.resources) == 1 && p.held == nil && p.fractions == nil && p.claims == nil
}

// None reports whether the pod requests no extended resource and has no resource claim, thus no card.
func (p *PodRequest) None() bool { return len(p.resources) == 0 && p.claims == nil }

// allOf returns the selector of all cards of a resource, nil where it is no card resource.
func (r *Registry) allOf(request resourceRequest) *Selector {
	if int(request.resource) < len(r.all) && r.all[request.resource] != nil {
		return r.all[request.resource]
	}
	return request.unnamed
}

// Requests iterates over the cards that a pod requests. An untyped pod requests any card of each card resource, unless
// untypedCards is ignore. A resource claim that is not allocated requests one card of those that it admits.
func (s *Session) Requests(p *PodRequest) iter.Seq[Request] { return s.RequestsOn(p, "") }

// RequestsOn iterates over the cards that a pod requests on a node. There, a claim that is not allocated requests the
// most that it can get of each card.
func (s *Session) RequestsOn(p *PodRequest, node string) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		for _, r := range p.resources {
			all := s.registry.allOf(r)
			request := Request{Selector: all, Resource: r.resource, Amount: r.amount, pod: p}
			var held []heldCard
			if p.held != nil { // so that nearly every pod needs no call (BenchmarkPredicateCards)
				held = p.heldFor(r.resource)
			}
			if held != nil {
				request = held[0].request(p.selector, request)
			} else if p.selector != nil {
				only := len(p.resources) == 1 && len(p.selector.resources) == 0
				if all == nil && !only && !slices.Contains(p.selector.resources, r.resource) {
					continue
				}
				request.Selector = p.selector
			} else if all == nil || s.settings.Untyped == UntypedIgnore {
				continue
			}
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

// Uses reports whether a pod requests cards, or has some by its resource claims.
func (s *Session) Uses(p *PodRequest) bool {
	for range s.Requests(p) {
		return true
	}
	return p.claims != nil && (p.claims.charged() || !s.eachClaimed(p, p.claims.shared, "", func(Request) bool { return false }))
}

// PodRequest returns what a pod of queue q states about cards, no cards where
// they do not count in q. It is safe for many goroutines.
func (s *Session) PodRequest(q index.Queue, pod *v1.Pod) *PodRequest {
	if q == index.None || !s.Counted(q) {
		return noCards
	}
	return s.Stated(pod)
}

// CountedIn is PodRequest for a caller that has what the pod states (Stated).
func (s *Session) CountedIn(q index.Queue, stated *PodRequest) *PodRequest {
	if q == index.None || !s.Counted(q) {
		return noCards
	}
	return stated
}

// Stated returns what a pod states about cards, whether or not they count in its
// queue: a pod occupies cards either way. It is safe for many goroutines.
func (s *Session) Stated(pod *v1.Pod) *PodRequest {
	p, _ := s.read(pod)
	return p
}

// read returns what a pod states about cards, and whether the pod was not in the
// table of pods. Concurrent readers collect such pods and add them afterwards.
func (s *Session) read(pod *v1.Pod) (p *PodRequest, isNew bool) {
	reg := s.registry
	if p := reg.pods.get(pod); p != nil {
		return p, false
	}
	requests, names := card.Requests(pod), card.NameOf(pod.Annotations)
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
	p.held, p.claims = reg.held[pod.UID], s.claimsOf(pod)
	if p.held != nil || p.claims != nil || p.hasDevices() {
		return p, true
	}
	for _, other := range reg.podRequests[p.selector] {
		if slices.Equal(p.resources, other.resources) && sameFractions(p.fractions, other.fractions) {
			return other, true
		}
	}
	reg.podRequests[p.selector] = append(reg.podRequests[p.selector], p)
	return p, true
}

// selector returns the selector of a list, nil for none.
func (s *Session) selector(names card.List) *Selector {
	if len(names) == 0 {
		return nil
	}
	text := names.String()
	selector := s.registry.selectors[text]
	if selector == nil {
		selector = &Selector{Names: names, Typed: true}
		s.resolve(selector)
		s.registry.selectors[text] = selector
	}
	return selector
}

// resolve finds the cards and resource names of a selector in this session.
func (s *Session) resolve(selector *Selector) {
	selector.Dims = nil
	selector.rank = nil
	selector.resources = nil
	selector.mixed = false
	selector.fractions = nil
	for i, name := range selector.Names {
		var resources []ResourceID
		d, ok := s.names.LookupCard(name)
		if now, renamed := s.registry.former[d]; ok && renamed {
			d = now
		}
		if ok && s.registry.present[d] && !slices.Contains(selector.Dims, d) {
			selector.Dims = append(selector.Dims, d)
			selector.rank = append(selector.rank, i)
			for _, r := range s.registry.resourcesOf[d] {
				if card.OfFractions(s.registry.resources[r]) {
					selector.fractions = append(selector.fractions, r)
				} else {
					resources = append(resources, r)
				}
			}
		}
		if implied, ok := card.ResourceOf(name); ok && len(resources) == 0 {
			resources = []ResourceID{s.registry.resource(implied)}
		}
		switch {
		case len(resources) == 0:
		case len(selector.resources) == 0:
			selector.resources = slices.Clone(resources)
		default:
			selector.resources = slices.DeleteFunc(selector.resources, func(r ResourceID) bool { return !slices.Contains(resources, r) })
			selector.mixed = selector.mixed || len(selector.resources) == 0
		}
	}
}

// Describe names the cards of a request: the pod's list as the pod has it, the
// resource name where the pod is untyped, "" for the zero Request.
func (s *Session) Describe(r Request) string {
	switch {
	case r.Selector == nil:
		return ""
	case r.Selector.Typed:
		return Shown(r.Selector.Names.String())
	}
	return s.ResourceName(r.Selector.resources[0])
}

// Shown shortens a name from an annotation to what a message quotes of it.
func Shown(name string) string {
	const maxBytes = 200
	return index.Shorten(name, maxBytes)
}
