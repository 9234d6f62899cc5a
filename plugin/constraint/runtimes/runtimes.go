// Package runtimes lets pods run for a while before they are evicted, and pods wait for a while before they take from
// other queues.
//
// The kubelet writes to the status of a pod when the pod began to run, and the API server writes when it was created.
// So a restart of the scheduler changes no decision.
package runtimes

import (
	"math"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// policy has the minimum runtimes and the delays of the queues.
type policy struct{ session *constraint.Session }

// Open returns the hooks, nil where no queue has a policy.
func Open(s *constraint.Session) *constraint.Hooks {
	if !s.Intake.HasPolicies() {
		return nil
	}
	return policy{s}.hooks()
}

// hooks returns the hooks of minimum runtimes and the delay of reclaim.
func (p policy) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // they bound only who takes
		Hold:          nil, // for the same reason
		Fit:           nil, // for the same reason
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // for the same reason
		MayTake:       p.mayTake,
		Protection:    p.protection,
		Spares:        p.spares,
		Charge:        nil, // the victims of a simulation were chosen before
		Charged:       nil, // the status of pods has the times
		CompareQueues: nil, // where reclaim is damped, the order of queues asks MayTake
	}
}

func (p policy) mayTake(q index.Queue, task *api.TaskInfo) quota.Verdict {
	delay := p.session.Intake.Policies(q).ReclaimDelay()
	if delay > 0 && p.waited(task.Pod) < delay {
		return quota.Verdict{Reason: quota.ReclaimDelayed, Queue: q}
	}
	return constraint.Admitted(q)
}

// waited returns how long a pod has existed.
func (p policy) waited(pod *v1.Pod) time.Duration {
	// A pod of a manifest has no time of creation: any delay is over for it.
	if pod.CreationTimestamp.IsZero() {
		return math.MaxInt64
	}
	return p.session.Now.Sub(pod.CreationTimestamp.Time)
}

func (p policy) protection(_ constraint.Reclaimer, q index.Queue, task *api.TaskInfo) quota.Protection {
	least := p.session.Intake.Policies(q).MinRuntime()
	if least > 0 && constraint.Ran(task.Pod, p.session.Now) < least {
		return quota.Spared
	}
	return quota.ByDeserved
}

func (p policy) spares(q index.Queue, task *api.TaskInfo) bool {
	return constraint.Ran(task.Pod, p.session.Now) < p.session.Intake.Policies(q).PreemptMinRuntime()
}
