package joborder

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// FirstInOrder is the condition of a PodGroup if its job holds back later jobs of its queue. It is True from the first
// cycle in which it does, and False once its time is over or it has its minimum. It outlasts the scheduler.
const FirstInOrder scheduling.PodGroupConditionType = "FirstInOrder"

// The reasons of the condition: the first is for True, the others for False.
const (
	WaitsForQuota = "WaitsForQuota"
	HoldOver      = "OrderHoldOver"
	Started       = "Started"
)

// HoldsNobody makes the job of a PodGroup one that has held back others for long enough.
func HoldsNobody(p *api.PodGroup) {
	over := scheduling.PodGroupCondition{Type: FirstInOrder, Status: v1.ConditionFalse, Reason: HoldOver}
	p.Status.Conditions = append(slices.Clone(p.Status.Conditions), over)
}

// earlier has the state of a job as its condition has it.
type earlier struct {
	quota.Earlier
	known bool // it has held back others, and has not had its minimum since
}

// earlierOf reads the condition of a job.
func earlierOf(job *api.JobInfo) earlier {
	c := reserve.Condition(job, FirstInOrder)
	switch {
	case c == nil:
		return earlier{}
	case c.Status == v1.ConditionTrue:
		return earlier{quota.Earlier{Began: c.LastTransitionTime.Time}, true}
	case c.Reason == HoldOver:
		return earlier{quota.Earlier{Over: true}, true}
	}
	return earlier{}
}

func beginHold(job *api.JobInfo, now time.Time) {
	reserve.SetCondition(job, scheduling.PodGroupCondition{
		Type:               FirstInOrder,
		Status:             v1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now),
		Reason:             WaitsForQuota,
	})
}

func endHold(job *api.JobInfo, now time.Time, reason, message string) {
	reserve.SetCondition(job, scheduling.PodGroupCondition{
		Type:               FirstInOrder,
		Status:             v1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now),
		Reason:             reason,
		Message:            message,
	})
}
