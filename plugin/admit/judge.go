package admit

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
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

	if a.Cards == nil {
		return true
	}

	for part := range a.Cards.Selectors() {
		request := a.Cards.Missing(part)
		if float64(request.Amount) > s.mostOf(a.Queue, request) {
			return false
		}
	}
	return true
}

// mostOf returns the most that q can have of the cards of a request, where no queue has any.
func (s *Admission) mostOf(q index.Queue, request cards.Request) (most float64) {
	bounds := s.Index.AdmissionBounds(q)
	for _, d := range request.Selector.Dims {
		bound := fastres.MaxQuantity
		for _, p := range s.Index.Path(q) {
			bound = min(bound, bounds.At(p, d))
			for _, share := range s.Names.Groups(d) {
				bound = min(bound, bounds.At(p, share.Group)/share.Weight)
			}
		}
		most += bound
	}
	return most
}
