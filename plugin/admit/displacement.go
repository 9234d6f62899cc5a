package admit

import (
	"cmp"
	"fmt"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// displacement is a job that was asked about last, and the jobs that lose their promise if it is
// admitted.
type displacement struct {
	job   *api.JobInfo
	loses []*api.JobInfo
}

// decideInPlace returns the outcome of admission where jobs may displace others (the argument
// displacePromises). outcome is that of admission itself. If it refuses the job, s.displacing
// becomes the jobs in place of which the job is admitted: jobs of its queue with a lower priority
// that are Inqueue and have no pod on a node. They are as few as can be, and those with a higher
// priority and a longer life keep their promise before others. It changes no account.
func (s *Session) decideInPlace(outcome cards.Outcome, job *api.JobInfo) cards.Outcome {
	s.displacing = displacement{}
	if !s.displace || !endsWithPromises(outcome.Verdict.Reason) {
		return outcome
	}
	var withdrawn []*promise
	for _, other := range s.promisedIn(job.Queue) {
		if other.Priority < job.Priority && displaceable(other) {
			withdrawn = append(withdrawn, s.withdraw(other))
		}
	}
	if len(withdrawn) == 0 {
		return outcome
	}
	slices.SortFunc(withdrawn, func(x, y *promise) int {
		return cmp.Or(cmp.Compare(y.job.Priority, x.job.Priority), x.job.CreationTimestamp.Compare(y.job.CreationTimestamp.Time),
			cmp.Compare(x.job.UID, y.job.UID))
	})
	frame := s.Frames.Open()
	defer frame.Close()
	minimum := frame.Vector() // that of outcome stays
	admitted := s.decide(minimum, job).Verdict.OK()
	var loses []*promise
	for _, p := range withdrawn {
		s.restore(p)
		if admitted && !s.decide(minimum, job).Verdict.OK() {
			s.revoke(p)
			loses = append(loses, p)
		}
	}
	if admitted {
		s.displacing.job = job
	}
	for _, p := range loses {
		s.restore(p)
		s.displacing.loses = append(s.displacing.loses, p.job)
	}
	if admitted {
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: outcome.Verdict.Queue}}
	}
	return outcome
}

// endsWithPromises reports whether a refusal may end when others lose their promises.
func endsWithPromises(reason quota.Reason) bool {
	return reason == quota.OverQuota || reason.OfHolder() || reason == quota.TooManyJobs
}

// displaceable reports whether a job is Inqueue and has no pod on a node.
func displaceable(job *api.JobInfo) bool {
	return job.PodGroup != nil && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue &&
		len(job.TaskStatusIndex[api.Pending]) == len(job.Tasks)
}

// promisedIn returns the jobs of a queue that were Inqueue when it was called first, or were
// admitted since. There are none where a queue above is not open: their promises do not count
// there (quota.RollUpInqueue).
func (s *Session) promisedIn(queue api.QueueID) []*api.JobInfo {
	if s.promised == nil {
		s.promised = map[api.QueueID][]*api.JobInfo{}
		for _, job := range s.Volcano.Jobs {
			if displaceable(job) {
				s.promised[job.Queue] = append(s.promised[job.Queue], job)
			}
		}
	}
	q := s.Index.Lookup(string(queue))
	if q == index.None || slices.ContainsFunc(s.Index.Path(q), func(p index.Queue) bool { return !s.Intake.Open(p) }) {
		return nil
	}
	return s.promised[queue]
}

// promise holds the reservations of an admitted job.
type promise struct {
	job     *api.JobInfo
	queue   index.Queue
	amounts []fastres.Vector
	lists   []reserve.Reservation
	// held restores what constraints hold for the job, nil while it is held.
	held func()
}

// withdraw takes back what is reserved for a job.
func (s *Session) withdraw(job *api.JobInfo) *promise {
	p := &promise{job: job, queue: s.Index.Lookup(string(job.Queue))}
	frame := s.Frames.Open()
	defer frame.Close()
	if s.Intake.HasReservation(p.queue, job) {
		a := s.admitted(frame, p.queue, job)
		s.eachReservation(a, func(reservation fastres.Vector) {
			amount := fastres.NewVector(reservation.Len())
			amount.CopyFrom(reservation)
			p.amounts = append(p.amounts, amount)
		})
	}
	s.revoke(p)
	return p
}

// revoke takes a promise back, and restore makes it again. The accounts are then as before.
func (s *Session) revoke(p *promise) {
	frame := s.Frames.Open()
	defer frame.Close()
	a := constraint.JobAsk{Job: p.job, Queue: p.queue, Inqueue: frame.Vector()}
	a.Inqueue.Reset()
	p.held = s.WithdrawFor(a)
	p.lists = s.memory.Reservations.Withdraw(p.job)
	for _, amount := range p.amounts {
		s.withdrawInqueue(a, amount)
	}
}

func (s *Session) restore(p *promise) {
	p.held()
	s.memory.Reservations.Add(p.lists)
	a := constraint.JobAsk{Job: p.job, Queue: p.queue}
	for _, amount := range p.amounts {
		s.chargeInqueue(a, amount)
	}
}

// displaceFor ends the admission of the jobs in place of which a job is admitted. They wait to be
// admitted again, and keep their pods.
func (s *Session) displaceFor(job *api.JobInfo) {
	if s.displacing.job != job {
		return
	}
	for _, loser := range s.displacing.loses {
		p := s.withdraw(loser)
		for _, amount := range p.amounts {
			s.Metrics.PublishInqueue(p.queue, amount)
		}
		loser.PodGroup.Status.Phase = scheduling.PodGroupPending
		message := fmt.Sprintf("The job is not admitted any more: job %s/%s of the queue has the priority %d, and this one %d. "+
			"It is admitted again when there is room", job.Namespace, job.Name, job.Priority, loser.Priority)
		s.Journal.Displace(loser, message)
		if reserve.PromiseOf(loser).Known {
			reserve.EndPromise(loser, s.Now, reserve.PromiseDisplaced, message)
		}
		s.Recorder.RecordPodGroup(s.Volcano, loser.PodGroup, record.PromiseEvent(reserve.PromiseDisplaced, message))
	}
	s.displacing = displacement{}
}
