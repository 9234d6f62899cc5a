package plugin

import (
	"slices"
	"sync/atomic"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// nodeCards is what a node gives, read once for each state of its object.
type nodeCards struct {
	object  *v1.Node   // nil if the node is gone
	cards   []nodeCard // in own where they fit, which is nearer
	own     [2]nodeCard
	unnamed []unnamedCard
	session uint64
	// missed: pods are still on the node, though it is gone.
	missed atomic.Bool
}

// nodeCard is a card of a node. A node has one card per resource.
type nodeCard struct {
	resource resourceID
	dim      fastres.Dim
	milli    float64
}

// unnamedCard is a card resource of a node whose card has no name, because a
// label is missing.
type unnamedCard struct {
	resource resourceID
	label    string
}

// of returns the card that pods get when they ask for r.
func (n *nodeCards) of(r resourceID) (nodeCard, bool) {
	for _, nc := range n.cards {
		if nc.resource == r {
			return nc, true
		}
	}
	return nodeCard{}, false
}

// lacks returns the label that is missing for r to be a card, "" if none is.
func (n *nodeCards) lacks(r resourceID) string {
	for _, u := range n.unnamed {
		if u.resource == r {
			return u.label
		}
	}
	return ""
}

// readNodes reads the cards of all nodes and reports whether any changed. The
// informer's lister knows all nodes from the first session on, when the session
// may not; what only the session knows counts, too.
func (c *cards) readNodes(ssn *framework.Session) (changed bool) {
	c.session++
	if factory := ssn.InformerFactory(); factory != nil {
		for _, object := range factory.Core().V1().Nodes().Informer().GetStore().List() {
			if node, ok := object.(*v1.Node); ok {
				changed = c.readNode(node) || changed
			}
		}
	}
	for name, info := range ssn.Nodes {
		if n := c.nodes[name]; info.Node != nil && (n == nil || n.session != c.session) {
			changed = c.readNode(info.Node) || changed
		}
	}
	for name, n := range c.nodes {
		if n.session == c.session {
			continue
		}
		changed = changed || n.object != nil
		if n.object == nil && !n.missed.Swap(false) {
			delete(c.nodes, name)
		}
		n.object = nil
	}
	return changed
}

// readNode reads the cards of a node, unless the object is that of the session
// before, and reports whether they changed.
func (c *cards) readNode(node *v1.Node) (changed bool) {
	n := c.nodes[node.Name]
	if n == nil {
		n, changed = &nodeCards{}, true
		c.nodes[node.Name] = n
	}
	changed = changed || n.object == nil
	n.session = c.session
	if n.object == node {
		return false
	}
	n.object = node
	inventory := card.Discover(node.Labels, node.Status.Allocatable)
	var cards []nodeCard
	for _, each := range inventory.Cards {
		cards = append(cards, nodeCard{c.number(each.Resource), c.known.InternCard(each.Name), float64(each.Milli)})
	}
	var unnamed []unnamedCard
	for _, each := range inventory.Unnamed {
		unnamed = append(unnamed, unnamedCard{c.number(each.Resource), each.Label})
	}
	changed = changed || !slices.Equal(n.cards, cards) || !slices.Equal(n.unnamed, unnamed)
	n.cards, n.unnamed = append(n.own[:0], cards...), unnamed
	return changed
}
