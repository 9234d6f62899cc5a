package plugin

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/quota"
)

// The argument reclaimBeyondMinimum. Volcano's actions that evict look only at jobs that starve.
// By the vote of gang, a job starves below its minimum, so a Deployment with one running pod
// takes nothing back, however little its queue has. With the argument, a job also starves while
// its queue deserves one of its pending pods. All plugins of the tier must say that a job
// starves, so gang must not vote (its option enableJobStarving).

// jobStarving reports whether actions that evict look at a job.
func (s *session) jobStarving(obj any) bool {
	job := obj.(*api.JobInfo)
	if job.IsStarving() {
		return true
	}
	q := s.ix.Lookup(string(job.Queue))
	if !quota.Eligible(s.ix.Tree, q).OK() {
		return false
	}
	one := make([]*api.TaskInfo, 1)
	for _, task := range job.TaskStatusIndex[api.Pending] {
		one[0] = task
		if !task.SchGated && !s.books.Waits(task) && s.mayTake(q, task).OK() && s.preemption(q, s.memory.vectors.request, one).Verdict.OK() {
			return true
		}
	}
	return false
}

// warnStarving warns once where the vote of gang leaves the argument without effect.
func (s *session) warnStarving() {
	for _, tier := range s.ssn.Tiers {
		own := false
		for _, p := range tier.Plugins {
			if own = own || p.Name == s.variant.name; p.Name == "gang" && p.EnabledJobStarving != nil && *p.EnabledJobStarving {
				s.warnOnce(reclaimBeyondMinimum + " has no effect while gang decides which jobs starve; set enableJobStarving: false for the plugin gang")
				return
			}
		}
		if own {
			return // the tiers behind do not vote
		}
	}
}
