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
	jobs    [][]*job // by queue: those that want a card with a soft quota
	of      map[api.TaskID]*kind
	stale   []index.Queue // what they want is to be computed again
	kinds   []kind
	tasks   []quota.Waiting
}

// job is a job with tasks that waited when the session opened.
type job struct {
	*api.JobInfo
	kinds []kind
}

// kind are waiting tasks of a job that request the same.
type kind struct {
	quota.Waiting // Quantity is set for each question
	pod           *cards.PodRequest
	task          *api.TaskInfo // one of them
	amounts       []float64     // by column, nil for none
}

// Open returns the rule, nil where no queue has a soft quota of a card that the session has.
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
	r.soft.Reset(s.Index, s.Intake.Available, r.dims, func(q index.Queue, of fastres.Dim) float64 {
		for d, most := range r.quotas(q) {
			if d == of {
				return most
			}
		}
		return quota.NoSoftQuota
	})
	r.readWaiting()
	return r.hooks()
}

// hooks returns the hooks of soft quotas.
func (r *rule) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil,                                              // the quota bounds it, as it bounds what queues borrow without a soft quota
		Hold:          func(a constraint.JobAsk) { r.changed(a.Queue) }, // nothing is reserved: the job is one that waits
		Withdraw:      nil,                                              // a job that loses its promise waits on
		Prepare:       r.prepare,
		Fit:           r.fit,
		FitCard:       r.fitCard,
		FitOwn:        r.fitOwn,
		Lacks:         r.lacks,
		AllowLoan:     r.allowLoan,
		Charge:        nil, // simulations ask with what is wanted since the task was prepared
		Charged:       func(a constraint.Ask) { r.note(a, -1) },
		Refunded:      func(a constraint.Ask) { r.note(a, 1) },
		CompareQueues: nil, // queues that wait compete as without a soft quota
		LosesFirst:    func(q, to index.Queue) bool { return r.soft.LosesFirst(r.session.Index, q, to) },
		Measure:       r.measure,
	}
}

// quotas visits the soft quotas of a queue itself, of cards and groups that the session has and that count there.
func (r *rule) quotas(q index.Queue) iter.Seq2[fastres.Dim, float64] {
	return func(yield func(fastres.Dim, float64) bool) {
		for _, entry := range r.session.Intake.Policies(q).SoftQuota() {
			if d, known := r.session.Names.LookupCard(entry.Name); known && r.session.Cards.Counted(q) && !yield(d, float64(entry.Cards)*1000) {
				return
			}
		}
	}
}

// readWaiting reads the pending tasks of all jobs: some are admitted later in the session.
func (r *rule) readWaiting() {
	s := r.session
	r.jobs, r.of = make([][]*job, s.Index.Len()), map[api.TaskID]*kind{}
	for _, of := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(of.Queue))
		if q == index.None || len(of.TaskStatusIndex[api.Pending]) == 0 || !s.Intake.Eligible(q).OK() || !s.Cards.Counted(q) {
			continue
		}
		if kinds := r.kindsOf(q, of); slices.ContainsFunc(kinds, func(k kind) bool { return k.amounts != nil }) {
			r.jobs[q] = append(r.jobs[q], r.newJob(of, slices.Clone(kinds)))
			r.changed(q)
		}
	}
}

// kindsOf returns the pending tasks of a job by what they request, in memory of the rule: most jobs request no card
// with a soft quota.
func (r *rule) kindsOf(q index.Queue, of *api.JobInfo) []kind {
	r.kinds = r.kinds[:0]
	at := -1
	for _, task := range of.TaskStatusIndex[api.Pending] {
		if task.SchGated {
			continue
		}
		pod := r.session.Cards.PodRequest(q, task.Pod)
		if at < 0 || r.kinds[at].pod != pod {
			at = slices.IndexFunc(r.kinds, func(k kind) bool { return k.pod == pod })
		}
		if at < 0 {
			at, r.kinds = len(r.kinds), append(r.kinds, kind{pod: pod, task: task, amounts: r.amounts(q, pod)})
		}
		r.kinds[at].Tasks++
	}
	return r.kinds
}

func (r *rule) newJob(of *api.JobInfo, kinds []kind) *job {
	q := r.session.Index.Lookup(string(of.Queue))
	for _, task := range of.TaskStatusIndex[api.Pending] {
		pod := r.session.Cards.PodRequest(q, task.Pod)
		if at := slices.IndexFunc(kinds, func(k kind) bool { return k.pod == pod }); at >= 0 && !task.SchGated {
			r.of[task.UID] = &kinds[at]
		}
	}
	return &job{of, kinds}
}

// amounts returns what a pod requests of cards with a soft quota, of a list the first card; nil for nothing.
func (r *rule) amounts(q index.Queue, pod *cards.PodRequest) (amounts []float64) {
	add := func(d fastres.Dim, milli float64) {
		if c := r.soft.Column(d); c >= 0 && milli > 0 {
			if amounts == nil {
				amounts = make([]float64, len(r.dims))
			}
			amounts[c] += milli
		}
	}
	for request := range r.session.Cards.Requests(pod) {
		if len(request.Selector.Dims) == 0 || !r.session.Cards.Allowed(q, request).OK() {
			continue
		}
		d := request.Selector.Dims[0]
		add(d, float64(request.Of(d)))
		for _, share := range r.session.Names.Groups(d) {
			add(share.Group, share.Of(float64(request.Of(d))))
		}
	}
	return amounts
}

// prepare computes again what queues want.
func (r *rule) prepare(index.Queue) {
	for _, q := range r.stale {
		for c := range r.dims {
			wanted, room := 0.0, r.soft.Room(q, c)
			for _, j := range r.jobs[q] {
				wanted += r.wantedBy(j, q, c, room)
			}
			r.soft.Want(q, c, wanted)
		}
	}
	r.stale = r.stale[:0]
}

// wantedBy returns what a job wants, if it is admitted. Tasks that another rule of the queue itself refuses are left
// out.
func (r *rule) wantedBy(j *job, q index.Queue, column int, room float64) float64 {
	if j.IsPending() && conf.EnabledActionMap["enqueue"] { // without the action, allocate admits all jobs
		return 0
	}
	r.tasks = r.tasks[:0]
	for _, k := range j.kinds {
		of := quota.Waiting{Tasks: k.Tasks}
		if k.amounts != nil {
			of.Quantity = k.amounts[column]
		}
		a := constraint.Ask{Task: k.task, Queue: q, Pod: k.pod}
		if of.Quantity == 0 || r.session.FitsOwn(&r.session.Books.Now, &a, r.dims[column], of.Quantity).OK() {
			r.tasks = append(r.tasks, of)
		}
	}
	return quota.WantedByJob(r.tasks, int(j.MinAvailable-j.ReadyTaskNum()-j.WaitingTaskNum()), room)
}

func (r *rule) note(a constraint.Ask, tasks int) {
	if k := r.of[a.Task.UID]; k != nil {
		k.Tasks += tasks
	}
	r.changed(a.Queue)
}

func (r *rule) changed(q index.Queue) {
	if q != index.None && !slices.Contains(r.stale, q) {
		r.stale = append(r.stale, q)
	}
}

// fit applies the rule to the cards of a request.
func (r *rule) fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	for i := 0; i < len(r.dims) && v.OK(); i++ {
		if milli := a.Request.Get(r.dims[i]); milli > 0 {
			v = r.fitCard(b, a, r.dims[i], milli)
		}
	}
	return v
}

// fitCard refuses what others want. A pod that others were evicted for gets what they left.
func (r *rule) fitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	c := r.soft.Column(d)
	if c < 0 || milli <= 0 || a.Queue == index.None || a.Task != nil && r.session.Books.Waits(a.Task) {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.soft.Fits(b.Queues, a.Queue, c, milli)
}

// lacks reports whether the task takes a queue that both are below above its soft quota, where others want the card.
func (r *rule) lacks(b *quota.Books, a constraint.Ask, q index.Queue, _ *api.TaskInfo, d fastres.Dim, milli float64) bool {
	v := r.fitCard(b, a, d, milli)
	return !v.OK() && slices.Contains(quota.Common(r.session.Index, a.Queue, q), v.Queue)
}

// fitOwn refuses what takes the queue itself above its soft quota: nothing is evicted for that in other queues.
func (r *rule) fitOwn(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	if c := r.soft.Column(d); c >= 0 && milli > 0 && a.Queue != index.None &&
		b.Queues.Allocated(a.Queue).Get(d)+milli > r.soft.Most(a.Queue, c) {
		return quota.Verdict{Reason: quota.OverSoftQuota, Queue: a.Queue}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
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

// quantities returns what a loan changes in a dimension: its card, or a group of it.
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

// measure returns the numbers of the first queue that is above its soft quota.
func (r *rule) measure(of *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	c := r.soft.Column(d)
	if c < 0 || of.Admission || of.Books == nil || of.Verdict.Queue == index.None {
		return constraint.Shortfall{}
	}
	q := of.Path()[0]
	v := r.soft.Fits(of.Books.Queues, q, c, milli)
	if !of.Allocation && v.OK() && of.Verdict.Reason == quota.OverSoftQuota && of.Books.Queues.AllocatedAt(q, d)+milli > r.soft.Most(q, c) {
		v = quota.Verdict{Reason: quota.OverSoftQuota, Queue: q} // of FitOwn
	}
	if v.OK() {
		return constraint.Shortfall{}
	}
	return constraint.Shortfall{Verdict: v, Against: constraint.SoftQuota,
		Numbers: quota.Numbers{Total: of.Books.Queues.Allocated(v.Queue).Get(d) + milli, Bound: r.soft.Most(v.Queue, c)}}
}
