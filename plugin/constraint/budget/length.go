package budget

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// lengthOf returns how long a pod runs, as it announces, 0 for none: its annotation, or else the length group that its
// PodGroup announces, or else its deadline.
func lengthOf(pod *v1.Pod, group time.Duration) time.Duration {
	if pod == nil {
		return group
	}
	if length, ok := policy.ParseRuntime(pod.Annotations[policy.ExpectedRuntimeKey]); ok {
		return length
	}
	if group == 0 && pod.Spec.ActiveDeadlineSeconds != nil {
		return time.Duration(max(0, *pod.Spec.ActiveDeadlineSeconds)) * time.Second
	}
	return group
}

// groupLength returns the length that the PodGroup of a job announces, 0 for none.
func groupLength(job *api.JobInfo) (length time.Duration) {
	if job.PodGroup != nil {
		length, _ = policy.ParseRuntime(job.PodGroup.Annotations[policy.ExpectedRuntimeKey])
	}
	return length
}

// jobLength returns the longest length of a job's pods without a node, 0 where one of them announces none.
func jobLength(job *api.JobInfo) (longest time.Duration) {
	group := groupLength(job)
	pending := job.TaskStatusIndex[api.Pending]
	if len(pending) == 0 {
		return group
	}

	for _, task := range pending {
		length := lengthOf(task.Pod, group)
		if length == 0 {
			return 0
		}
		longest = max(longest, length)
	}
	return longest
}

// rest returns how long a pod still runs of its length.
func rest(length time.Duration, pod *v1.Pod, now time.Time) time.Duration {
	return max(0, length-constraint.Ran(pod, now))
}
