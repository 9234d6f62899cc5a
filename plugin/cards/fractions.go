package cards

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// fraction holds the request of a pod for shared cards through one resource. Its charge for a card depends
// on the memory of the card. This is the memory of:
//
//	before the pod has a node    the smallest card of the model on any node (Of)
//	on a node                    the smallest card of the model there (On)
//	once it has its devices      these devices (exact)
//
// Each charge is at least the next one.
type fraction struct {
	*card.Fraction
	resource ResourceID
	registry *Registry

	// exact holds the charge of the devices that the pod got, nil if it is not known. It counts while its node has the
	// version.
	exact   []Amount
	version uint64
}

// modelKey is a card that nodes give through a resource.
type modelKey struct {
	resource ResourceID
	dim      fastres.Dim
}

// setModels finds the smallest model of each card and resource on any node. models is nil if no node
// registers shared cards. A node that gives none of its cards counts only if no other node gives the card.
func (r *Registry) setModels() {
	r.models = nil
	shared := func(n *Node) bool { return len(n.devices) > 0 }
	if !slices.ContainsFunc(slices.Collect(maps.Values(r.nodes)), shared) {
		return
	}

	r.models = map[modelKey]card.Model{}
	given := map[modelKey]bool{}
	for _, n := range r.nodes {
		for _, c := range n.cards {
			key := modelKey{c.resource, c.dim}
			gives := c.amount > 0
			known, has := r.models[key]

			switch {
			case !has || gives && !given[key]:
				r.models[key] = c.model
			case gives == given[key]:
				r.models[key] = c.model.Least(known)
			}

			given[key] = given[key] || gives
		}
	}
}

// fractionsOf returns the fractions that a pod requests. It is nil for nearly every pod.
func (s *Snapshot) fractionsOf(pod *v1.Pod) (all []*fraction) {
	for _, stated := range card.Fractions(pod) {
		f := &fraction{Fraction: stated, resource: s.registry.resource(stated.Number), registry: s.registry}
		if n := s.registry.nodes[pod.Spec.NodeName]; n != nil && f.Assigned != nil {
			f.setExact(s, n)
		}

		all = append(all, f)
	}
	return all
}

// setExact computes the charge of the pod's devices, if the node registers them.
func (f *fraction) setExact(s *Snapshot, n *Node) {
	find := func(uuid string) (card.Device, bool) { return card.FindDevice(n.devices, f.Number, uuid) }
	charges, ok := f.Exact(find, s.settings.Fractions)
	f.exact = nil
	f.version = n.version
	if !ok {
		return
	}

	for _, c := range charges {
		if d, known := s.names.LookupCard(c.Card); known {
			f.exact = append(f.exact, Amount{d, c.Milli})
		}
	}
}

// fraction returns the fraction that the pod requests through a resource, nil if it requests whole cards.
func (p *PodRequest) fraction(r ResourceID) *fraction {
	for _, f := range p.fractions {
		if f.resource == r {
			return f
		}
	}
	return nil
}

// setFractions sets the fractions of a pod. A pod that requests memory alone requests one card.
func (p *PodRequest) setFractions(fractions []*fraction) {
	p.fractions = fractions
	for _, f := range fractions {
		i := slices.IndexFunc(p.resources, func(r resourceRequest) bool { return r.resource == f.resource })
		if i < 0 {
			i = len(p.resources)
			p.resources = append(p.resources, resourceRequest{f.resource, 0, f.registry.unnamed[f.resource]})
		}

		p.resources[i].amount = f.Whole()
	}
}

// hasDevices reports whether the pod has its devices. No other pod is then like it.
func (p *PodRequest) hasDevices() bool {
	return slices.ContainsFunc(p.fractions, func(f *fraction) bool { return f.Assigned != nil })
}

// mostOf returns the largest amount of one card of its selector that a request can take.
func (p *PodRequest) mostOf(r Request) card.Milli {
	if f := p.fraction(r.Resource); f != nil {
		return f.most(r.Selector.Dims)
	}
	return r.Amount
}

// UsesAny reports whether a predicate holds for any resource that a request uses up on a node.
func (s *Snapshot) UsesAny(r Request, is func(v1.ResourceName) bool) bool {
	if r.pod != nil && r.pod.fractions != nil {
		if f := r.pod.fraction(r.Resource); f != nil {
			return slices.ContainsFunc(f.Uses(), is)
		}
	}

	return is(v1.ResourceName(s.ResourceName(r.Resource)))
}

// sameFractions reports whether two pods without devices request the same fractions.
func sameFractions(x, y []*fraction) bool {
	return slices.EqualFunc(x, y, func(f, g *fraction) bool { return f.Equal(g.Fraction) })
}

// of returns the largest amount of a card that the pod takes on any node.
func (f *fraction) of(d fastres.Dim) card.Milli {
	return f.On(f.registry.models[modelKey{f.resource, d}], f.registry.fractionsBy)
}

// most returns the largest amount that the pod takes of one of some cards.
func (f *fraction) most(dims []fastres.Dim) (most card.Milli) {
	if len(dims) == 0 {
		return f.Whole()
	}

	for _, d := range dims {
		most = max(most, f.of(d))
	}
	return most
}

// eachOn visits the cards that the pod takes on a node that has cards of the resource.
func (f *fraction) eachOn(n *Node, yield func(fastres.Dim, card.Milli) bool) {
	if f.exact != nil && f.version == n.version {
		for _, a := range f.exact {
			if !yield(a.Dim, a.Milli) {
				return
			}
		}
		return
	}

	for _, c := range n.cardsOf(f.resource) {
		if !yield(c.dim, f.On(c.model, f.registry.fractionsBy)) {
			return
		}
	}
}
