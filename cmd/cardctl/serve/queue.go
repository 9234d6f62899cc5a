package serve

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// queuePage is the content of the view of one queue.
type queuePage struct {
	*queues.Queue
	Path     []string // the queues above, the root first
	Holdings []holdingRow
	Children []queueRow // the children that use most of their quota
	Below    int        // children in all
	Inner    bool
	Running  []jobRow // of this page
	Pages    page.Pages
	Hidden   *Hidden
	Waits    []jobRow
	More     int // jobs that wait and are on the page Waiting
	Unseen   *Hidden
	Policies []queues.Policy // with the policies of arguments
	Budgets  []budgetRow
	// BudgetsLack is why the used part of budgets is not known, "" if it is known.
	BudgetsLack string
	// NextWindow is when a window of the queue begins or ends next, nil for never.
	NextWindow *time.Time
	// Lacks is why the usage over time is not known. HalfLife and ByWeight say how it is averaged and compared.
	Lacks    string
	HalfLife string
	ByWeight bool
}

// Heading is the name of the queue.
func (p *queuePage) Heading() string { return p.Queue.Queue }

// holdingRow is a resource of the queue.
type holdingRow struct {
	queues.Holding
	Bar  page.Bar
	Over float64 // beyond the quota
}

// budgetRow is a budget of the queue, with a bar of the used and the needed part.
type budgetRow struct {
	queues.Budget
	Bar page.Bar
}

// queueDocument is the same as JSON.
type queueDocument struct {
	document.Head
	Queue    *queues.Queue   `json:"queue"`
	Path     []string        `json:"path"`
	Children []string        `json:"children"`
	Policies []queues.Policy `json:"policies"`
	Budgets  []queues.Budget `json:"budgets,omitempty"`
	Running  []jobRow        `json:"running"`
	Hidden   *Hidden         `json:"hiddenRunning,omitempty"`
	Waiting  []jobRow        `json:"waiting"`
	Unseen   *Hidden         `json:"hiddenWaiting,omitempty"`
	Unread   []string        `json:"unread,omitempty"` // kinds that the server cannot list
}

// The bounds of the page of a queue: the pages Waiting and Queues have all.
const (
	waitingOfQueue  = 20
	childrenOfQueue = 20
)

// queueView shows the resources of a queue, and the jobs in it and below.
func queueView(q *request) (any, any, error) {
	name := q.PathValue("name")
	queue := q.Queue(name)
	if queue == nil {
		return nil, nil, fmt.Errorf("%w: there is no queue %q", errNotFound, name)
	}

	path := q.Model.Path(name)[1:]
	slices.Reverse(path)
	below := model.Subtree(q.Model.Queues, name)
	children := slices.DeleteFunc(slices.Clone(below), func(child queues.Queue) bool {
		return child.Parent != name || child.Queue == name
	})

	running, waiting := q.jobsOf(below)
	runs, hidden := q.visible(running, placedPods)
	waits, unseen := q.visible(waiting, waitingPods)
	policies := q.policiesOf(queue)

	if q.full {
		d := queueDocument{
			Head:     document.Of("Queue"),
			Queue:    queue,
			Path:     path,
			Children: []string{},
			Policies: policies,
			Budgets:  queue.Budgets,
			Running:  q.rows(runs),
			Hidden:   hidden,
			Waiting:  q.rows(waits),
			Unseen:   unseen,
			Unread:   q.Objects.Unread,
		}
		for i := range children {
			d.Children = append(d.Children, children[i].Queue)
		}
		return nil, d, nil
	}

	shown, pages := rowsOfPage(q, runs)
	p := &queuePage{
		Queue:       queue,
		Path:        path,
		Holdings:    q.holdingsOf(queue),
		Inner:       len(children) > 0,
		Below:       len(children),
		Hidden:      hidden,
		Unseen:      unseen,
		Running:     q.rows(shown),
		Pages:       pages,
		Waits:       q.rows(waits[:min(len(waits), waitingOfQueue)]),
		More:        max(0, len(waits)-waitingOfQueue),
		Policies:    policies,
		Budgets:     budgetsOf(queue.Budgets),
		BudgetsLack: q.seen.lack(q.Configuration.BudgetsLack),
		NextWindow:  queue.NextWindow(),
		Lacks:       q.seen.lack(q.Configuration.UsageLacks),
		ByWeight:    q.Configuration.FairByWeight(),
		HalfLife:    queues.ShortTime(q.Configuration.FairShare().HalfLife),
	}

	rows := model.Rows(children, model.Selection{Sort: "use"})
	for _, r := range rows[:min(len(rows), childrenOfQueue)] {
		p.Children = append(p.Children, queueRow{r, q.barsOf(r.Queue, "", false, nil)})
	}
	return p, nil, nil
}

func budgetsOf(all []queues.Budget) (rows []budgetRow) {
	for _, b := range all {
		row := budgetRow{Budget: b, Bar: page.Bar{Resource: b.Resource, Label: b.Amounts()}}
		row.Bar.Own = 100 * min(b.Used, b.Budget) / b.Budget
		row.Bar.Reserved = min(100-row.Bar.Own, 100*b.Needed/b.Budget)
		rows = append(rows, row)
	}
	return rows
}

// jobsOf returns the jobs of queues. Running jobs have pods on nodes, most cards first. Waiting jobs are in the order
// of each queue.
func (q *request) jobsOf(all []queues.Queue) (running, waiting []*explain.Finding) {
	wanted := map[string]bool{}
	for i := range all {
		wanted[all[i].Queue] = true
	}

	for i := range q.Jobs {
		f := &q.Jobs[i]
		if !wanted[f.Queue] {
			continue
		}
		if f.Pods.Placed > 0 {
			running = append(running, f)
		}
		if f.Waits() {
			waiting = append(waiting, f)
		}
	}

	q.byCards(running)
	slices.SortStableFunc(waiting, func(a, b *explain.Finding) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Place, b.Place))
	})
	return running, waiting
}

// holdingsOf returns the resources of a queue, cards first.
func (q *request) holdingsOf(queue *queues.Queue) (all []holdingRow) {
	for _, row := range queues.Rows([]queues.Queue{*queue}, true) {
		h := row.Holding
		all = append(all, holdingRow{h, barOf(row, q.Borrowed(h), model.OwnScale(h)), model.Over(h)})
	}
	return all
}

// policiesOf returns the policies that hold in a queue. They include its shares of the cards of the nodes, and the
// policies that arguments of the scheduler set for all queues.
func (q *request) policiesOf(queue *queues.Queue) []queues.Policy {
	all := []queues.Policy{}
	for _, s := range queue.Shares {
		all = append(all, queues.Policy{Policy: s.Annotation, Value: s.Card + " " + s.String(), Queue: queue.Queue})
	}
	all = append(all, queue.Policies...)
	for _, name := range slices.Sorted(maps.Keys(q.Model.Policies)) {
		all = append(all, queues.Policy{Policy: name, Value: q.Model.Policies[name]})
	}
	return all
}

func queueCommand(q *request) []string {
	return []string{"top", q.PathValue("name"), "--once", "-o", "wide"}
}
