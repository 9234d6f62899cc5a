package admit

import (
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// promises are the jobs that are admitted and have no pod on a node, by queue. They are read when a job first wants
// to displace some.
type promises struct {
	read bool
	jobs map[api.QueueID][]*api.JobInfo
}

// readFrom reads the promises of a session, once.
func (p *promises) readFrom(jobs map[api.JobID]*api.JobInfo) {
	if p.read {
		return
	}

	p.read = true
	p.jobs = map[api.QueueID][]*api.JobInfo{}
	for _, job := range jobs {
		if displaceable(job) {
			p.jobs[job.Queue] = append(p.jobs[job.Queue], job)
		}
	}
}

// add adds a job that is admitted in the session. Before the promises are read, readFrom will find it.
func (p *promises) add(job *api.JobInfo) {
	if p.read && !slices.Contains(p.jobs[job.Queue], job) {
		p.jobs[job.Queue] = append(p.jobs[job.Queue], job)
	}
}

// displaceable reports whether a job is Inqueue and has no pod on a node.
func displaceable(job *api.JobInfo) bool {
	return job.PodGroup != nil && job.PodGroup.Status.Phase == scheduling.PodGroupInqueue &&
		len(job.TaskStatusIndex[api.Pending]) == len(job.Tasks)
}

// promisedIn returns the jobs of a queue that were Inqueue when it was called first, or were
// admitted since. There are none where a queue above is not open: their promises do not count
// there (quota.RollUpInqueue).
func (s *Admission) promisedIn(queue api.QueueID) []*api.JobInfo {
	s.promises.readFrom(s.Volcano.Jobs)

	q := s.Index.Lookup(string(queue))
	closed := func(p index.Queue) bool { return !s.Intake.Open(p) }
	if q == index.None || slices.ContainsFunc(s.Index.Path(q), closed) {
		return nil
	}
	return s.promises.jobs[queue]
}

// promise is the reservations of an admitted job. It is made, or revoked: revoke and restore alternate.
type promise struct {
	job     *api.JobInfo
	queue   index.Queue
	amounts []fastres.Vector // inqueue of the queue

	// Set while the promise is revoked.
	lists     []reserve.Reservation
	holdAgain func() // of the constraints
}

// withdraw takes the promise of a job back.
func (s *Admission) withdraw(job *api.JobInfo) *promise {
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

// revoke takes a promise back.
func (s *Admission) revoke(p *promise) {
	frame := s.Frames.Open()
	defer frame.Close()
	a := s.admitted(frame, p.queue, p.job)

	p.holdAgain = s.WithdrawFor(a)
	p.lists = s.memory.Reservations.Withdraw(p.job)
	for _, amount := range p.amounts {
		s.changeInqueue(a, amount, -1)
	}
}

// restore makes a promise again. The accounts are then as before revoke.
func (s *Admission) restore(p *promise) {
	p.holdAgain()
	s.memory.Reservations.Add(p.lists)
	a := constraint.JobAsk{Job: p.job, Queue: p.queue}
	for _, amount := range p.amounts {
		s.changeInqueue(a, amount, 1)
	}
}
