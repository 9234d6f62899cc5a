package serve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// cardsPage is the content of the view Cards.
type cardsPage struct {
	Stock  *stock.Stock
	Models []cardModel
	Legend []page.Colour
	Others bool // queues without a colour of their own
	Pages  page.Pages
}

// cardModel is a card with the nodes that have it.
type cardModel struct {
	stock.Card
	Nodes     []nodeCells
	Fragments string // the free cards of each node, such as 3+1
	Largest   float64
}

// nodeCells are the cards of a node, one cell for each.
type nodeCells struct {
	stock.OnNode
	Cells []page.Cell
}

// cellsPerNode bounds the cells of a node. A node has some hundred slices at most.
const cellsPerNode = 256

// cardsView is a map of the cards on their nodes.
func cardsView(q *request) (any, any, error) {
	s := q.seen.stock(q.Stock)
	p := &cardsPage{Stock: s}
	colours := coloursOf(s)
	p.Legend, p.Others = colours.all, colours.others
	search := strings.ToLower(q.query.Get("search"))
	var nodes []stock.OnNode
	for _, n := range s.Nodes {
		if (search == "" || strings.Contains(strings.ToLower(n.Node), search)) && (!q.query.Has("free") || n.Free > 0) &&
			matchesQueue(n, q.query.Get("queue")) {
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, b stock.OnNode) int { return cmp.Compare(a.Card, b.Card) })
	if wanted := q.query.Get("card"); wanted != "" {
		nodes = slices.DeleteFunc(nodes, func(n stock.OnNode) bool { return n.Card != wanted })
	}
	p.Pages = page.PagesOf(len(nodes), rowsPerPage, number(q.query.Get("page")))
	shown := map[string][]nodeCells{}
	for _, n := range nodes[p.Pages.From:p.Pages.To] {
		shown[n.Card] = append(shown[n.Card], nodeCells{n, colours.cells(n)})
	}
	for _, c := range s.Cards {
		if wanted := q.query.Get("card"); wanted != "" && wanted != c.Card {
			continue
		}
		m := cardModel{Card: c, Nodes: shown[c.Card]}
		m.Fragments, m.Largest = fragments(s.Nodes, c.Card)
		p.Models = append(p.Models, m)
	}
	return p, s, nil
}

func matchesQueue(n stock.OnNode, queue string) bool {
	return queue == "" || n.Queues[queue] > 0
}

// mostFragments bounds the nodes that a sum of free cards lists.
const mostFragments = 8

// fragments describes how the free cards of a model are spread over several nodes.
func fragments(nodes []stock.OnNode, name string) (text string, largest float64) {
	var free []float64
	for _, n := range nodes {
		if n.Card == name && n.Free > 0 {
			free = append(free, n.Free)
		}
	}
	slices.SortFunc(free, func(a, b float64) int { return cmp.Compare(b, a) })
	if len(free) < 2 { // all of one node
		return "", 0
	}
	var words []string
	for _, f := range free[:min(len(free), mostFragments)] {
		words = append(words, fmt.Sprintf("%g", f))
	}
	text = strings.Join(words, "+")
	if len(free) > mostFragments {
		text += "+…"
	}
	return text, free[0]
}

// colours are those of the queues that have cards: the queues with most cards have colours of
// their own.
type colours struct {
	of     map[string]int
	all    []page.Colour
	others bool
}

func coloursOf(s *stock.Stock) *colours {
	has := map[string]float64{}
	for _, n := range s.Nodes {
		for queue, cards := range n.Queues {
			has[queue] += cards
		}
	}
	names := slices.SortedFunc(maps.Keys(has), func(a, b string) int { return cmp.Or(cmp.Compare(has[b], has[a]), cmp.Compare(a, b)) })
	c := &colours{of: map[string]int{}, others: len(names) > page.Palette}
	slices.Sort(names[:min(len(names), page.Palette)]) // so that a queue keeps its colour when amounts change
	for i, name := range names {
		if i < page.Palette {
			c.of[name] = i + 1
			c.all = append(c.all, page.Colour{Class: page.Class(i + 1), Queue: name, Cards: has[name]})
		}
	}
	return c
}

// cells are the cards of a node in the order of their queues, then those of pods without a
// queue, then the free ones.
func (c *colours) cells(n stock.OnNode) (cells []page.Cell) {
	add := func(amount float64, cell page.Cell) {
		for i := 0.0; i < amount && len(cells) < cellsPerNode; i++ {
			cells = append(cells, cell)
		}
	}
	for _, queue := range slices.Sorted(maps.Keys(n.Queues)) {
		class := page.Other
		if i := c.of[queue]; i > 0 {
			class = page.Class(i)
		}
		add(n.Queues[queue], page.Cell{Class: class, Queue: queue})
	}
	add(n.Used-n.Charged, page.Cell{Class: "noqueue"})
	add(n.Allocatable-max(n.Used, n.Charged), page.Cell{Class: "free"})
	return cells
}
