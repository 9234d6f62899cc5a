// Package runtimes lets pods run for a while before they are evicted, and pods wait for a while
// before they take from other queues.
//
// The kubelet writes when a pod began to run to its status, and the API server writes when it was
// created. So a restart of the scheduler changes no decision.
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

// Policy has the minimum runtimes and the delays of the queues.
type Policy struct{ session *constraint.Session }

var _ constraint.TakePolicy = Policy{}

// Open returns the policy, nil where no queue has a policy.
func Open(s *constraint.Session) any {
	if !s.Intake.HasPolicies() {
		return nil
	}
	return Policy{s}
}

// waitOf returns how long a pod has existed. A pod of a manifest has no time of creation, and
// waits for as long as may be asked.
func (p Policy) waitOf(pod *v1.Pod) time.Duration {
	if pod.CreationTimestamp.IsZero() {
		return math.MaxInt64
	}
	return p.session.Now.Sub(pod.CreationTimestamp.Time)
}

func (p Policy) MayTake(q index.Queue, task *api.TaskInfo) quota.Verdict {
	if delay := p.session.Intake.Policies(q).ReclaimDelay(); delay > 0 && p.waitOf(task.Pod) < delay {
		return quota.Verdict{Reason: quota.ReclaimDelayed, Queue: q}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

func (p Policy) Protection(_ constraint.Reclaimer, q index.Queue, task *api.TaskInfo) quota.Protection {
	if least := p.session.Intake.Policies(q).MinRuntime(); least > 0 && constraint.Ran(task.Pod, p.session.Now) < least {
		return quota.Spared
	}
	return quota.ByDeserved
}

func (p Policy) Spares(q index.Queue, task *api.TaskInfo) bool {
	return constraint.Ran(task.Pod, p.session.Now) < p.session.Intake.Policies(q).PreemptMinRuntime()
}
