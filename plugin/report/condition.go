package report

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/reserve"
)

// The reasons of the condition Unschedulable of a PodGroup. The condition is True while the job is not admitted, and
// False from its admission on. Volcano's plugin gang sets the same condition, with the reason NotEnoughResources, for
// jobs with pods. A job that waits for admission has no pods, so gang skips it.
const (
	NotAdmitted = "NotAdmitted"
	Admitted    = "Admitted"
)

// unschedulable returns the condition Unschedulable of a job, nil if it has none.
func unschedulable(job *api.JobInfo) *scheduling.PodGroupCondition {
	return reserve.Condition(job, scheduling.PodGroupUnschedulableType)
}

// setNotAdmitted sets the condition of a job that is not admitted. Volcano writes the PodGroup when the session
// closes, if a condition has changed.
//
// The condition has no TransitionID. Otherwise Volcano would set the phase of a job with running pods to Unknown in
// this session.
func setNotAdmitted(job *api.JobInfo, since metav1.Time, message string) {
	reserve.SetCondition(job, scheduling.PodGroupCondition{
		Type:               scheduling.PodGroupUnschedulableType,
		Status:             v1.ConditionTrue,
		LastTransitionTime: since,
		Reason:             NotAdmitted,
		Message:            message,
	})
}

// setAdmitted ends the condition Unschedulable of a job that is admitted.
func setAdmitted(job *api.JobInfo, now metav1.Time) {
	if c := unschedulable(job); c != nil && c.Status == v1.ConditionTrue {
		*c = scheduling.PodGroupCondition{
			Type:               scheduling.PodGroupUnschedulableType,
			Status:             v1.ConditionFalse,
			LastTransitionTime: now,
			Reason:             Admitted,
		}
	}
}

// waitsSince returns when a job that is not admitted began to wait: the time in its condition, which survives a
// restart of the scheduler, or now.
func waitsSince(job *api.JobInfo, now metav1.Time) metav1.Time {
	if c := unschedulable(job); c != nil && c.Status == v1.ConditionTrue && c.Reason == NotAdmitted {
		return c.LastTransitionTime
	}
	return now
}
