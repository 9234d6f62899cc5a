// Package fences keeps reclaim within the subtrees of queues that have a fence.
package fences

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Policy spares tasks that a fence separates from the reclaimer (quota.Fences).
type Policy struct{ fences *quota.Fences }

var _ constraint.TakePolicy = Policy{}

// Open returns the policy, nil where no queue has a fence.
func Open(s *constraint.Session, fences *quota.Fences) any {
	some := false
	fences.Reset(s.Index.Tree, func(q index.Queue) bool {
		fenced := s.Intake.HasPolicies() && s.Intake.Policies(q).ReclaimFence()
		some = some || fenced
		return fenced
	})
	if !some {
		return nil
	}
	return Policy{fences}
}

func (p Policy) MayTake(q index.Queue, _ *api.TaskInfo) quota.Verdict {
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

func (p Policy) Protection(r constraint.Reclaimer, q index.Queue, _ *api.TaskInfo) quota.Protection {
	if p.fences.Separate(q, r.Queue) {
		return quota.Spared
	}
	return quota.ByDeserved
}

// Spares spares none: the jobs of a queue are within the same fences.
func (p Policy) Spares(index.Queue, *api.TaskInfo) bool { return false }
