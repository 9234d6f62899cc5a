package intake

import (
	"time"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// Timed is a job with a condition Inqueue to be written: it is admitted without one, or it is Inqueue for too long.
type Timed struct {
	Job   *api.JobInfo
	Queue index.Queue
	Over  bool // Inqueue for too long
}

// setTimeouts finds the timeouts of the queues: the annotation of a queue, an ancestor or the root.
func (s *Inputs) setTimeouts() {
	s.timeouts = nil
	if !s.HasPolicies() {
		return
	}

	for q := range index.Queue(s.tree.Len()) {
		timeout, _ := s.Policies(q).InqueueTimeout()
		if timeout == 0 {
			continue
		}

		if s.timeouts == nil {
			s.timeouts = make([]time.Duration, s.tree.Len())
		}
		s.timeouts[q] = timeout
	}
}

// InqueueTimeout returns how long a job of q may be Inqueue without its minimum. Then its reservation ends. 0 is no
// timeout.
func (s *Inputs) InqueueTimeout(q index.Queue) time.Duration {
	if s.timeouts == nil {
		return 0
	}
	return s.timeouts[q]
}

// HasReservation reports whether an admitted job of q had a reservation when the session opened, or got one when it was
// admitted since.
func (s *Inputs) HasReservation(q index.Queue, job *api.JobInfo) bool {
	return s.InqueueTimeout(q) == 0 || job.PodGroup.Spec.MinMember <= 0 || !reserve.PromiseOf(job).Over
}

// hasReservation reports whether the rest of the minimum of a job of q is reserved: the job is admitted, and not
// Inqueue for too long.
func (t *tally) hasReservation(q index.Queue, job *api.JobInfo, allocated int) bool {
	if job.PodGroup == nil || !admitted(job, allocated) {
		return false
	}

	// A job that has its minimum of tasks is Running in the next session, so its time does not count.
	if t.timeouts == nil || t.timeouts[q] == 0 || job.PodGroup.Status.Phase != scheduling.PodGroupInqueue ||
		allocated >= int(job.PodGroup.Spec.MinMember) {
		return true
	}

	switch promise := reserve.PromiseOf(job); {
	case !promise.Known:
		t.timed = append(t.timed, Timed{job, q, false})
		return true
	case promise.Over:
		return false
	case t.now.Sub(promise.Since) > t.timeouts[q]:
		t.timed = append(t.timed, Timed{job, q, true})
		return false
	}
	return true
}
