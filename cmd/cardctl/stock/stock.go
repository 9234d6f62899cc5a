// Package stock counts the cards of a cluster: allocatable, charged to queues, used, free, unusable and reserved for
// admitted jobs.
package stock

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/status"
)

// Stock lists the cards of a cluster.
type Stock struct {
	document.Head
	Cards     []Card          `json:"cards"`
	Nodes     []OnNode        `json:"nodes"`
	Queues    []InQueue       `json:"queues"`
	Unlabeled []UnlabeledNode `json:"unlabeled,omitempty"`
	Lost      []LostCards     `json:"lost,omitempty"`
}

// Card sums up one card, or one group of cards, over the cluster. Quantities are whole cards.
type Card struct {
	Card        string  `json:"card"`
	Nodes       int     `json:"nodes"`
	Allocatable float64 `json:"allocatable"`
	Charged     float64 `json:"charged"` // to queues, also for lost cards
	Used        float64 `json:"used"`    // by all pods, including pods without a queue
	Free        float64 `json:"free"`
	Unusable    float64 `json:"unusable"` // free, on nodes that accept no pods
	// Quota, Deserved and Guarantee are sums over all queues, see engine.Sums.
	Quota     float64 `json:"quota"`
	Deserved  float64 `json:"deserved"`
	Guarantee float64 `json:"guarantee"`
	// Oversubscribed is the amount by which Deserved exceeds the cards of nodes that are ready.
	Oversubscribed float64 `json:"oversubscribed"`
}

// IsGroup reports whether c is a group of cards. The quantities of a group are weighted sums.
func (c Card) IsGroup() bool { return strings.HasPrefix(c.Card, card.GroupPrefix) }

// add counts the cards of a node with a weight.
func (c *Card) add(on *OnNode, weight float64) {
	c.Allocatable += weight * on.Allocatable
	c.Charged += weight * on.Charged
	c.Used += weight * on.Used
	c.Free += weight * on.Free
	c.Unusable += weight * on.Unusable
}

// OnNode is one card of one node.
type OnNode struct {
	Node        string  `json:"node"`
	Card        string  `json:"card"`
	Resource    string  `json:"resource"`
	Allocatable float64 `json:"allocatable"`
	Charged     float64 `json:"charged"`
	Used        float64 `json:"used"`
	Free        float64 `json:"free"`
	Unusable    float64 `json:"unusable"`      // free, but the node accepts no pods
	Why         string  `json:"why,omitempty"` // the node accepts no pods, such as cordoned
	// Queues are the charges by queue.
	Queues map[string]float64 `json:"queues,omitempty"`
}

// LostCards are charges of a queue for cards that are lost: their node is gone or not ready, or no longer has the card.
type LostCards struct {
	Node  string  `json:"node"`
	Card  string  `json:"card"`
	Queue string  `json:"queue"`
	Cards float64 `json:"cards"`
}

// InQueue is one card of one queue, including the queues below it.
type InQueue struct {
	Queue      string   `json:"queue"`
	Depth      int      `json:"depth"`
	Leaf       bool     `json:"leaf"`
	Card       string   `json:"card"`
	Allocated  float64  `json:"allocated"`
	Inqueue    float64  `json:"inqueue"`
	Deserved   float64  `json:"deserved"`
	Guarantee  float64  `json:"guarantee"`
	Quota      *float64 `json:"quota"`      // null: only groups of the card or the queues above bound it
	Capability *float64 `json:"capability"` // the bound of admission; null: none
}

// UnlabeledNode is a node without the label that names the card of a resource.
type UnlabeledNode struct {
	Node     string `json:"node"`
	Resource string `json:"resource"`
	Label    string `json:"label"`
}

// Count counts the cards of an open session.
func Count(w *engine.World, s *engine.Session) *Stock {
	t := tally{
		stock:   &Stock{Head: document.Of("Stock"), Cards: []Card{}, Nodes: []OnNode{}, Queues: inQueues(s)},
		session: s,
		charged: chargedOn(s),
		cards:   map[string]*Card{},
		ready:   map[string]float64{},
		groups:  s.Settings().Cards.Groups,
	}
	t.countNodes(w.Nodes)
	t.countDevices(w)
	t.countGroups()

	t.stock.Lost = lost(t.charged)
	t.countGone()

	tree, _ := w.Tree(s.Configuration)
	for name, p := range engine.SumsOf(tree, s.Amounts) {
		c := t.card(name)
		c.Quota = p.Quota
		c.Deserved = p.Deserved
		c.Guarantee = p.Guarantee
	}

	for _, name := range slices.Sorted(maps.Keys(t.cards)) {
		c := t.cards[name]
		c.Oversubscribed = max(0, c.Deserved-t.ready[name])
		t.stock.Cards = append(t.stock.Cards, *c)
	}

	slices.SortFunc(t.stock.Nodes, func(a, b OnNode) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Card, b.Card))
	})

	return t.stock
}

// Sum adds up the cards of several clusters. The result has no nodes and no queues.
func Sum(all []*Stock) *Stock {
	t := tally{cards: map[string]*Card{}}
	for _, s := range all {
		for _, c := range s.Cards {
			t.card(c.Card).plus(&c)
		}
	}

	result := &Stock{Head: document.Of("Stock"), Cards: []Card{}, Nodes: []OnNode{}, Queues: []InQueue{}}
	for _, name := range slices.Sorted(maps.Keys(t.cards)) {
		result.Cards = append(result.Cards, *t.cards[name])
	}
	return result
}

// plus adds the same card of another cluster.
func (c *Card) plus(other *Card) {
	c.Nodes += other.Nodes
	c.Allocatable += other.Allocatable
	c.Charged += other.Charged
	c.Used += other.Used
	c.Free += other.Free
	c.Unusable += other.Unusable
	c.Quota += other.Quota
	c.Deserved += other.Deserved
	c.Guarantee += other.Guarantee
	c.Oversubscribed += other.Oversubscribed
}

// Has reports whether a node of the stock has a card.
func (s *Stock) Has(node, name string) bool {
	return slices.ContainsFunc(s.Nodes, func(on OnNode) bool { return on.Node == node && on.Card == name })
}

// lost returns the charges for cards that no node has.
func lost(charged sums[onNode]) (all []LostCards) {
	for on, queues := range charged {
		for queue, n := range queues {
			all = append(all, LostCards{on.node, on.card, queue, n})
		}
	}

	slices.SortFunc(all, func(a, b LostCards) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Card, b.Card), cmp.Compare(a.Queue, b.Queue))
	})

	return all
}

// inQueues returns the cards of all queues. Each queue is followed by its children.
func inQueues(s *engine.Session) []InQueue {
	all := []InQueue{}
	for _, a := range s.Tree() {
		quotas := s.Amounts(a.Queue, card.QuotaKey)
		for _, h := range a.Holdings {
			quota, given := quotas[h.Resource]
			if !h.Card || !given && h.Allocated == 0 && h.Inqueue == 0 {
				continue
			}

			q := InQueue{
				Queue:      a.Queue,
				Depth:      a.Depth,
				Leaf:       a.Leaf,
				Card:       h.Resource,
				Allocated:  h.Allocated,
				Inqueue:    h.Inqueue,
				Deserved:   h.Deserved,
				Guarantee:  h.Guarantee,
				Capability: status.Bounded(h.Capability),
			}
			// A leaf queue has a quota of 0 for a card that its annotation does not name.
			if given || a.Leaf && h.Capability == 0 {
				q.Quota = &quota
			}
			all = append(all, q)
		}
	}

	return all
}
