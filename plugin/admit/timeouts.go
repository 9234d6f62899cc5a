package admit

import (
	"cmp"
	"fmt"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/record"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// WriteTimeouts writes the condition Inqueue of jobs with a time that begins or is over, and records
// an event for the latter.
func (s *Admission) WriteTimeouts() {
	timed := s.Intake.Timed
	slices.SortFunc(timed, func(x, y intake.Timed) int { return cmp.Compare(x.Job.UID, y.Job.UID) })

	for _, promise := range timed {
		if !promise.Over {
			reserve.BeginPromise(promise.Job, s.Now)
			continue
		}
		message := fmt.Sprintf("The job has been Inqueue for more than %v without its minimum: its minimum is not "+
			"reserved any more, and other jobs can be admitted. It starts when there is room",
			s.Intake.InqueueTimeout(promise.Queue))
		reserve.EndPromise(promise.Job, s.Now, reserve.InqueueTimeout, message)
		s.Metrics.CountTimeout(promise.Queue)
		event := record.PromiseEvent(reserve.InqueueTimeout, message)
		s.Recorder.RecordPodGroup(s.Volcano, promise.Job.PodGroup, event)
	}
}

// beginPromise notes when a job of q is admitted, where that matters.
func (s *Admission) beginPromise(q index.Queue, job *api.JobInfo) {
	if s.Intake.InqueueTimeout(q) > 0 || reserve.PromiseOf(job).Known {
		reserve.BeginPromise(job, s.Now)
	}
}
