package serve

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
)

// jobRow is a job of a list, with facts that its explanation lacks.
type jobRow struct {
	explain.Finding
	Priority int32             `json:"priority"`
	Created  *metav1.Time      `json:"created,omitempty"`
	Requests []stock.Amount    `json:"requests,omitempty"` // of the pods that wait
	Has      []stock.Amount    `json:"has,omitempty"`      // on all nodes
	On       []stock.JobOnNode `json:"on,omitempty"`
	// Unnamed: the viewer may not see the names of the nodes.
	Unnamed bool `json:"-"`
}

// mostNodes bounds the nodes that a row lists.
const mostNodes = 4

// Shown returns the nodes that a row lists.
func (r jobRow) Shown() []stock.JobOnNode { return r.On[:min(len(r.On), mostNodes)] }

// More counts the nodes that it does not list.
func (r jobRow) More() int { return max(0, len(r.On)-mostNodes) }

// row returns a job that the viewer may see, without the names of hidden jobs in it.
func (q *request) row(f *explain.Finding) jobRow {
	r := jobRow{Finding: q.seen.job(*f)}
	if d := q.Detail(f); d != nil {
		r.Priority = d.Priority
		r.Created = d.Created
		r.Requests = d.Requests
		r.Has = d.Has()
		r.On = slices.Clone(d.Nodes)
	}

	for i := range r.On {
		name := r.On[i].Node
		r.On[i].Node = q.seen.node(name)
		r.Unnamed = r.Unnamed || r.On[i].Node != name
	}
	return r
}

// visible returns the jobs that the viewer may see. It counts the hidden jobs, and the pods that the function pods
// selects of them.
func (q *request) visible(all []*explain.Finding, pods func(explain.Pods) int) (
	visible []*explain.Finding, hidden *Hidden,
) {
	for _, f := range all {
		if q.seen.namespace(f.Namespace) {
			visible = append(visible, f)
			continue
		}
		hidden = hidden.with(pods(f.Pods))
	}
	return visible, hidden
}

// rows returns the rows of visible jobs.
func (q *request) rows(visible []*explain.Finding) []jobRow {
	rows := []jobRow{}
	for _, f := range visible {
		rows = append(rows, q.row(f))
	}
	return rows
}

func placedPods(p explain.Pods) int  { return p.Placed }
func waitingPods(p explain.Pods) int { return p.Waiting }

// byCards orders jobs by the cards that they have, most first.
func (q *request) byCards(all []*explain.Finding) {
	has := map[*explain.Finding]float64{}
	for _, f := range all {
		for _, a := range q.Detail(f).Has() {
			has[f] += a.Cards
		}
	}
	slices.SortStableFunc(all, func(a, b *explain.Finding) int { return cmp.Compare(has[b], has[a]) })
}
