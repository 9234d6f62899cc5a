package serve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/cmd/cardctl/validate"
)

// overview is the content of the first page. Its lists have the first rows of other pages, and link to them.
type overview struct {
	Cards     []cardRow     `json:"cards"`
	Waiting   waitingCount  `json:"waiting"`
	Oldest    []oldest      `json:"oldest"`
	Borrowers []borrower    `json:"borrowers"`
	Borrowing int           `json:"borrowing"` // queues that have more cards than they deserve
	Problems  problemCount  `json:"problems"`
	Changes   recentChanges `json:"lastHour"`
	Unread    []string      `json:"unread,omitempty"` // kinds that the server cannot list
}

// cardRow is a card in the whole cluster.
type cardRow struct {
	stock.Card
	Waiting int        `json:"waitingJobs"` // that name it
	Oldest  *time.Time `json:"oldest,omitempty"`
	Bar     page.Bar   `json:"-"`
}

// waitingCount counts the jobs and pods that wait.
type waitingCount struct {
	Jobs   int        `json:"jobs"`
	Pods   int        `json:"pods"`
	Oldest *time.Time `json:"oldest,omitempty"`
}

// oldest is a job that waits for long. The names are hidden from viewers who may not see its namespace.
type oldest struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"` // of the PodGroup, "" if it may not be seen
	Owner     string           `json:"owner"`
	Queue     string           `json:"queue"`
	Since     *time.Time       `json:"since,omitempty"`
	Why       *explain.Finding `json:"-"`
}

// borrower is a queue with the amount of a card that it has beyond deserved.
type borrower struct {
	Queue    string  `json:"queue"`
	Resource string  `json:"resource"`
	Amount   float64 `json:"amount"`
	Has      float64 `json:"allocated"`
}

// problemCount counts the issues of the page Health, and has its first problems.
type problemCount struct {
	Errors   int        `json:"errors"`
	Warnings int        `json:"warnings"`
	Others   int        `json:"others"`
	Items    []*problem `json:"items"`
}

// recentChanges lists the differences to an hour ago, or to the start of the server.
type recentChanges struct {
	Since   time.Time   `json:"since"`
	Items   []changeRow `json:"items"`
	More    int         `json:"more,omitempty"` // changes that are left out
	Evicted int         `json:"evictedPods"`
	Files   bool        `json:"-"` // files have no past
}

// changeRow is one quantity before and after.
type changeRow struct {
	Queue    string  `json:"queue,omitempty"` // "" for the cluster
	What     string  `json:"what"`            // allocated, quota, nodes or waiting jobs
	Resource string  `json:"resource,omitempty"`
	Before   float64 `json:"before"`
	After    float64 `json:"after"`
}

// The quantities that change.
const (
	changeAllocated = "allocated"
	changeQuota     = "quota"
	changeNodes     = "cards of the nodes"
	changeWaiting   = "waiting jobs"
)

// The rows of the lists of the first page.
const (
	mostListed  = 5
	mostChanged = 10
)

// overviewView shows free cards, the jobs that wait for longest, the largest borrowers, problems and changes.
func overviewView(q *request) (any, any, error) {
	var o overview
	if q.seen.everything() {
		o = model.Once(q.Model, "overview", q.overview)
	} else {
		o = q.overview()
	}
	// The last hour goes on without a new model.
	o.Changes = q.recent()
	return &o, struct {
		document.Head
		*overview
	}{document.Of("Overview"), &o}, nil
}

// overview returns the first page without the changes.
func (q *request) overview() (o overview) {
	o.Problems = q.problems()
	o.Unread = q.Objects.Unread
	o.Waiting, o.Oldest = q.longest()
	o.Cards = q.cardRows()
	o.Borrowers, o.Borrowing = q.borrowers()
	return o
}

// cardRows returns the cards of the nodes, with the jobs that wait for them.
func (q *request) cardRows() []cardRow {
	rows := []cardRow{}
	at := map[string]int{}
	for _, c := range q.Stock.Cards {
		at[c.Card] = len(rows)
		label := fmt.Sprintf("%s: allocatable %g, used %g, free %g", c.Card, c.Allocatable, c.Used, c.Free)
		row := cardRow{Card: c, Bar: page.Bar{Resource: c.Card, Label: label}}
		if c.Allocatable > 0 {
			row.Bar.Own = 100 * min(c.Used, c.Allocatable) / c.Allocatable
		}
		rows = append(rows, row)
	}

	for i := range q.Waiting {
		f := &q.Waiting[i]
		for _, name := range f.Cards {
			if j, known := at[name]; known {
				rows[j].Waiting++
				rows[j].Oldest = earlier(rows[j].Oldest, sinceOf(f))
			}
		}
	}
	return rows
}

func sinceOf(f *explain.Finding) *time.Time {
	if f.Since == nil {
		return nil
	}
	return &f.Since.Time
}

// earlier returns the earlier one of two times, which may be nil.
func earlier(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// longest counts the jobs that wait, and returns the jobs that wait for longest.
func (q *request) longest() (all waitingCount, first []oldest) {
	all.Jobs = len(q.Waiting)
	aged := []*explain.Finding{}
	for i := range q.Waiting {
		f := &q.Waiting[i]
		all.Pods += f.Pods.Waiting
		all.Oldest = earlier(all.Oldest, sinceOf(f))
		aged = append(aged, f)
	}

	// Files can have jobs without an age, which come last.
	slices.SortStableFunc(aged, func(a, b *explain.Finding) int {
		x, y := sinceOf(a), sinceOf(b)
		if x == nil || y == nil {
			return cmp.Compare(bit(x == nil), bit(y == nil))
		}
		return x.Compare(*y)
	})

	first = []oldest{}
	for _, f := range aged[:min(len(aged), mostListed)] {
		row := oldest{Namespace: hiddenName, Owner: hiddenName, Queue: f.Queue, Since: sinceOf(f)}
		if q.seen.namespace(f.Namespace) {
			visible := q.seen.job(*f)
			row = oldest{f.Namespace, f.Name, f.Owner, f.Queue, sinceOf(f), &visible}
		} else if q.Queue(f.Queue) == nil {
			// Only the job has the name of this queue.
			row.Queue = hiddenName
		}
		first = append(first, row)
	}
	return all, first
}

func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}

// borrowers returns the queues with most cards beyond deserved, and the number of all such queues.
func (q *request) borrowers() (first []borrower, all int) {
	type key struct{ queue, resource string }
	amounts := map[key]float64{}
	names := map[string]bool{}
	for _, loan := range q.Loans {
		if loan.Card {
			amounts[key{loan.Borrower, loan.Resource}] += loan.Amount
			names[loan.Borrower] = true
		}
	}

	first = []borrower{}
	for k, amount := range amounts {
		first = append(first, borrower{Queue: k.queue, Resource: k.resource, Amount: amount})
	}
	slices.SortFunc(first, func(a, b borrower) int {
		return cmp.Or(
			cmp.Compare(b.Amount, a.Amount),
			cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Resource, b.Resource),
		)
	})
	first = first[:min(len(first), mostListed)]

	for i := range first {
		for _, h := range q.Queue(first[i].Queue).Resources {
			if h.Resource == first[i].Resource {
				first[i].Has = h.Allocated
			}
		}
	}
	return first, len(names)
}

// problems counts the notes and the issues that the viewer may see, and groups the issues: errors first, then the
// largest groups.
func (q *request) problems() (p problemCount) {
	for _, n := range q.Notes {
		p.count(validate.Severity(n.Severity))
	}

	issues := q.issues()
	for _, i := range issues {
		p.count(i.Severity)
	}

	p.Items = problemsOf(issues, q.Checks.Alike)
	rank := []validate.Severity{validate.Error, validate.Warning, validate.Note}
	slices.SortStableFunc(p.Items, func(a, b *problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity)),
			cmp.Compare(b.Count, a.Count),
		)
	})

	p.Items = p.Items[:min(len(p.Items), mostListed)]
	return p
}

func (p *problemCount) count(severity validate.Severity) {
	switch severity {
	case validate.Error:
		p.Errors++
	case validate.Warning:
		p.Warnings++
	default:
		p.Others++
	}
}

// recent lists the changes of the last hour: the cluster first, then the leaf queues.
func (q *request) recent() recentChanges {
	leaf := model.Leaves(q.Model.Queues)
	w := model.Window{Period: time.Hour, Now: q.now()}
	shown := func(queue string) bool { return queue == "" || leaf[queue] }
	all, since := q.server.keeper.history.Changes(shown, w)

	var cluster, ofQueues []changeRow
	for _, c := range all {
		if c.Queue == "" {
			cluster = append(cluster, rowsOf(c)...)
		} else {
			ofQueues = append(ofQueues, rowsOf(c)...)
		}
	}

	rows := append(cluster, ofQueues...)
	r := recentChanges{
		Since: since,
		Items: append([]changeRow{}, rows[:min(len(rows), mostChanged)]...),
		More:  max(0, len(rows)-mostChanged),
		Files: q.server.options.Source.Changed() == nil,
	}
	for _, e := range q.Past {
		if w.Now.Sub(e.Time) <= w.Period {
			r.Evicted++
		}
	}
	return r
}

// rowsOf returns the quantities that differ in a series. Jobs that wait for one card are in the number of all jobs that
// wait, so they have no row.
func rowsOf(c model.Change) (rows []changeRow) {
	switch {
	case c.Waiting && c.Resource != "":
		return nil
	case c.Waiting:
		return []changeRow{{c.Queue, changeWaiting, "", c.Before, c.After}}
	}

	if c.Before != c.After {
		rows = append(rows, changeRow{c.Queue, changeAllocated, c.Resource, c.Before, c.After})
	}
	if c.Bounds() {
		what := changeQuota
		if c.Queue == "" {
			what = changeNodes
		}
		rows = append(rows, changeRow{c.Queue, what, c.Resource, c.BoundBefore, c.BoundAfter})
	}
	return rows
}
