package serve

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// rowsPerPage bounds the rows of a page.
const rowsPerPage = 100

// queuesPage is the content of the view Queues.
type queuesPage struct {
	Rows      []queueRow
	Flat      bool // they are no tree
	Pages     page.Pages
	Queues    int // in all
	Resources []string
	Waiting   int
	Lost      int               // of Waiting, those whose queue does not exist
	Policies  map[string]string // that hold in all queues
	Common    bool              // all bars of a card have one scale
	Sort      string            // the order of the rows, "" for the tree
}

// queueRow is a queue with its bars.
type queueRow struct {
	model.Row
	Bars []page.Bar
}

// queuesView shows the tree of queues, or those that a filter selects.
func queuesView(q *request) (any, any, error) {
	selection := model.Selection{
		Search: q.query.Get("search"), Resource: q.query.Get("resource"), Sort: q.query.Get("sort"), Full: q.query.Has("full"), Borrowing: q.query.Has("borrowing"), Waiting: q.query.Has("waiting"),
		Opened: q.query["open"], Closed: q.query["close"], All: q.query.Has("all"),
	}
	all := q.Model.Queues
	if root := q.query.Get("queue"); root != "" {
		if all = model.Subtree(all, root); len(all) == 0 {
			return nil, nil, fmt.Errorf("%w: there is no queue %q", errNotFound, root)
		}
	}
	rows := model.Rows(all, selection)
	selected := []queues.Queue{}
	for i := range rows {
		selected = append(selected, *rows[i].Queue)
	}
	if !selection.Flat() {
		selected = model.Having(all, selection.Resource)
	}
	p := &queuesPage{Queues: len(q.Model.Queues), Resources: resourcesOf(q.Model.Queues), Policies: q.Policies, Waiting: len(q.Waiting),
		Flat:   selection.Flat(),
		Common: q.query.Get("scale") == "common"}
	if model.Orders[selection.Sort] != nil {
		p.Sort = selection.Sort
	}
	p.Pages = page.PagesOf(len(rows), rowsPerPage, number(q.query.Get("page")))
	var scales map[string]float64
	if p.Common {
		scales = model.Scales(q.Model.Queues)
	}
	for _, r := range rows[p.Pages.From:p.Pages.To] {
		p.Rows = append(p.Rows, queueRow{r, q.barsOf(r.Queue, selection.Resource, q.query.Has("wide"), scales)})
	}
	p.Lost = p.Waiting
	for _, each := range q.Model.Queues {
		if each.Depth == 0 {
			p.Lost -= each.Waiting
		}
	}
	return p, document{Kind: "QueueList", Items: selected, Unread: q.Objects.Unread}, nil
}

// number is a positive number of a query, else 0.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// resourcesOf are the cards of queues.
func resourcesOf(all []queues.Queue) []string {
	names := map[string]bool{}
	for i := range all {
		for _, h := range all[i].Resources {
			if h.Card {
				names[h.Resource] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// barsOf are the bars of a queue: one for each resource that the table of "cardctl top" has,
// or for one resource. Each has a scale of its own where scales is nil.
func (q *request) barsOf(of *queues.Queue, resource string, wide bool, scales map[string]float64) []page.Bar {
	var bars []page.Bar
	for _, row := range queues.Rows([]queues.Queue{*of}, wide) {
		if resource != "" && row.Holding.Resource != resource {
			continue
		}
		scale := model.OwnScale(row.Holding)
		if scales != nil {
			scale = scales[row.Holding.Resource]
		}
		bars = append(bars, barOf(row, q.Borrowed(row.Holding), scale))
	}
	return bars
}

func barOf(row queues.Row, borrowed, scale float64) page.Bar {
	h := row.Holding
	bar := page.Bar{Resource: h.Resource, Text: row.Amounts(), Label: row.Quantities()}
	if scale <= 0 {
		return bar
	}
	percent := func(x float64) float64 { return 100 * min(x, scale) / scale }
	over := model.Over(h)
	bar.Own, bar.Borrowed = percent(h.Allocated-max(borrowed, over)), percent(max(0, borrowed-over))
	bar.Over, bar.Reserved = percent(over), percent(h.Inqueue)
	bar.Reserved = max(0, min(bar.Reserved, 100-bar.Own-bar.Borrowed-bar.Over)) // rounding
	if h.Guarantee > 0 {
		bar.Ticks = append(bar.Ticks, page.Tick{Name: "guarantee", At: percent(h.Guarantee)})
	}
	if h.Deserved != nil && *h.Deserved > 0 {
		bar.Ticks = append(bar.Ticks, page.Tick{Name: "deserved", At: percent(*h.Deserved)})
	}
	if h.Capability != nil {
		bar.Ticks = append(bar.Ticks, page.Tick{Name: "quota", At: percent(*h.Capability)})
	}
	return bar
}
