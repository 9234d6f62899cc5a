package admit

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Judge returns the verdict of admission on a job, and whether the job could be admitted if no other had anything. A
// rule may call it while it decides about another job: it has memory of its own.
func (s *Admission) Judge(job *api.JobInfo) (v quota.Verdict, possible bool) {
	frame := s.Frames.Open()
	defer frame.Close()
	minimum := frame.Vector()
	minimum.Reset()

	s.returns.suspend()
	defer s.returns.resume()
	v = s.decideIn(&s.memory.judged, minimum, job).Verdict
	if v.OK() || v.Queue == index.None {
		return v, v.OK()
	}

	q := s.Index.Lookup(string(job.Queue))
	a := s.askOf(&s.memory.judged, minimum, q, job)
	return v, s.possible(a) && !s.LimitRefuses(a)
}

// possible reports whether a job fits under the bounds of admission of its queue and all queues above while they are
// empty. a.Minimum holds the part of its minimum that the job lacks, without cards.
func (s *Admission) possible(a constraint.JobAsk) bool {
	bounds := s.Index.AdmissionBounds(a.Queue)
	for _, p := range s.Index.Path(a.Queue) {
		for d := range a.Minimum.Requested() {
			if a.Minimum.Get(d) > bounds.At(p, d) {
				return false
			}
		}
	}

	return a.Cards == nil || s.memory.Reservations.Possible(s.Index, s.Cards, a.Queue, a.Cards)
}
