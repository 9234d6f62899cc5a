package serve

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// rowsPerPage bounds the rows of a page.
const rowsPerPage = 100

// rowsOfPage returns the rows of the page that the query selects, and the place of the page in the list.
func rowsOfPage[T any](q *request, all []T) ([]T, page.Pages) {
	pages := page.PagesOf(len(all), rowsPerPage, number(q.query.Get("page")))
	return all[pages.From:pages.To], pages
}

// queuesPage is the content of the view Queues.
type queuesPage struct {
	Rows      []queueRow
	Flat      bool // they are no tree
	Pages     page.Pages
	Queues    int // in all
	Resources []string
	Waiting   int
	Lost      int               // jobs of Waiting in queues that do not exist
	Policies  map[string]string // that hold in all queues
	Common    bool              // all bars of a card have one scale
	Sort      string            // the order of the rows, "" for the tree
	Fair      bool              // queues are ordered by their usage over time
}

// queueRow is a queue with its bars.
type queueRow struct {
	model.Row
	Bars []page.Bar
}

// queuesView shows the tree of queues, or the queues that a filter or an order selects.
func queuesView(q *request) (any, any, error) {
	selection := selectionOf(q.query)
	all := q.Model.Queues
	if root := q.query.Get("queue"); root != "" {
		all = model.Subtree(all, root)
		if len(all) == 0 {
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

	p := &queuesPage{
		Queues:    len(q.Model.Queues),
		Resources: resourcesOf(q.Model.Queues),
		Policies:  q.Policies,
		Waiting:   len(q.Waiting),
		Lost:      q.lost(),
		Flat:      selection.Flat(),
		Sort:      selection.Sort,
		Common:    q.query.Get("scale") == "common",
		Fair:      slices.ContainsFunc(q.Model.Queues, func(queue queues.Queue) bool { return queue.Past != nil }),
	}
	rows, p.Pages = rowsOfPage(q, rows)
	var scales map[string]float64
	if p.Common {
		scales = model.Scales(q.Model.Queues)
	}
	for _, r := range rows {
		p.Rows = append(p.Rows, queueRow{r, q.barsOf(r.Queue, selection.Resource, q.query.Has("wide"), scales)})
	}

	return p, list{Head: document.Of("QueueList"), Items: selected, Unread: q.Objects.Unread}, nil
}

func queuesCommand(q *request) []string {
	words := []string{"top"}
	if queue := q.query.Get("queue"); queue != "" {
		words = append(words, queue)
	}
	return append(words, "--once")
}

func selectionOf(query url.Values) model.Selection {
	s := model.Selection{
		Search:    query.Get("search"),
		Resource:  query.Get("resource"),
		Full:      query.Has("full"),
		Borrowing: query.Has("borrowing"),
		Waiting:   query.Has("waiting"),
		Opened:    query["open"],
		Closed:    query["close"],
		All:       query.Has("all"),
	}
	if sort := query.Get("sort"); model.Orders[sort] != nil {
		s.Sort = sort
	}
	return s
}

// lost counts the jobs that wait in queues that do not exist.
func (q *request) lost() int {
	jobs := len(q.Waiting)
	for i := range q.Model.Queues {
		if q.Model.Queues[i].Depth == 0 {
			jobs -= q.Model.Queues[i].Waiting
		}
	}
	return jobs
}

// number returns a positive number of a query, else 0.
func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0
	}
	return max(0, n)
}

// resourcesOf returns the cards of queues.
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

// barsOf returns the bars of a queue: one for each resource that the table of "cardctl top" has,
// or for one resource. Each bar has a scale of its own if scales is nil.
func (q *request) barsOf(queue *queues.Queue, resource string, wide bool, scales map[string]float64) (bars []page.Bar) {
	for _, row := range queues.Rows([]queues.Queue{*queue}, wide) {
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
	bar.Own = percent(h.Allocated - max(borrowed, over))
	bar.Borrowed = percent(max(0, borrowed-over))
	bar.Over = percent(over)
	// Rounding may leave less room than the reserved part needs.
	bar.Reserved = max(0, min(percent(h.Inqueue), 100-bar.Own-bar.Borrowed-bar.Over))

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
