package cards

import (
	"iter"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// ResourceID is the number of an extended resource in a Registry.
type ResourceID int32

const (
	// NoResource is the resource of a request that no pod has made yet.
	NoResource ResourceID = -1
	// Devices is the resource of a request of a resource claim. A claim takes devices, not an extended resource.
	Devices ResourceID = -2
)

// requestKind is the origin of a Request.
type requestKind uint8

const (
	nothing  requestKind = iota // the zero Request, which requests no card
	byJob                       // a job without pods states it in card.request
	byPod                       // a pod requests an extended resource
	byClaim                     // a resource claim needs cards, before a pod with it has a node
	byDevice                    // a resource claim takes devices of one card on a node
)

// Request is Amount of one card out of Selector. It is a union: there is a constructor for each kind of request.
type Request struct {
	Selector *Selector // nil in the zero Request
	// Resource is the extended resource that the pod requests. It is NoResource for a job without pods, and Devices
	// for a resource claim.
	Resource ResourceID
	kind     requestKind
	gone     bool // of byDevice: no device is that card any more
	// Amount is the largest amount that the pod takes of one card of Selector on any node (Of, On).
	Amount  card.Milli
	pod     *PodRequest // of byPod; nil for several pods together
	claimed fastres.Dim // of byDevice: the card
}

// statedRequest returns a request that a job without pods states.
func statedRequest(selector *Selector, amount card.Milli) Request {
	return Request{kind: byJob, Selector: selector, Resource: NoResource, Amount: amount}
}

// podRequest returns a request of a pod for an extended resource.
func podRequest(p *PodRequest, selector *Selector, resource ResourceID, amount card.Milli) Request {
	return Request{kind: byPod, Selector: selector, Resource: resource, Amount: amount, pod: p}
}

// claimRequest returns a request of a resource claim for one card out of a selector.
func claimRequest(selector *Selector, amount card.Milli) Request {
	return Request{kind: byClaim, Selector: selector, Resource: Devices, Amount: amount}
}

// deviceRequest returns the devices of one card that a resource claim takes on a node. gone means that no device is
// that card any more.
func deviceRequest(selector *Selector, amount card.Milli, d fastres.Dim, gone bool) Request {
	return Request{kind: byDevice, Selector: selector, Resource: Devices, Amount: amount, claimed: d, gone: gone}
}

// Sum returns an amount for several pods together that make the same request. It depends on no single pod or device.
func (r Request) Sum(amount card.Milli) Request {
	if r.FromClaim() {
		return claimRequest(r.Selector, amount)
	}
	return Request{kind: r.kind, Selector: r.Selector, Resource: r.Resource, Amount: amount}
}

// Alike reports whether two requests are for the same cards, through the same resource.
func (r Request) Alike(other Request) bool {
	return r.Selector == other.Selector && r.Resource == other.Resource
}

// FromClaim reports whether a resource claim makes the request.
func (r Request) FromClaim() bool { return r.kind == byClaim || r.kind == byDevice }

// Of returns the largest amount of a card that a pod takes on any node.
func (r Request) Of(d fastres.Dim) card.Milli {
	if r.pod == nil || r.pod.fractions == nil {
		return r.Amount
	}
	if f := r.pod.fraction(r.Resource); f != nil {
		return f.of(d)
	}
	return r.Amount
}

// On iterates over the cards that a pod is charged for a request on a node, which is nil for an unknown node. These are
// the cards that the pod holds, or else the cards of the node, or else the first card of the list. In nearly all cases,
// it is Amount of one card.
func (r Request) On(n *Node) iter.Seq2[fastres.Dim, card.Milli] {
	return func(yield func(fastres.Dim, card.Milli) bool) {
		if r.kind == byDevice {
			yield(r.claimed, r.Amount)
			return
		}
		if r.pod != nil && (r.pod.held != nil || r.pod.fractions != nil) {
			r.partsOn(n, yield)
			return
		}

		if d, ok := r.cardOn(n); ok {
			yield(d, r.Amount)
		}
	}
}

// partsOn is On for pods that hold cards, or request fractions.
func (r Request) partsOn(n *Node, yield func(fastres.Dim, card.Milli) bool) {
	if held := r.pod.heldFor(r.Resource); held != nil {
		for _, h := range held {
			if !yield(h.dim, h.amount) {
				return
			}
		}
		return
	}

	f := r.pod.fraction(r.Resource)
	if f != nil && len(n.cardsOf(r.Resource)) > 0 {
		f.eachOn(n, yield)
		return
	}

	if d, ok := r.cardOn(n); ok {
		yield(d, r.Of(d))
	}
}

// cardOn returns the card of the node, else the first card of the list.
func (r Request) cardOn(n *Node) (fastres.Dim, bool) {
	if n != nil {
		if c, ok := n.card(r.Resource); ok {
			return c.dim, true
		}
	}

	if r.Selector.Typed && len(r.Selector.Dims) > 0 {
		return r.Selector.Dims[0], true
	}
	return 0, false
}

// single returns an amount of one card as a request like r, to name it in a message.
func (s *Snapshot) single(d fastres.Dim, r Request, amount card.Milli) Request {
	only := &Selector{Names: card.List{s.names.Name(d)}, Typed: true, Dims: []fastres.Dim{d}}
	one := r.Sum(amount)
	one.Selector = only
	return one
}
