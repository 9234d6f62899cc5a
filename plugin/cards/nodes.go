package cards

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// Node holds the cards of a node, read once for each state of its object.
type Node struct {
	object    *v1.Node
	cards     []nodeCard
	inline    [2]nodeCard // memory of cards where two suffice, to avoid a cache miss
	unlabeled []unlabeledCard
	session   uint64 // the last session that had the node
}

// nodeCard is a card of a node. A node has one card per resource.
type nodeCard struct {
	resource ResourceID
	dim      fastres.Dim
	amount   card.Milli  // allocatable
	former   fastres.Dim // the name that the card had once, 0 for none
}

// unlabeledCard is a card resource of a node that lacks the label which names
// the card.
type unlabeledCard struct {
	resource ResourceID
	label    string
}

// card returns the card that pods on the node get when they request r.
func (n *Node) card(r ResourceID) (nodeCard, bool) {
	for _, c := range n.cards {
		if c.resource == r {
			return c, true
		}
	}
	return nodeCard{}, false
}

// in reports whether cards has the same card for the resource.
func (c nodeCard) in(cards []nodeCard) bool {
	return slices.ContainsFunc(cards, func(other nodeCard) bool { return other.resource == c.resource && other.dim == c.dim })
}

// missingLabel returns the label that a node lacks for r, a card resource, to be a card, "" if
// it does not have the resource.
func (s *Session) missingLabel(n *Node, r ResourceID) string {
	for _, u := range n.unlabeled {
		if u.resource == r {
			return u.label
		}
	}
	name := v1.ResourceName(s.ResourceName(r))
	if _, has := n.object.Status.Allocatable[name]; has {
		return s.settings.Labels.Of(name)
	}
	return ""
}

// readNodes reads the cards of all nodes and reports whether any changed. The
// informer's lister has all nodes from the first session on; ssn.Nodes may not.
// A node that only ssn.Nodes has counts as well.
func (s *Session) readNodes(ssn *framework.Session) (changed bool) {
	reg := s.registry
	reg.session++
	before := map[string][]nodeCard{} // of the nodes that had cards which they no longer have
	if factory := ssn.InformerFactory(); factory != nil {
		for _, object := range factory.Core().V1().Nodes().Informer().GetStore().List() {
			if object, ok := object.(*v1.Node); ok {
				changed = s.readNode(object, before) || changed
			}
		}
	}
	for name, info := range ssn.Nodes {
		if n := reg.nodes[name]; info.Node != nil && (n == nil || n.session != reg.session) {
			changed = s.readNode(info.Node, before) || changed
		}
	}
	for name, n := range reg.nodes {
		if n.session != reg.session {
			before[name], changed = n.cards, true
			delete(reg.nodes, name)
		}
	}
	if len(before) > 0 {
		s.hold(ssn.Jobs, before)
	}
	return changed
}

// readNode reads the cards of a node, unless its object is that of the session
// before, and reports whether they changed. It adds the cards of a node that lost
// some to before.
func (s *Session) readNode(object *v1.Node, before map[string][]nodeCard) (changed bool) {
	reg := s.registry
	n := reg.nodes[object.Name]
	if n == nil {
		n, changed = &Node{}, true
		reg.nodes[object.Name] = n
	}
	n.session = reg.session
	if n.object == object {
		return false
	}
	n.object = object
	inventory := card.Discover(object.Labels, object.Status.Allocatable, s.settings.Labels)
	var cards []nodeCard
	for _, c := range inventory.Cards {
		reg.carded[c.Resource] = true
		found := nodeCard{resource: reg.resource(c.Resource), dim: s.names.InternCard(c.Name), amount: c.Milli}
		if c.Former != "" {
			found.former = s.names.InternCard(c.Former)
		}
		cards = append(cards, found)
	}
	var unlabeled []unlabeledCard
	for _, u := range inventory.Unlabeled {
		reg.carded[u.Resource] = true
		unlabeled = append(unlabeled, unlabeledCard{reg.resource(u.Resource), u.Label})
	}
	changed = changed || !slices.Equal(n.cards, cards) || !slices.Equal(n.unlabeled, unlabeled)
	if slices.ContainsFunc(n.cards, func(c nodeCard) bool { return !c.in(cards) }) {
		before[object.Name] = slices.Clone(n.cards)
	}
	n.cards, n.unlabeled = append(n.inline[:0], cards...), unlabeled
	return changed
}

// Node returns a node of the session, nil for an unknown one.
func (s *Session) Node(name string) *Node { return s.registry.nodes[name] }

// Gives reports whether a node gives pods a card through a resource.
func (s *Session) Gives(nodeName string, r ResourceID, d fastres.Dim) bool {
	n := s.Node(nodeName)
	return n != nil && nodeCard{resource: r, dim: d}.in(n.cards)
}

// FutureIdle returns the milli-cards of a card that the nodes have left once the pods that are being
// deleted are gone and the pipelined ones are placed.
func (s *Session) FutureIdle(nodes map[string]*api.NodeInfo, d fastres.Dim) (idle float64) {
	for name, info := range nodes {
		n := s.Node(name)
		if n == nil {
			continue
		}
		for _, c := range n.cards {
			if c.dim == d {
				r := v1.ResourceName(s.ResourceName(c.resource))
				idle += max(0, info.Idle.ScalarResources[r]+info.Releasing.ScalarResources[r]-info.Pipelined.ScalarResources[r])
			}
		}
	}
	return idle
}

// CardOn returns the card that a request is charged to on a node: the card that the
// pod holds, else the one that the node states, else the first card of the list.
func (s *Session) CardOn(nodeName string, r Request) (fastres.Dim, bool) {
	return r.CardOn(s.Node(nodeName))
}

// CardOn is Session.CardOn for a node that was looked up, nil for an unknown one.
func (r Request) CardOn(n *Node) (fastres.Dim, bool) {
	if r.Held != 0 {
		return r.Held, true
	}
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

// Add adds an amount of a card, and of the groups that have it, to x.
func (s *Session) Add(x fastres.Vector, d fastres.Dim, amount card.Milli) {
	s.names.AddCard(x, d, float64(amount))
}

// AddTo adds the cards that a pod takes on a node, and their groups, to x.
func (s *Session) AddTo(x fastres.Vector, p *PodRequest, nodeName string) {
	n := s.Node(nodeName)
	for r := range s.Requests(p) {
		if d, ok := r.CardOn(n); ok {
			s.Add(x, d, r.Amount)
		}
	}
}
