// Package stock counts cards: what nodes have, what queues are charged for, what is
// free, what no pod can use, and what is reserved for admitted jobs.
package stock

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index/card"
)

// Stock is the cards of a cluster.
type Stock struct {
	Kind      string          `json:"kind"` // always Stock
	Cards     []Card          `json:"cards"`
	Nodes     []OnNode        `json:"nodes"`
	Queues    []InQueue       `json:"queues"`
	Unlabeled []UnlabeledNode `json:"unlabeled,omitempty"`
	Lost      []LostCards     `json:"lost,omitempty"`
}

// Card is one model, across the cluster, in whole cards.
type Card struct {
	Card        string  `json:"card"`
	Nodes       int     `json:"nodes"`
	Allocatable float64 `json:"allocatable"`
	Charged     float64 `json:"charged"` // to queues
	Used        float64 `json:"used"`    // by all pods, those of no queue included
	Free        float64 `json:"free"`
	Unusable    float64 `json:"unusable"` // used by no pod, on nodes that take none
	Quota       float64 `json:"quota"`    // of all leaf queues
	// Oversubscribed is the amount by which the quotas of leaf queues exceed Allocatable.
	Oversubscribed float64 `json:"oversubscribed"`
}

// IsGroup reports whether it is a group of cards: its quantities are sums by weight.
func (c Card) IsGroup() bool { return strings.HasPrefix(c.Card, card.GroupPrefix) }

// OnNode is one card of one node.
type OnNode struct {
	Node        string  `json:"node"`
	Card        string  `json:"card"`
	Resource    string  `json:"resource"`
	Allocatable float64 `json:"allocatable"`
	Charged     float64 `json:"charged"`
	Used        float64 `json:"used"`
	Free        float64 `json:"free"`
	Unusable    float64 `json:"unusable"`      // what would be free otherwise
	Why         string  `json:"why,omitempty"` // it is unusable, such as cordoned
	// Queues are the queues that are charged, with how much.
	Queues map[string]float64 `json:"queues,omitempty"`
}

// LostCards are cards that a queue is charged for on a node that is gone or not ready, or
// which the node no longer has.
type LostCards struct {
	Node  string  `json:"node"`
	Card  string  `json:"card"`
	Queue string  `json:"queue"`
	Cards float64 `json:"cards"`
}

// InQueue is one card of one queue, its children's included.
type InQueue struct {
	Queue      string   `json:"queue"`
	Depth      int      `json:"depth"`
	Leaf       bool     `json:"leaf"`
	Card       string   `json:"card"`
	Allocated  float64  `json:"allocated"`
	Inqueue    float64  `json:"inqueue"`
	Deserved   float64  `json:"deserved"`
	Guarantee  float64  `json:"guarantee"`
	Quota      *float64 `json:"quota"`      // null: bound by the queues above alone
	Capability *float64 `json:"capability"` // the bound of admission; null: none
}

// UnlabeledNode is a node that lacks the label that names the card of a resource.
type UnlabeledNode struct {
	Node     string `json:"node"`
	Resource string `json:"resource"`
	Label    string `json:"label"`
}

// Count counts the cards of an open session.
func Count(w *engine.World, s *engine.Session) *Stock {
	stock := &Stock{Kind: "Stock", Cards: []Card{}, Nodes: []OnNode{}, Queues: []InQueue{}}
	cards := map[string]*Card{}
	charged := chargedOn(s)
	labels := s.CardLabels()
	fractions := s.CardFractions()
	of := func(name string) *Card {
		if cards[name] == nil {
			cards[name] = &Card{Card: name}
		}
		return cards[name]
	}
	for _, node := range w.Nodes {
		inventory := card.OnNode(node, labels)
		for _, c := range inventory.Cards {
			on := OnNode{Node: node.Name, Card: c.Name, Resource: string(c.Resource), Allocatable: c.Milli.Cards()}
			on.Queues = charged[onNode{node.Name, c.Name}]
			for _, n := range on.Queues {
				on.Charged += n
			}
			if n := s.Nodes[node.Name]; n != nil {
				on.Used = engine.Used(n, inventory, c, fractions)
			}
			on.Free = max(0, on.Allocatable-on.Used)
			on.Why = engine.Unusable(node)
			if on.Why != "" {
				on.Free, on.Unusable = 0, on.Free
			}
			if on.Allocatable == 0 && on.Used == 0 {
				continue // the node has the label of a card and no whole card
			}
			stock.Nodes = append(stock.Nodes, on)
			if s.Nodes[node.Name] != nil && engine.IsReady(node) {
				delete(charged, onNode{node.Name, c.Name})
			}
			total := of(c.Name)
			total.Nodes++
			total.Allocatable += on.Allocatable
			total.Charged += on.Charged
			total.Used += on.Used
			total.Free += on.Free
			total.Unusable += on.Unusable
		}
		for _, u := range inventory.Unlabeled {
			stock.Unlabeled = append(stock.Unlabeled, UnlabeledNode{node.Name, string(u.Resource), u.Label})
		}
	}
	countDevices(stock, w, s, charged, of)
	countGroups(stock, s.CardGroups(), of)
	stock.Lost = lost(charged)
	stock.Queues = inQueues(w, s)
	for _, q := range stock.Queues {
		if q.Leaf && q.Quota != nil {
			of(q.Card).Quota += *q.Quota
		}
	}
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		c := cards[name]
		c.Oversubscribed = max(0, c.Quota-c.Allocatable)
		stock.Cards = append(stock.Cards, *c)
	}
	slices.SortFunc(stock.Nodes, func(a, b OnNode) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Card, b.Card)) })
	return stock
}

// countDevices adds the cards that are devices of ResourceSlices, by the node that has them, or by their pool where
// several nodes can use them.
func countDevices(stock *Stock, w *engine.World, s *engine.Session, charged map[onNode]map[string]float64, of func(string) *Card) {
	type device struct{ driver, pool, name string }
	used := map[device]float64{}
	for _, claim := range w.Devices.Claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, r := range claim.Status.Allocation.Devices.Results {
			if r.AdminAccess == nil || !*r.AdminAccess {
				used[device{r.Driver, r.Pool, r.Device}] = 1
			}
		}
	}
	nodes := map[string]*v1.Node{}
	for _, node := range w.Nodes {
		nodes[node.Name] = node
	}
	found := map[onNode]*OnNode{}
	for _, d := range s.CardAttributes().Devices(w.Devices.Slices) {
		node := cmp.Or(d.Node, d.Pool)
		if d.Card == "" {
			unnamed := UnlabeledNode{node, d.Driver, d.Missing}
			if !slices.Contains(stock.Unlabeled, unnamed) {
				stock.Unlabeled = append(stock.Unlabeled, unnamed)
			}
			continue
		}
		at := onNode{node, d.Card}
		if found[at] == nil {
			found[at] = &OnNode{Node: node, Card: d.Card, Resource: d.Driver}
		}
		found[at].Allocatable++
		found[at].Used += used[device{d.Driver, d.Pool, d.Name}]
	}
	for at, on := range found {
		on.Queues = charged[at]
		if s.Nodes[at.node] != nil {
			delete(charged, at)
		}
		for _, n := range on.Queues {
			on.Charged += n
		}
		on.Free = max(0, on.Allocatable-on.Used)
		if node := nodes[at.node]; node != nil {
			on.Why = engine.Unusable(node)
			if on.Why != "" {
				on.Free, on.Unusable = 0, on.Free
			}
		}
		stock.Nodes = append(stock.Nodes, *on)
		total := of(at.card)
		total.Nodes++
		total.Allocatable += on.Allocatable
		total.Charged += on.Charged
		total.Used += on.Used
		total.Free += on.Free
		total.Unusable += on.Unusable
	}
}

// countGroups adds the groups of the cards on nodes.
func countGroups(stock *Stock, groups card.Groups, of func(string) *Card) {
	for name, group := range groups {
		total := of(card.GroupPrefix + name)
		on := map[string]bool{}
		for _, each := range stock.Nodes {
			weight, has := group.Of(each.Card)
			if !has {
				continue
			}
			on[each.Node] = true
			total.Allocatable += weight * each.Allocatable
			total.Charged += weight * each.Charged
			total.Used += weight * each.Used
			total.Free += weight * each.Free
			total.Unusable += weight * each.Unusable
		}
		total.Nodes = len(on)
	}
}

type onNode struct{ node, card string }

// lost returns what is charged and on no node.
func lost(charged map[onNode]map[string]float64) (all []LostCards) {
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

// chargedOn returns what queues are charged for, by node and card.
func chargedOn(s *engine.Session) map[onNode]map[string]float64 {
	charged := map[onNode]map[string]float64{}
	for _, job := range s.Jobs {
		for status, tasks := range job.TaskStatusIndex {
			if !api.AllocatedStatus(status) {
				continue
			}
			for _, task := range tasks {
				for name, n := range s.Quota.Charged(task) {
					on := onNode{task.NodeName, name}
					if charged[on] == nil {
						charged[on] = map[string]float64{}
					}
					charged[on][string(job.Queue)] += n
				}
			}
		}
	}
	for _, shared := range s.Quota.SharedCharges() {
		on := onNode{shared.Node, shared.Card}
		if charged[on] == nil {
			charged[on] = map[string]float64{}
		}
		charged[on][shared.Queue] += shared.Cards
	}
	return charged
}

// inQueues returns the cards of all queues, each queue followed by its children.
func inQueues(w *engine.World, s *engine.Session) []InQueue {
	all := []InQueue{}
	for _, a := range s.Tree() {
		var quotas map[string]float64
		if w.Queue(a.Queue) != nil {
			quotas = engine.Cards(s.Quota.Annotations(a.Queue)[card.QuotaKey])
		}
		for _, h := range a.Holdings {
			quota, given := quotas[h.Resource]
			if !h.Card || !given && h.Allocated == 0 && h.Inqueue == 0 {
				continue
			}
			q := InQueue{Queue: a.Queue, Depth: a.Depth, Leaf: a.Leaf, Card: h.Resource, Allocated: h.Allocated, Inqueue: h.Inqueue,
				Deserved: h.Deserved, Guarantee: h.Guarantee, Capability: engine.Bounded(h.Capability)}
			if given || a.Leaf && h.Capability == 0 {
				q.Quota = &quota
			}
			all = append(all, q)
		}
	}
	return all
}
