package reserve

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// The condition Inqueue of a PodGroup says whether what an admitted job lacks of its minimum is
// reserved for it: True from the admission on, and False once the job was Inqueue for longer
// than its queue allows. Volcano keeps no time at which a job became Inqueue, so the time of
// this condition is that time. It outlasts the scheduler. Jobs of queues without a timeout have
// no such condition.
const InqueueCondition scheduling.PodGroupConditionType = "Inqueue"

// The reasons of the condition Inqueue: of True, and of False.
const (
	InqueueAdmitted  = "Admitted"
	InqueueTimeout   = "InqueueTimeout"
	PromiseDisplaced = "PromiseDisplaced"
)

// Promise is the state of the condition Inqueue of a job.
type Promise struct {
	Known bool // the job has the condition
	Over  bool // nothing is reserved for the job any more
	Since time.Time
}

// PromiseOf reads the condition Inqueue of a job.
func PromiseOf(job *api.JobInfo) Promise {
	c := Condition(job, InqueueCondition)
	if c == nil {
		return Promise{}
	}
	return Promise{Known: true, Over: c.Status != v1.ConditionTrue, Since: c.LastTransitionTime.Time}
}

// BeginPromise sets the condition of a job that is admitted now.
func BeginPromise(job *api.JobInfo, now time.Time) {
	SetCondition(job, scheduling.PodGroupCondition{Type: InqueueCondition, Status: v1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now), Reason: InqueueAdmitted})
}

// EndPromise sets the condition of a job that is Inqueue for too long, or that another one
// displaces.
func EndPromise(job *api.JobInfo, now time.Time, reason, message string) {
	SetCondition(job, scheduling.PodGroupCondition{Type: InqueueCondition, Status: v1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now), Reason: reason, Message: message})
}

// Condition returns a condition of the PodGroup of a job, nil if it has none of the type.
func Condition(job *api.JobInfo, of scheduling.PodGroupConditionType) *scheduling.PodGroupCondition {
	if job.PodGroup == nil {
		return nil
	}
	for i := range job.PodGroup.Status.Conditions {
		if c := &job.PodGroup.Status.Conditions[i]; c.Type == of {
			return c
		}
	}
	return nil
}

// SetCondition sets the condition of a type.
func SetCondition(job *api.JobInfo, to scheduling.PodGroupCondition) {
	if c := Condition(job, to.Type); c != nil {
		*c = to
	} else if job.PodGroup != nil {
		job.PodGroup.Status.Conditions = append(job.PodGroup.Status.Conditions, to)
	}
}
