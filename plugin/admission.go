package plugin

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// jobEnqueueable votes on whether a job may have its pods created. It changes no
// account.
func (s *session) jobEnqueueable(obj any) int {
	job := obj.(*api.JobInfo)
	minimum := s.memory.vectors.minimum
	outcome := s.admission(minimum, job)
	if s.settings.displace { // a call costs as much as a part of admission (BenchmarkPolicies)
		outcome = s.admissionInPlace(outcome, minimum, job)
	}
	if outcome.Verdict.OK() {
		return util.Permit
	}
	if outcome.Verdict.Reason == quota.SearchExhausted {
		s.memory.metrics.CountExhausted(outcome.Verdict.Queue)
	}
	journal := s.memory.journal
	if journal.Refuse(&s.explain, job, admissionRefusal(minimum, job, outcome)) {
		s.memory.recorder.RecordPodGroup(s.ssn, job.PodGroup, journal.Event(&s.explain, job, s.variant.scalars))
	}
	return util.Reject
}

// admissionRefusal is the outcome of admission with the minimum that it is about.
func admissionRefusal(minimum fastres.Vector, job *api.JobInfo, outcome cards.Outcome) report.Refusal {
	return report.Refusal{Request: minimum, Admission: true, Namespace: job.Namespace}.With(outcome)
}

// admission applies the rules of enqueue to a job. It sets minimum to the part of the
// job's minimum resources that it does not have yet.
//
// DIVERGES: upstream adds the whole minimum to allocated, which has the job's own pods in
// it. A gang that loses a pod before it runs is then never admitted again.
func (s *session) admission(minimum fastres.Vector, job *api.JobInfo) cards.Outcome {
	queue := s.ssn.Queues[job.Queue]
	if queue == nil {
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.UnknownQueue, Queue: index.None}}
	}
	v := s.eligible(queue)
	if !v.OK() {
		return cards.Outcome{Verdict: v}
	}
	if s.memory.jobs.Bounded() {
		if v = s.memory.jobs.Fits(v.Queue); !v.OK() {
			return cards.Outcome{Verdict: v}
		}
	}
	jobCards := s.cardsOf(v.Queue, job)
	if intake.HasMinimum(job) {
		complete := s.intake.SetMinimum(minimum, job)
		if jobCards != nil {
			jobCards.ExemptMinimum(s.cards, minimum)
		}
		s.setAllocated(job, jobCards)
		minimum.Sub(s.memory.vectors.allocated)
		if v = quota.Enqueueable(s.ix, v.Queue, minimum); !complete {
			v.Reason = quota.OverQuota
		}
		if v.OK() && s.namespaces != nil {
			v = s.admitsMinimumOfNamespace(minimum, v.Queue, job)
		}
	}
	if v.OK() && s.intake.HasClaims() {
		v = s.fitsDevices(minimum, v.Queue, job)
	}
	if !v.OK() || jobCards == nil {
		return cards.Outcome{Verdict: v}
	}
	q := v.Queue
	if s.namespaces != nil {
		s.memory.reservations.Drop(s.intake.Namespaces.Reservations.Prune(&s.namespaces.Accounts))
	}
	outcome := s.memory.reservations.Admit(s.ix, s.cards, q, q, jobCards)
	if outcome.Verdict.OK() && s.namespaces != nil {
		outcome = s.admitsCardsOfNamespace(q, job, jobCards)
	}
	return outcome
}

// cardsOf reads the cards of a job of q, nil where it has and requests none. The
// next call overwrites the result.
func (s *session) cardsOf(q index.Queue, job *api.JobInfo) *reserve.Job {
	if !s.cards.Counted(q) {
		return nil
	}
	j := &s.memory.job
	j.Gates = s.settings.bounds.Gates
	j.Read(s.cards, job, s.cards.Read)
	if !j.HasCards() {
		return nil
	}
	return j
}

// jobEnqueued reserves the minimum of a job that is admitted, less what the job
// already has.
func (s *session) jobEnqueued(obj any) {
	job := obj.(*api.JobInfo)
	q := s.ix.Lookup(string(job.Queue))
	waited := s.memory.journal.Admit(job)
	if q == index.None {
		return
	}
	s.displace(job)
	s.memory.metrics.ObserveAdmission(q, waited)
	s.memory.jobs.Admit(q)
	s.beginPromise(q, job)
	s.promiseDevices(q, job)
	jobCards, account := s.cardsOf(q, job), s.intake.NamespaceOf(q, job)
	if account != index.None {
		s.namespaces.Accounts.NoteOwnJobs(account)
	}
	if jobCards != nil {
		s.memory.reservations.Reserve(s.cards, q, job, jobCards)
	}
	if jobCards != nil && account != index.None {
		s.intake.Namespaces.Reservations.Reserve(s.cards, account, job, jobCards)
	}
	s.eachReservation(q, job, jobCards, func(reservation fastres.Vector) {
		s.chargeInqueue(q, account, job, reservation)
		s.memory.metrics.PublishInqueue(q, reservation)
	})
	s.check()
}

// eachReservation visits what is reserved for an admitted job of q, but for cards that the job
// can choose among: each card by itself, and then the rest of its minimum. The next call
// overwrites the vector.
func (s *session) eachReservation(q index.Queue, job *api.JobInfo, jobCards *reserve.Job, visit func(fastres.Vector)) {
	v := &s.memory.vectors
	if jobCards != nil {
		s.memory.reservations.EachCharge(s.cards, q, job, jobCards, func(d fastres.Dim, milli float64) {
			v.reservation.Reset()
			v.reservation.Set(d, milli)
			visit(v.reservation)
		})
	}
	if !intake.HasMinimum(job) {
		return
	}
	s.intake.SetMinimum(v.minimum, job)
	s.setAllocated(job, jobCards)
	s.intake.SetGated(v.gated, job)
	if jobCards != nil {
		jobCards.ExemptMinimum(s.cards, v.minimum)
		jobCards.ExemptGated(v.gated)
	}
	quota.Reservation(v.reservation, v.minimum, v.allocated, v.gated)
	visit(v.reservation)
}

// setAllocated sets the vector allocated to what a job has, without its cards.
func (s *session) setAllocated(job *api.JobInfo, jobCards *reserve.Job) {
	allocated := s.memory.vectors.allocated
	s.intake.Dims.Set(allocated, job.Allocated)
	if jobCards != nil {
		jobCards.ExemptAllocated(allocated)
	}
}

// chargeInqueue adds a reservation for a job of q to inqueue of q and above, and of the account of
// its namespace, None where no queue limits it.
func (s *session) chargeInqueue(q, account index.Queue, job *api.JobInfo, reservation fastres.Vector) {
	if account == index.None {
		quota.ChargeInqueue(s.ix, q, reservation)
		return
	}
	s.intake.Namespaces.ChargeInqueue(s.ix, q, account, job, reservation)
}

// allocatable reports whether a task may be allocated now.
func (s *session) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	v := s.eligible(queue)
	outcome, request := cards.Outcome{Verdict: v}, s.memory.vectors.request
	if v.OK() {
		outcome = s.allocation(s.booksFor(task), v.Queue, request, task)
	}
	if outcome.Verdict.OK() && !s.leavesEarmarks(task) {
		outcome.Verdict.Reason = quota.Earmarked
	}
	if outcome.Verdict.OK() {
		if s.memory.gates.on && reserve.OptedIn(task) {
			s.reserve(task)
		}
		return true
	}
	refusal := report.Refusal{Request: request, Namespace: task.Namespace, Allocation: true, Queue: v.Queue}.With(outcome)
	if job := s.ssn.Jobs[task.Job]; job != nil && job.JobFitErrors == "" {
		s.memory.journal.Refuse(&s.explain, job, refusal)
	}
	if klog.V(3).Enabled() {
		klog.Infof("[%s] task %s/%s waits: %s", s.variant.name, task.Namespace, task.Name, s.explain.Explain(refusal))
	}
	return false
}

// allocation applies the rule of allocation to a task of q that has no node yet.
// It sets request to what the task requests.
func (s *session) allocation(a *quota.Books, q index.Queue, request fastres.Vector, task *api.TaskInfo) cards.Outcome {
	pod, complete := s.intake.SetTask(request, q, task)
	v := s.fitsRequest(a, q, task, request, complete)
	if v.OK() && a.Then != nil {
		v = forOthers(s.fitsRequest(a.Then, q, task, request, complete))
	}
	if v.OK() && s.intake.HasClaims() {
		v = s.fitsClaims(a.Queues, q, request, task)
	}
	if !v.OK() || pod.None() {
		return cards.Outcome{Verdict: v}
	}
	return s.cards.Fit(q, pod, func(d fastres.Dim, milli float64) quota.Verdict { return s.fitsCard(a, q, task, d, milli) })
}

// forOthers converts a refusal beside what will be: what is left is earmarked for others.
func forOthers(v quota.Verdict) quota.Verdict {
	if v.Reason == quota.OverQuota || v.Reason == quota.OverNamespace {
		v.Reason = quota.Earmarked
	}
	return v
}

// fitsRequest applies the rule of allocation to what a task requests but cards.
func (s *session) fitsRequest(a *quota.Books, q index.Queue, task *api.TaskInfo, request fastres.Vector, complete bool) quota.Verdict {
	v := s.fits(a, q, request, complete)
	if v.OK() && s.memory.gates.active > 0 {
		v = s.fitsBeside(a.Queues, q, task, request)
	}
	if v.OK() && s.namespaces != nil {
		v = s.fitsNamespace(a, q, task, request)
	}
	return v
}

// fitsCard applies the rule of allocation to one card for a task.
func (s *session) fitsCard(a *quota.Books, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) quota.Verdict {
	v := s.fitsCardIn(a, q, task, d, milli)
	if v.OK() && a.Then != nil {
		v = forOthers(s.fitsCardIn(a.Then, q, task, d, milli))
	}
	return v
}

func (s *session) fitsCardIn(a *quota.Books, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) quota.Verdict {
	if v := quota.CardFits(a.Queues, s.limit, q, d, milli); !v.OK() {
		return v
	}
	if v := a.Guarantees.Fits(a.Queues, q, d, milli); !v.OK() {
		return v
	}
	if s.namespaces != nil {
		if v := s.fitsCardOfNamespace(a, q, task, d, milli); !v.OK() {
			return v
		}
	}
	return s.fitsCardBeside(a.Queues, q, task, d, milli)
}

// fits applies the rule of allocation to a request. An incomplete request names a
// resource that nothing in the session has, so it fits under no bound.
func (s *session) fits(a *quota.Books, q index.Queue, request fastres.Vector, complete bool) quota.Verdict {
	if !complete {
		return quota.Verdict{Reason: quota.OverQuota, Queue: q}
	}
	v := quota.Allocatable(a.Queues, s.limit, q, request)
	if v.OK() && a.Guarantees.Active() {
		v = keepsGuarantees(a.Guarantees, a.Queues, q, request)
	}
	return v
}

// keepsGuarantees reports whether a request leaves what other queues are guaranteed.
func keepsGuarantees(g *quota.Guarantees, a quota.View, q index.Queue, request fastres.Vector) quota.Verdict {
	for d := range request.Requested() {
		if v := g.Fits(a, q, d, request.Get(d)); !v.OK() {
			return v
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}
