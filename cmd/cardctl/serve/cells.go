package serve

import (
	"cmp"
	"maps"
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// cellsPerNode bounds the cells of a node. A node has some hundred slices at most.
const cellsPerNode = 256

// colours are the colours of the queues that have cards. A queue has the colour of its group, see model.Groups.
// The groups with the most cards have colours of their own.
type colours struct {
	classes map[string]string // the class of a colour by group
	group   map[string]string // by queue
	chosen  string            // the queue that is looked at, "" for all
	all     []page.Colour
	others  bool
}

func (q *request) coloursOf(chosen string) *colours {
	if chosen == "" {
		return model.Once(q.Model, "colours", func() *colours { return q.newColours("") })
	}
	return q.newColours(chosen)
}

func (q *request) newColours(chosen string) *colours {
	with := map[string]bool{}
	for _, n := range q.Stock.Nodes {
		for queue := range n.Queues {
			with[queue] = true
		}
	}
	c := &colours{
		classes: map[string]string{},
		chosen:  chosen,
		group:   model.Groups(q.Model.Queues, chosen, slices.Sorted(maps.Keys(with)), page.Palette),
	}

	has := map[string]float64{}
	for _, n := range q.Stock.Nodes {
		for queue, cards := range n.Queues {
			if group := c.group[queue]; group != "" {
				has[group] += cards
			} else {
				c.others = true
			}
		}
	}

	names := slices.SortedFunc(maps.Keys(has), func(a, b string) int {
		return cmp.Or(cmp.Compare(has[b], has[a]), cmp.Compare(a, b))
	})
	c.others = c.others || len(names) > page.Palette
	names = names[:min(len(names), page.Palette)]
	// The order of names keeps the colour of a queue when amounts change.
	slices.Sort(names)
	for i, name := range names {
		c.classes[name] = page.Class(i + 1)
		c.all = append(c.all, page.Colour{Class: c.classes[name], Queue: name, Cards: has[name]})
	}
	return c
}

// on reports whether the chosen queue has cards on a node.
func (c *colours) on(n stock.OnNode) bool {
	if c.chosen == "" {
		return true
	}

	for queue := range n.Queues {
		if c.group[queue] != "" {
			return true
		}
	}
	return false
}

// class returns the class of the colour of a queue.
func (c *colours) class(queue string) string { return cmp.Or(c.classes[c.group[queue]], page.Other) }

// cells returns the cards of a node in the order of their colours and queues. The cards of a job are together. The
// cards of pods without a queue and the free cards are last.
func (q *request) cells(n stock.OnNode, c *colours) (all []page.Cells) {
	left := cellsPerNode
	add := func(amount float64, cells page.Cells) {
		cells = cells.Draws(amount, left)
		if cells.Amount > 0 {
			left -= cells.Count
			all = append(all, cells)
		}
	}

	names := slices.SortedFunc(maps.Keys(n.Queues), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.group[a], c.group[b]), cmp.Compare(a, b))
	})

	for _, queue := range names {
		rest := n.Queues[queue]
		for _, f := range q.OnNode(n.Node) {
			if f.Queue != queue || !q.seen.namespace(f.Namespace) {
				continue
			}
			if amount := q.cardsOn(f, n); amount > 0 {
				add(amount, page.Cells{
					Class:     c.class(queue),
					Queue:     queue,
					Namespace: f.Namespace,
					Owner:     f.Owner,
					Job:       f.Name,
				})
				rest -= amount
			}
		}
		add(rest, page.Cells{Class: c.class(queue), Queue: queue})
	}

	add(n.Used-n.Charged, page.Cells{Class: "noqueue"})
	free := "free"
	if n.Why != "" {
		free = "unusable"
	}
	add(n.Allocatable-max(n.Used, n.Charged), page.Cells{Class: free})
	return all
}

// cardsOn returns the number of cards of one model that a job has on a node.
func (q *request) cardsOn(f *explain.Finding, n stock.OnNode) float64 {
	for _, on := range q.Detail(f).Nodes {
		for _, a := range on.Cards {
			if on.Node == n.Node && a.Card == n.Card {
				return a.Cards
			}
		}
	}
	return 0
}
