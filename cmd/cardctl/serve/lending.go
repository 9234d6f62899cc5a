package serve

import (
	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
	"github.com/capacity-card/capacity-card/plugin"
)

// lendingPage is the content of the view Lending.
type lendingPage struct {
	Loans   []model.Loan
	Next    []engine.Eviction // of the next cycle
	Evicted []model.Evicted
	Files   bool // files have no past
}

// lendingView shows who has more than it deserves, and what reclaim takes back.
func lendingView(q *request) (any, any, error) {
	p := &lendingPage{
		Loans: model.Loans(q.Model.Queues, q.Configuration.Plugin == plugin.Name), Next: q.seen.evictions(q.Evictions),
		Evicted: q.seen.evicted(q.Past), Files: q.server.options.Source.Changed() == nil,
	}
	return p, struct {
		Kind    string            `json:"kind"`
		Items   []model.Loan      `json:"items"`
		Next    []engine.Eviction `json:"nextEvictions"`
		Evicted []model.Evicted   `json:"evicted"`
	}{"LoanList", p.Loans, p.Next, p.Evicted}, nil
}
