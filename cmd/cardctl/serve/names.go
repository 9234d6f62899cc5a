package serve

import (
	"net/http"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// mostNames bounds the names that a field suggests.
const mostNames = 20

// names suggests names for a field of a form: queues, or objects to remove, as far as the viewer may see them.
func (s *Server) names(w http.ResponseWriter, r *http.Request) {
	q := s.request(r)
	all := []string{}
	if q.Model != nil && q.seen.viewer.Queues(r.Context()) {
		if q.query.Has("object") {
			all = matching(q.objectNames(), q.query.Get("object"))
		} else {
			all = matching(q.queueNames(), q.query.Get("queue")+q.query.Get("in"))
		}
	}

	if err := page.WriteNames(w, all); err != nil {
		s.options.Log("error: names: %v", err)
	}
}

func (q *request) queueNames() (all []string) {
	for i := range q.Model.Queues {
		all = append(all, q.Model.Queues[i].Queue)
	}
	return all
}

// objectNames returns the objects that a simulation can remove.
func (q *request) objectNames() (all []string) {
	for i := range q.Jobs {
		if f := &q.Jobs[i]; q.seen.namespace(f.Namespace) {
			_, name, _ := strings.Cut(f.Owner, "/")
			all = append(all, "job/"+f.Namespace+"/"+name)
		}
	}

	if q.seen.viewer.Nodes(q.Context()) {
		for _, n := range q.Objects.Nodes {
			all = append(all, "node/"+n.Name)
		}
	}

	for _, name := range q.queueNames() {
		all = append(all, "queue/"+name)
	}
	return all
}

// matching returns the first names that contain a text. Names that begin with it come first.
func matching(all []string, text string) []string {
	text = strings.ToLower(text)
	has := slices.DeleteFunc(all, func(name string) bool { return !strings.Contains(strings.ToLower(name), text) })

	slices.SortStableFunc(has, func(a, b string) int {
		return bit(!strings.HasPrefix(strings.ToLower(a), text)) - bit(!strings.HasPrefix(strings.ToLower(b), text))
	})
	return has[:min(len(has), mostNames)]
}
