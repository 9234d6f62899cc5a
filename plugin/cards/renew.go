package cards

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// RenewNames gives names new dimensions and resources new numbers, when names are numbered again. renew returns the new
// dimension of an old one.
func (r *Registry) RenewNames(renew func(fastres.Dim) fastres.Dim) {
	old := r.resources
	r.resources = nil
	r.numbers = map[v1.ResourceName]ResourceID{}
	r.unnamed = map[ResourceID]*Selector{}
	for _, name := range slices.Sorted(maps.Keys(r.carded)) {
		r.resource(name)
	}

	renewResource := func(id ResourceID) ResourceID { return r.resource(old[id]) }
	r.renewNodes(renew, renewResource)
	r.renewHeld(renew, renewResource)
	for _, q := range r.queues {
		q.renew(renew)
	}
	r.devices.renew(renew)

	r.forgetRequests()
	r.names = 0 // so that the next session resolves all selectors
}

// renewNodes is RenewNames for the cards of nodes.
func (r *Registry) renewNodes(renew func(fastres.Dim) fastres.Dim, renewResource func(ResourceID) ResourceID) {
	for _, n := range r.nodes {
		for i := range n.cards {
			c := &n.cards[i]
			c.dim = renew(c.dim)
			c.resource = renewResource(c.resource)
			if c.former != 0 {
				c.former = renew(c.former)
			}
		}

		for i := range n.unlabeled {
			u := &n.unlabeled[i]
			u.resource = renewResource(u.resource)
		}
	}
}

// renewHeld is RenewNames for the held cards of pods.
func (r *Registry) renewHeld(renew func(fastres.Dim) fastres.Dim, renewResource func(ResourceID) ResourceID) {
	for _, held := range r.held {
		for i := range held {
			h := &held[i]
			h.dim = renew(h.dim)
			h.resource = renewResource(h.resource)

			h.only.Dims[0] = h.dim
			h.only.resources[0] = h.resource
		}
	}
}

// renew gives the stated amounts and shares of a queue new dimensions.
func (q *queue) renew(renew func(fastres.Dim) fastres.Dim) {
	for a, before := range q.stated {
		q.stated[a] = make(map[fastres.Dim]card.Milli, len(before))
		for d, amount := range before {
			q.stated[a][renew(d)] = amount
		}
	}

	for a, before := range q.shares {
		q.shares[a] = make(map[fastres.Dim]card.Share, len(before))
		for d, share := range before {
			q.shares[a][renew(d)] = share
		}
	}
}
