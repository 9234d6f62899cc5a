package reserve

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// Admit answers whether the missing cards of the minimum of a job can be reserved: the cards of the job
// and of all reservations can be assigned within all quotas. q is the queue of the job, and at is the
// account in which it counts in ix: q, or the account of a holder.
func (r *Reservations) Admit(ix *index.Index, s *cards.Snapshot, q, at index.Queue, job *Job) cards.Outcome {
	for _, g := range job.groups {
		if v := s.Allowed(q, g.request()); g.min > 0 && !v.OK() {
			return cards.Outcome{Verdict: v, Request: g.request()}
		}
	}

	r.Prune(ix)
	r.asked = job.appendMissing(r.asked[:0], s, at)
	switch r.ask(ix, at) {
	case assign.Yes:
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: at}}
	case assign.Unknown:
		return undecided(at, job)
	default:
		return refused(ix, at, job)
	}
}

// Possible reports whether the missing cards of the minimum of a job of q can be assigned within all quotas if nothing
// is allocated or reserved. Other pods of the job may be its minimum. If the search does not decide, Possible returns
// true.
func (r *Reservations) Possible(ix *index.Index, s *cards.Snapshot, q index.Queue, job *Job) bool {
	bounds := ix.AdmissionBounds(q)
	least := func(d fastres.Dim) float64 {
		bound := fastres.MaxQuantity
		for _, p := range ix.Path(q) {
			bound = min(bound, bounds.At(p, d))
		}
		return bound
	}

	// All demands are of one queue, so the least bound on its path is the bound of each card.
	fits := func() bool {
		r.asked = job.appendMissing(r.asked[:0], s, 0)
		r.empty.open(ix.Dims(), r.asked, least)
		return r.empty.serves(r.asked) != assign.No
	}

	ok := fits()
	if !ok && job.SeveralKinds() {
		_, ok = job.ChooseMinimum(s, fits)
	}
	return ok
}

// ask answers whether the asked demands of q can be served together with all reservations.
func (r *Reservations) ask(ix *index.Index, q index.Queue) assign.Answer {
	r.addGiven(ix)
	if r.loads.Fit(ix, q, r.asked) {
		return assign.Yes
	}

	r.text = r.appendQuestion(r.text[:0], ix, q)
	if answer, known := r.refused[string(r.text)]; known {
		return answer
	}

	answer := r.assigner.Feasible(ix, r.given, r.asked, &r.budgets[q])
	if answer != assign.Yes {
		r.refused[string(r.text)] = answer
	}
	return answer
}

// addGiven adds the reservations that are new to given.
func (r *Reservations) addGiven(ix *index.Index) {
	for _, p := range r.pending[r.added:] {
		r.loads.Add(ix, p.demand)

		r.text = appendDemandText(binary.AppendUvarint(r.text[:0], uint64(p.demand.Queue)), p.demand)
		if at, known := r.givenAt[string(r.text)]; known {
			r.given[at].Count += p.demand.Count
			continue
		}
		r.givenAt[string(r.text)] = len(r.given)
		r.given = append(r.given, p.demand)
	}
	r.added = len(r.pending)
}

// appendQuestion appends a text that is equal for equal questions of ask.
func (r *Reservations) appendQuestion(to []byte, ix *index.Index, q index.Queue) []byte {
	to = binary.AppendUvarint(to, uint64(q))
	for _, d := range r.asked {
		to = appendDemandText(binary.AppendUvarint(to, uint64(d.Count)), d)

		// The bounds are raised for each job differently.
		if ix.Raised != nil {
			to = r.appendBoundsText(to, ix, q, d.Cards)
		}
	}
	return to
}

// appendDemandText appends a text that is equal for demands of equal pods, regardless of their number
// and queue.
func appendDemandText(to []byte, d assign.Demand) []byte {
	to = binary.AppendUvarint(to, math.Float64bits(d.Size))
	to = binary.AppendUvarint(to, uint64(len(d.Cards)))
	for _, card := range d.Cards {
		to = binary.AppendUvarint(to, uint64(card))
	}
	return to
}

// appendBoundsText appends the bounds of some cards, and of their groups, on the path of q.
func (r *Reservations) appendBoundsText(to []byte, ix *index.Index, q index.Queue, cards []fastres.Dim) []byte {
	bounds := ix.AdmissionBounds(q)

	for _, p := range ix.Path(q) {
		for _, d := range cards {
			to = binary.AppendUvarint(to, math.Float64bits(bounds.At(p, d)))
			for _, share := range r.assigner.Names.Groups(d) {
				to = binary.AppendUvarint(to, math.Float64bits(bounds.At(p, share.Group)))
			}
		}
	}
	return to
}

// undecided names a request of a job for which the search used up its budget. It is a missing one with
// the longest list.
func undecided(q index.Queue, job *Job) cards.Outcome {
	longest := slices.MaxFunc(job.groups, func(x, y group) int {
		return cmp.Or(
			cmp.Compare(min(1, x.missing()), min(1, y.missing())),
			cmp.Compare(len(x.cards()), len(y.cards())),
		)
	})
	return cards.Outcome{Verdict: quota.Verdict{Reason: quota.SearchExhausted, Queue: q}, Request: longest.request()}
}

// refused finds the request of a refused job that is too much. It is the first selector without room for
// any of its cards. If there is none, it is the first selector, which shares its cards with reservations
// of others.
func refused(ix *index.Index, q index.Queue, job *Job) cards.Outcome {
	o := cards.Outcome{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}}
	for _, g := range job.groups {
		if g.missing() == 0 {
			continue
		}

		v := quota.AnyCard(q, g.cards(), func(d fastres.Dim) quota.Verdict {
			return quota.EnqueueableCard(ix, q, d, float64(g.missing()))
		})
		if !v.OK() {
			severalPods := len(g.cards()) > 1 && g.missing() > job.podSize
			return cards.Outcome{Verdict: v, Request: g.request(), Shared: severalPods}
		}

		if o.Request.Selector == nil {
			o.Request = g.request()
			o.Shared = true
		}
	}
	return o
}

// Numbers returns the numbers of a refused request for several cards at once, each as a sum over its
// cards. Total includes the reservations that no other card can serve.
func (r *Reservations) Numbers(ix *index.Index, q index.Queue, request cards.Request) (n quota.Numbers) {
	for _, d := range request.Selector.Dims {
		numbers := quota.EnqueueableNumbers(ix, q, d, 0)
		n.Total += numbers.Total
		n.Bound += numbers.Bound
	}
	n.Total += float64(request.Amount) + r.within(ix, q, request.Selector.Dims)
	return n
}

// within returns the milli-cards that are reserved in q or below, for demands that only some cards can
// satisfy.
func (r *Reservations) within(ix *index.Index, q index.Queue, cards []fastres.Dim) float64 {
	sum := 0.0
	for _, p := range r.pending {
		if slices.Contains(ix.Path(p.demand.Queue), q) && subset(p.demand.Cards, cards) {
			sum += p.demand.Size * float64(p.demand.Count)
		}
	}
	return sum
}

func subset(cards, all []fastres.Dim) bool {
	return !slices.ContainsFunc(cards, func(d fastres.Dim) bool { return !slices.Contains(all, d) })
}
