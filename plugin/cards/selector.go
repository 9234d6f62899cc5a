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
}

// accepts reports whether a request for r can be served by the selector.
func (s *Selector) accepts(r ResourceID) bool {
	return !s.mixed && (len(s.resources) == 0 || slices.Contains(s.resources, r))
}

// Request is Amount of one card out of Selector.
type Request struct {
	Selector *Selector // nil in the zero Request, which requests no card
	Resource ResourceID
	Amount   card.Milli
	// Held is the card that the pod is charged for, whatever its node states now; 0
	// where the node decides.
	Held fastres.Dim
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
	held      []heldCard // empty for nearly every pod
}

// noCards is the PodRequest of all pods where cards do not count.
var noCards = &PodRequest{}

// requests reports whether the pod requests a resource.
func (p *PodRequest) requests(r ResourceID) bool {
	return slices.ContainsFunc(p.resources, func(request resourceRequest) bool { return request.resource == r })
}

// None reports whether the pod requests no extended resource, thus no card.
func (p *PodRequest) None() bool { return len(p.resources) == 0 }

// allOf returns the selector of all cards of a resource, nil where it is no card resource.
func (r *Registry) allOf(request resourceRequest) *Selector {
	if int(request.resource) < len(r.all) && r.all[request.resource] != nil {
		return r.all[request.resource]
	}
	return request.unnamed
}

// Requests iterates over the cards that a pod requests. An untyped pod requests
// any card of each card resource, unless untypedCards is ignore.
func (s *Session) Requests(p *PodRequest) iter.Seq[Request] {
	return func(yield func(Request) bool) {
		for _, r := range p.resources {
			all := s.registry.allOf(r)
			request := Request{Selector: all, Resource: r.resource, Amount: r.amount}
			if held := p.heldFor(r.resource); held != nil {
				request = held.request(p.selector, request)
			} else if p.selector != nil {
				only := len(p.resources) == 1 && len(p.selector.resources) == 0
				if all == nil && !only && !slices.Contains(p.selector.resources, r.resource) {
					continue
				}
				request.Selector = p.selector
			} else if all == nil || s.settings.Untyped == UntypedIgnore {
				continue
			}
			if !yield(request) {
				return
			}
		}
	}
}

// Uses reports whether a pod requests cards.
func (s *Session) Uses(p *PodRequest) bool {
	for range s.Requests(p) {
		return true
	}
	return false
}

// PodRequest returns what a pod of queue q states about cards, no cards where
// they do not count in q. It is safe for many goroutines.
func (s *Session) PodRequest(q index.Queue, pod *v1.Pod) *PodRequest {
	if q == index.None || !s.Counted(q) {
		return noCards
	}
	return s.Stated(pod)
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
	selector := s.selector(names)
	var resources []resourceRequest
	for _, r := range requests {
		id := reg.resource(r.Resource)
		resources = append(resources, resourceRequest{id, r.Milli, reg.unnamed[id]})
	}
	if held := reg.held[pod.UID]; held != nil {
		return &PodRequest{selector, resources, held}, true
	}
	for _, p := range reg.podRequests[selector] {
		if slices.Equal(p.resources, resources) {
			return p, true
		}
	}
	p = &PodRequest{selector: selector, resources: resources}
	reg.podRequests[selector] = append(reg.podRequests[selector], p)
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
	selector.Dims, selector.rank, selector.resources, selector.mixed = nil, nil, nil, false
	for i, name := range selector.Names {
		var resources []ResourceID
		d, ok := s.names.LookupCard(name)
		if now, renamed := s.registry.former[d]; ok && renamed {
			d = now
		}
		if ok && s.registry.present[d] && !slices.Contains(selector.Dims, d) {
			selector.Dims = append(selector.Dims, d)
			selector.rank = append(selector.rank, i)
			resources = s.registry.resourcesOf[d]
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
