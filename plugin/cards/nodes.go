package cards

import (
	"iter"
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
	inline    [2]nodeCard // memory of cards where two suffice, to avoid a cache miss
	unlabeled []unlabeledCard
	devices   []card.Device // that it registers
	version   uint64        // of devices: another one for each state that takes some away or changes them
	session   uint64        // the last session that had the node
	uid       types.UID
}

// nodeCard is a card of a node. A node has one card per resource, but may have several of which pods get
// fractions.
type nodeCard struct {
	resource ResourceID
	dim      fastres.Dim
	amount   card.Milli  // allocatable
	former   fastres.Dim // the name that the card had once, 0 for none
	model    card.Model  // the least that a shared card has
}

// unlabeledCard is a card resource of a node that lacks the label which names
// the card.
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
		if c.resource == r {
			last := i + 1
			for last < len(n.cards) && n.cards[last].resource == r {
				last++
			}
			return n.cards[i:last]
		}
	}
	return nil
}

// lostCards reports whether a node that now is other, nil if it is gone, had cards that it no longer has.
func (n *Node) lostCards(other *Node) bool {
	return other == nil || slices.ContainsFunc(n.cards, func(c nodeCard) bool { return !c.in(other.cards) })
}

// lostDevices reports whether it had devices that it no longer has, or that have changed.
func (n *Node) lostDevices(other *Node) bool {
	return other == nil || slices.ContainsFunc(n.devices, func(d card.Device) bool {
		now, has := card.FindDevice(other.devices, d.Number, d.UUID)
		return !has || now.Card != d.Card || now.Model != d.Model
	})
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
func (s *Session) readNodes(ssn *framework.Session, jobs []*api.JobInfo) (changed bool) {
	reg := s.registry
	reg.session++
	reg.nodesRead = false
	before := map[string]*Node{} // the nodes that had cards which they no longer have
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

// readNode reads the cards of a node, unless its object is that of the session
// before, and reports whether they changed. It adds the cards of a node that lost
// some to before.
func (s *Session) readNode(object *v1.Node, before map[string]*Node) (changed bool) {
	reg := s.registry
	n := reg.nodes[object.Name]
	if n == nil && reg.session > 1 || n != nil && n.uid != object.UID {
		if s.anew == nil {
			s.anew = map[string]struct{}{}
		}
		s.anew[object.Name] = struct{}{}
	}
	if n == nil {
		reg.versions++
		n, changed = &Node{version: reg.versions}, true
		reg.nodes[object.Name] = n
	}
	n.session = reg.session
	if n.object == object {
		return false
	}
	n.object = object
	n.uid = object.UID
	reg.nodesRead = true
	inventory := card.OnNode(object, s.settings.Labels)
	var cards []nodeCard
	for _, c := range inventory.Cards {
		reg.carded[c.Resource] = true
		found := nodeCard{resource: reg.resource(c.Resource), dim: s.names.InternCard(c.Name), amount: c.Milli, model: c.Model}
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
	now := &Node{cards: cards, devices: inventory.Devices}
	if n.lostCards(now) || n.lostDevices(now) {
		before[object.Name] = &Node{cards: slices.Clone(n.cards), devices: n.devices, version: n.version}
		reg.versions++
		n.version = reg.versions
	}
	n.cards = append(n.inline[:0], cards...)
	n.unlabeled = unlabeled
	n.devices = now.devices
	return changed
}

// NodesAnew are the names of the nodes that the session before did not have, or of which it had a Node with another
// UID.
func (s *Session) NodesAnew() map[string]struct{} { return s.anew }

// UID is that of the Node object.
func (n *Node) UID() types.UID { return n.uid }

// Node returns a node of the session, nil for an unknown one.
func (s *Session) Node(name string) *Node { return s.registry.nodes[name] }

// NodeOf returns the node of a task, nil for none and for an unknown one. It is for nil Sessions, too.
func (s *Session) NodeOf(task *api.TaskInfo) *Node {
	if s == nil {
		return nil
	}
	return s.Node(task.NodeName)
}

// Gives reports whether a node gives pods a card through a resource, or through resource claims.
func (s *Session) Gives(nodeName string, r ResourceID, d fastres.Dim) bool {
	if r == Devices {
		return s.registry.devices.has(nodeName, d)
	}
	n := s.Node(nodeName)
	return n != nil && nodeCard{resource: r, dim: d}.in(n.cards)
}

// Gone reports whether a pod on a node is charged for a card that the node does not give any more, or that no device of
// its claim is.
func (s *Session) Gone(nodeName string, r Request, d fastres.Dim) bool {
	if r.Resource == Devices {
		return r.gone
	}
	return !s.Gives(nodeName, r.Resource, d)
}

// GivesOf returns how much a node gives of a card, through whatever resource.
func (s *Session) GivesOf(nodeName string, d fastres.Dim) (milli card.Milli) {
	if n := s.Node(nodeName); n != nil {
		for _, c := range n.cards {
			if c.dim == d {
				milli += c.amount
			}
		}
	}
	return milli
}

// NodesBeside returns the nodes with cards that are not among some nodes. It is nil where there is none.
func (s *Session) NodesBeside(nodes map[string]*api.NodeInfo) (beside map[string]*Node) {
	for name, n := range s.registry.nodes {
		if _, has := nodes[name]; has || len(n.cards) == 0 {
			continue
		}
		if beside == nil {
			beside = map[string]*Node{}
		}
		beside[name] = n
	}
	return beside
}

// SumOf returns the sum of the resources of cards in r, in thousandths.
func (s *Session) SumOf(r *api.Resource) (sum float64) {
	for name, amount := range r.ScalarResources {
		if s.registry.carded[name] {
			sum += amount
		}
	}
	return sum
}

// Overused reports whether pods on a node may have more of a card than the node gives. What pods take of shared cards
// does not follow from the resource, so any use may be too much.
func (s *Session) Overused(n *Node, info *api.NodeInfo) bool {
	return slices.ContainsFunc(n.cards, func(c nodeCard) bool {
		resource := s.registry.resources[c.resource]
		used, gives := info.Used.ScalarResources[resource], info.Allocatable.ScalarResources[resource]
		return used > gives || used > float64(c.amount) || used > 0 && c.model.Shared()
	})
}

// UsesNode reports whether a task on a node requests a resource through which the node gives cards.
func (s *Session) UsesNode(n *Node, task *api.TaskInfo) bool {
	return slices.ContainsFunc(n.cards, func(c nodeCard) bool { return task.Resreq.ScalarResources[s.registry.resources[c.resource]] > 0 })
}

// Uncharged iterates over the cards of a node that a pod takes through resources for which nobody is charged. charged
// is what the pod states for the queue that is charged.
func (s *Session) Uncharged(p, charged *PodRequest, n *Node) iter.Seq2[fastres.Dim, card.Milli] {
	return func(yield func(fastres.Dim, card.Milli) bool) {
		for _, of := range p.resources {
			isCharged := false
			for r := range s.Requests(charged) {
				isCharged = isCharged || r.Resource == of.resource
			}
			if isCharged {
				continue
			}
			r := Request{Selector: s.registry.allOf(of), Resource: of.resource, Amount: of.amount, pod: p}
			now, gives := n.card(of.resource)
			if !gives || r.Selector == nil {
				continue
			}
			for d, amount := range r.On(n) {
				held := nodeCard{resource: of.resource, dim: d}
				if !held.in(n.cards) {
					d = now.dim // the pod holds a card that the node gave once, and takes the place of the present one
				}
				if !yield(d, amount) {
					return
				}
			}
		}
	}
}

// FutureIdle returns the milli-cards of a card that the nodes have left, through the resources that a pod requests, once
// the pods that are being deleted are gone and the pipelined ones are placed.
func (s *Session) FutureIdle(nodes map[string]*api.NodeInfo, p *PodRequest, d fastres.Dim) (idle float64) {
	idle = s.registry.devices.idle(d)
	for name, info := range nodes {
		n := s.Node(name)
		if n == nil {
			continue
		}
		for _, c := range n.cards {
			if c.dim == d && p.requests(c.resource) {
				r := v1.ResourceName(s.ResourceName(c.resource))
				left := max(0, info.Idle.ScalarResources[r]+info.Releasing.ScalarResources[r]-info.Pipelined.ScalarResources[r])
				if all := info.Allocatable.ScalarResources[r]; c.model.Shared() && all > 0 {
					left *= float64(c.amount) / all // each card is several of the resource
				}
				idle += left
			}
		}
	}
	return idle
}

// On iterates over what a pod is charged for a request on a node, nil for an unknown one: the cards that the
// pod holds, else the ones that the node states, else the first card of the list. Nearly always, that is
// Amount of one card.
func (r Request) On(n *Node) iter.Seq2[fastres.Dim, card.Milli] {
	return func(yield func(fastres.Dim, card.Milli) bool) {
		if r.claimed != 0 {
			yield(r.claimed, r.Amount)
		} else if r.pod != nil && (r.pod.held != nil || r.pod.fractions != nil) {
			r.partsOn(n, yield)
		} else if d, ok := r.cardOn(n); ok {
			yield(d, r.Amount)
		}
	}
}

// partsOn is On for pods that hold cards, or have fractions of some.
func (r Request) partsOn(n *Node, yield func(fastres.Dim, card.Milli) bool) {
	if held := r.pod.heldFor(r.Resource); held != nil {
		for _, h := range held {
			if !yield(h.dim, h.amount) {
				return
			}
		}
		return
	}
	if f := r.pod.fraction(r.Resource); f != nil && n != nil && len(n.cardsOf(r.Resource)) > 0 {
		f.eachOn(n, yield)
	} else if d, ok := r.cardOn(n); ok {
		yield(d, r.Of(d))
	}
}

// cardOn returns the card that the node states, else the first card of the list.
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

// Add adds an amount of a card, and of the groups that have it, to x.
func (s *Session) Add(x fastres.Vector, d fastres.Dim, amount card.Milli) {
	s.names.AddCard(x, d, float64(amount))
}

// AddTo adds the cards that a pod takes on a node, and their groups, to x.
func (s *Session) AddTo(x fastres.Vector, p *PodRequest, nodeName string) {
	s.add(x, p, s.Node(nodeName), nodeName)
}

// AddOn is AddTo for a caller that has the node.
func (s *Session) AddOn(x fastres.Vector, p *PodRequest, n *Node) { s.add(x, p, n, n.object.Name) }

func (s *Session) add(x fastres.Vector, p *PodRequest, n *Node, nodeName string) {
	for r := range s.RequestsOn(p, nodeName) {
		for d, amount := range r.On(n) {
			s.Add(x, d, amount)
		}
	}
}
