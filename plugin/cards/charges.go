package cards

import (
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// Add adds an amount of a card, and the amounts of its groups, to x.
func (s *Snapshot) Add(x fastres.Vector, d fastres.Dim, amount card.Milli) {
	s.names.AddCard(x, d, float64(amount))
}

// AddTo adds the cards that a pod takes on a node, and their groups, to x.
func (s *Snapshot) AddTo(x fastres.Vector, p *PodRequest, nodeName string) {
	s.add(x, p, s.Node(nodeName), nodeName)
}

// AddOn is AddTo for a caller that has the node.
func (s *Snapshot) AddOn(x fastres.Vector, p *PodRequest, n *Node) { s.add(x, p, n, n.object.Name) }

func (s *Snapshot) add(x fastres.Vector, p *PodRequest, n *Node, nodeName string) {
	for r := range s.RequestsOn(p, nodeName) {
		for d, amount := range r.On(n) {
			s.Add(x, d, amount)
		}
	}
}

// Uncharged iterates over the cards of a node that a pod takes through resources for which no queue is charged. charged
// is the PodRequest for the queue that is charged.
func (s *Snapshot) Uncharged(p, charged *PodRequest, n *Node) iter.Seq2[fastres.Dim, card.Milli] {
	return func(yield func(fastres.Dim, card.Milli) bool) {
		for _, r := range p.resources {
			if s.charges(charged, r.resource) {
				continue
			}

			if !s.eachUncharged(p, r, n, yield) {
				return
			}
		}
	}
}

// charges reports whether a pod is charged for the cards of a resource.
func (s *Snapshot) charges(charged *PodRequest, r ResourceID) bool {
	for request := range s.Requests(charged) {
		if request.Resource == r {
			return true
		}
	}
	return false
}

// eachUncharged is Uncharged for one resource. It returns false if yield does.
func (s *Snapshot) eachUncharged(p *PodRequest, r resourceRequest, n *Node,
	yield func(fastres.Dim, card.Milli) bool) bool {
	all := s.registry.allOf(r)
	now, gives := n.card(r.resource)
	if !gives || all == nil {
		return true
	}

	for d, amount := range podRequest(p, all, r.resource, r.amount).On(n) {
		// The node gave a held card once. The pod takes the place of the present card.
		held := nodeCard{resource: r.resource, dim: d}
		if !held.in(n.cards) {
			d = now.dim
		}

		if !yield(d, amount) {
			return false
		}
	}
	return true
}

// FutureIdle returns the milli-cards of a card that nodes will have idle, through the resources that a pod requests. By
// then, the pods that are being deleted are gone and the pipelined pods are placed.
func (s *Snapshot) FutureIdle(nodes map[string]*api.NodeInfo, p *PodRequest, d fastres.Dim) (idle float64) {
	idle = s.registry.devices.idle(d)
	for name, info := range nodes {
		n := s.Node(name)
		if n == nil {
			continue
		}

		for _, c := range n.cards {
			if c.dim == d && p.requests(c.resource) {
				idle += c.futureIdle(info, v1.ResourceName(s.ResourceName(c.resource)))
			}
		}
	}
	return idle
}

// futureIdle returns the milli-cards of a card that a node will have idle.
func (c nodeCard) futureIdle(info *api.NodeInfo, r v1.ResourceName) float64 {
	idle := info.Idle.ScalarResources[r] + info.Releasing.ScalarResources[r] - info.Pipelined.ScalarResources[r]
	idle = max(0, idle)

	// Each shared card is several of the resource.
	if all := info.Allocatable.ScalarResources[r]; c.model.Shared() && all > 0 {
		idle *= float64(c.amount) / all
	}
	return idle
}

// SumOf returns the sum of the resources of cards in r, in thousandths.
func (s *Snapshot) SumOf(r *api.Resource) (sum float64) {
	for name, amount := range r.ScalarResources {
		if s.registry.carded[name] {
			sum += amount
		}
	}
	return sum
}

// Overused reports whether pods on a node may have more of a card than the node gives. Pods take parts of a shared card
// that do not follow from the resource, so any use may be too much.
func (s *Snapshot) Overused(n *Node, info *api.NodeInfo) bool {
	return slices.ContainsFunc(n.cards, func(c nodeCard) bool {
		resource := s.registry.resources[c.resource]
		used := info.Used.ScalarResources[resource]
		gives := info.Allocatable.ScalarResources[resource]
		return used > gives || used > float64(c.amount) || used > 0 && c.model.Shared()
	})
}

// UsesNode reports whether a task on a node requests a resource through which the node gives cards.
func (s *Snapshot) UsesNode(n *Node, task *api.TaskInfo) bool {
	return slices.ContainsFunc(n.cards, func(c nodeCard) bool {
		return task.Resreq.ScalarResources[s.registry.resources[c.resource]] > 0
	})
}
