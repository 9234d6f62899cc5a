package admit

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/quota"
)

// admitted returns the question about a job of q that is admitted.
func (s *Admission) admitted(frame constraint.Frame, q index.Queue, job *api.JobInfo) constraint.JobAsk {
	a := constraint.JobAsk{
		Job:        job,
		Queue:      q,
		HasMinimum: intake.HasMinimum(job),
		Inqueue:    frame.Vector(),
		Cards:      s.cardsOf(&s.memory.holding, q, job),
	}

	a.Inqueue.Reset()
	chosen, other := s.chosen[job.UID]
	if a.Cards != nil && other {
		a.Cards.UseChosen(s.Cards, chosen)
	}
	return a
}

// eachReservation visits the reservations of an admitted job: each card by itself, and then the rest of its minimum.
// Cards that the job can choose among are left out: they are in Memory.Reservations.
func (s *Admission) eachReservation(a constraint.JobAsk, visit func(fastres.Vector)) {
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

// changeInqueue adds a reservation of a job to inqueue of its queue and above, and of the account
// of its holders. sign is 1, or -1 to take the reservation back. A limit of a holder caps the
// reservations of queues above, so that the two are one change (quota.Holders).
func (s *Admission) changeInqueue(a constraint.JobAsk, reservation fastres.Vector, sign float64) {
	account := s.Intake.AccountOf(a.Job.UID)
	if account == index.None {
		quota.ChangeInqueue(s.Index, a.Queue, reservation, sign)
		return
	}
	s.Intake.Holders.ChangeInqueue(s.Index, a.Queue, account, a.Job, reservation, sign)
}
