package plugin

import (
	"cmp"
	"fmt"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// writeTimeouts writes the condition Inqueue of jobs whose time begins or is over, and records
// an event for the latter.
func (s *session) writeTimeouts() {
	timed := s.intake.Timed
	slices.SortFunc(timed, func(x, y intake.Timed) int { return cmp.Compare(x.Job.UID, y.Job.UID) })
	for _, each := range timed {
		if !each.Over {
			reserve.BeginPromise(each.Job, s.now)
			continue
		}
		message := fmt.Sprintf("The job has been Inqueue for more than %v without its minimum: its minimum is not reserved any more, and other jobs can be admitted. "+
			"It starts when there is room", s.intake.InqueueTimeout(each.Queue))
		reserve.EndPromise(each.Job, s.now, reserve.InqueueTimeout, message)
		s.memory.metrics.CountTimeout(each.Queue)
		s.memory.recorder.RecordPodGroup(s.ssn, each.Job.PodGroup, report.PromiseEvent(reserve.InqueueTimeout, message))
	}
}

// beginPromise notes when a job of q is admitted, where that matters.
func (s *session) beginPromise(q index.Queue, job *api.JobInfo) {
	if s.intake.InqueueTimeout(q) > 0 || reserve.PromiseOf(job).Known {
		reserve.BeginPromise(job, s.now)
	}
}
