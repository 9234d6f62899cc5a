package admit

import (
	"cmp"
	"fmt"
	"slices"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// displacement is a job that is admitted in place of others, and the jobs that lose their promise for it. It is about
// the job that was asked about last, and JobEnqueued carries it out. The zero displacement is none.
type displacement struct {
	job   *api.JobInfo
	loses []*api.JobInfo
}

// decideInPlace returns the outcome of admission where jobs of a queue may displace others (displace in the
// annotation volcano.sh/order). outcome is the outcome without that. If it refuses the job, s.displacing
// becomes the jobs that lose their promise to the job. They are Inqueue in the same queue, have a
// lower priority and no pod on a node. They are as few as can be. Jobs with a higher priority and a
// longer life keep their promise before others. It changes no account.
func (s *Admission) decideInPlace(outcome cards.Outcome, job *api.JobInfo) cards.Outcome {
	s.displacing = displacement{}
	if !s.displaces(job) || !outcome.Verdict.Reason.EndsWithPromises() {
		return outcome
	}
	withdrawn := s.withdrawBelow(job)
	if len(withdrawn) == 0 {
		return outcome
	}

	frame := s.Frames.Open()
	defer frame.Close()
	minimum := frame.Vector() // the outcome keeps its own
	admitted := s.decide(minimum, job).Verdict.OK()
	var loses []*promise
	for _, p := range withdrawn {
		s.restore(p)
		if admitted && !s.decide(minimum, job).Verdict.OK() {
			s.revoke(p)
			loses = append(loses, p)
		}
	}
	for _, p := range loses {
		s.restore(p)
	}

	if !admitted {
		return outcome
	}

	s.displacing.job = job
	for _, p := range loses {
		s.displacing.loses = append(s.displacing.loses, p.job)
	}
	return cards.Outcome{Verdict: constraint.Admitted(outcome.Verdict.Queue)}
}

// displaces reports whether a job may displace others of its queue.
func (s *Admission) displaces(job *api.JobInfo) bool {
	q := s.Index.Lookup(string(job.Queue))
	return q != index.None && s.Intake.Policies(q).Displaces()
}

// withdrawBelow withdraws all promises that a job may displace. The first of them is the last to be displaced.
func (s *Admission) withdrawBelow(job *api.JobInfo) (withdrawn []*promise) {
	for _, other := range s.promisedIn(job.Queue) {
		if other.Priority < job.Priority && displaceable(other) {
			withdrawn = append(withdrawn, s.withdraw(other))
		}
	}

	slices.SortFunc(withdrawn, func(x, y *promise) int {
		return cmp.Or(
			cmp.Compare(y.job.Priority, x.job.Priority),
			x.job.CreationTimestamp.Compare(y.job.CreationTimestamp.Time),
			cmp.Compare(x.job.UID, y.job.UID),
		)
	})
	return withdrawn
}

// displaceFor ends the admission of the jobs that lose their promise to a job. They wait to be
// admitted again, and keep their pods.
func (s *Admission) displaceFor(job *api.JobInfo) {
	if s.displacing.job != job {
		return
	}

	for _, loser := range s.displacing.loses {
		p := s.withdraw(loser)
		for _, amount := range p.amounts {
			s.Metrics.PublishInqueue(p.queue, amount)
		}

		loser.PodGroup.Status.Phase = scheduling.PodGroupPending
		message := fmt.Sprintf("The job is not admitted any more: job %s/%s of the queue has the priority %d, "+
			"and this one %d. It is admitted again when there is room",
			job.Namespace, job.Name, job.Priority, loser.Priority)
		s.Journal.Displace(loser, message)
		if reserve.PromiseOf(loser).Known {
			reserve.EndPromise(loser, s.Now, reserve.PromiseDisplaced, message)
		}
		s.Recorder.RecordPodGroup(s.Volcano, loser.PodGroup, record.PromiseEvent(reserve.PromiseDisplaced, message))
	}
	s.displacing = displacement{}
}
