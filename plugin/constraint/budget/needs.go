package budget

import (
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// readNeeded adds the card-hours that jobs with an announced length still need.
func (r *Budgets) readNeeded() {
	s := r.session
	for _, job := range s.Intake.Announced {
		q := s.Index.Lookup(string(job.Queue))
		group := groupLength(job)

		for _, task := range job.Tasks {
			if !api.AllocatedStatus(task.Status) {
				continue
			}

			length := lengthOf(task.Pod, group)
			if length <= 0 {
				continue
			}

			for dim, d := range r.dims {
				r.need(q, dim, held(s, q, task, d), rest(length, task.Pod, r.now), 1)
			}
		}

		allocated, _ := intake.CountTasks(job)
		complete := allocated > 0 && allocated == len(job.Tasks)
		if !intake.InProgress(job) || complete {
			continue
		}

		if length := jobLength(job); length > 0 {
			r.job.Read(s.Cards, job, s.Cards.Read)
			r.needMinimum(q, &r.job, length, 1)
		}
	}
}

// need adds the card-hours of a quantity over some time, with a sign, to the budgets of a queue and its ancestors.
func (r *Budgets) need(q index.Queue, dim int, milli float64, length time.Duration, sign float64) {
	if milli <= 0 {
		return
	}

	for _, p := range r.session.Index.Path(q) {
		if i := r.own[r.at(p, dim)]; i >= 0 {
			b := &r.bounds[i]
			b.Needed += sign * budget.Need(b.Window, r.now, milli, length)
		}
	}
}

// needMinimum does the same for the part of its minimum that a job lacks. Of a list, each card counts.
func (r *Budgets) needMinimum(q index.Queue, job *reserve.Job, length time.Duration, sign float64) {
	for part := range job.Selectors() {
		request := job.Missing(part)
		for dim, d := range r.dims {
			most := 0.0
			for _, listed := range request.Selector.Dims {
				most = max(most, r.takenOf(request, listed, d))
			}

			r.need(q, dim, most, length, sign)
		}
	}
}

// takenOf returns how much of a card or a group d a request takes if it gets the card listed: 0 of another card.
func (r *Budgets) takenOf(request cards.Request, listed, d fastres.Dim) float64 {
	return partOf(r.session, listed, d, float64(request.Of(listed)))
}

// hold adds the card-hours that an admitted job needs.
func (r *Budgets) hold(a constraint.JobAsk) { r.holdNeed(a, 1) }

// withdraw takes it back. restore adds what was taken: by then, the memory of a.Cards has the cards of another job.
func (r *Budgets) withdraw(a constraint.JobAsk) (restore func()) {
	taken := map[int32]float64{}
	for _, p := range r.session.Index.Path(a.Queue) {
		for dim := range r.dims {
			if i := r.own[r.at(p, dim)]; i >= 0 {
				taken[i] = r.bounds[i].Needed
			}
		}
	}

	r.holdNeed(a, -1)
	for i := range taken {
		taken[i] -= r.bounds[i].Needed
	}

	return func() {
		for i, need := range taken {
			r.bounds[i].Needed += need
		}
	}
}

func (r *Budgets) holdNeed(a constraint.JobAsk, sign float64) {
	if length := jobLength(a.Job); a.Cards != nil && length > 0 {
		r.needMinimum(a.Queue, a.Cards, length, sign)
	}
}
