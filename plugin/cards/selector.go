package cards

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// Selector is the set of cards that satisfy a request. Pods with the same list share one Selector.
type Selector struct {
	Names card.List // the preferred first; sorted if the pod is untyped
	Typed bool      // a pod lists Names; else they are all cards of one resource

	// Dims are the cards of Names that a node or a queue of this session has, in the order of Names.
	Dims []fastres.Dim
	rank []int // rank[i] is the position of Dims[i] in Names

	// resources are the resource names that all cards of the selector share. They are empty if no node has any of the
	// cards. mixed means that the cards share none, so that no pod can request any of them.
	resources []ResourceID
	mixed     bool
	// fractions are the resources through which pods get fractions of some of the cards, and never whole cards. A pod
	// that requests another resource does not depend on them.
	fractions []ResourceID
}

// accepts reports whether a request for r can be served by the selector.
func (s *Selector) accepts(r ResourceID) bool {
	if slices.Contains(s.fractions, r) {
		return true
	}
	return !s.mixed && (slices.Contains(s.resources, r) || len(s.resources) == 0 && len(s.fractions) == 0)
}

// within reports whether a list has all cards of s.
func (s *Selector) within(list *Selector) bool {
	return !slices.ContainsFunc(s.Dims, func(d fastres.Dim) bool { return !slices.Contains(list.Dims, d) })
}

// selector returns the selector of a list, nil for an empty list.
func (s *Snapshot) selector(names card.List) *Selector {
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

// only returns the selector of one card that pods request through a resource.
func (s *Snapshot) only(r ResourceID, d fastres.Dim) *Selector {
	return &Selector{
		Names:     card.List{s.names.Name(d)},
		Dims:      []fastres.Dim{d},
		rank:      []int{0},
		resources: []ResourceID{r},
	}
}

// allOf returns the selector of all cards of a resource, nil if it is no card resource.
func (r *Registry) allOf(request resourceRequest) *Selector {
	if int(request.resource) < len(r.all) && r.all[request.resource] != nil {
		return r.all[request.resource]
	}
	return request.unnamed
}

// Describe names the cards of a request: the list of the pod as it is written, or the resource name for an untyped pod.
// It returns "" for the zero Request.
func (s *Snapshot) Describe(r Request) string {
	switch {
	case r.kind == nothing:
		return ""
	case r.Selector.Typed:
		return Shown(r.Selector.Names.String())
	}
	return s.ResourceName(r.Selector.resources[0])
}

// Shown shortens a name from an annotation for a message.
func Shown(name string) string {
	const maxBytes = 200
	return index.Shorten(name, maxBytes)
}
