package cards

import (
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// resolveAll finds the stock, and the cards and resource names of all selectors.
func (s *Snapshot) resolveAll() {
	r := s.registry
	r.groups.resolve(s.names)
	r.setModels()
	r.present = map[fastres.Dim]bool{}
	s.renameQuotas()
	s.takeStock()

	// The selectors depend on all of this.
	s.resolveResources()
	for _, selector := range r.selectors {
		s.resolve(selector)
	}
	r.names = s.names.Len()
}

// renameQuotas gives the quotas of queues the present names of cards. The cards of quotas are present.
func (s *Snapshot) renameQuotas() {
	r := s.registry
	former := r.formerNames()
	if !maps.Equal(former, r.former) {
		r.former = former
		s.quotasChanged = true
	}

	for _, q := range r.queues {
		q.rename(r.former)
		for _, amounts := range q.amounts {
			for d := range amounts {
				r.present[d] = !s.names.IsGroup(d)
			}
		}
	}
}

// formerNames returns the present cards of time slices by their former names. A name that any node has now is not
// former. The result is nil in nearly all clusters.
func (r *Registry) formerNames() (former map[fastres.Dim]fastres.Dim) {
	for _, n := range r.nodes {
		for _, c := range n.cards {
			if c.former == 0 {
				continue
			}

			if former == nil {
				former = map[fastres.Dim]fastres.Dim{}
			}
			former[c.former] = c.dim
		}
	}

	for _, n := range r.nodes {
		for _, c := range n.cards {
			delete(former, c.dim)
		}
	}
	return former
}

// takeStock adds up the cards of nodes and devices. They are present.
func (s *Snapshot) takeStock() {
	r := s.registry

	total := map[fastres.Dim]card.Milli{}
	for _, n := range r.nodes {
		for _, c := range n.cards {
			total[c.dim] += c.amount
		}
	}
	r.devices.addStock(total)

	for d := range total {
		r.present[d] = true
	}

	r.stock = r.stock[:0]
	for d := range fastres.Dim(s.names.Len()) {
		if total[d] > 0 {
			r.stock = append(r.stock, Amount{d, total[d]})
		}
	}
}

// resolveResources finds the cards of each resource, and the selectors of all its cards.
func (s *Snapshot) resolveResources() {
	r := s.registry
	lists := s.listCards()
	r.all = make([]*Selector, len(r.resources))
	for id, names := range lists {
		if len(names) == 0 && !r.carded[r.resources[id]] {
			continue
		}

		slices.Sort(names)
		names = slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
		r.all[id] = &Selector{Names: names}
		s.resolve(r.all[id])
		r.all[id].resources = []ResourceID{ResourceID(id)}
	}
}

// listCards returns the names of the cards that nodes give through each resource. The name of a card without a label is
// "".
func (s *Snapshot) listCards() []card.List {
	r := s.registry
	lists := make([]card.List, len(r.resources))
	r.resourcesOf = map[fastres.Dim][]ResourceID{}
	r.lacking = map[ResourceID]string{}

	for _, n := range r.nodes {
		for _, c := range n.cards {
			if !slices.Contains(r.resourcesOf[c.dim], c.resource) {
				r.resourcesOf[c.dim] = append(r.resourcesOf[c.dim], c.resource)
				lists[c.resource] = append(lists[c.resource], s.names.Name(c.dim))
			}
		}

		for _, u := range n.unlabeled {
			lists[u.resource] = append(lists[u.resource], "")

			if label, some := r.lacking[u.resource]; !some || u.label < label {
				r.lacking[u.resource] = u.label
			}
		}
	}
	return lists
}

// resolve finds the cards and resource names of a selector in this session.
func (s *Snapshot) resolve(selector *Selector) {
	selector.Dims = nil
	selector.rank = nil
	selector.resources = nil
	selector.mixed = false
	selector.fractions = nil

	for i := range selector.Names {
		selector.share(s.resolveName(selector, i))
	}
}

// resolveName adds the card of a name to a selector, and returns the resources through which pods get it whole.
func (s *Snapshot) resolveName(selector *Selector, i int) (resources []ResourceID) {
	r := s.registry
	name := selector.Names[i]
	d, ok := s.names.LookupCard(name)
	if now, renamed := r.former[d]; ok && renamed {
		d = now
	}

	if ok && r.present[d] && !slices.Contains(selector.Dims, d) {
		selector.Dims = append(selector.Dims, d)
		selector.rank = append(selector.rank, i)
		for _, id := range r.resourcesOf[d] {
			if card.OfFractions(r.resources[id]) {
				selector.fractions = append(selector.fractions, id)
			} else {
				resources = append(resources, id)
			}
		}
	}

	// The name itself can tell the resource of a card that no node has.
	if implied, ok := card.ResourceOf(name); ok && len(resources) == 0 {
		resources = []ResourceID{r.resource(implied)}
	}
	return resources
}

// share limits the resources of a selector to the resources of one more card, if these are known.
func (s *Selector) share(resources []ResourceID) {
	switch {
	case len(resources) == 0:
	case len(s.resources) == 0:
		s.resources = slices.Clone(resources)
	default:
		other := func(id ResourceID) bool { return !slices.Contains(resources, id) }
		s.resources = slices.DeleteFunc(s.resources, other)
		s.mixed = s.mixed || len(s.resources) == 0
	}
}
