package report

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// The reasons of the condition Unschedulable of a PodGroup, with the rule that refuses the job. The condition is True
// while the job is not admitted, and False from its admission on. Volcano's plugin gang sets the same condition, with
// the reason NotEnoughResources, for jobs with pods. A job that waits for admission has no pods, so gang skips it.
const (
	Admitted  = "Admitted"
	Displaced = "Displaced" // another job of the queue took its promise
)

// IsRefusal reports whether the reason of a condition Unschedulable says that the job is not admitted.
func IsRefusal(reason string) bool {
	return quota.IsReason(reason) || reason == string(UnlabeledNodes) || reason == Displaced
}

// unschedulable returns the condition Unschedulable of a job, nil if it has none.
func unschedulable(job *api.JobInfo) *scheduling.PodGroupCondition {
	return reserve.Condition(job, scheduling.PodGroupUnschedulableType)
}

// setNotAdmitted sets the condition of a job that is not admitted. Volcano writes the PodGroup when the session
// closes, if a condition has changed.
//
// The condition has no TransitionID. Otherwise Volcano would set the phase of a job with running pods to Unknown in
// this session.
func setNotAdmitted(job *api.JobInfo, since metav1.Time, rule, message string) {
	reserve.SetCondition(job, scheduling.PodGroupCondition{
		Type:               scheduling.PodGroupUnschedulableType,
		Status:             v1.ConditionTrue,
		LastTransitionTime: since,
		Reason:             rule,
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
	if c := unschedulable(job); c != nil && c.Status == v1.ConditionTrue && IsRefusal(c.Reason) {
		return c.LastTransitionTime
	}
	return now
}

// annotation returns the text of the annotation for a reason, with as many shortages as String lists. JSON has no
// infinite numbers: a reason with one is left with its rule and its queue.
func (r Reason) annotation() string {
	r.Shortages = r.Shortages[:min(len(r.Shortages), maxShortages)]
	text, err := json.Marshal(r)
	if err != nil {
		text, _ = json.Marshal(Reason{Rule: r.Rule, Queue: r.Queue})
	}
	return string(text)
}

// annotate sets the annotation of a job that waits. Volcano writes the PodGroup with the condition. The condition that
// gang sets has the text of the reason, so it changes in the same session.
func annotate(job *api.JobInfo, reason string) {
	if job.PodGroup != nil {
		metav1.SetMetaDataAnnotation(&job.PodGroup.ObjectMeta, card.ReasonKey, reason)
	}
}

// endAnnotation deletes the annotation of a job that waits no longer. Volcano writes the PodGroup with its new phase.
func endAnnotation(job *api.JobInfo) {
	if job.PodGroup != nil {
		delete(job.PodGroup.Annotations, card.ReasonKey)
	}
}
