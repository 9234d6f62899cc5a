package serve

import (
	"cmp"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// cardsPage is the content of the view Cards.
type cardsPage struct {
	Stock  *stock.Stock
	Models []cardModel
	Legend []page.Colour
	Others bool // queues without a colour of their own
	// Unusable: a node takes no pods and has cards that no pod uses.
	Unusable bool
	Pages    page.Pages
	Path     []string // the queues above the chosen one, the root first
	Queue    string   // the chosen one, "" for none
	Absent   string   // a node of the query without cards, "" for none
}

// cardModel is a card with the nodes that have it.
type cardModel struct {
	stock.Card
	Nodes     []nodeCells
	Fragments string // the free cards of each node, such as 3+1
	Largest   float64
}

// nodeCells holds one cell for each card of a node, and a part of a cell for a fraction.
type nodeCells struct {
	stock.OnNode
	Groups []page.Cells
	Anchor bool // its first row on the page
}

// jobOnNode counts the cards of one model that a job has on a node, as JSON.
type jobOnNode struct {
	Node      string  `json:"node"`
	Card      string  `json:"card"`
	Queue     string  `json:"queue"`
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"` // of the PodGroup
	Owner     string  `json:"owner"`
	Cards     float64 `json:"cards"`
}

// cardsView is a map of the cards on their nodes.
func cardsView(q *request) (any, any, error) {
	chosen := q.query.Get("queue")
	colours := q.coloursOf(chosen)
	p := &cardsPage{
		Stock:    q.seen.stock(q.Stock),
		Legend:   colours.all,
		Others:   colours.others,
		Unusable: slices.ContainsFunc(q.Stock.Cards, func(c stock.Card) bool { return c.Unusable > 0 }),
	}
	if above := q.Model.Path(chosen); above != nil {
		p.Queue = chosen
		p.Path = above[1:]
		slices.Reverse(p.Path)
	}

	nodes := q.selectNodes(colours)
	q.openPage(p, nodes)
	shown := q.nodesOfPage(p, nodes, colours)
	filtered := q.filtersNodes()
	for _, c := range p.Stock.Cards {
		if filtered && !slices.ContainsFunc(nodes, func(n stock.OnNode) bool { return n.Card == c.Card }) {
			continue
		}
		m := cardModel{Card: c, Nodes: shown[c.Card]}
		m.Fragments, m.Largest = fragments(q.Stock.Nodes, c.Card)
		p.Models = append(p.Models, m)
	}

	document := struct {
		*stock.Stock
		Jobs []jobOnNode `json:"jobs"`
	}{Stock: p.Stock}
	if q.full {
		document.Jobs = q.jobsOnNodes()
	}

	return p, document, nil
}

// nodesOfPage returns the nodes of the page by card.
func (q *request) nodesOfPage(p *cardsPage, nodes []stock.OnNode, colours *colours) map[string][]nodeCells {
	shown := map[string][]nodeCells{}
	known := map[string]bool{} // nodes with a row

	for _, n := range nodes[p.Pages.From:p.Pages.To] {
		name := q.seen.node(n.Node)
		cells := nodeCells{OnNode: n, Groups: q.cells(n, colours), Anchor: !known[n.Node] && name == n.Node}
		cells.Node = name
		known[n.Node] = true
		shown[n.Card] = append(shown[n.Card], cells)
	}
	return shown
}

// selectNodes returns the nodes that the query selects, by card.
func (q *request) selectNodes(c *colours) (nodes []stock.OnNode) {
	all := model.Once(q.Model, "nodes by card", func() []stock.OnNode {
		byCard := func(a, b stock.OnNode) int { return cmp.Compare(a.Card, b.Card) }
		return slices.SortedStableFunc(slices.Values(q.Stock.Nodes), byCard)
	})

	if !q.filtersNodes() {
		return all
	}

	search := strings.ToLower(q.query.Get("search"))
	card := q.query.Get("card")

	for _, n := range all {
		found := search == "" || strings.Contains(strings.ToLower(q.seen.node(n.Node)), search)
		if found && (!q.query.Has("free") || n.Free > 0) && c.on(n) && (card == "" || n.Card == card) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// filtersNodes reports whether the query selects nodes.
func (q *request) filtersNodes() bool {
	filters := []string{"card", "queue", "search", "free"}
	return slices.ContainsFunc(filters, func(name string) bool { return q.query.Get(name) != "" })
}

// openPage sets the page of nodes: the page with the node of the query, or the page of the query.
func (q *request) openPage(p *cardsPage, nodes []stock.OnNode) {
	at := number(q.query.Get("page"))
	wanted := q.query.Get("node")

	if wanted != "" && !q.query.Has("page") {
		i := slices.IndexFunc(nodes, func(n stock.OnNode) bool { return n.Node == wanted })
		if i < 0 || q.seen.node(wanted) != wanted {
			p.Absent = wanted
		} else {
			at = i / rowsPerPage
		}
	}

	p.Pages = page.PagesOf(len(nodes), rowsPerPage, at)
}

// jobsOnNodes lists the jobs on nodes that the viewer may see.
func (q *request) jobsOnNodes() []jobOnNode {
	all := []jobOnNode{}
	for i := range q.Jobs {
		f := &q.Jobs[i]
		if !q.seen.namespace(f.Namespace) {
			continue
		}

		for _, on := range q.Detail(f).Nodes {
			for _, a := range on.Cards {
				job := jobOnNode{q.seen.node(on.Node), a.Card, f.Queue, f.Namespace, f.Name, f.Owner, a.Cards}
				all = append(all, job)
			}
		}
	}
	return all
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
	// One node has all of them.
	if len(free) < 2 {
		return "", 0
	}

	var words []string
	for _, f := range free[:min(len(free), mostFragments)] {
		words = append(words, explain.Amount("", f))
	}
	text = strings.Join(words, "+")
	if len(free) > mostFragments {
		text += "+…"
	}
	return text, free[0]
}
