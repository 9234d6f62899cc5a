package cards

import (
	"fmt"
	"iter"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// eachClaimed visits what the claims of a pod take on a node, "" for a pod that has none yet: then a claim that is not
// allocated requests one card of a list, and the least of it.
func (s *Session) eachClaimed(p *PodRequest, claims []*Claim, node string, yield func(Request) bool) bool {
	for _, c := range claims {
		if node == "" && c.allocated == nil {
			if !s.eachOpen(p, c, yield) {
				return false
			}
			continue
		}
		for _, of := range c.on(node) {
			list := c.list(p, of.request)
			dim := of.dim
			if dim == 0 && p.selector != nil && len(p.selector.Dims) > 0 {
				dim = p.selector.Dims[0]
			}
			if dim == 0 {
				continue
			}
			if list == nil {
				list = of.only
			}
			gone := of.gone || c.allocated == nil && !s.registry.devices.has(node, dim)
			if !yield(Request{Selector: list, Resource: Devices, Amount: of.milli, claimed: dim, gone: gone}) {
				return false
			}
		}
	}
	return true
}

// eachOpen visits the requests of a claim that is not allocated, and no pod of which has a node.
func (s *Session) eachOpen(p *PodRequest, c *Claim, yield func(Request) bool) bool {
	if c.object == nil || c.shape == nil {
		return true
	}
	for i := range c.shape.requests {
		r := &c.shape.requests[i]
		if r.list == nil {
			continue
		}
		if !yield(Request{Selector: c.list(p, i), Resource: Devices, Amount: r.least}) {
			return false
		}
	}
	return true
}

// keepPlaced keeps what the claims of a pod take on its node, until they are allocated. Of pods that share a claim, the
// first one decides; of those that run when the scheduler starts, the one with the first node.
func (s *Session) keepPlaced(p *PodRequest, node string) {
	if p == nil || p.claims == nil {
		return
	}
	for _, claims := range [][]*Claim{p.claims.own, p.claims.shared} {
		for _, c := range claims {
			again := c.node != node && !c.named || c.placedAt == s.registry.session && node < c.node
			if c.allocated != nil || len(c.placed) > 0 && !again {
				continue
			}
			if most := c.most(node); len(most) > 0 { // what nothing can serve yet is charged when devices appear
				c.placed = slices.Clone(most)
				c.node = node
				c.placedAt = s.registry.session
			}
		}
	}
}

// fitClaims answers whether a pod can have its claims on a node, as far as cards tell.
func (s *Session) fitClaims(p *PodRequest, node string) NodeFit {
	if p.claims == nil {
		return NodeFit{}
	}
	if p.claims.unmade != "" {
		return NodeFit{Reason: ClaimUnknown, Text: p.claims.unmade}
	}
	for _, claims := range [][]*Claim{p.claims.own, p.claims.shared} {
		for _, c := range claims {
			if fit := s.fitClaim(p, c, node); fit.Reason != NodeFits {
				return fit
			}
		}
	}
	return NodeFit{}
}

func (s *Session) fitClaim(p *PodRequest, c *Claim, node string) NodeFit {
	if c.object == nil {
		return NodeFit{Reason: ClaimUnknown, Text: c.Name}
	}
	if at := c.where(); c.allocated == nil && at != "" && at != node {
		return NodeFit{Reason: ClaimRefused, Text: fmt.Sprintf("<%s>: it is not allocated yet, and another pod of it is on node %s", c.Name, at)}
	}
	if c.allocated == nil && (len(c.placed) == 0 || c.node != node) {
		if c.shape.problem != "" {
			return NodeFit{Reason: ClaimRefused, Text: fmt.Sprintf("<%s>: %s", c.Name, c.shape.problem)}
		}
		n := c.shape.on[node]
		if len(c.shape.requests) == 0 {
			return NodeFit{} // it looks at devices that others have
		}
		if n == nil {
			return NodeFit{Reason: NoDevice, Text: c.Name}
		}
		if n.unnamed != nil {
			return NodeFit{Reason: UnnamedDevice, Text: n.unnamed.id.driver, Label: n.unnamed.missing}
		}
	}
	if p.selector == nil {
		return NodeFit{}
	}
	for _, of := range c.on(node) {
		if of.dim != 0 && !slices.Contains(p.selector.Dims, of.dim) {
			return NodeFit{Reason: OtherDevice, Text: Shown(p.selector.Names.String()), Label: s.names.Name(of.dim)}
		}
	}
	return NodeFit{}
}

// sharedName is the name of a claim in the accounts of queues, where quotas of device classes have claims of their own.
func (c *Claim) sharedName() string { return "cards of " + c.Name }

// Share notes that a pod got a node in the session, for the claims that it shares.
func (s *Session) Share(p *PodRequest, node string) {
	for c := range p.sharedOn(node) {
		c.sharers++
		if c.first == "" {
			c.first = node
		}
	}
}

// Unshare takes Share back when the pod leaves the node.
func (s *Session) Unshare(p *PodRequest, node string) {
	for c := range p.sharedOn(node) {
		c.sharers--
		if c.sharers <= 0 {
			c.first, c.sharers = "", 0
		}
	}
}

// sharedOn iterates over the claims that a pod shares and that get cards on a node.
func (p *PodRequest) sharedOn(node string) iter.Seq[*Claim] {
	return func(yield func(*Claim) bool) {
		if !p.Shares() {
			return
		}
		for _, c := range p.claims.shared {
			if len(c.on(node)) > 0 && !yield(c) {
				return
			}
		}
	}
}

// Unplace forgets where the claims that a pod shares were placed, if no pod with a node holds them any more.
func (s *Session) Unplace(p *PodRequest, held func(claim string) bool) {
	if !p.Shares() {
		return
	}
	for _, c := range p.claims.shared {
		if !held(c.sharedName()) {
			c.placed, c.node = nil, ""
		}
	}
}

// HasClaims reports whether the pod has resource claims.
func (p *PodRequest) HasClaims() bool { return p.claims != nil }

// Shares reports whether the pod shares resource claims with others.
func (p *PodRequest) Shares() bool { return p.claims != nil && len(p.claims.shared) > 0 }

// SharedOn returns the claims that a pod shares, with what they take on a node.
func (s *Session) SharedOn(p *PodRequest, node string) (claims []index.DeviceClaim) {
	if !p.Shares() {
		return nil
	}
	for _, c := range p.claims.shared {
		claim := index.DeviceClaim{Name: c.sharedName()}
		s.eachClaimed(p, []*Claim{c}, node, func(r Request) bool {
			if r.claimed != 0 {
				claim.Devices = s.Spread(claim.Devices, r.claimed, r.Amount)
			}
			return true
		})
		if len(claim.Devices) > 0 {
			claims = append(claims, claim)
		}
	}
	return claims
}

// SharedRequest returns what a pod shares on a node as one request, for a reason.
func (s *Session) SharedRequest(p *PodRequest, node string) (request Request) {
	s.eachClaimed(p, p.claims.shared, node, func(r Request) bool {
		request = s.single(r.claimed, r)
		return false
	})
	return request
}

// SharedOpen iterates over the requests of the claims that a pod shares, by the name of the claim. One that is
// allocated requests what it has.
func (s *Session) SharedOpen(p *PodRequest) iter.Seq2[string, Request] {
	return func(yield func(string, Request) bool) {
		if p.Shares() {
			s.eachNamed(p, p.claims.shared, (*Claim).sharedName, yield)
		}
	}
}

// ClaimedOpen iterates over the requests of all claims of a pod, by the name of the claim, "" for one that the pod does
// not share.
func (s *Session) ClaimedOpen(p *PodRequest) iter.Seq2[string, Request] {
	return func(yield func(string, Request) bool) {
		if p.claims != nil && s.eachNamed(p, p.claims.own, func(*Claim) string { return "" }, yield) {
			s.eachNamed(p, p.claims.shared, (*Claim).sharedName, yield)
		}
	}
}

func (s *Session) eachNamed(p *PodRequest, claims []*Claim, name func(*Claim) string, yield func(string, Request) bool) bool {
	for _, c := range claims {
		more := s.eachClaimed(p, []*Claim{c}, "", func(r Request) bool {
			if r.claimed != 0 {
				r.Selector = s.only(Devices, r.claimed)
			}
			return yield(name(c), r)
		})
		if !more {
			return false
		}
	}
	return true
}

// OwnOn returns the cards that a pod has on a node beside the claims that it shares.
func (s *Session) OwnOn(p *PodRequest, node string) (own []index.Devices) {
	n := s.Node(node)
	for r := range s.RequestsOn(p, node) {
		for d, amount := range r.On(n) {
			own = s.Spread(own, d, amount)
		}
	}
	return own
}

// Spread appends an amount of a card, and of the groups that have it.
func (s *Session) Spread(to []index.Devices, d fastres.Dim, amount card.Milli) []index.Devices {
	to = append(to, index.Devices{Dim: d, Quantity: float64(amount)})
	for _, share := range s.names.Groups(d) {
		to = append(to, index.Devices{Dim: share.Group, Quantity: share.Of(float64(amount))})
	}
	return to
}

// OwnDevices returns the milli-cards of a list that the claims of a pod alone take: the allocated devices, or else the
// least that the requests for nothing but cards of the list need.
func (s *Session) OwnDevices(p *PodRequest, list *Selector) (milli float64) {
	if p == nil || p.claims == nil {
		return 0
	}
	for _, c := range p.claims.own {
		milli += s.needs(p, c, list)
	}
	return milli
}

// needs is OwnDevices for one claim.
func (s *Session) needs(p *PodRequest, c *Claim, list *Selector) (milli float64) {
	for _, of := range c.allocated {
		if !of.gone && slices.Contains(list.Dims, of.dim) {
			milli += float64(of.milli)
		}
	}
	if c.allocated == nil {
		s.eachOpen(p, c, func(r Request) bool {
			if r.Selector.within(list) {
				milli += float64(r.Amount)
			}
			return true
		})
	}
	return milli
}

// OwnLists adds the lists of cards that the open claims of a pod alone request, each once.
func (s *Session) OwnLists(p *PodRequest, lists []*Selector) []*Selector {
	if p == nil || p.claims == nil {
		return lists
	}
	for _, c := range p.claims.own {
		if c.allocated != nil {
			continue
		}
		s.eachOpen(p, c, func(r Request) bool {
			same := func(list *Selector) bool { return r.Selector.within(list) && list.within(r.Selector) }
			if !slices.ContainsFunc(lists, same) {
				lists = append(lists, r.Selector)
			}
			return true
		})
	}
	return lists
}

// within reports whether a list has all cards of l.
func (s *Selector) within(list *Selector) bool {
	return !slices.ContainsFunc(s.Dims, func(d fastres.Dim) bool { return !slices.Contains(list.Dims, d) })
}
