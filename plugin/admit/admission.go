// Package admit decides which jobs may have their pods created, and keeps the reservations of
// these jobs.
package admit

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Memory lasts across sessions. The zero Memory is ready.
type Memory struct {
	Reservations reserve.Reservations // of the cards of jobs that several cards can satisfy
	asking       reserve.Job          // that waits for admission
	holding      reserve.Job          // that was admitted
	judged       reserve.Job          // see Judge
	running      reserve.Job          // that preempt may evict
	returns      quota.Returns
}

// Reports tells people about decisions.
type Reports struct {
	Explain  *report.Explainer
	Journal  *report.Journal
	Metrics  *report.Metrics
	Recorder *record.Recorder
}

// Admission admits the jobs of one scheduling session.
type Admission struct {
	*constraint.Session
	Reports
	memory     *Memory
	gates      reserve.Gates
	scalars    bool // every scalar resource counts
	displacing displacement
	promises   promises
	returns    returns
	chosen     choices
}

// Settings are the arguments that concern admission.
type Settings struct {
	Gates   reserve.Gates
	Scalars bool
	// Reclaimable: resources that reclaim and preempt can take back do not count against a job.
	Reclaimable bool
	Victims     Victims
}

// Victims knows the tasks that preempt can evict.
type Victims interface {
	// VictimsWithin returns the tasks that preempt can evict for a task of their queue, as far as other plugins say.
	VictimsWithin(preemptor *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo
}

// Open begins to admit jobs.
func (s *Admission) Open(session *constraint.Session, m *Memory, reports Reports, settings Settings) {
	*s = Admission{
		Session: session,
		Reports: reports,
		memory:  m,
		gates:   settings.Gates,
		scalars: settings.Scalars,
		returns: openReturns(&m.returns, settings),
	}
}

// JobEnqueueable votes on whether a job may have its pods created. It changes no account.
func (s *Admission) JobEnqueueable(obj any) int {
	job := obj.(*api.JobInfo)
	frame := s.Frames.Open()
	defer frame.Close()
	minimum := frame.Vector()

	outcome := s.decideInPlace(s.decide(minimum, job), job)
	if outcome.Verdict.OK() {
		return util.Permit
	}

	if outcome.Verdict.Reason == quota.SearchExhausted {
		s.Metrics.CountExhausted(outcome.Verdict.Queue)
	}

	refusal := s.refusal(frame, minimum, job, outcome)
	if s.Journal.Refuse(s.Explain, job, refusal) {
		s.Recorder.RecordPodGroup(s.Volcano, job.PodGroup, s.Journal.Event(s.Explain, job, s.scalars))
	}
	return util.Reject
}

// Reason returns why a job may not have its pods created now, nil if it may.
func (s *Admission) Reason(job *api.JobInfo) *report.Reason {
	frame := s.Frames.Open()
	defer frame.Close()
	minimum := frame.Vector()
	outcome := s.decideInPlace(s.decide(minimum, job), job)
	return s.Explain.Explain(s.refusal(frame, minimum, job, outcome))
}

// refusal is the outcome of admission with the minimum that it is about.
func (s *Admission) refusal(frame constraint.Frame, minimum fastres.Vector, job *api.JobInfo,
	outcome cards.Outcome) *constraint.Refusal {
	refusal := constraint.Refusal{Request: minimum, Admission: true, Job: job.UID, Queue: outcome.Verdict.Queue}
	return s.Refused(frame, refusal, outcome)
}

// decide applies the rules of enqueue to a job. It sets minimum to the part of the job's minimum
// resources that it does not have yet.
func (s *Admission) decide(minimum fastres.Vector, job *api.JobInfo) cards.Outcome {
	return s.decideIn(&s.memory.asking, minimum, job)
}

// decideIn is decide with memory for the cards of the job.
func (s *Admission) decideIn(memory *reserve.Job, minimum fastres.Vector, job *api.JobInfo) cards.Outcome {
	v := s.Intake.Eligible(s.Index.Lookup(string(job.Queue)))
	if !v.OK() {
		return cards.Outcome{Verdict: v}
	}

	// A rule may ask about a job while it decides about another one.
	s.returns.suspend()
	defer s.returns.resume()

	a := s.askOf(memory, minimum, v.Queue, job)
	if a.Cards != nil {
		s.prune()
	}
	return s.decideReturned(s.decideOnce(a), a)
}

// askOf returns the question about a job of q that waits for admission.
func (s *Admission) askOf(memory *reserve.Job, minimum fastres.Vector, q index.Queue,
	job *api.JobInfo) constraint.JobAsk {
	return constraint.JobAsk{
		Job:        job,
		Queue:      q,
		Minimum:    minimum,
		HasMinimum: intake.HasMinimum(job),
		Cards:      s.cardsOf(memory, q, job),
	}
}

// decideOnce applies the rules under the bounds of admission as they are.
func (s *Admission) decideOnce(a constraint.JobAsk) cards.Outcome {
	v := s.AdmitsJob(a)
	if !v.OK() || a.Cards == nil {
		return cards.Outcome{Verdict: v}
	}

	s.PrepareCards()
	outcome, chosen := s.admitCards(a)
	if outcome.Verdict.OK() {
		outcome = s.AdmitsCards(a)
	}

	// A refusal keeps the choice: decideInPlace goes on to ask after an answer that admits the job.
	if outcome.Verdict.OK() {
		s.chosen.set(a.Job, chosen)
	}
	return outcome
}

// choices are the jobs of the session for which other pods than usual are the minimum, as in the last decision that
// admitted the job. Promises are made for these pods, and taken back. The zero choices are empty.
type choices map[api.JobID]reserve.Chosen

// set notes the choice for a job. nil is the usual minimum.
func (c *choices) set(job *api.JobInfo, chosen reserve.Chosen) {
	if chosen == nil {
		delete(*c, job.UID)
		return
	}

	if *c == nil {
		*c = choices{}
	}
	(*c)[job.UID] = chosen
}

// admitCards decides about the cards of a job. If its smallest pods do not fit together, other pods may be its minimum.
func (s *Admission) admitCards(a constraint.JobAsk) (outcome cards.Outcome, chosen reserve.Chosen) {
	outcome = s.admitMinimum(a)
	if outcome.Verdict.OK() || !a.Cards.SeveralKinds() {
		return outcome, nil
	}

	chosen, ok := a.Cards.ChooseMinimum(s.Cards, func() bool { return s.admitMinimum(a).Verdict.OK() })
	if ok {
		outcome = cards.Outcome{Verdict: constraint.Admitted(a.Queue)}
	}
	return outcome, chosen
}

// admitMinimum decides about the cards of a job with its minimum as it is.
func (s *Admission) admitMinimum(a constraint.JobAsk) cards.Outcome {
	return s.memory.Reservations.Admit(s.Index, s.Cards, a.Queue, a.Queue, a.Cards)
}

// Quotas is the rule of jobs that the quotas of queues state. It stands among the constraints
// because it has a place in their order.
type Quotas struct{ *constraint.Session }

// AdmitJob sets a.Minimum to the part of the job's minimum that it does not have yet, without its
// cards, and holds it against the quotas.
//
// DIVERGES: upstream adds the whole minimum to allocated, which has the job's own pods in
// it. A gang that loses a pod before it runs is then never admitted again.
func (r Quotas) AdmitJob(a constraint.JobAsk) quota.Verdict {
	if !a.HasMinimum {
		return constraint.Admitted(a.Queue)
	}

	frame := r.Frames.Open()
	defer frame.Close()
	allocated := frame.Vector()
	complete := r.Intake.SetMinimum(a.Minimum, a.Job)
	if a.Cards != nil {
		a.Cards.ExemptMinimum(r.Session.Cards, a.Minimum)
		r.exemptParts(a.Minimum)
	}

	setAllocated(r.Session, allocated, a.Job, a.Cards)
	a.Minimum.Sub(allocated)

	v := quota.Enqueueable(r.Index, a.Queue, a.Minimum)
	if !complete {
		v.Reason = quota.OverQuota
	}
	return v
}

// exemptParts leaves out memory and cores of cards that no node gives: their device plugin keeps account of them
// in annotations, and nothing bounds them.
//
// DIVERGES: upstream refuses a job for them, unless the first node with such cards makes it ignore the name.
func (r Quotas) exemptParts(minimum fastres.Vector) {
	for d := range minimum.Requested() {
		if r.Names.IsCard(d) || r.Intake.Total.Get(d) != 0 {
			continue
		}
		if card.IsMemoryOrCores(v1.ResourceName(r.Names.Name(d))) {
			minimum.Set(d, 0)
		}
	}
}

// setAllocated sets x to the allocated resources of a job, without its cards.
func setAllocated(s *constraint.Session, x fastres.Vector, job *api.JobInfo, jobCards *reserve.Job) {
	s.Intake.Dims.Set(x, job.Allocated)
	if jobCards != nil {
		jobCards.ExemptAllocated(x)
	}
}

// cardsOf reads the cards of a job of q into memory, nil where it has and requests none.
func (s *Admission) cardsOf(memory *reserve.Job, q index.Queue, job *api.JobInfo) *reserve.Job {
	if !s.Cards.Counted(q) {
		return nil
	}

	memory.Gates = s.gates
	memory.Read(s.Cards, job, s.Cards.Read)
	if !memory.HasCards() {
		return nil
	}
	return memory
}

// JobEnqueued reserves the minimum of a job that is admitted, less the part that the job already has.
func (s *Admission) JobEnqueued(obj any) {
	job := obj.(*api.JobInfo)
	q := s.Index.Lookup(string(job.Queue))
	waited := s.Journal.Admit(job)
	if q == index.None {
		return
	}

	s.displaceFor(job)
	s.Metrics.ObserveAdmission(q, waited)
	s.beginPromise(q, job)

	frame := s.Frames.Open()
	defer frame.Close()
	a := s.admitted(frame, q, job)
	s.HoldFor(a)
	s.Metrics.PublishInqueue(q, a.Inqueue)
	if a.Cards != nil {
		s.memory.Reservations.AddJob(s.Cards, q, job, a.Cards)
	}

	s.eachReservation(a, func(reservation fastres.Vector) {
		s.changeInqueue(a, reservation, 1)
		s.Metrics.PublishInqueue(q, reservation)
	})

	s.promises.add(job)
	s.Index.Check()
}
