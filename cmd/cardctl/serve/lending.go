package serve

import (
	"slices"

	"github.com/capacity-card/capacity-card/cmd/cardctl/document"
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// lendingPage is the content of the view Lending.
type lendingPage struct {
	Loans   []model.Loan
	Pages   page.Pages        // of the loans
	Next    []engine.Eviction // of the next cycle
	Evicted []model.Evicted
	Marked  bool   // some of Evicted are known from events
	Lacks   string // why evictions from before the start are missing
	Files   bool   // files have no past
	// Unsought is set if Next was not looked for.
	Unsought *unsought
}

// unsought is the size of a cluster that is too large for a cycle.
type unsought struct {
	Pods  int `json:"pods"`  // that wait
	Nodes int `json:"nodes"` // in all
	Most  int `json:"most"`  // of the product of both
}

// lendingView shows the queues with more than they deserve, and the evictions that reclaim makes.
func lendingView(q *request) (any, any, error) {
	loans, pages := rowsOfPage(q, q.Loans)
	p := &lendingPage{
		Loans:   loans,
		Pages:   pages,
		Next:    q.seen.evictions(q.Evictions),
		Evicted: q.seen.evicted(q.Past),
		Lacks:   q.EvictedLacks,
		Files:   q.server.options.Source.Changed() == nil,
	}
	p.Marked = slices.ContainsFunc(p.Evicted, func(e model.Evicted) bool { return e.FromEvent })
	if q.Evictions == nil {
		p.Unsought = &unsought{q.Pending, len(q.Objects.Nodes), explain.MostTried}
	}

	return p, struct {
		document.Head
		Items    []model.Loan      `json:"items"`
		Next     []engine.Eviction `json:"nextEvictions"` // null: they were not looked for
		Unsought *unsought         `json:"nextEvictionsUnsought,omitempty"`
		Evicted  []model.Evicted   `json:"evicted"`
		Lacks    string            `json:"evictedLacks,omitempty"`
	}{document.Of("LoanList"), q.Loans, p.Next, p.Unsought, p.Evicted, p.Lacks}, nil
}
