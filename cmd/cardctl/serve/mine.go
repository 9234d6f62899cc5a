package serve

import (
	"net/http"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// minePage is the content of the first page of viewers who may not see queues: the jobs of their namespaces.
type minePage struct {
	Jobs    []jobRow
	Pages   page.Pages
	Waiting int // of the jobs
	Running int
}

// mineView lists the jobs that the viewer may see and that have not ended. The jobs that wait come first.
func mineView(q *request) (any, any, error) {
	var waiting, running []*explain.Finding
	for i := range q.Jobs {
		f := &q.Jobs[i]
		switch {
		case !q.seen.namespace(f.Namespace):
		case f.Waits():
			waiting = append(waiting, f)
		case f.State == explain.Running:
			running = append(running, f)
		}
	}

	all := append(waiting, running...)
	if q.full {
		return nil, list{Head: document.Of("ExplanationList"), Items: q.rows(all), Unread: q.Objects.Unread}, nil
	}

	shown, pages := rowsOfPage(q, all)
	return &minePage{Jobs: q.rows(shown), Pages: pages, Waiting: len(waiting), Running: len(running)}, nil, nil
}

// mineCommand names the namespace if the viewer sees the jobs of one only.
func mineCommand(q *request) []string {
	words := []string{"explain"}
	if q.Model == nil {
		return words
	}

	seen := sets.New[string]()
	for i := range q.Jobs {
		if q.seen.namespace(q.Jobs[i].Namespace) {
			seen.Insert(q.Jobs[i].Namespace)
		}
	}
	if name, only := seen.PopAny(); only && seen.Len() == 0 {
		words = append(words, "-n", name)
	}
	return words
}

// first answers a request for / with the overview, or with the jobs of the viewer.
func (s *Server) first(overview, mine view) http.HandlerFunc {
	all := s.show(overview, s.html)
	own := s.show(mine, s.html)
	return func(w http.ResponseWriter, r *http.Request) {
		if ViewerOf(r.Context()).Queues(r.Context()) {
			all(w, r)
		} else {
			own(w, r)
		}
	}
}
