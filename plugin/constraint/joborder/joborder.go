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

// Judge returns the verdict of admission on a job, and whether the job could be admitted if no other had anything.
type Judge func(job *api.JobInfo) (v quota.Verdict, possible bool)

// rule is the order of the jobs of queues (quota.Earlier). Volcano asks about the jobs of a queue in this order only
// where no plugin before this one orders them in another way, so the rule does not depend on it.
type rule struct {
	session  *constraint.Session
	recorder *record.Recorder
	judge    Judge
	judging  bool    // judge is called: nobody who goes before the job holds it back
	queues   []queue // by queue
	changes  int     // how often accounts or jobs have changed in the session
}

// queue is the state of a queue in which jobs have an order.
type queue struct {
	order policy.Order
	jobs  []*api.JobInfo // with something left to get when the session opened, in order
	first *api.JobInfo   // the one that holds back those after it; nil for none
	state quota.Earlier  // of first
	at    int            // the number of changes for which first is right, 0 for none
}

// Open returns the rule, nil where no queue has an order of its own.
func Open(s *constraint.Session, recorder *record.Recorder, judge Judge) *constraint.Hooks {
	if !s.Intake.HasPolicies() {
		return nil
	}
	r := &rule{session: s, recorder: recorder, judge: judge, changes: 1}
	for q := range index.Queue(s.Index.Len()) {
		order := s.Intake.Policies(q).JobOrder()
		if order.Rule == policy.BestEffort || !s.Index.IsLeaf(q) {
			continue
		}
		if r.queues == nil {
			r.queues = make([]queue, s.Index.Len())
		}
		r.queues[q].order = order
	}
	if r.queues == nil {
		return nil
	}
	for _, job := range s.Volcano.Jobs {
		if q := s.Index.Lookup(string(job.Queue)); q != index.None && r.queues[q].order.Hold > 0 && job.PodGroup != nil {
			r.read(q, job)
		}
	}
	for q := range r.queues {
		of := &r.queues[q]
		slices.SortFunc(of.jobs, func(x, y *api.JobInfo) int { return of.compare(x, y) })
	}
	return r.hooks()
}

// hooks returns the hooks of the order of jobs.
func (r *rule) hooks() *constraint.Hooks {
	// After any change, another job may hold back the others.
	changed := func(constraint.Ask) { r.changes++ }
	return &constraint.Hooks{
		AdmitJob: r.admitJob,
		Hold:     func(constraint.JobAsk) { r.changes++ },
		Withdraw: func(constraint.JobAsk) (restore func()) {
			r.changes++
			return func() { r.changes++ }
		},
		Prepare: r.prepare,
		Fit:     r.fit,
		FitCard: nil, // Fit holds a task back as a whole
		FitOwn: func(b *quota.Books, a constraint.Ask, _ fastres.Dim, _ float64) quota.Verdict {
			return r.fit(b, a) // nothing is evicted for a task that is held back
		},
		Lacks:       nil, // no eviction ends the hold of another job
		MayTake:     nil, // FitOwn decides
		Charge:      nil, // a simulation decides as it was when the task was prepared
		Charged:     changed,
		Refunded:    changed,
		CompareJobs: r.compareJobs, // jobs are held back wherever the plugin stands, so OnlyThere is not set
		Measure:     r.measure,
	}
}

// read takes up a job of q, and ends its hold where that is over.
func (r *rule) read(q index.Queue, job *api.JobInfo) {
	earlier := earlierOf(job)
	of := &r.queues[q]
	if job.IsPending() || len(job.TaskStatusIndex[api.Pending]) > 0 {
		of.jobs = append(of.jobs, job)
	}
	if complete(job) {
		if earlier.known {
			endHold(job, r.session.Now, Started, "")
		}
		return
	}
	if earlier.known && !earlier.Over && !earlier.Began.IsZero() && !r.session.Now.Before(earlier.Began.Add(of.order.Hold)) {
		message := fmt.Sprintf("The job has held back later jobs of queue <%s> for %v: they do not wait for it any more (order: %s)",
			r.session.Index.Name(q), of.order.Hold, of.order.Rule)
		endHold(job, r.session.Now, HoldOver, message)
		r.recorder.RecordPodGroup(r.session.Volcano, job.PodGroup, record.PromiseEvent(HoldOver, message))
	}
}

// compare compares two jobs of the queue by its order.
func (of *queue) compare(l, r *api.JobInfo) int {
	return placeOf(l).Compare(placeOf(r), of.order.Rule == policy.PriorityFIFO)
}

func placeOf(job *api.JobInfo) quota.JobPlace {
	return quota.JobPlace{Priority: job.Priority, Created: job.CreationTimestamp.Time, Name: string(job.UID)}
}

// compareJobs orders the jobs of a queue that has an order.
func (r *rule) compareJobs(l, o *api.JobInfo) int {
	if q := r.session.Index.Lookup(string(l.Queue)); q != index.None && l.Queue == o.Queue && r.queues[q].order.Rule != policy.BestEffort {
		return r.queues[q].compare(l, o)
	}
	return 0
}

// prepare finds the job of q that holds back others now.
func (r *rule) prepare(q index.Queue) {
	if q == index.None || r.judging || r.queues[q].at == r.changes {
		return
	}
	of := &r.queues[q]
	of.at, of.first = r.changes, nil
	for i := 0; i < len(of.jobs)-1; i++ { // the last one has nobody to hold back
		job := of.jobs[i]
		if earlier := r.state(q, job); earlier.HoldsBack(r.session.Now, of.order.Hold) {
			of.first, of.state = job, earlier
			break
		}
	}
	if of.first != nil && of.state.Began.IsZero() {
		of.state.Began = r.session.Now
		beginHold(of.first, r.session.Now)
	}
}

// state returns the state of a job of q.
func (r *rule) state(q index.Queue, job *api.JobInfo) quota.Earlier {
	t := earlierOf(job).Earlier
	switch {
	case t.Over || complete(job):
	case !job.IsPending():
		t.Admitted, t.Waits = true, r.lacksQuota(q, job)
	case intake.HasMinimum(job): // Volcano admits others without asking
		r.judging = true
		v, possible := r.judge(job)
		r.judging = false
		t.Waits = possible && (v.OK() || v.Reason == quota.OverQuota || v.Reason == quota.SearchExhausted)
	}
	return t
}

// holderBefore returns the job that holds back a job of q, nil for none.
func (r *rule) holderBefore(q index.Queue, job *api.JobInfo) *api.JobInfo {
	if q == index.None || job == nil {
		return nil
	}
	if of := &r.queues[q]; of.first != nil && of.first.UID != job.UID && of.compare(of.first, job) < 0 {
		return of.first
	}
	return nil
}

// admitJob refuses a job while an earlier one waits for quota.
func (r *rule) admitJob(a constraint.JobAsk) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	if r.judging {
		return v
	}
	r.prepare(a.Queue)
	if r.holderBefore(a.Queue, a.Job) != nil {
		v.Reason = quota.HeldByOrder
	}
	return v
}

// fit refuses the pods of an admitted job that an earlier one holds back. A pod that others were evicted for gets what
// they left.
func (r *rule) fit(_ *quota.Books, a constraint.Ask) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
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

// measure names the job that holds back what is refused, and the time until which it does at most.
func (r *rule) measure(of *constraint.Refusal, _ fastres.Dim, _ float64) constraint.Shortfall {
	if of.Verdict.Reason != quota.HeldByOrder {
		return constraint.Shortfall{}
	}
	state := &r.queues[of.Queue]
	by := r.holderBefore(of.Queue, r.session.Volcano.Jobs[of.Job])
	if by == nil {
		return constraint.Shortfall{}
	}
	return constraint.Shortfall{Verdict: of.Verdict, Until: state.state.Began.Add(state.order.Hold),
		Detail: fmt.Sprintf("job <%s/%s> goes first (order: %s)", by.Namespace, by.Name, state.order.Rule)}
}
