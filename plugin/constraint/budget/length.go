package budget

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
)

// lengthOf returns how long a pod runs, as it announces, 0 for one that does not: its annotation, or else that of its
// PodGroup, which ofGroup returns, or else its deadline.
func lengthOf(pod *v1.Pod, ofGroup time.Duration) time.Duration {
	if pod == nil {
		return ofGroup
	}
	if length, ok := policy.ParseRuntime(pod.Annotations[policy.ExpectedRuntimeKey]); ok {
		return length
	}
	if ofGroup == 0 && pod.Spec.ActiveDeadlineSeconds != nil {
		return time.Duration(max(0, *pod.Spec.ActiveDeadlineSeconds)) * time.Second
	}
	return ofGroup
}

// ofGroup returns the length that the PodGroup of a job announces, 0 for none.
func ofGroup(job *api.JobInfo) (length time.Duration) {
	if job.PodGroup != nil {
		length, _ = policy.ParseRuntime(job.PodGroup.Annotations[policy.ExpectedRuntimeKey])
	}
	return length
}

// jobLength returns the longest of the lengths of a job's pods that have no node, 0 where one of them announces none.
func jobLength(job *api.JobInfo) (length time.Duration) {
	pending, group := job.TaskStatusIndex[api.Pending], ofGroup(job)
	if len(pending) == 0 {
		return group
	}
	for _, task := range pending {
		of := lengthOf(task.Pod, group)
		if of == 0 {
			return 0
		}
		length = max(length, of)
	}
	return length
}

// rest returns how long a pod still runs of its length.
func rest(length time.Duration, pod *v1.Pod, now time.Time) time.Duration {
	if pod.Status.StartTime == nil {
		return length
	}
	return max(0, length-max(0, now.Sub(pod.Status.StartTime.Time)))
}
