package reclaim

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
)

// takesWhole reports whether whole jobs are evicted for a claimant: by the argument reclaimGangs, or because the plugin
// gang, which keeps the minimum of jobs, has no vote.
func (s *Session) takesWhole(c *claimant) bool {
	return s.settings.WholeGangs || !GangVotes(s.Volcano.Tiers, c.within)
}

// GangVotes reports whether the plugin gang has a vote on the victims of reclaim, or within a queue on those of
// preempt.
func GangVotes(tiers []conf.Tier, within bool) bool {
	for _, tier := range tiers {
		for _, p := range tier.Plugins {
			enabled := p.EnabledReclaimable
			if within {
				enabled = p.EnabledPreemptable
			}
			if p.Name == gangPlugin && enabled != nil && *enabled {
				return true
			}
		}
	}
	return false
}

const gangPlugin = "gang"

// agrees reports whether all other plugins agree to the eviction of a task for a claimant. The planner itself keeps the
// minimum of jobs, so the plugin gang is not asked.
func (s *Session) agrees(c *claimant, task *api.TaskInfo) bool {
	spared, known := c.spared[task.UID]
	if !known {
		spared = len(s.askOthers(c, []*api.TaskInfo{task})) == 0
		c.spared[task.UID] = spared
	}
	return !spared
}

// agreeOn reports whether the other plugins agree to all evictions together. Those that they do not agree to are spared
// from then on.
func (s *Session) agreeOn(c *claimant, victims []*api.TaskInfo) bool {
	agreed := s.askOthers(c, victims)
	all := true
	for _, victim := range victims {
		if !has(agreed, victim) {
			c.spared[victim.UID] = true
			all = false
		}
	}
	return all
}

// askOthers returns the tasks that all other plugins allow to evict for a claimant. Gang is asked as if no job had a
// minimum: it is the planner that keeps minimums.
func (s *Session) askOthers(c *claimant, tasks []*api.TaskInfo) []*api.TaskInfo {
	question := *c.tasks[0]
	s.asking.Store(&question, true)
	defer s.asking.Delete(&question)

	minimums := map[*api.JobInfo]int32{}
	for _, task := range tasks {
		job := s.Volcano.Jobs[task.Job]
		if _, known := minimums[job]; !known && job != nil {
			minimums[job] = job.MinAvailable
			job.MinAvailable = -1
		}
	}
	defer func() {
		for job, minimum := range minimums {
			job.MinAvailable = minimum
		}
	}()
	if c.within {
		return s.Volcano.Preemptable(&question, tasks)
	}
	return s.Volcano.Reclaimable(&question, tasks)
}

// VictimsWithin returns the tasks that the other plugins allow preempt to evict for a task of their queue. Where whole
// jobs may be taken, gang spares none.
func (s *Session) VictimsWithin(preemptor *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	c := &claimant{tasks: []*api.TaskInfo{preemptor}, within: true}
	if s.takesWhole(c) {
		return s.askOthers(c, tasks)
	}
	return s.agreedInQueue(preemptor, tasks)
}
