// Package admit decides which jobs may have their pods created, and keeps what is reserved for
// them.
package admit

import (
	"slices"

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

// Reports tells people what is decided.
type Reports struct {
	Explain  *report.Explainer
	Journal  *report.Journal
	Metrics  *report.Metrics
	Recorder *record.Recorder
}

// Session admits the jobs of one scheduling session.
type Session struct {
	*constraint.Session
	Reports
	memory  *Memory
	gates   reserve.Gates
	scalars bool // every scalar resource counts
	// displace: a job may displace the promises of jobs with a lower priority.
	displace   bool
	displacing displacement
	promised   map[api.QueueID][]*api.JobInfo // see promisedIn; nil until then
	returns    returns
	chosen     choice
}

// choice is a job that was asked about last with other pods as its minimum than usual.
type choice struct {
	job    *api.JobInfo
	chosen reserve.Chosen
}

// Settings are the arguments that concern admission.
type Settings struct {
	Gates    reserve.Gates
	Scalars  bool
	Displace bool
	// Reclaimable: what reclaim and preempt can take back does not count against a job.
	Reclaimable bool
	Victims     Victims
}

// Victims knows whom preempt can evict.
type Victims interface {
	// VictimsWithin returns the tasks that preempt can evict for a task of their queue, as far as other plugins say.
	VictimsWithin(preemptor *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo
}

// Open begins to admit jobs.
func (s *Session) Open(of *constraint.Session, m *Memory, to Reports, with Settings) {
	*s = Session{Session: of, Reports: to, memory: m, gates: with.Gates, scalars: with.Scalars, displace: with.Displace}
	s.openReturns(with)
}

// JobEnqueueable votes on whether a job may have its pods created. It changes no account.
func (s *Session) JobEnqueueable(obj any) int {
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
	s.NoteRefused(refusal)
	if s.Journal.Refuse(s.Explain, job, refusal) {
		s.Recorder.RecordPodGroup(s.Volcano, job.PodGroup, s.Journal.Event(s.Explain, job, s.scalars))
	}
	return util.Reject
}

// Reason returns why a job may not have its pods created now, nil if it may.
func (s *Session) Reason(job *api.JobInfo) *report.Reason {
	frame := s.Frames.Open()
	defer frame.Close()
	minimum := frame.Vector()
	outcome := s.decideInPlace(s.decide(minimum, job), job)
	return s.Explain.Explain(s.refusal(frame, minimum, job, outcome))
}

// refusal is the outcome of admission with the minimum that it is about.
func (s *Session) refusal(frame constraint.Frame, minimum fastres.Vector, job *api.JobInfo, outcome cards.Outcome) *constraint.Refusal {
	return s.Refused(frame, constraint.Refusal{Request: minimum, Admission: true, Job: job.UID, Queue: outcome.Verdict.Queue}, outcome)
}

// decide applies the rules of enqueue to a job. It sets minimum to the part of the job's minimum
// resources that it does not have yet.
func (s *Session) decide(minimum fastres.Vector, job *api.JobInfo) cards.Outcome {
	return s.decideIn(&s.memory.asking, minimum, job)
}

// decideIn does so with memory for the cards of the job.
func (s *Session) decideIn(memory *reserve.Job, minimum fastres.Vector, job *api.JobInfo) cards.Outcome {
	v := s.Intake.Eligible(s.Index.Lookup(string(job.Queue)))
	if !v.OK() {
		return cards.Outcome{Verdict: v}
	}
	lowered := s.lower()
	defer s.raiseAgain(lowered)
	a := s.askOf(memory, minimum, v.Queue, job)
	if a.Cards != nil {
		s.prune()
	}
	return s.decideReturned(s.decideOnce(a), a)
}

// decideOnce applies the rules under the bounds of admission as they are.
func (s *Session) decideOnce(a constraint.JobAsk) cards.Outcome {
	if v := s.AdmitsJob(a); !v.OK() || a.Cards == nil {
		return cards.Outcome{Verdict: v}
	}
	s.PrepareCards()
	outcome := s.admitCards(a)
	if outcome.Verdict.OK() {
		outcome = s.AdmitsCards(a)
	}
	return outcome
}

// admitCards decides about the cards of a job. If its smallest pods do not fit together, other pods may be its minimum.
func (s *Session) admitCards(a constraint.JobAsk) cards.Outcome {
	s.chosen = choice{}
	outcome := s.admitMinimum(a)
	if !outcome.Verdict.OK() && a.Cards.SeveralKinds() && s.chooseMinimum(a) {
		outcome = cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}}
	}
	return outcome
}

// admitMinimum decides about the cards of a job with its minimum as it is.
func (s *Session) admitMinimum(a constraint.JobAsk) cards.Outcome {
	return s.memory.Reservations.Admit(s.Index, s.Cards, a.Queue, a.Queue, a.Cards)
}

// chooseMinimum makes other pods the minimum of a job, and reports whether the job is admitted with them.
func (s *Session) chooseMinimum(a constraint.JobAsk) bool {
	chosen, ok := a.Cards.ChooseMinimum(s.Cards, func() bool { return s.admitMinimum(a).Verdict.OK() })
	if ok {
		s.chosen = choice{a.Job, chosen}
	}
	return ok
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
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
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
		if !r.Names.IsCard(d) && r.Intake.Total.Get(d) == 0 && card.IsMemoryOrCores(v1.ResourceName(r.Names.Name(d))) {
			minimum.Set(d, 0)
		}
	}
}

// setAllocated sets x to what a job has, without its cards.
func setAllocated(s *constraint.Session, x fastres.Vector, job *api.JobInfo, jobCards *reserve.Job) {
	s.Intake.Dims.Set(x, job.Allocated)
	if jobCards != nil {
		jobCards.ExemptAllocated(x)
	}
}

// cardsOf reads the cards of a job of q into memory, nil where it has and requests none.
func (s *Session) cardsOf(memory *reserve.Job, q index.Queue, job *api.JobInfo) *reserve.Job {
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

// JobEnqueued reserves the minimum of a job that is admitted, less what the job already has.
func (s *Session) JobEnqueued(obj any) {
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
		s.chargeInqueue(a, reservation)
		s.Metrics.PublishInqueue(q, reservation)
	})
	if s.promised != nil && !slices.Contains(s.promised[job.Queue], job) {
		s.promised[job.Queue] = append(s.promised[job.Queue], job)
	}
	s.Index.Check()
}

// admitted returns the question about a job of q that is admitted.
func (s *Session) admitted(frame constraint.Frame, q index.Queue, job *api.JobInfo) constraint.JobAsk {
	a := constraint.JobAsk{Job: job, Queue: q, HasMinimum: intake.HasMinimum(job), Inqueue: frame.Vector(),
		Cards: s.cardsOf(&s.memory.holding, q, job)}
	a.Inqueue.Reset()
	if a.Cards != nil && s.chosen.job == job {
		a.Cards.UseChosen(s.Cards, s.chosen.chosen)
	}
	return a
}

// eachReservation visits what is reserved for an admitted job, but for cards that the job can
// choose among: each card by itself, and then the rest of its minimum.
func (s *Session) eachReservation(a constraint.JobAsk, visit func(fastres.Vector)) {
	frame := s.Frames.Open()
	defer frame.Close()
	reservation := frame.Vector()
	if a.Cards != nil {
		s.memory.Reservations.EachCharge(s.Cards, a.Queue, a.Job, a.Cards, func(d fastres.Dim, milli float64) {
			reservation.Reset()
			s.Names.AddCard(reservation, d, milli)
			visit(reservation)
		})
	}
	if !a.HasMinimum {
		return
	}
	minimum := frame.Vector()
	allocated := frame.Vector()
	gated := frame.Vector()
	s.Intake.SetMinimum(minimum, a.Job)
	setAllocated(s.Session, allocated, a.Job, a.Cards)
	s.Intake.SetGated(gated, a.Job)
	if a.Cards != nil {
		a.Cards.ExemptMinimum(s.Cards, minimum)
		a.Cards.ExemptGated(gated)
	}
	quota.Reservation(reservation, minimum, allocated, gated)
	visit(reservation)
}

// chargeInqueue adds a reservation of a job to inqueue of its queue and above, and of the account
// of its holders. withdrawInqueue takes it back. A limit of a holder caps what queues above
// reserve, so that the two are one change (quota.Holders).
func (s *Session) chargeInqueue(a constraint.JobAsk, reservation fastres.Vector) {
	if account := s.Intake.AccountOf(a.Job.UID); account != index.None {
		s.Intake.Holders.ChargeInqueue(s.Index, a.Queue, account, a.Job, reservation)
		return
	}
	quota.ChargeInqueue(s.Index, a.Queue, reservation)
}

func (s *Session) withdrawInqueue(a constraint.JobAsk, reservation fastres.Vector) {
	if account := s.Intake.AccountOf(a.Job.UID); account != index.None {
		s.Intake.Holders.WithdrawInqueue(s.Index, a.Queue, account, a.Job, reservation)
		return
	}
	quota.WithdrawInqueue(s.Index, a.Queue, reservation)
}
