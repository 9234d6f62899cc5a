package reclaim

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/quota"
)

// The argument reclaimBeyondMinimum. Volcano's actions that evict look only at jobs that starve.
// By the vote of gang, a job starves below its minimum, so a Deployment with one running pod
// takes nothing back, however little its queue has. With the argument, a job also starves while
// its queue deserves one of its pending pods. All plugins of the tier must say that a job
// starves, so gang must not vote (its option enableJobStarving).

// JobStarving reports whether actions that evict look at a job.
func (s *Rules) JobStarving(obj any) bool {
	job := obj.(*api.JobInfo)
	if job.IsStarving() {
		return true
	}

	q := s.Index.Lookup(string(job.Queue))
	if !quota.Eligible(s.Index.Tree, q).OK() {
		return false
	}

	frame := s.Frames.Open()
	defer frame.Close()
	request := frame.Vector()
	for _, task := range job.TaskStatusIndex[api.Pending] {
		may := !task.SchGated && !s.Books.Waits(task) // nobody is evicted for a task with an earmark
		if may && s.mayReclaim(q, request, []*api.TaskInfo{task}).Verdict.OK() {
			return true
		}
	}
	return false
}

// StarvingProblem returns a warning where the vote of gang leaves the argument without effect, ""
// for none.
func (s *Rules) StarvingProblem() string {
	for _, tier := range s.Volcano.Tiers {
		own := false
		for _, p := range tier.Plugins {
			own = own || p.Name == s.Plugin
			if p.Name == gangPlugin && p.EnabledJobStarving != nil && *p.EnabledJobStarving {
				return arguments.ReclaimBeyondMinimum + " has no effect while gang decides which jobs starve; " +
					"set enableJobStarving: false for the plugin gang"
			}
		}
		if own {
			break // the tiers behind do not vote
		}
	}
	return ""
}
