// Package soft bounds what queues have beyond their soft quotas while others want it.
package soft

import (
	"iter"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// rule is the rule of soft quotas (quota.Soft).
type rule struct {
	session *constraint.Session
	soft    quota.Soft
	dims    []fastres.Dim
	jobs    [][]*job // by queue: jobs that want a card with a soft quota
	kindOf  map[api.TaskID]*kind
	stale   []index.Queue // queues with a demand to compute again
	kinds   []kind
	tasks   []quota.Waiting
}

// job is a job with tasks that waited when the session opened.
type job struct {
	*api.JobInfo
	kinds []kind
}

// kind is the waiting tasks of a job that request the same.
type kind struct {
	tasks   int
	pod     *cards.PodRequest
	task    *api.TaskInfo // one of them
	amounts []float64     // by column, nil for none
}

// Open returns the hooks, nil where no queue has a soft quota of a card that the session has.
func Open(s *constraint.Session) *constraint.Hooks {
	if !s.Intake.HasPolicies() || s.Cards == nil {
		return nil
	}

	r := &rule{session: s}
	for q := range index.Queue(s.Index.Len()) {
		for d := range r.quotas(q) {
			if !slices.Contains(r.dims, d) {
				r.dims = append(r.dims, d)
			}
		}
	}

	if len(r.dims) == 0 {
		return nil
	}

	r.soft.Reset(s.Index, s.Intake.Available, r.dims, r.quotaOf)
	r.readWaiting()
	return r.hooks()
}

// hooks returns the hooks of soft quotas.
func (r *rule) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil,      // the quota bounds it, as it bounds what queues borrow without a soft quota
		Hold:          r.follow, // nothing is reserved: the job wants its cards from now on
		Withdraw:      nil,      // a job that loses its promise waits on
		Prepare:       r.prepare,
		FitCard:       r.fitCard,
		FitOwn:        r.fitOwn,
		Lacks:         r.lacks,
		AllowLoan:     r.allowLoan,
		Charge:        nil, // simulations use the demand from when the task was prepared
		Charged:       func(a constraint.Ask) { r.note(a, -1) },
		Refunded:      func(a constraint.Ask) { r.note(a, 1) },
		CompareQueues: nil, // queues that wait compete as without a soft quota
		LosesFirst:    r.losesFirst,
		Measure:       r.measure,
	}
}

// quotas visits the soft quotas of a queue itself, of cards and groups that the session has and that count there.
func (r *rule) quotas(q index.Queue) iter.Seq2[fastres.Dim, float64] {
	return func(yield func(fastres.Dim, float64) bool) {
		for _, entry := range r.session.Intake.Policies(q).SoftQuota() {
			d, known := r.session.Names.LookupCard(entry.Name)
			if known && r.session.Cards.Counted(q) && !yield(d, float64(entry.Cards)*1000) {
				return
			}
		}
	}
}

// quotaOf returns the soft quota of a queue itself in one dimension.
func (r *rule) quotaOf(q index.Queue, d fastres.Dim) float64 {
	for at, most := range r.quotas(q) {
		if at == d {
			return most
		}
	}
	return quota.NoSoftQuota
}

// prepare computes again what queues want.
func (r *rule) prepare(index.Queue) {
	for _, q := range r.stale {
		for c := range r.dims {
			wanted := 0.0
			room := r.soft.Room(q, c)
			for _, j := range r.jobs[q] {
				wanted += r.wantedBy(j, q, c, room)
			}
			r.soft.Want(q, c, wanted)
		}
	}
	r.stale = r.stale[:0]
}

// wantedBy returns the demand of a job, if it is admitted. It leaves out tasks that another rule of the queue refuses.
func (r *rule) wantedBy(j *job, q index.Queue, column int, room float64) float64 {
	if j.IsPending() && conf.EnabledActionMap["enqueue"] { // without the action, allocate admits all jobs
		return 0
	}

	r.tasks = r.tasks[:0]
	for _, k := range j.kinds {
		waiting := quota.Waiting{Tasks: k.tasks}
		if k.amounts != nil {
			waiting.Quantity = k.amounts[column]
		}

		a := constraint.Ask{Task: k.task, Queue: q, Pod: k.pod}
		now := &r.session.Books.Now
		if waiting.Quantity == 0 || r.session.FitsOwn(now, &a, r.dims[column], waiting.Quantity).OK() {
			r.tasks = append(r.tasks, waiting)
		}
	}

	missing := constraint.Missing(j.JobInfo)
	return quota.WantedByJob(r.tasks, missing, room)
}

// note follows the tasks that wait: one more, or one less.
func (r *rule) note(a constraint.Ask, more int) {
	if k := r.kindOf[a.Task.UID]; k != nil {
		k.tasks += more
	}
	r.changed(a.Queue)
}

// follow follows the jobs that are admitted.
func (r *rule) follow(a constraint.JobAsk) { r.changed(a.Queue) }

func (r *rule) changed(q index.Queue) {
	if q != index.None && !slices.Contains(r.stale, q) {
		r.stale = append(r.stale, q)
	}
}

// fitCard refuses cards that others want. A pod with an earmark gets the cards of its victims.
func (r *rule) fitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	c := r.soft.Column(d)
	if c < 0 || milli <= 0 || a.Queue == index.None || a.Task != nil && r.session.Books.Waits(a.Task) {
		return constraint.Admitted(a.Queue)
	}
	return r.soft.Fits(b.Queues, a.Queue, c, milli)
}

// lacks reports whether a task takes a queue above its soft quota that has both tasks, where others want the card.
func (r *rule) lacks(b *quota.Books, a constraint.Ask, q index.Queue, _ *api.TaskInfo,
	d fastres.Dim, milli float64) bool {
	v := r.fitCard(b, a, d, milli)
	return !v.OK() && slices.Contains(quota.Common(r.session.Index, a.Queue, q), v.Queue)
}

// fitOwn refuses what takes the queue itself above its soft quota: no pod of another queue is evicted for that.
func (r *rule) fitOwn(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	c := r.soft.Column(d)
	if c < 0 || milli <= 0 || a.Queue == index.None {
		return constraint.Admitted(a.Queue)
	}

	if b.Queues.Allocated(a.Queue).Get(d)+milli > r.soft.Most(a.Queue, c) {
		return quota.Verdict{Reason: quota.OverSoftQuota, Queue: a.Queue}
	}
	return constraint.Admitted(a.Queue)
}

// allowLoan lets a queue that stays within its soft quota take back what another one has above its own.
func (r *rule) allowLoan(b quota.View, l constraint.Loan) bool {
	back := false
	for c, d := range r.dims {
		gained, lost := r.quantities(l, d)
		if gained > 0 && !r.soft.Takes(b, l.To, l.From, c, gained) {
			return false
		}
		back = back || gained+lost > 0 && r.soft.GivesBack(b, l.From, l.To, c, lost)
	}
	return back
}

// quantities returns the changes of a loan in a dimension: its card, or a group of it.
func (r *rule) quantities(l constraint.Loan, d fastres.Dim) (gained, lost float64) {
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

// losesFirst reports whether q, or a queue above it that the taker is not below, is above its soft quota without the
// pods that are evicted already.
func (r *rule) losesFirst(q, to index.Queue) bool {
	return r.soft.LosesFirst(r.session.Books.Queues(), q, to)
}

// measure returns the numbers of the first queue that is above its soft quota.
func (r *rule) measure(refusal *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	c := r.soft.Column(d)
	if c < 0 || refusal.Admission || refusal.Books == nil || refusal.Verdict.Queue == index.None {
		return constraint.Shortfall{}
	}

	q := refusal.Path()[0]
	queues := refusal.Books.Queues
	v := r.soft.Fits(queues, q, c, milli)

	// fitOwn refuses more than fitCard does: whether others want the card does not matter there.
	byOwn := !refusal.Allocation && refusal.Verdict.Reason == quota.OverSoftQuota
	if byOwn && v.OK() && queues.AllocatedAt(q, d)+milli > r.soft.Most(q, c) {
		v = quota.Verdict{Reason: quota.OverSoftQuota, Queue: q}
	}
	if v.OK() {
		return constraint.Shortfall{}
	}

	return constraint.Shortfall{
		Verdict: v,
		Numbers: quota.Numbers{Total: queues.Allocated(v.Queue).Get(d) + milli, Bound: r.soft.Most(v.Queue, c)},
		Against: constraint.SoftQuota,
	}
}
