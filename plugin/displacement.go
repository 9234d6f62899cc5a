package plugin

import (
	"cmp"
	"fmt"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// displacement is a job that was asked about last, and the jobs that lose their promise if it is
// admitted.
type displacement struct {
	job   *api.JobInfo
	loses []*api.JobInfo
}

// admissionInPlace returns the outcome of admission where jobs may displace others (the argument
// displacePromises). outcome is that of admission itself. If it refuses the job, s.displacing
// becomes the jobs in place of which the job is admitted: jobs of its queue with a lower priority
// that are Inqueue and have no pod on a node. They are as few as can be, and those with a higher
// priority and a longer life keep their promise before others. It changes no account.
func (s *session) admissionInPlace(outcome cards.Outcome, minimum fastres.Vector, job *api.JobInfo) cards.Outcome {
	s.displacing = displacement{}
	if !s.settings.displace || !displaces(outcome.Verdict.Reason) {
		return outcome
	}
	var withdrawn []*promise
	for _, other := range s.promised(job.Queue) {
		if other.Priority < job.Priority && displaceable(other) {
			withdrawn = append(withdrawn, s.withdraw(other))
		}
	}
	if len(withdrawn) == 0 {
		return outcome
	}
	slices.SortFunc(withdrawn, func(x, y *promise) int {
		return cmp.Or(cmp.Compare(y.job.Priority, x.job.Priority), x.job.CreationTimestamp.Compare(y.job.CreationTimestamp.Time), cmp.Compare(x.job.UID, y.job.UID))
	})
	admitted := s.admission(minimum, job).Verdict.OK()
	var loses []*api.JobInfo
	for _, p := range withdrawn {
		s.giveBack(p)
		if !admitted || s.admission(minimum, job).Verdict.OK() {
			continue
		}
		s.revoke(p)
		loses = append(loses, p.job)
	}
	for _, p := range withdrawn {
		if slices.Contains(loses, p.job) {
			s.giveBack(p)
		}
	}
	if admitted {
		s.displacing = displacement{job, loses}
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: outcome.Verdict.Queue}}
	}
	return s.admission(minimum, job) // sets minimum again
}

// displaces reports whether a refusal may end when others lose their promises.
func displaces(reason quota.Reason) bool {
	return reason == quota.OverQuota || reason == quota.OverNamespace || reason == quota.TooManyJobs
}

// displaceable reports whether a job is Inqueue and has no pod on a node.
func displaceable(job *api.JobInfo) bool {
	return job.PodGroup != nil && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue && len(job.TaskStatusIndex[api.Pending]) == len(job.Tasks)
}

// promised returns the jobs of a queue that are Inqueue and have no pod on a node. They are found
// once in a session. There are none where a queue above is not open: their promises do not count
// there (quota.RollUpInqueue).
func (s *session) promised(queue api.QueueID) []*api.JobInfo {
	if s.inqueue == nil {
		s.inqueue = map[api.QueueID][]*api.JobInfo{}
		for _, job := range s.ssn.Jobs {
			q := s.ix.Lookup(string(job.Queue))
			if q != index.None && displaceable(job) && !slices.ContainsFunc(s.ix.Path(q), func(p index.Queue) bool { return !s.intake.Open(p) }) {
				s.inqueue[job.Queue] = append(s.inqueue[job.Queue], job)
			}
		}
	}
	return s.inqueue[queue]
}

// promise is what is reserved for an admitted job.
type promise struct {
	job         *api.JobInfo
	queue       index.Queue
	account     index.Queue // of its namespace
	amounts     []fastres.Vector
	lists       []reserve.Reservation
	ofNamespace []reserve.Reservation
}

// withdraw takes back what is reserved for a job.
func (s *session) withdraw(job *api.JobInfo) *promise {
	q := s.ix.Lookup(string(job.Queue))
	p := &promise{job: job, queue: q, account: s.intake.NamespaceOf(q, job)}
	if s.intake.Reserves(q, job) {
		s.eachReservation(q, job, s.cardsOf(q, job), func(reservation fastres.Vector) {
			amount := fastres.NewVector(reservation.Len())
			amount.CopyFrom(reservation)
			p.amounts = append(p.amounts, amount)
		})
	}
	s.revoke(p)
	return p
}

// revoke takes a promise back, and giveBack makes it again. The accounts are then as before.
func (s *session) revoke(p *promise) {
	s.memory.jobs.Leave(p.queue)
	p.lists = s.memory.reservations.Withdraw(p.job)
	if p.account != index.None {
		p.ofNamespace = s.intake.Namespaces.Reservations.Withdraw(p.job)
	}
	for _, amount := range p.amounts {
		if p.account == index.None {
			quota.WithdrawInqueue(s.ix, p.queue, amount)
		} else {
			s.intake.Namespaces.WithdrawInqueue(s.ix, p.queue, p.account, p.job, amount)
		}
	}
}

func (s *session) giveBack(p *promise) {
	s.memory.jobs.Admit(p.queue)
	s.memory.reservations.Add(p.lists)
	if p.account != index.None {
		s.intake.Namespaces.Reservations.Add(p.ofNamespace)
	}
	for _, amount := range p.amounts {
		s.chargeInqueue(p.queue, p.account, p.job, amount)
	}
}

// displace ends the admission of the jobs in place of which a job is admitted. They wait to be
// admitted again, and keep their pods.
func (s *session) displace(job *api.JobInfo) {
	if s.displacing.job != job {
		return
	}
	for _, loser := range s.displacing.loses {
		p := s.withdraw(loser)
		for _, amount := range p.amounts {
			s.memory.metrics.PublishInqueue(p.queue, amount)
		}
		loser.PodGroup.Status.Phase = scheduling.PodGroupPending
		message := fmt.Sprintf("The job is not admitted any more: job %s/%s of the queue has the priority %d, and this one %d. It is admitted again when there is room",
			job.Namespace, job.Name, job.Priority, loser.Priority)
		s.memory.journal.Displace(loser, message)
		if reserve.PromiseOf(loser).Known {
			reserve.EndPromise(loser, s.now, reserve.PromiseDisplaced, message)
		}
		s.memory.recorder.RecordPodGroup(s.ssn, loser.PodGroup, report.PromiseEvent(reserve.PromiseDisplaced, message))
	}
	s.displacing = displacement{}
}
