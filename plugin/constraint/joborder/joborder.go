// Package joborder lets jobs that wait for quota hold back the later jobs of their queue.
package joborder

import (
	"fmt"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/quota"
)

// Judge returns the verdict of admission on a job, and whether the job could be admitted if no other job had anything.
type Judge func(job *api.JobInfo) (v quota.Verdict, possible bool)

// rule is the order of the jobs of queues (quota.Earlier). It does not depend on the order in which Volcano asks about
// the jobs of a queue: a plugin before this one may order them in another way.
type rule struct {
	session  *constraint.Session
	recorder *record.Recorder
	judge    Judge
	judging  bool    // judge is called: no earlier job holds back the job that it is asked about
	queues   []queue // by queue
	changes  int     // how often accounts or jobs have changed in the session
}

// queue is the state of a queue in which jobs have an order.
type queue struct {
	order policy.Order
	jobs  []*api.JobInfo // with something left to get when the session opened, in order
	first *api.JobInfo   // the job that holds back later jobs; nil for none
	state quota.Earlier  // of first
	at    int            // the number of changes for which first is right, 0 for none
}

// Open returns the hooks, nil where no queue has an order of its own.
func Open(s *constraint.Session, recorder *record.Recorder, judge Judge) *constraint.Hooks {
	queues := orderedQueues(s)
	if queues == nil {
		return nil
	}

	r := &rule{session: s, recorder: recorder, judge: judge, queues: queues, changes: 1}
	for _, job := range s.Volcano.Jobs {
		q := s.Index.Lookup(string(job.Queue))
		if q != index.None && r.queues[q].order.Hold > 0 && job.PodGroup != nil {
			r.read(q, job)
		}
	}

	for i := range r.queues {
		q := &r.queues[i]
		slices.SortFunc(q.jobs, q.compare)
	}
	return r.hooks()
}

// orderedQueues returns the orders of the leaves, nil where no leaf has one.
func orderedQueues(s *constraint.Session) (queues []queue) {
	if !s.Intake.HasPolicies() {
		return nil
	}

	for q := range index.Queue(s.Index.Len()) {
		order := s.Intake.Policies(q).JobOrder()
		if order.Rule == policy.BestEffort || !s.Index.IsLeaf(q) {
			continue
		}

		if queues == nil {
			queues = make([]queue, s.Index.Len())
		}
		queues[q].order = order
	}
	return queues
}

// hooks returns the hooks of the order of jobs.
func (r *rule) hooks() *constraint.Hooks {
	changed := func(constraint.Ask) { r.changes++ }
	return &constraint.Hooks{
		AdmitJob:    r.admitJob,
		Hold:        func(constraint.JobAsk) { r.changes++ }, // another job may be first now
		Withdraw:    r.withdraw,
		Prepare:     r.prepare,
		Fit:         r.fit,
		FitCard:     nil,           // Fit holds a task back as a whole
		FitOwn:      r.fitOwn,      // no pod is evicted for a task that is held back
		Lacks:       nil,           // no eviction ends the hold of another job
		MayTake:     nil,           // FitOwn decides
		Charge:      nil,           // a simulation decides as it was when the task was prepared
		Charged:     changed,       // another job may be first now
		Refunded:    changed,       // for the same reason
		CompareJobs: r.compareJobs, // jobs are held back wherever the plugin stands, so OnlyThere is not set
		Measure:     r.measure,
	}
}

// read takes up a job of a queue, and ends its hold where that is over.
func (r *rule) read(at index.Queue, job *api.JobInfo) {
	q := &r.queues[at]
	if job.IsPending() || len(job.TaskStatusIndex[api.Pending]) > 0 {
		q.jobs = append(q.jobs, job)
	}

	earlier := earlierOf(job)
	if !earlier.known {
		return
	}

	now := r.session.Now
	if complete(job) {
		endHold(job, now, Started, "")
		return
	}
	if earlier.Over || earlier.Began.IsZero() || now.Before(earlier.Began.Add(q.order.Hold)) {
		return
	}

	const text = "The job has held back later jobs of queue <%s> for %v: they do not wait for it any more (order: %s)"
	message := fmt.Sprintf(text, r.session.Index.Name(at), q.order.Hold, q.order.Rule)
	endHold(job, now, HoldOver, message)
	r.recorder.RecordPodGroup(r.session.Volcano, job.PodGroup, record.PromiseEvent(HoldOver, message))
}

// compare compares two jobs of the queue by its order.
func (q *queue) compare(l, r *api.JobInfo) int {
	return placeOf(l).Compare(placeOf(r), q.order.Rule == policy.PriorityFIFO)
}

func placeOf(job *api.JobInfo) quota.JobPlace {
	return quota.JobPlace{Priority: job.Priority, Created: job.CreationTimestamp.Time, Name: string(job.UID)}
}

// compareJobs orders the jobs of a queue that has an order.
func (r *rule) compareJobs(x, y *api.JobInfo) int {
	q := r.session.Index.Lookup(string(x.Queue))
	if q == index.None || x.Queue != y.Queue || r.queues[q].order.Rule == policy.BestEffort {
		return 0
	}
	return r.queues[q].compare(x, y)
}

// prepare finds the job of a queue that holds back others now.
func (r *rule) prepare(at index.Queue) {
	if at == index.None || r.judging || r.queues[at].at == r.changes {
		return
	}

	q := &r.queues[at]
	q.at = r.changes
	q.first = nil
	for i := 0; i < len(q.jobs)-1; i++ { // the last one has nobody to hold back
		job := q.jobs[i]
		if earlier := r.state(at, job); earlier.HoldsBack(r.session.Now, q.order.Hold) {
			q.first = job
			q.state = earlier
			break
		}
	}

	if q.first != nil && q.state.Began.IsZero() {
		q.state.Began = r.session.Now
		beginHold(q.first, r.session.Now)
	}
}

// state returns the state of a job of q.
func (r *rule) state(q index.Queue, job *api.JobInfo) quota.Earlier {
	earlier := earlierOf(job).Earlier
	switch {
	case earlier.Over || complete(job):

	case !job.IsPending():
		earlier.Admitted = true
		earlier.Waits = r.lacksQuota(q, job)

	case intake.HasMinimum(job): // Volcano admits others without asking
		r.judging = true
		v, possible := r.judge(job)
		r.judging = false
		earlier.Waits = possible && (v.OK() || v.Reason == quota.OverQuota || v.Reason == quota.SearchExhausted)
	}
	return earlier
}

// holderBefore returns the job that holds back a job of a queue, nil for none.
func (r *rule) holderBefore(at index.Queue, job *api.JobInfo) *api.JobInfo {
	if at == index.None || job == nil {
		return nil
	}
	q := &r.queues[at]
	if q.first != nil && q.first.UID != job.UID && q.compare(q.first, job) < 0 {
		return q.first
	}
	return nil
}

// admitJob refuses a job while an earlier one waits for quota.
func (r *rule) admitJob(a constraint.JobAsk) quota.Verdict {
	if r.judging {
		return constraint.Admitted(a.Queue)
	}
	r.prepare(a.Queue)
	if r.holderBefore(a.Queue, a.Job) != nil {
		return quota.Verdict{Reason: quota.HeldByOrder, Queue: a.Queue}
	}
	return constraint.Admitted(a.Queue)
}

func (r *rule) withdraw(constraint.JobAsk) (restore func()) {
	r.changes++
	return func() { r.changes++ }
}

// fit refuses the pods of an admitted job that an earlier one holds back. A pod that others were evicted for gets what
// they left.
func (r *rule) fit(_ *quota.Books, a constraint.Ask) quota.Verdict {
	v := constraint.Admitted(a.Queue)
	if a.Task == nil || a.Task.BestEffort || a.Queue == index.None || r.queues[a.Queue].first == nil {
		return v
	}

	job := r.session.Volcano.Jobs[a.Task.Job]
	if r.holderBefore(a.Queue, job) == nil || r.session.Books.Waits(a.Task) {
		return v
	}

	later := quota.Later{Complete: complete(job), Started: started(job), Reserved: r.reserved(a.Queue, job)}
	if later.HeldBack(r.queues[a.Queue].state) {
		v.Reason = quota.HeldByOrder
	}
	return v
}

// fitOwn refuses what fit refuses, whatever pod is evicted.
func (r *rule) fitOwn(b *quota.Books, a constraint.Ask, _ fastres.Dim, _ float64) quota.Verdict {
	return r.fit(b, a)
}

// measure names the job that holds the refused pod back, and the latest time at which it stops.
func (r *rule) measure(refusal *constraint.Refusal, _ fastres.Dim, _ float64) constraint.Shortfall {
	if refusal.Verdict.Reason != quota.HeldByOrder {
		return constraint.Shortfall{}
	}

	by := r.holderBefore(refusal.Queue, r.session.Volcano.Jobs[refusal.Job])
	if by == nil {
		return constraint.Shortfall{}
	}

	q := &r.queues[refusal.Queue]
	return constraint.Shortfall{
		Verdict: refusal.Verdict,
		Until:   q.state.Began.Add(q.order.Hold),
		Detail:  fmt.Sprintf("job <%s/%s> goes first (order: %s)", by.Namespace, by.Name, q.order.Rule),
	}
}
