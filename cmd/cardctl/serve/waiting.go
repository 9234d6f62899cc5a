package serve

import (
	"fmt"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// jobsPerCause bounds the jobs that a cause lists until it is opened.
const jobsPerCause = 10

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
	Shown []explain.Finding
	More  int // jobs that are not shown
}

// waitingView groups the jobs that wait by cause. Its JSON has the jobs one by one.
func waitingView(q *request) (any, any, error) {
	waiting := q.selectWaiting()
	if strings.HasSuffix(q.URL.Path, ".json") {
		visible, hidden := q.seen.jobs(waiting)
		for i := range visible {
			visible[i].Claims, visible[i].Safety = nil, "" // the explanation of one job has them
		}
		return nil, document{Kind: "ExplanationList", Items: visible, Hidden: hidden}, nil
	}
	p := &waitingPage{Jobs: len(waiting)}
	causes := q.seen.causes(model.Causes(waiting))
	p.Pages = page.PagesOf(len(causes), rowsPerPage/2, number(q.query.Get("page")))
	for i, c := range causes {
		p.Pods += c.Pods
		if i < p.Pages.From || i >= p.Pages.To {
			continue
		}
		row := causeRow{Cause: c, Key: strings.Join([]string{string(c.Rule), c.Level, c.Resource}, "|")}
		mine := *c
		row.Cause = &mine
		limit := jobsPerCause
		if slices.Contains(q.query["open"], row.Key) {
			limit = 5 * rowsPerPage
		}
		for _, f := range c.Jobs {
			switch {
			case !q.seen.namespace(f.Namespace):
				mine.Hidden++
			case len(row.Shown) < limit:
				row.Shown = append(row.Shown, q.seen.job(*f))
			default:
				row.More++
			}
		}
		p.Causes = append(p.Causes, row)
	}
	return p, nil, nil
}

// selectWaiting returns the jobs that wait, or those of a queue and of a search.
func (q *request) selectWaiting() []explain.Finding {
	queue, search := q.query.Get("queue"), strings.ToLower(q.query.Get("search"))
	if queue == "" && search == "" {
		return q.Waiting
	}
	below := map[string]bool{queue: true}
	for _, each := range model.Subtree(q.Model.Queues, queue) {
		below[each.Queue] = true
	}
	var selected []explain.Finding
	for i := range q.Waiting {
		f := &q.Waiting[i]
		found := search == "" || q.seen.namespace(f.Namespace) && strings.Contains(strings.ToLower(f.Namespace+"/"+f.Owner+" "+f.Queue), search)
		if found && (queue == "" || below[f.Queue]) {
			selected = append(selected, *f)
		}
	}
	return selected
}

// jobPage is the content of the view of a job.
type jobPage struct {
	*explain.Finding
	Levels []levelRow // from the queue of the job up to the root
	Of     int        // jobs that wait in its queue
	Claims bool       // whether claims were looked for
	Try    []page.Try // changes to simulate
}

// levelRow is a queue of the path of a job with the bars of what the job lacks.
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
	p := &jobPage{Finding: f, Claims: q.Model.Claims}
	if q.seen.viewer.Queues(q.Context()) {
		p.Levels = q.levels(f)
		p.Try = tries(f)
	}
	for i := range q.Jobs {
		if q.Jobs[i].Queue == f.Queue && q.Jobs[i].Place > 0 {
			p.Of++
		}
	}
	return p, document{Kind: "ExplanationList", Items: []explain.Finding{*f}}, nil
}

// job is the job that the path names.
func (q *request) job() (*explain.Finding, error) {
	namespace, name := q.PathValue("namespace"), q.PathValue("name")
	f := q.Model.Job(namespace, name)
	if f == nil || !q.seen.namespace(namespace) {
		return nil, fmt.Errorf("%w: there is no job %s in namespace %s, or you may not see it", errNotFound, name, namespace)
	}
	visible := q.seen.job(*f)
	return &visible, nil
}

// levels are the queues from that of a job up to the root.
func (q *request) levels(f *explain.Finding) (rows []levelRow) {
	scales := model.Scales(q.Model.Queues)
	resource := ""
	if f.Reason != nil && len(f.Reason.Shortages) > 0 {
		resource = f.Reason.Shortages[0].Resource
	}
	for level := q.Queue(f.Queue); level != nil && len(rows) <= len(q.Model.Queues); level = q.Queue(level.Parent) {
		rows = append(rows, levelRow{Queue: level.Queue, Lacks: level.Queue == f.Level, Bars: barsOf(level, resource, true, scales)})
	}
	return rows
}

// tries are changes that may let a job in, as settings of a simulation.
func tries(f *explain.Finding) (all []page.Try) {
	if f.Reason == nil {
		return nil
	}
	for _, s := range f.Reason.Shortages {
		field := "cards."
		switch {
		case s.Resource == "cpu" || s.Resource == "memory":
			field = s.Against + "."
		case s.Against == "deserved":
			field = "deservedCards."
		}
		value := fmt.Sprintf("%.0f", s.Total)
		if s.Resource == "cpu" {
			value = explain.Amount("cpu", s.Total)
		}
		all = append(all, page.Try{Setting: "queue/" + s.Queue + ":" + field + s.Resource + "=" + value})
	}
	return all
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
