package budget

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// fitCard refuses a card if a budget of the card is used up, in the queue or above it.
func (r *Budgets) fitCard(_ *quota.Books, a constraint.Ask, d fastres.Dim, _ float64) quota.Verdict {
	if i := r.refusing(a.Queue, d); i >= 0 {
		return quota.Verdict{Reason: quota.OverBudget, Queue: r.bounds[i].Queue}
	}
	return constraint.Admitted(a.Queue)
}

// refusing returns the budget by which a pod of a queue gets no card, -1 for none.
func (r *Budgets) refusing(q index.Queue, d fastres.Dim) int32 {
	dim := slices.Index(r.dims, d)
	if dim < 0 || q == index.None {
		return -1
	}

	if i := r.spent[r.at(q, dim)]; i >= 0 || !r.loads {
		return i
	}

	// While the store is read, each budget refuses.
	for _, p := range r.session.Index.Path(q) {
		if i := r.own[r.at(p, dim)]; i >= 0 {
			return i
		}
	}
	return -1
}

// admitCards admits a job if the budget has room for its minimum, for its length. One card of a list has to fit.
func (r *Budgets) admitCards(a constraint.JobAsk) cards.Outcome {
	r.length = jobLength(a.Job)
	clear(r.taken)

	for part := range a.Cards.Selectors() {
		request := a.Cards.Missing(part)
		refusing := int32(-1)
		for _, d := range request.Selector.Dims {
			refusing = r.exceeded(a.Queue, request, d)
			if refusing < 0 {
				r.take(a.Queue, request, d)
				break
			}
		}

		if refusing >= 0 {
			v := quota.Verdict{Reason: quota.OverBudget, Queue: r.bounds[refusing].Queue}
			return cards.Outcome{Verdict: v, Request: request}
		}
	}
	return cards.Outcome{Verdict: constraint.Admitted(a.Queue)}
}

// exceeded returns the first budget without room for a request for a card, -1 for none.
func (r *Budgets) exceeded(q index.Queue, request cards.Request, card fastres.Dim) int32 {
	for dim, d := range r.dims {
		milli := r.takenOf(request, card, d)
		if milli <= 0 {
			continue
		}

		for _, p := range r.session.Index.Path(q) {
			if i := r.own[r.at(p, dim)]; i >= 0 && r.refusesJob(i, milli) {
				return i
			}
		}
	}
	return -1
}

// refusesJob reports whether a budget has no room for a quantity for the length of the job. A job without a length
// needs a budget that has something left.
func (r *Budgets) refusesJob(i int32, milli float64) bool {
	b := &r.bounds[i]
	left := b.left() - r.taken[i]
	return r.loads || left <= 0 || budget.Need(b.Window, r.now, milli, r.length) > left
}

// take adds a request that fits to the use of the job, which its further requests count.
func (r *Budgets) take(q index.Queue, request cards.Request, card fastres.Dim) {
	for dim, d := range r.dims {
		milli := r.takenOf(request, card, d)
		for _, p := range r.session.Index.Path(q) {
			if i := r.own[r.at(p, dim)]; i >= 0 {
				r.taken[i] += budget.Need(r.bounds[i].Window, r.now, milli, r.length)
			}
		}
	}
}

// measure returns the numbers of the first budget that refuses a quantity of a card.
func (r *Budgets) measure(refusal *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	dim := slices.Index(r.dims, d)
	if dim < 0 {
		return constraint.Shortfall{}
	}

	for _, p := range refusal.Path() {
		i := r.own[r.at(p, dim)]
		if i < 0 {
			continue
		}

		b := &r.bounds[i]
		short := constraint.Shortfall{
			Verdict: quota.Verdict{Reason: quota.OverBudget, Queue: p},
			Numbers: quota.Numbers{Total: b.Used, Bound: b.Limit},
			Against: constraint.CardBudget,
			Until:   budget.Next(b.Window, r.now, b.Parts, b.Limit),
		}

		switch {
		case r.loads:
			short.Detail = loading
			return short
		case refusal.Admission && r.refusesJob(i, milli):
			short.Need = budget.Need(b.Window, r.now, milli, r.length)
			short.Total += b.Needed + r.taken[i] + short.Need
			return short
		case !refusal.Admission && b.Used >= b.Limit:
			return short
		}
	}
	return constraint.Shortfall{}
}

// loading is why a budget refuses while the store is read.
const loading = "what was used is being read"
