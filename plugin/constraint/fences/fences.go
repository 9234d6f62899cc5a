// Package fences keeps reclaim within the subtrees of queues that have a fence.
package fences

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// policy spares tasks that a fence separates from the reclaimer (quota.Fences).
type policy struct{ fences *quota.Fences }

// Open returns the hooks, nil where no queue has a fence.
func Open(s *constraint.Session, fences *quota.Fences) *constraint.Hooks {
	some := fences.Reset(s.Index.Tree, func(q index.Queue) bool { return s.Intake.Policies(q).ReclaimFence() })
	if !some {
		return nil
	}
	return policy{fences}.hooks()
}

// hooks returns the hooks of fences.
func (p policy) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // a fence bounds only who takes
		Hold:          nil, // for the same reason
		Fit:           nil, // for the same reason
		FitOwn:        nil, // for the same reason
		Lacks:         nil, // for the same reason
		MayTake:       nil, // a fence depends on the victim
		Protection:    p.protection,
		Spares:        nil, // the jobs of a queue are within the same fences
		Charge:        nil, // the victims of a simulation were chosen before
		Charged:       nil, // a fence counts nothing
		CompareQueues: nil, // all queues can have pending jobs
	}
}

func (p policy) protection(r constraint.Reclaimer, q index.Queue, _ *api.TaskInfo) quota.Protection {
	if p.fences.Separate(q, r.Queue) {
		return quota.Spared
	}
	return quota.ByDeserved
}
