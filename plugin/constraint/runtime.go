package constraint

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index/policy"
)

// Ran returns how long a pod has run, 0 for a pod that the kubelet has not started. A start in the future counts as
// now: the clock of the node is ahead.
func Ran(pod *v1.Pod, now time.Time) time.Duration {
	if pod.Status.StartTime == nil {
		return 0
	}
	return max(0, now.Sub(pod.Status.StartTime.Time))
}

// Unsaved returns how much of its work a task of a job loses if it is evicted, as time:
//
//	now − max(start, checkpoint of the pod, checkpoint of the PodGroup)
//
// A checkpoint or a start in the future counts as now, and a wrong checkpoint as none (the annotation
// volcano.sh/checkpoint-time).
func Unsaved(task *api.TaskInfo, job *api.JobInfo, now time.Time) time.Duration {
	unsaved := Ran(task.Pod, now)
	if unsaved == 0 {
		return 0
	}

	if at, ok := checkpoint(task.Pod.Annotations); ok {
		unsaved = min(unsaved, now.Sub(at))
	}
	if job != nil && job.PodGroup != nil {
		if at, ok := checkpoint(job.PodGroup.Annotations); ok {
			unsaved = min(unsaved, now.Sub(at))
		}
	}
	return max(0, unsaved)
}

func checkpoint(annotations map[string]string) (at time.Time, ok bool) {
	text, given := annotations[policy.CheckpointKey]
	if !given {
		return at, false
	}
	return policy.ParseTime(text)
}
