package plugin

import (
	"math"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// The policies of reclaim and preempt: fences, minimum runtimes, the delay of reclaim, and
// service classes.
//
// The kubelet writes when a pod began to run to its status, and the API server writes when it
// was created. So a restart of the scheduler changes no decision.

// runtimeOf returns how long a pod has run, 0 for one that the kubelet has not started. A start in
// the future counts as now: the clock of the node is ahead.
func (s *session) runtimeOf(pod *v1.Pod) time.Duration {
	if pod.Status.StartTime == nil {
		return 0
	}
	return max(0, s.now.Sub(pod.Status.StartTime.Time))
}

// waitOf returns how long a pod has existed. A pod of a manifest has no time of creation, and
// waits for as long as may be asked.
func (s *session) waitOf(pod *v1.Pod) time.Duration {
	if pod.CreationTimestamp.IsZero() {
		return math.MaxInt64
	}
	return s.now.Sub(pod.CreationTimestamp.Time)
}

// mayTake decides whether the policies allow a task of q to take from other queues at all.
func (s *session) mayTake(q index.Queue, task *api.TaskInfo) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: q}
	if !s.governs || q == index.None || task == nil {
		return v
	}
	if s.settings.byClass && s.classOf(task) == quota.Training {
		v.Reason = quota.TrainingJob
	} else if delay := s.intake.Policies(q).ReclaimDelay(); delay > 0 && s.waitOf(task.Pod) < delay {
		v.Reason = quota.ReclaimDelayed
	}
	return v
}

// gangMayTake decides as mayTake for the pending tasks of a job.
func (s *session) gangMayTake(q index.Queue, job *api.JobInfo) bool {
	if s.governs && job != nil {
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if !s.mayTake(q, task).OK() {
				return false
			}
		}
	}
	return true
}

// terms returns the terms on which a reclaimer of the queue to meets a running task of q.
func (s *session) terms(class quota.Class, to, q index.Queue, task *api.TaskInfo) quota.Terms {
	switch {
	case !s.governs:
		return quota.ByDeserved
	case s.memory.fences.Separate(q, to):
		return quota.Spared
	}
	if least := s.intake.Policies(q).MinRuntime(); least > 0 && s.runtimeOf(task.Pod) < least {
		return quota.Spared
	}
	if !s.settings.byClass {
		return quota.ByDeserved
	}
	return quota.Meet(class, s.classOf(task))
}

// preemptible returns the tasks that have run for long enough to be preempted by jobs of
// their own queue.
func (s *session) preemptible(tasks []*api.TaskInfo) []*api.TaskInfo {
	young := func(task *api.TaskInfo) bool {
		q := s.queueOf(task)
		return q != index.None && s.runtimeOf(task.Pod) < s.intake.Policies(q).PreemptMinRuntime()
	}
	if !s.governs || !slices.ContainsFunc(tasks, young) {
		return tasks
	}
	return slices.DeleteFunc(slices.Clone(tasks), young)
}

// claimants returns a function that reports whether the policies allow a task to take from
// other queues at all, nil where they allow every task.
func (s *session) claimants() func(*api.TaskInfo) bool {
	if !s.governs {
		return nil
	}
	return func(task *api.TaskInfo) bool { return s.mayTake(s.queueOf(task), task).OK() }
}
