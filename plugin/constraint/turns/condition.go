package turns

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// FirstInOrder is the condition of a PodGroup whose job holds back later jobs of its queue: True from the first
// cycle in which it does, and False once its time is over or it has its minimum. It outlasts the scheduler.
const FirstInOrder scheduling.PodGroupConditionType = "FirstInOrder"

// The reasons of the condition: of True, and of False.
const (
	WaitsForQuota = "WaitsForQuota"
	HoldOver      = "OrderHoldOver"
	Started       = "Started"
)

// turn is the condition of a job, read.
type turn struct {
	quota.Turn
	known bool // it has held back others, and has not had its minimum since
}

// turnOf reads the condition of a job.
func turnOf(job *api.JobInfo) turn {
	c := reserve.Condition(job, FirstInOrder)
	switch {
	case c == nil || c.Status != v1.ConditionTrue && c.Reason != HoldOver:
		return turn{}
	case c.Status == v1.ConditionTrue:
		return turn{quota.Turn{Began: c.LastTransitionTime.Time}, true}
	}
	return turn{quota.Turn{Over: true}, true}
}

func beginTurn(job *api.JobInfo, now time.Time) {
	reserve.SetCondition(job, scheduling.PodGroupCondition{Type: FirstInOrder, Status: v1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now), Reason: WaitsForQuota})
}

func endTurn(job *api.JobInfo, now time.Time, reason, message string) {
	reserve.SetCondition(job, scheduling.PodGroupCondition{Type: FirstInOrder, Status: v1.ConditionFalse,
		LastTransitionTime: metav1.NewTime(now), Reason: reason, Message: message})
}
