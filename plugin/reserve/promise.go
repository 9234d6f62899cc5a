package reserve

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
)

// InqueueCondition is a condition of a PodGroup. It tells whether the missing part of the minimum of an
// admitted job is reserved: True from the admission on, and False once the job was Inqueue for longer
// than its queue allows. Volcano does not record when a job became Inqueue, so this condition does. It
// outlasts the scheduler. Jobs of queues without a timeout have no such condition.
const InqueueCondition scheduling.PodGroupConditionType = "Inqueue"

// The reasons of the condition Inqueue.
const (
	InqueueAdmitted  = "Admitted"         // True
	InqueueTimeout   = "InqueueTimeout"   // False: the job was Inqueue for too long
	PromiseDisplaced = "PromiseDisplaced" // False: another job displaced it
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
	SetCondition(job, scheduling.PodGroupCondition{
		Type:               InqueueCondition,
		Status:             v1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now),
		Reason:             InqueueAdmitted,
	})
}

// EndPromise sets the condition of a job that is Inqueue for too long, or that another job displaces.
func EndPromise(job *api.JobInfo, now time.Time, reason, message string) {
	SetCondition(job, scheduling.PodGroupCondition{
		Type:               InqueueCondition,
		Status:             v1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now),
		Reason:             reason,
		Message:            message,
	})
}

// Condition returns a condition of the PodGroup of a job, nil if it has none of the type.
func Condition(job *api.JobInfo, kind scheduling.PodGroupConditionType) *scheduling.PodGroupCondition {
	if job.PodGroup == nil {
		return nil
	}

	conditions := job.PodGroup.Status.Conditions
	i := slices.IndexFunc(conditions, func(c scheduling.PodGroupCondition) bool { return c.Type == kind })
	if i < 0 {
		return nil
	}
	return &conditions[i]
}

// SetCondition adds a condition to the PodGroup of a job, in place of one of the same type.
func SetCondition(job *api.JobInfo, to scheduling.PodGroupCondition) {
	if job.PodGroup == nil {
		return
	}

	if c := Condition(job, to.Type); c != nil {
		*c = to
		return
	}
	job.PodGroup.Status.Conditions = append(job.PodGroup.Status.Conditions, to)
}
