package cards

import (
	"fmt"
	"iter"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// eachClaimed visits the requests of some claims of a pod on a node, until yield returns false. It then returns false.
// If node is "", the pod has none yet, and a claim that is not allocated requests the least of one card of a list.
func (s *Snapshot) eachClaimed(p *PodRequest, claims []*Claim, node string, yield func(Request) bool) bool {
	for _, c := range claims {
		var more bool
		if node == "" && c.allocated == nil {
			more = s.eachOpen(p, c, yield)
		} else {
			more = s.eachCharge(p, c, node, yield)
		}

		if !more {
			return false
		}
	}
	return true
}

// eachCharge visits the charges of a claim on a node as requests.
func (s *Snapshot) eachCharge(p *PodRequest, c *Claim, node string, yield func(Request) bool) bool {
	for _, charged := range c.on(node) {
		// A device without a name counts as the first card that the pod names.
		dim := charged.dim
		if dim == 0 && p.selector != nil && len(p.selector.Dims) > 0 {
			dim = p.selector.Dims[0]
		}
		if dim == 0 {
			continue
		}

		list := c.list(p, charged.request)
		if list == nil {
			list = charged.only
		}

		gone := charged.gone || c.allocated == nil && !s.registry.devices.has(node, dim)
		if !yield(deviceRequest(list, charged.milli, dim, gone)) {
			return false
		}
	}
	return true
}

// eachOpen visits the requests of a claim that is not allocated, before any pod with the claim has a node.
func (s *Snapshot) eachOpen(p *PodRequest, c *Claim, yield func(Request) bool) bool {
	if c.object == nil || c.shape == nil {
		return true
	}

	for i := range c.shape.requests {
		r := &c.shape.requests[i]
		if r.list == nil {
			continue
		}

		if !yield(claimRequest(c.list(p, i), r.least)) {
			return false
		}
	}
	return true
}

// keepPlaced keeps the charges of a pod's claims on its node until they are allocated. The first pod of a shared claim
// decides. Among the pods that run when the scheduler starts, it is the pod on the node with the smallest name.
func (s *Snapshot) keepPlaced(p *PodRequest, node string) {
	if p == nil || p.claims == nil {
		return
	}

	for _, c := range p.claims.all {
		again := c.node != node && !c.named || c.placedAt == s.registry.session && node < c.node
		if c.allocated != nil || len(c.placed) > 0 && !again {
			continue
		}

		most := c.most(node)
		if len(most) > 0 { // otherwise the claim is charged when devices appear
			c.placed = slices.Clone(most)
			c.node = node
			c.placedAt = s.registry.session
		}
	}
}

// fitClaims answers whether a pod can have its claims on a node, as far as cards tell.
func (s *Snapshot) fitClaims(p *PodRequest, node string) NodeFit {
	if p.claims == nil {
		return NodeFit{}
	}
	if p.claims.unmade != "" {
		return NodeFit{Reason: ClaimUnknown, Text: p.claims.unmade}
	}

	for _, c := range p.claims.all {
		if fit := s.fitClaim(p, c, node); fit.Reason != NodeFits {
			return fit
		}
	}
	return NodeFit{}
}

// fitClaim is fitClaims for one claim.
func (s *Snapshot) fitClaim(p *PodRequest, c *Claim, node string) NodeFit {
	if c.object == nil {
		return NodeFit{Reason: ClaimUnknown, Text: c.Name}
	}
	if at := c.where(); c.allocated == nil && at != "" && at != node {
		text := fmt.Sprintf("<%s>: it is not allocated yet, and another pod of it is on node %s", c.Name, at)
		return NodeFit{Reason: ClaimRefused, Text: text}
	}

	if c.allocated == nil && (len(c.placed) == 0 || c.node != node) {
		if c.shape.problem != "" {
			return NodeFit{Reason: ClaimRefused, Text: fmt.Sprintf("<%s>: %s", c.Name, c.shape.problem)}
		}
		n := c.shape.on[node].shape
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

	// The devices must be cards that the pod names.
	if p.selector == nil {
		return NodeFit{}
	}
	for _, charged := range c.on(node) {
		if charged.dim != 0 && !slices.Contains(p.selector.Dims, charged.dim) {
			list := Shown(p.selector.Names.String())
			return NodeFit{Reason: OtherDevice, Text: list, Label: s.names.Name(charged.dim)}
		}
	}
	return NodeFit{}
}

// sharedName returns the name of a claim in the accounts of queues. It differs from the claims that quotas of device
// classes count there.
func (c *Claim) sharedName() string { return "cards of " + c.Name }

// Share notes for the claims that a pod shares that it got a node in the session.
func (s *Snapshot) Share(p *PodRequest, node string) {
	for c := range p.sharedOn(node) {
		c.sharers++
		if c.first == "" {
			c.first = node
		}
	}
}

// Unshare takes Share back when the pod leaves the node.
func (s *Snapshot) Unshare(p *PodRequest, node string) {
	for c := range p.sharedOn(node) {
		c.sharers--
		if c.sharers <= 0 {
			c.first = ""
			c.sharers = 0
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

// Unplace forgets the charges of the claims that a pod shares, if no pod with a node holds them any more.
func (s *Snapshot) Unplace(p *PodRequest, held func(claim string) bool) {
	if !p.Shares() {
		return
	}

	for _, c := range p.claims.shared {
		if !held(c.sharedName()) {
			c.placed = nil
			c.node = ""
		}
	}
}

// HasClaims reports whether the pod has resource claims.
func (p *PodRequest) HasClaims() bool { return p.claims != nil }

// Shares reports whether the pod shares resource claims with others.
func (p *PodRequest) Shares() bool { return p.claims != nil && len(p.claims.shared) > 0 }

// SharedOn returns the claims that a pod shares, with their charges on a node.
func (s *Snapshot) SharedOn(p *PodRequest, node string) (claims []index.DeviceClaim) {
	if !p.Shares() {
		return nil
	}

	for _, c := range p.claims.shared {
		claim := index.DeviceClaim{Name: c.sharedName()}
		s.eachClaimed(p, []*Claim{c}, node, func(r Request) bool {
			if r.kind == byDevice {
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

// SharedRequest returns the first request of the claims that a pod shares on a node. It is for the reason of a refusal.
func (s *Snapshot) SharedRequest(p *PodRequest, node string) (request Request) {
	s.eachClaimed(p, p.claims.shared, node, func(r Request) bool {
		request = s.single(r.claimed, r, r.Amount)
		return false
	})
	return request
}

// SharedOpen iterates over the requests of the claims that a pod shares, by the name of the claim. A claim that is
// allocated requests its devices.
func (s *Snapshot) SharedOpen(p *PodRequest) iter.Seq2[string, Request] {
	return func(yield func(string, Request) bool) {
		if p.Shares() {
			s.eachNamed(p, p.claims.shared, (*Claim).sharedName, yield)
		}
	}
}

// ClaimedOpen iterates over the requests of all claims of a pod, by the name of the claim. The name is "" if the pod
// does not share the claim.
func (s *Snapshot) ClaimedOpen(p *PodRequest) iter.Seq2[string, Request] {
	return func(yield func(string, Request) bool) {
		if p.claims != nil && s.eachNamed(p, p.claims.own, func(*Claim) string { return "" }, yield) {
			s.eachNamed(p, p.claims.shared, (*Claim).sharedName, yield)
		}
	}
}

// eachNamed visits the requests of some claims of a pod, by the names of the claims.
func (s *Snapshot) eachNamed(p *PodRequest, claims []*Claim, name func(*Claim) string,
	yield func(string, Request) bool) bool {
	for _, c := range claims {
		more := s.eachClaimed(p, []*Claim{c}, "", func(r Request) bool {
			if r.kind == byDevice {
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

// OwnOn returns the cards that a pod has on a node without the claims that it shares.
func (s *Snapshot) OwnOn(p *PodRequest, node string) (own []index.Devices) {
	n := s.Node(node)
	for r := range s.RequestsOn(p, node) {
		for d, amount := range r.On(n) {
			own = s.Spread(own, d, amount)
		}
	}
	return own
}

// Spread appends an amount of a card, and the amounts of its groups.
func (s *Snapshot) Spread(to []index.Devices, d fastres.Dim, amount card.Milli) []index.Devices {
	to = append(to, index.Devices{Dim: d, Quantity: float64(amount)})
	for _, share := range s.names.Groups(d) {
		to = append(to, index.Devices{Dim: share.Group, Quantity: share.Of(float64(amount))})
	}
	return to
}

// OwnDevices returns the milli-cards of a list that the claims of a pod alone take. These are the allocated devices, or
// else the least that requests for only these cards need.
func (s *Snapshot) OwnDevices(p *PodRequest, list *Selector) (milli float64) {
	if p == nil || p.claims == nil {
		return 0
	}

	for _, c := range p.claims.own {
		milli += s.needs(p, c, list)
	}
	return milli
}

// needs is OwnDevices for one claim.
func (s *Snapshot) needs(p *PodRequest, c *Claim, list *Selector) (milli float64) {
	if c.allocated == nil {
		s.eachOpen(p, c, func(r Request) bool {
			if r.Selector.within(list) {
				milli += float64(r.Amount)
			}
			return true
		})
		return milli
	}

	for _, charged := range c.allocated {
		if !charged.gone && slices.Contains(list.Dims, charged.dim) {
			milli += float64(charged.milli)
		}
	}
	return milli
}

// OwnLists adds the lists of cards that the open claims of a pod alone request, each once.
func (s *Snapshot) OwnLists(p *PodRequest, lists []*Selector) []*Selector {
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
