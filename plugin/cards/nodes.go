package cards

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index/card"
)

// Node holds the cards of a node, read once for each state of its object.
type Node struct {
	object    *v1.Node
	cards     []nodeCard
	inline    [2]nodeCard // memory of cards if two suffice, to avoid a cache miss
	unlabeled []unlabeledCard
	devices   []card.Device // the devices that it registers
	version   uint64        // of devices: it changes when any of them is gone or changed
	session   uint64        // the last session that had the node
	uid       types.UID
}

// nodeCard is a card of a node. A node has one card per resource. It may have several if pods get fractions of them.
type nodeCard struct {
	resource ResourceID
	dim      fastres.Dim
	amount   card.Milli  // allocatable
	former   fastres.Dim // the former name of the card, 0 for none
	model    card.Model  // the smallest model of a shared card
}

// unlabeledCard is a card resource of a node that lacks the label with the name of the card.
type unlabeledCard struct {
	resource ResourceID
	label    string
}

// card returns the card that pods on the node get when they request r, the first of several.
func (n *Node) card(r ResourceID) (nodeCard, bool) {
	for _, c := range n.cards {
		if c.resource == r {
			return c, true
		}
	}
	return nodeCard{}, false
}

// cardsOf returns the cards that pods on the node may get when they request r. There are several if the node registers
// several models. It is for nil Nodes, too.
func (n *Node) cardsOf(r ResourceID) []nodeCard {
	if n == nil {
		return nil
	}

	for i, c := range n.cards {
		if c.resource != r {
			continue
		}

		last := i + 1
		for last < len(n.cards) && n.cards[last].resource == r {
			last++
		}
		return n.cards[i:last]
	}
	return nil
}

// lostCards reports whether the node had cards that it no longer has. now is its present state, nil if it is gone.
func (n *Node) lostCards(now *Node) bool {
	return now == nil || slices.ContainsFunc(n.cards, func(c nodeCard) bool { return !c.in(now.cards) })
}

// lostDevices reports whether the node had devices that it no longer has, or that have changed.
func (n *Node) lostDevices(now *Node) bool {
	return now == nil || slices.ContainsFunc(n.devices, func(d card.Device) bool {
		device, has := card.FindDevice(now.devices, d.Number, d.UUID)
		return !has || device.Card != d.Card || device.Model != d.Model
	})
}

// in reports whether cards has the same card for the resource.
func (c nodeCard) in(cards []nodeCard) bool {
	same := func(other nodeCard) bool { return other.resource == c.resource && other.dim == c.dim }
	return slices.ContainsFunc(cards, same)
}

// missingLabel returns the label that a node lacks to have cards of r, a card resource. It returns "" if the node does
// not have the resource.
func (s *Snapshot) missingLabel(n *Node, r ResourceID) string {
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

// readNodes reads the cards of all nodes and reports whether any changed. The lister of the informer has all nodes from
// the first session on, but ssn.Nodes may not. A node that only ssn.Nodes has counts as well.
func (s *Snapshot) readNodes(ssn *framework.Session, jobs []*api.JobInfo) (changed bool) {
	reg := s.registry
	reg.session++
	reg.nodesRead = false

	before := map[string]*Node{} // the earlier states of nodes that lost cards
	if factory := ssn.InformerFactory(); factory != nil {
		for _, object := range factory.Core().V1().Nodes().Informer().GetStore().List() {
			if object, ok := object.(*v1.Node); ok {
				changed = s.readNode(object, before) || changed
			}
		}
	}
	for name, info := range ssn.Nodes {
		n := reg.nodes[name]
		if info.Node != nil && (n == nil || n.session != reg.session) {
			changed = s.readNode(info.Node, before) || changed
		}
	}

	for name, n := range reg.nodes {
		if n.session != reg.session {
			before[name] = n
			changed = true
			reg.nodesRead = true
			delete(reg.nodes, name)
		}
	}

	if len(before) > 0 {
		s.hold(jobs, before)
	}
	return changed
}

// readNode reads the cards of a node, unless its object is the same as in the session before. It reports whether the
// cards changed. If the node lost cards, its earlier state is added to before.
func (s *Snapshot) readNode(object *v1.Node, before map[string]*Node) (changed bool) {
	reg := s.registry
	n := reg.nodes[object.Name]
	if n == nil && reg.session > 1 || n != nil && n.uid != object.UID {
		s.noteAnew(object.Name)
	}
	if n == nil {
		reg.versions++
		n = &Node{version: reg.versions}
		reg.nodes[object.Name] = n
		changed = true
	}
	n.session = reg.session
	if n.object == object {
		return false
	}

	n.object = object
	n.uid = object.UID
	reg.nodesRead = true
	now := s.inventory(object)
	changed = changed || !slices.Equal(n.cards, now.cards) || !slices.Equal(n.unlabeled, now.unlabeled)

	if n.lostCards(now) || n.lostDevices(now) {
		before[object.Name] = &Node{cards: slices.Clone(n.cards), devices: n.devices, version: n.version}
		reg.versions++
		n.version = reg.versions
	}
	n.cards = append(n.inline[:0], now.cards...)
	n.unlabeled = now.unlabeled
	n.devices = now.devices
	return changed
}

// inventory reads the cards and devices of a Node object.
func (s *Snapshot) inventory(object *v1.Node) *Node {
	reg := s.registry
	found := card.OnNode(object, s.settings.Labels)
	n := &Node{devices: found.Devices}

	for _, c := range found.Cards {
		reg.carded[c.Resource] = true
		added := nodeCard{
			resource: reg.resource(c.Resource),
			dim:      s.names.InternCard(c.Name),
			amount:   c.Milli,
			model:    c.Model,
		}
		if c.Former != "" {
			added.former = s.names.InternCard(c.Former)
		}
		n.cards = append(n.cards, added)
	}

	for _, u := range found.Unlabeled {
		reg.carded[u.Resource] = true
		n.unlabeled = append(n.unlabeled, unlabeledCard{reg.resource(u.Resource), u.Label})
	}
	return n
}

// noteAnew notes a node for NodesAnew.
func (s *Snapshot) noteAnew(name string) {
	if s.anew == nil {
		s.anew = map[string]struct{}{}
	}
	s.anew[name] = struct{}{}
}

// NodesAnew returns the names of the nodes that are new in this session, or have a Node object with another UID.
func (s *Snapshot) NodesAnew() map[string]struct{} { return s.anew }

// UID returns the UID of the Node object.
func (n *Node) UID() types.UID { return n.uid }

// Node returns a node of the session, nil for an unknown one.
func (s *Snapshot) Node(name string) *Node { return s.registry.nodes[name] }

// NodeOf returns the node of a task, nil if it has none or it is unknown. It is for nil Sessions, too.
func (s *Snapshot) NodeOf(task *api.TaskInfo) *Node {
	if s == nil {
		return nil
	}
	return s.Node(task.NodeName)
}

// Gives reports whether a node gives pods a card through a resource, or through resource claims.
func (s *Snapshot) Gives(nodeName string, r ResourceID, d fastres.Dim) bool {
	if r == Devices {
		return s.registry.devices.has(nodeName, d)
	}

	n := s.Node(nodeName)
	return n != nil && nodeCard{resource: r, dim: d}.in(n.cards)
}

// Gone reports whether a pod on a node is charged for a card that the node does not give any more. A card of a claim is
// gone if no device is that card any more.
func (s *Snapshot) Gone(nodeName string, r Request, d fastres.Dim) bool {
	if r.FromClaim() {
		return r.gone
	}
	return !s.Gives(nodeName, r.Resource, d)
}

// GivesOf returns the amount of a card that a node gives, through any resource.
func (s *Snapshot) GivesOf(nodeName string, d fastres.Dim) (milli card.Milli) {
	n := s.Node(nodeName)
	if n == nil {
		return 0
	}

	for _, c := range n.cards {
		if c.dim == d {
			milli += c.amount
		}
	}
	return milli
}

// NodesBeside returns the nodes with cards that are missing in nodes, nil for none.
func (s *Snapshot) NodesBeside(nodes map[string]*api.NodeInfo) (others map[string]*Node) {
	for name, n := range s.registry.nodes {
		if _, has := nodes[name]; has || len(n.cards) == 0 {
			continue
		}

		if others == nil {
			others = map[string]*Node{}
		}
		others[name] = n
	}
	return others
}
