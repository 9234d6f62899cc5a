package report

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Refusal is the verdict of a rule and what it is about. One with the verdict
// Admitted refuses nothing.
type Refusal struct {
	Verdict quota.Verdict
	// Request is that of the task, or the minimum of the job without its cards. It is
	// memory of the hook that made the refusal, and valid until that hook runs again.
	Request fastres.Vector
	// Namespace is that of the job or the task.
	Namespace string
	// Admission: Request is the minimum of a job, and reservations for others count.
	Admission bool
	// Allocation: Request is that of a task of Queue that asks for a node.
	Allocation bool
	Queue      index.Queue
	// Cards is the refused request for cards, zero where Request is refused.
	Cards  cards.Request
	Shared bool // see cards.Outcome
}

// OK reports whether nothing is refused.
func (r Refusal) OK() bool { return r.Verdict.OK() }

// With returns the refusal with the outcome of a rule about cards.
func (r Refusal) With(o cards.Outcome) Refusal {
	r.Verdict, r.Cards, r.Shared = o.Verdict, o.Request, o.Shared
	return r
}

// aboutCards reports whether a request for cards is refused.
func (r Refusal) aboutCards() bool { return r.Cards.Selector != nil }
