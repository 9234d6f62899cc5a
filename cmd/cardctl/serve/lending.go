package serve

import (
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/page"
)

// lendingPage is the content of the view Lending.
type lendingPage struct {
	Loans   []model.Loan
	Pages   page.Pages        // of the loans
	Next    []engine.Eviction // of the next cycle
	Evicted []model.Evicted
	Files   bool // files have no past
	// TooLarge is true if Next was not looked for.
	TooLarge bool
}

// lendingView shows who has more than it deserves, and what reclaim takes back.
func lendingView(q *request) (any, any, error) {
	pages := page.PagesOf(len(q.Loans), rowsPerPage, number(q.query.Get("page")))
	p := &lendingPage{
		Loans: q.Loans[pages.From:pages.To], Pages: pages, Next: q.seen.evictions(q.Evictions),
		Evicted: q.seen.evicted(q.Past), Files: q.server.options.Source.Changed() == nil, TooLarge: q.Evictions == nil,
	}
	return p, struct {
		Kind    string            `json:"kind"`
		Items   []model.Loan      `json:"items"`
		Next    []engine.Eviction `json:"nextEvictions"`
		Evicted []model.Evicted   `json:"evicted"`
	}{"LoanList", q.Loans, p.Next, p.Evicted}, nil
}
