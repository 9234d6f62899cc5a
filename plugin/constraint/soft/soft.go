// Package soft bounds what queues have beyond their soft quotas while others want it.
package soft

import (
	"math"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule is the rule of soft quotas (quota.Soft).
type Rule struct {
	session *constraint.Session
	soft    quota.Soft
	dims    []fastres.Dim
	waiting [][]*want // by queue: its tasks that wait, and request a card with a soft quota
	of      map[api.TaskID]*want
	stale   []bool // by queue: what it wants is to be computed again
	changed bool   // some queue is stale
}

// want is a task that waited when the session opened.
type want struct {
	amounts []float64 // by column
	placed  bool      // it has a node now, or waits for victims
}

var (
	_ constraint.TaskRule    = (*Rule)(nil)
	_ constraint.LoanRule    = (*Rule)(nil)
	_ constraint.VictimOrder = (*Rule)(nil)
	_ constraint.Preparer    = (*Rule)(nil)
	_ constraint.Watcher     = (*Rule)(nil)
	_ constraint.Measurer    = (*Rule)(nil)
)

// Open returns the rule, nil where no queue has a soft quota of a card that the session has.
func Open(s *constraint.Session) any {
	if !s.Intake.HasPolicies() || s.Cards == nil {
		return nil
	}
	r := &Rule{session: s}
	own := map[index.Queue]map[fastres.Dim]float64{}
	for q := range index.Queue(s.Index.Len()) {
		for _, entry := range s.Intake.Policies(q).SoftQuota() {
			d, known := s.Names.LookupCard(entry.Name)
			if !known || !s.Cards.Counted(q) {
				continue // nothing in the session has the card, or it counts nowhere here
			}
			if own[q] == nil {
				own[q] = map[fastres.Dim]float64{}
			}
			own[q][d] = float64(entry.Cards) * 1000
			if !slices.Contains(r.dims, d) {
				r.dims = append(r.dims, d)
			}
		}
	}
	if len(r.dims) == 0 {
		return nil
	}
	r.soft.Reset(s.Index, s.Intake.Available, r.dims, func(q index.Queue, d fastres.Dim) float64 {
		if most, set := own[q][d]; set {
			return most
		}
		return math.Inf(1)
	})
	r.readWaiting()
	return r
}

// readWaiting reads the pending tasks of admitted jobs.
func (r *Rule) readWaiting() {
	s := r.session
	r.waiting, r.stale, r.of, r.changed = make([][]*want, s.Index.Len()), make([]bool, s.Index.Len()), map[api.TaskID]*want{}, true
	for q := range r.stale {
		r.stale[q] = true
	}
	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q == index.None || job.IsPending() || !s.Eligible(q).OK() || !s.Cards.Counted(q) {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if task.SchGated || task.BestEffort {
				continue
			}
			if w := r.wantOf(q, task); w != nil {
				r.waiting[q] = append(r.waiting[q], w)
				r.of[task.UID] = w
			}
		}
	}
}

// wantOf returns what a task requests of cards with a soft quota, of a list the first card; nil for nothing.
func (r *Rule) wantOf(q index.Queue, task *api.TaskInfo) *want {
	pod := r.session.Cards.PodRequest(q, task.Pod)
	if pod.None() {
		return nil
	}
	w, some := &want{amounts: make([]float64, len(r.dims))}, false
	for request := range r.session.Cards.Requests(pod) {
		if len(request.Selector.Dims) == 0 || !r.session.Cards.Allowed(q, request).OK() {
			continue
		}
		d := request.Selector.Dims[0]
		add := func(d fastres.Dim, milli float64) {
			if c := r.soft.Column(d); c >= 0 && milli > 0 {
				w.amounts[c] += milli
				some = true
			}
		}
		add(d, float64(request.Of(d)))
		for _, share := range r.session.Names.Groups(d) {
			add(share.Group, share.Of(float64(request.Of(d))))
		}
	}
	if !some {
		return nil
	}
	return w
}

// Prepare computes again what queues want.
func (r *Rule) Prepare(index.Queue) {
	if !r.changed {
		return
	}
	r.changed = false
	for q := range index.Queue(r.session.Index.Len()) {
		if !r.stale[q] {
			continue
		}
		r.stale[q] = false
		for c := range r.dims {
			sum, room := 0.0, r.soft.Room(q, c)
			for _, w := range r.waiting[q] {
				if !w.placed && w.amounts[c] <= room {
					sum += w.amounts[c]
				}
			}
			r.soft.Want(q, c, sum)
		}
	}
	r.soft.RollUp()
}

// Charged and Refunded follow who waits.
func (r *Rule) Charged(a constraint.Ask)  { r.note(a, true) }
func (r *Rule) Refunded(a constraint.Ask) { r.note(a, false) }

func (r *Rule) note(a constraint.Ask, placed bool) {
	if w := r.of[a.Task.UID]; w != nil {
		w.placed = placed
	}
	r.stale[a.Queue], r.changed = true, true
}

// Fit applies the rule to the cards of a request.
func (r *Rule) Fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	for i := 0; i < len(r.dims) && v.OK(); i++ {
		if milli := a.Request.Get(r.dims[i]); milli > 0 {
			v = r.FitCard(b, a, r.dims[i], milli)
		}
	}
	return v
}

// FitCard refuses what others want. A pod that others were evicted for gets what they left.
func (r *Rule) FitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	c := r.soft.Column(d)
	if c < 0 || milli <= 0 || a.Queue == index.None || a.Task != nil && r.session.Books.Waits(a.Task) {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.soft.Fits(b.Queues, a.Queue, c, milli)
}

// Lacks reports whether the task takes a queue that both are below above its soft quota, where others want the card.
func (r *Rule) Lacks(b *quota.Books, a constraint.Ask, q index.Queue, _ *api.TaskInfo, d fastres.Dim, milli float64) bool {
	v := r.FitCard(b, a, d, milli)
	return !v.OK() && slices.Contains(quota.Common(r.session.Index, a.Queue, q), v.Queue)
}

// FitOwn refuses what takes the queue itself above its soft quota: nothing is evicted for that in other queues.
func (r *Rule) FitOwn(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	if c := r.soft.Column(d); c >= 0 && milli > 0 && a.Queue != index.None &&
		b.Queues.Allocated(a.Queue).Get(d)+milli > r.soft.Most(a.Queue, c) {
		return quota.Verdict{Reason: quota.OverSoftQuota, Queue: a.Queue}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

// AllowLoan lets a queue within its soft quota take back what another one has above its own.
func (r *Rule) AllowLoan(b quota.View, l constraint.Loan) bool {
	if l.To == index.None {
		return false
	}
	back := false
	for i, d := range r.dims {
		gained, lost := r.quantities(l, d)
		switch {
		case gained == 0 && lost == 0:
		case r.soft.TakesBack(b, l.To, l.From, i, gained, lost):
			back = true
		case gained > 0 && !r.soft.Within(b, l.To, l.From, i, gained):
			return false
		}
	}
	return back
}

// quantities returns what a loan changes in a dimension: its card, or a group of it.
func (r *Rule) quantities(l constraint.Loan, d fastres.Dim) (gained, lost float64) {
	if d == l.Card {
		return l.Gained, l.Lost
	}
	for _, share := range r.session.Names.Groups(l.Card) {
		if share.Group == d {
			return share.Of(l.Gained), share.Of(l.Lost)
		}
	}
	return 0, 0
}

// LosesFirst reports whether q, or a queue above it that the taker is not below, is above its soft quota.
func (r *Rule) LosesFirst(q, to index.Queue) bool { return r.soft.Exceeds(r.session.Index, q, to) }

// Measure returns the numbers of the first queue that is above its soft quota.
func (r *Rule) Measure(of *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	c := r.soft.Column(d)
	if c < 0 || of.Admission || of.Books == nil || of.Verdict.Queue == index.None {
		return constraint.Shortfall{}
	}
	q := of.Path()[0]
	v := r.soft.Fits(of.Books.Queues, q, c, milli)
	if !of.Allocation && v.OK() && of.Verdict.Reason == quota.OverSoftQuota && of.Books.Queues.Allocated(q).Get(d)+milli > r.soft.Most(q, c) {
		v = quota.Verdict{Reason: quota.OverSoftQuota, Queue: q} // of FitOwn
	}
	if v.OK() {
		return constraint.Shortfall{}
	}
	return constraint.Shortfall{Verdict: v, Against: constraint.SoftQuota,
		Numbers: quota.Numbers{Total: of.Books.Queues.Allocated(v.Queue).Get(d) + milli, Bound: r.soft.Most(v.Queue, c)}}
}
