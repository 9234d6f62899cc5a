package serve

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
	"github.com/capacity-card/capacity-card/cmd/cardctl/whatif"
)

// The view Waiting bounds the causes of a page, and the jobs of a cause until it is opened. Otherwise, the page of a
// cluster with thousands of waiting jobs is too long to read.
const (
	causesPerPage = 20
	jobsPerCause  = 5
)

// waitingPage is the content of the view Waiting.
type waitingPage struct {
	Causes []causeRow
	Pages  page.Pages
	Jobs   int
	Pods   int
}

// causeRow is a cause with the jobs that may be seen.
type causeRow struct {
	*model.Cause
	Key   string // in the query, to open it
	Shown []jobRow
	More  int // jobs that are not shown
}

// waitingView groups the jobs that wait by cause. Its JSON has the jobs one by one.
func waitingView(q *request) (any, any, error) {
	waiting := q.selectWaiting()
	if q.full {
		var all []*explain.Finding
		for i := range waiting {
			all = append(all, &waiting[i])
		}
		visible, hidden := q.visible(all, waitingPods)
		return nil, list{
			Head:   document.Of("ExplanationList"),
			Items:  q.rows(visible),
			Hidden: hidden,
			Unread: q.Objects.Unread,
		}, nil
	}

	p := &waitingPage{Jobs: len(waiting)}
	causes := q.causes(waiting)
	p.Pages = page.PagesOf(len(causes), causesPerPage, number(q.query.Get("page")))

	for i, c := range causes {
		p.Pods += c.Pods
		if i < p.Pages.From || i >= p.Pages.To {
			continue
		}
		p.Causes = append(p.Causes, q.causeRow(c))
	}

	return p, nil, nil
}

func waitingCommand(q *request) []string {
	if queue := q.query.Get("queue"); queue != "" {
		return []string{"explain", "queue", queue}
	}
	return []string{"explain"}
}

// causeRow returns a cause with the jobs that the viewer may see.
func (q *request) causeRow(c *model.Cause) causeRow {
	mine := *c
	mine.Holds = q.seen.holds(c.Holds)
	row := causeRow{Cause: &mine, Key: mine.Key()}

	limit := jobsPerCause
	if slices.Contains(q.query["open"], row.Key) {
		limit = 5 * rowsPerPage
	}

	for _, f := range c.Jobs {
		switch {
		case !q.seen.namespace(f.Namespace):
			mine.Hidden++
		case len(row.Shown) < limit:
			row.Shown = append(row.Shown, q.row(f))
		default:
			row.More++
		}
	}
	return row
}

// causes groups jobs that wait, as far as they may be seen.
func (q *request) causes(waiting []explain.Finding) []*model.Cause {
	group := func() []*model.Cause { return q.Causes(waiting, q.seen.namespaceName) }
	if len(waiting) == len(q.Waiting) && q.seen.everything() {
		return model.Once(q.Model, "causes", group)
	}
	return q.seen.causes(group())
}

// selectWaiting returns the jobs that wait, or only the jobs of a queue and of a search.
func (q *request) selectWaiting() []explain.Finding {
	queue := q.query.Get("queue")
	search := strings.ToLower(q.query.Get("search"))
	if queue == "" && search == "" {
		return q.Waiting
	}

	// The number of jobs of a queue is no secret from viewers of queues.
	maySum := q.seen.viewer.Queues(q.Context()) && q.Queue(queue) != nil
	below := map[string]bool{queue: true}
	for _, each := range model.Subtree(q.Model.Queues, queue) {
		below[each.Queue] = true
	}

	var selected []explain.Finding
	for i := range q.Waiting {
		f := &q.Waiting[i]
		mine := q.seen.namespace(f.Namespace)
		text := strings.ToLower(f.Namespace + "/" + f.Owner + " " + f.Queue)
		found := search == "" || mine && strings.Contains(text, search)
		if found && (queue == "" || below[f.Queue] && (mine || maySum)) {
			selected = append(selected, *f)
		}
	}
	return selected
}

// jobPage is the content of the view of a job.
type jobPage struct {
	*explain.Finding
	Levels  []levelRow // from the queue of the job up to the root
	Of      int        // jobs that wait in its queue
	Holders []holders  // of the resources that it lacks
	Try     []page.Try // changes to simulate
	// Unsought: the cluster has too many jobs to look for reclaimers.
	Unsought bool
	Policies []queues.Policy // that hold in its queue
}

// Heading is the name of the job.
func (p *jobPage) Heading() string { return p.Namespace + "/" + p.Owner }

// holders are the jobs that have a resource of a queue.
type holders struct {
	explain.Holders
	Jobs []holder
}

// holder is a job that has a resource that another job lacks.
type holder struct {
	explain.Holder
	PodGroup string
	Safety   string // who could take it back, "" if it was not looked for
}

// levelRow is a queue of the path of a job with the bars of the resources that the job lacks.
type levelRow struct {
	Queue string
	Lacks bool // the queue that refuses
	Bars  []page.Bar
}

// jobView explains a job.
func jobView(q *request) (any, any, error) {
	f, err := q.job()
	if err != nil {
		return nil, nil, err
	}

	f = q.withRemedy(f)
	p := &jobPage{Finding: f, Holders: q.holders(f), Unsought: !q.Model.Ahead}
	if q.seen.viewer.Queues(q.Context()) {
		p.Levels = q.levels(f)
		if queue := q.Queue(f.Queue); queue != nil {
			p.Policies = queue.Policies
		}
		p.Try = q.tries(f)
	}

	for i := range q.Jobs {
		if q.Jobs[i].Queue == f.Queue && q.Jobs[i].Place > 0 {
			p.Of++
		}
	}

	return p, list{Head: document.Of("ExplanationList"), Items: []explain.Finding{*f}}, nil
}

// withRemedy returns the finding on a job with the smallest change that helps, as the command has it. The change names
// queues. Where it takes too long, or others are tried already, the page has none.
func (q *request) withRemedy(f *explain.Finding) *explain.Finding {
	isSought := f.State == explain.Waiting && len(f.Evicts) == 0 && q.Model.Ahead
	if !isSought || !q.seen.viewer.Queues(q.Context()) {
		return f
	}

	found := make(chan explain.Finding, 1)
	_, err := q.server.trials.run(q.Context(), func(ctx context.Context) (*whatif.Trial, error) {
		world, err := engine.Build(q.Objects.Clone())
		if err != nil {
			return nil, err
		}
		isWanted := func(other *explain.Finding) bool { return other.Namespace == f.Namespace && other.Name == f.Name }
		findings, err := whatif.Explain(ctx, world, q.Configuration, explain.Options{Wanted: isWanted})
		if err == nil && len(findings) == 1 {
			found <- findings[0]
		}
		return nil, err
	})
	if err != nil || len(found) == 0 {
		return f
	}

	visible := q.seen.job(<-found)
	return &visible
}

// job returns the job that the path names.
func (q *request) job() (*explain.Finding, error) {
	namespace := q.PathValue("namespace")
	name := q.PathValue("name")

	f := q.Model.Job(namespace, name)
	if f == nil || !q.seen.namespace(namespace) {
		const text = "%w: there is no job %s in namespace %s, or you may not see it"
		return nil, fmt.Errorf(text, errNotFound, name, namespace)
	}

	visible := q.seen.job(*f)
	return &visible, nil
}

// holders returns the jobs that have the resources that a job lacks, and who could take these back.
func (q *request) holders(f *explain.Finding) (all []holders) {
	for _, h := range f.Holders {
		row := holders{Holders: h}
		for _, job := range h.Jobs {
			held := holder{Holder: job}
			i := slices.IndexFunc(q.Jobs, func(f explain.Finding) bool {
				return f.Namespace == job.Namespace && f.Owner == job.Owner && f.Pods.Placed > 0
			})
			if i >= 0 {
				held.PodGroup = q.Jobs[i].Name
				held.Safety = q.Jobs[i].Safety
			}
			row.Jobs = append(row.Jobs, held)
		}
		all = append(all, row)
	}
	return all
}

// levels returns the queues from the queue of a job up to the root. They have bars of the resources that the job
// lacks, or else of its cards.
func (q *request) levels(f *explain.Finding) (rows []levelRow) {
	resources := slices.Clone([]string(f.Cards))
	if shortages := page.Shortages(f); len(shortages) > 0 {
		resources = nil
		for _, s := range shortages {
			if !slices.Contains(resources, s.Resource) {
				resources = append(resources, s.Resource)
			}
		}
	}

	for _, name := range q.Model.Path(f.Queue) {
		row := levelRow{Queue: name, Lacks: name == f.Level}
		for _, resource := range resources {
			row.Bars = append(row.Bars, q.barsOf(q.Queue(name), resource, true, nil)...)
		}
		rows = append(rows, row)
	}
	return rows
}

// tries returns changes that may let a job in. They are settings of queues, if the nodes have enough cards for a
// higher bound, and the removal of jobs that have the resources that it lacks.
func (q *request) tries(f *explain.Finding) (all []page.Try) {
	if f.Reason == nil {
		return nil
	}

	for _, s := range page.Shortages(f) {
		setting, ok := whatif.Raise(q.Objects, s)
		if ok && q.freeOf(s.Resource) >= s.Total-s.Bound {
			all = append(all, page.Try{Setting: setting})
		}
	}

	for _, h := range f.Holders {
		for _, job := range h.Jobs {
			_, name, _ := strings.Cut(job.Owner, "/")
			try := page.Try{Remove: "job/" + job.Namespace + "/" + name}
			if (job.Namespace != f.Namespace || job.Owner != f.Owner) && !slices.Contains(all, try) {
				all = append(all, try)
			}
		}
	}
	return all
}

// freeOf returns the number of free cards on the nodes. Other resources are not bounded here.
func (q *request) freeOf(resource string) float64 {
	for _, c := range q.Stock.Cards {
		if c.Card == resource {
			return c.Free
		}
	}
	return math.Inf(1)
}

func jobCommand(q *request) []string {
	name := q.PathValue("name")
	if q.Model != nil {
		if f, err := q.job(); err == nil {
			name = f.Owner
			if _, short, found := strings.Cut(f.Owner, "/"); found {
				name = short
			}
		}
	}
	return []string{"explain", "job", name, "-n", q.PathValue("namespace")}
}
