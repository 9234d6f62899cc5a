package stock

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
)

// tally counts the cards of a session into a stock.
type tally struct {
	stock   *Stock
	session *engine.Session
	charged sums[onNode] // by queue; finally only the charges for lost cards
	cards   map[string]*Card
	ready   map[string]float64 // by card and group, on nodes that are ready
	groups  card.Groups
}

// onNode identifies a card of a node.
type onNode struct{ node, card string }

// sums are quantities by two keys. The second is a name.
type sums[K comparable] map[K]map[string]float64

func (s sums[K]) add(key K, name string, n float64) {
	if s[key] == nil {
		s[key] = map[string]float64{}
	}
	s[key][name] += n
}

// chargedOn returns the charges of queues, by card of a node and by queue.
func chargedOn(s *engine.Session) sums[onNode] {
	charged := sums[onNode]{}
	for _, job := range s.Jobs {
		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) {
				continue
			}
			for name, n := range s.Quota.Charged(task) {
				charged.add(onNode{task.NodeName, name}, string(job.Queue), n)
			}
		}
	}

	for _, shared := range s.Quota.SharedCharges() {
		charged.add(onNode{shared.Node, shared.Card}, shared.Queue, shared.Cards)
	}

	return charged
}

// card returns the sums of a card over the cluster.
func (t *tally) card(name string) *Card {
	if t.cards[name] == nil {
		t.cards[name] = &Card{Card: name}
	}

	return t.cards[name]
}

// countNodes counts the extended resources of nodes, and the nodes without labels for them.
func (t *tally) countNodes(nodes []*v1.Node) {
	settings := t.session.Settings().Cards
	for _, node := range nodes {
		inventory := card.OnNode(node, settings.Labels)
		info := t.session.Nodes[node.Name]
		for _, c := range inventory.Cards {
			on := OnNode{Node: node.Name, Card: c.Name, Resource: string(c.Resource), Allocatable: c.Milli.Cards()}
			if info != nil {
				on.Used = engine.Used(info, inventory, c, settings.Fractions)
			}

			// Such a node has the label of a card, but no whole card.
			if on.Allocatable == 0 && on.Used == 0 {
				continue
			}

			t.countOn(&on, node, info != nil && engine.IsReady(node))
		}

		for _, u := range inventory.Unlabeled {
			t.stock.Unlabeled = append(t.stock.Unlabeled, UnlabeledNode{node.Name, string(u.Resource), u.Label})
		}
	}
}

// countDevices counts the cards that are devices of ResourceSlices. A device that several nodes can use counts for its
// pool instead of a node.
func (t *tally) countDevices(w *engine.World) {
	used := allocatedDevices(w)
	found := map[onNode]*OnNode{}
	for _, d := range t.session.Settings().Cards.Attributes.Devices(w.Devices.Slices) {
		node := cmp.Or(d.Node, d.Pool)
		if d.Card == "" {
			unnamed := UnlabeledNode{node, d.Driver, d.Missing}
			if !slices.Contains(t.stock.Unlabeled, unnamed) {
				t.stock.Unlabeled = append(t.stock.Unlabeled, unnamed)
			}
			continue
		}

		at := onNode{node, d.Card}
		if found[at] == nil {
			found[at] = &OnNode{Node: node, Card: d.Card, Resource: d.Driver}
		}
		found[at].Allocatable++
		if used[device{d.Driver, d.Pool, d.Name}] {
			found[at].Used++
		}
	}

	nodes := map[string]*v1.Node{}
	for _, node := range w.Nodes {
		nodes[node.Name] = node
	}
	for at, on := range found {
		t.countOn(on, nodes[at.node], t.session.Nodes[at.node] != nil)
	}
}

// device identifies a device of ResourceSlices.
type device struct{ driver, pool, name string }

// allocatedDevices returns the devices that claims use. Access of administrators uses no device.
func allocatedDevices(w *engine.World) map[device]bool {
	used := map[device]bool{}
	for _, claim := range w.Devices.Claims {
		if claim.Status.Allocation == nil {
			continue
		}

		for _, r := range claim.Status.Allocation.Devices.Results {
			if r.AdminAccess == nil || !*r.AdminAccess {
				used[device{r.Driver, r.Pool, r.Device}] = true
			}
		}
	}

	return used
}

// countOn completes the counts of a card of a node, and adds them to the stock. The node is nil for a pool of devices.
// Charges for a card that is not usable stay: they are lost.
func (t *tally) countOn(on *OnNode, node *v1.Node, usable bool) {
	at := onNode{on.Node, on.Card}
	on.Queues = t.charged[at]
	for _, n := range on.Queues {
		on.Charged += n
	}
	if usable {
		delete(t.charged, at)
		t.ready[on.Card] += on.Allocatable
		t.groups.Add(t.ready, on.Card, on.Allocatable)
	}

	on.Free = max(0, on.Allocatable-on.Used)
	if node != nil {
		on.Why = engine.Unusable(node)
	}
	if on.Why != "" {
		on.Unusable = on.Free
		on.Free = 0
	}

	t.stock.Nodes = append(t.stock.Nodes, *on)
	total := t.card(on.Card)
	total.Nodes++
	total.add(on, 1)
}

// countGroups counts the groups of the cards on nodes.
func (t *tally) countGroups() {
	for name, group := range t.groups {
		total := t.card(card.GroupPrefix + name)
		nodes := map[string]bool{}
		for _, on := range t.stock.Nodes {
			if weight, ok := group.Of(on.Card); ok {
				nodes[on.Node] = true
				total.add(&on, weight)
			}
		}
		total.Nodes = len(nodes)
	}
}

// countGone adds the charges for lost cards that no node of the stock has.
func (t *tally) countGone() {
	gone := map[string]float64{}
	for _, l := range t.stock.Lost {
		if !t.stock.Has(l.Node, l.Card) {
			gone[l.Card] += l.Cards
			t.groups.Add(gone, l.Card, l.Cards)
		}
	}

	for name, n := range gone {
		t.card(name).Charged += n
	}
}
