package cards

import (
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/quota"
)

// Allowed is the part of every rule about cards that depends on no quota:
//
//   - all cards of a list share one resource name;
//   - the pod requests that resource;
//   - the pod is not untyped, where untypedCards is reject.
func (s *Snapshot) Allowed(q index.Queue, r Request) quota.Verdict {
	switch {
	case r.FromClaim(): // the resource of the device plugin for these cards does not matter
	case r.Selector.Typed && r.Selector.mixed:
		return quota.Verdict{Reason: quota.MixedResources, Queue: q}
	case r.Selector.Typed && r.kind != byJob && !r.Selector.accepts(r.Resource):
		return quota.Verdict{Reason: quota.ResourceMismatch, Queue: q}
	case !r.Selector.Typed && s.settings.Untyped == UntypedReject:
		return quota.Verdict{Reason: quota.UntypedPod, Queue: q}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

// Outcome is the verdict on a request for cards, and the request that is refused. Questions about each task set the
// fields one by one, since a copy of an Outcome takes as long as the comparison with a quota.
type Outcome struct {
	Verdict quota.Verdict
	Request Request // zero if nothing is refused
	// Shared reports that the request is for several cards at once, and that reservations of others for the same cards
	// count against it.
	Shared bool
	// Holder is the holder with a limit that refuses the cards of a job, zero for none.
	Holder quota.Holder
}

// Rule decides on a quantity of one card.
type Rule func(d fastres.Dim, milli float64) quota.Verdict

// Fit answers whether each request of a pod has a card that satisfies rule. It sets refused to the first request that
// has none.
func (s *Snapshot) Fit(q index.Queue, p *PodRequest, refused *Request, rule Rule) quota.Verdict {
	for r := range s.Requests(p) {
		v := s.Allowed(q, r)
		if v.OK() {
			v = quota.AnyCard(q, r.Selector.Dims, func(d fastres.Dim) quota.Verdict {
				return rule(d, float64(r.Of(d)))
			})
		}

		if !v.OK() {
			*refused = r
			return v
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

// NodeReason says why a pod does not get its cards on a node.
type NodeReason uint8

const (
	NodeFits      NodeReason = iota
	PodRefused               // by Allowed, on every node
	NoSuchCard               // the node has no card that the pod can use
	MissingLabel             // the node has the resource, but lacks the label that names the card
	OtherCard                // the node's card has no quota left, another card of the list has
	OverQuota                // no card of the list has quota left
	ClaimUnknown             // a resource claim does not exist
	ClaimRefused             // a resource claim cannot be served anywhere
	NoDevice                 // the node has no device for a resource claim
	UnnamedDevice            // a resource claim could get a device of a card without a name
	OtherDevice              // a resource claim could get a card that the pod does not name
	RoomEarmarked            // the room that is left on the node is earmarked for others; not an answer of FitNode
)

// NodeFit is the answer of FitNode. If Reason is not NodeFits, the other fields describe the refusal.
type NodeFit struct {
	Reason  NodeReason
	Verdict quota.Verdict
	Request Request
	Label   string // the label of MissingLabel, the attribute of UnnamedDevice, the card of OtherDevice
	Text    string // the claim or its problem, the driver of UnnamedDevice, the list of OtherDevice
}

// placement is a pod of a queue on a node. Rules are no part of it: they would escape to the heap with the pod.
type placement struct {
	queue    index.Queue
	pod      *PodRequest
	nodeName string
	node     *Node // nil for an unknown node
}

// FitNode answers whether a pod of q can have its cards on a node: the node has a card of each selector, and rule
// admits it. It is safe for many goroutines if rule is.
func (s *Snapshot) FitNode(q index.Queue, p *PodRequest, nodeName string, rule Rule) (fit NodeFit) {
	if p.None() {
		return fit
	}
	if p.claims != nil {
		fit = s.fitClaims(p, nodeName)
		if fit.Reason != NodeFits {
			return fit
		}
	}

	at := placement{queue: q, pod: p, nodeName: nodeName, node: s.Node(nodeName)}
	for r := range s.RequestsOn(p, nodeName) {
		if v := s.Allowed(q, r); !v.OK() {
			return NodeFit{Reason: PodRefused, Verdict: v, Request: r}
		}

		if !s.fitRequest(&at, r, rule, &fit) {
			return fit
		}
	}
	return fit
}

// fitRequest is FitNode for one request. It sets refused only if the request does not fit.
func (s *Snapshot) fitRequest(at *placement, r Request, rule Rule, refused *NodeFit) bool {
	if r.FromClaim() {
		amount := s.amountOn(at, r.claimed)
		v := rule(r.claimed, float64(amount))
		if !v.OK() {
			*refused = NodeFit{Reason: OverQuota, Verdict: v, Request: s.single(r.claimed, r, amount)}
		}
		return v.OK()
	}

	given := at.node.cardsOf(r.Resource)
	if len(given) == 0 {
		*refused = s.withoutCard(at.node, r)
		return false
	}

	// The pod may get any of several models.
	for _, c := range given {
		if !slices.Contains(r.Selector.Dims, c.dim) {
			*refused = NodeFit{Reason: NoSuchCard, Request: r}
			return false
		}

		if !s.fitCard(at, r, c.dim, rule, refused) {
			return false
		}
	}
	return true
}

// withoutCard is the answer for a node that has no card for a request.
func (s *Snapshot) withoutCard(n *Node, r Request) NodeFit {
	if n != nil {
		if label := s.missingLabel(n, r.Resource); label != "" {
			return NodeFit{Reason: MissingLabel, Request: r, Label: label}
		}
	}
	return NodeFit{Reason: NoSuchCard, Request: r}
}

// fitCard is FitNode for one card of the node. It sets refused only if the card does not fit.
func (s *Snapshot) fitCard(at *placement, r Request, d fastres.Dim, rule Rule, refused *NodeFit) bool {
	amount := r.Amount
	if !at.pod.OnlyWhole() {
		amount = s.amountOn(at, d)
	}

	v := rule(d, float64(amount))
	if v.OK() {
		return true
	}

	another := quota.AnyCard(at.queue, r.Selector.Dims, func(other fastres.Dim) quota.Verdict {
		if other == d {
			return v
		}
		return rule(other, float64(max(amount, r.Of(other))))
	})

	reason := OverQuota
	if another.OK() {
		reason = OtherCard
	}
	*refused = NodeFit{Reason: reason, Verdict: v, Request: s.single(d, r, amount)}
	return false
}

// amountOn returns the amount of one card that the pod takes on the node. Two resources of a node may have the same
// card.
func (s *Snapshot) amountOn(at *placement, d fastres.Dim) (amount card.Milli) {
	for r := range s.RequestsOn(at.pod, at.nodeName) {
		if r.kind != byDevice && len(at.node.cardsOf(r.Resource)) == 0 {
			continue
		}

		for other, taken := range r.On(at.node) {
			if other == d {
				amount += taken
			}
		}
	}
	return amount
}

// Preference is the score of a node for a pod with a list of cards:
//
//	100 · 0.5^i · nodeOrderWeight
//
// i is the position of the node's card in the list. The score is 0 for an untyped pod, and for a node with none of the
// cards.
//
// Other pods may be unable to use another card than one in leave, or than one that is reserved for other jobs. Such
// cards come after all others of the list. An untyped pod has the score -100 · nodeOrderWeight for a card in leave.
//
// It is safe for many goroutines.
func (s *Snapshot) Preference(p *PodRequest, nodeName string, leave []fastres.Dim,
	reserved func(d fastres.Dim, milli float64) bool) float64 {
	if p.selector == nil && len(leave) == 0 {
		return 0
	}
	n := s.Node(nodeName)
	if n == nil {
		return 0
	}

	for r := range s.RequestsOn(p, nodeName) {
		c, _ := n.card(r.Resource)
		if r.FromClaim() {
			c.dim = r.claimed
		}
		i := slices.Index(r.Selector.Dims, c.dim)
		left := slices.Contains(leave, c.dim)

		switch {
		case i < 0:
		case p.selector != nil:
			rank := r.Selector.rank[i]
			if len(r.Selector.Dims) > 1 && (left || reserved(c.dim, float64(r.Of(c.dim)))) {
				rank += len(r.Selector.Names)
			}
			return math.Ldexp(100*s.settings.NodeOrderWeight, -rank)
		case left:
			return -100 * s.settings.NodeOrderWeight
		}
	}
	return 0
}

// Usable reports whether each request of a pod of q has a card on a node.
func (s *Snapshot) Usable(q index.Queue, p *PodRequest, n *Node) bool {
	if s.fitClaims(p, n.object.Name).Reason != NodeFits {
		return false
	}

	for r := range s.Requests(p) {
		if r.FromClaim() {
			continue
		}

		given := n.cardsOf(r.Resource)
		unlisted := func(c nodeCard) bool { return !slices.Contains(r.Selector.Dims, c.dim) }
		if len(given) == 0 || slices.ContainsFunc(given, unlisted) || !s.Allowed(q, r).OK() {
			return false
		}
	}
	return true
}

// Frees reports whether the eviction of victim frees a card of a node that a reclaimer or preemptor lacks there. victim
// is Stated: a pod frees its cards also if they do not count in its queue, or if untypedCards is ignore.
func (s *Snapshot) Frees(reclaimer, victim *PodRequest, n *Node, lacks func(r Request, d fastres.Dim) bool) bool {
	for r := range s.RequestsOn(reclaimer, n.object.Name) {
		if r.FromClaim() {
			if s.claims(victim, n, r.claimed) && lacks(r, r.claimed) {
				return true
			}
			continue
		}

		if !victim.requests(r.Resource) {
			continue
		}

		for _, c := range n.cardsOf(r.Resource) {
			if lacks(r, c.dim) {
				return true
			}
		}
	}
	return false
}

// claims reports whether the resource claims of a pod on a node take a card.
func (s *Snapshot) claims(p *PodRequest, n *Node, d fastres.Dim) bool {
	if p.claims == nil {
		return false
	}

	other := func(r Request) bool { return r.claimed != d } // ends the iteration at the card
	return !s.eachClaimed(p, p.claims.own, n.object.Name, other) ||
		!s.eachClaimed(p, p.claims.shared, n.object.Name, other)
}

// Occupies reports whether a pod requests a card resource, or has cards by a resource claim.
func (s *Snapshot) Occupies(p *PodRequest) bool {
	if p.claims != nil && s.Uses(p) {
		return true
	}
	return slices.ContainsFunc(p.resources, func(r resourceRequest) bool { return s.registry.allOf(r) != nil })
}

// Takes reports whether a pod uses up a resource of its node for its cards, as Occupies counts them.
func (s *Snapshot) Takes(p *PodRequest, name v1.ResourceName) bool {
	same := func(used v1.ResourceName) bool { return used == name }
	return slices.ContainsFunc(p.resources, func(r resourceRequest) bool {
		return s.registry.allOf(r) != nil && s.UsesAny(podRequest(p, nil, r.resource, r.amount), same)
	})
}
