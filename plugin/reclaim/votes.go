package reclaim

import (
	"sync"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"
)

// gangPlugin is the name of the plugin that keeps the minimum of jobs.
const gangPlugin = "gang"

// takesWhole reports whether whole jobs are evicted: by the argument reclaimGangs, or because the plugin gang, which
// keeps the minimum of jobs, has no vote.
func (s *Rules) takesWhole(within bool) bool {
	return s.settings.WholeGangs || !GangVotes(s.Volcano.Tiers, within)
}

// GangVotes reports whether the plugin gang has a vote on the victims of reclaim, or within a queue on the victims of
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

// inquiries are the questions that this package itself asks all plugins. The plugin of this package is one of them,
// and has to recognize its own question. The zero inquiries are ready, and safe for many goroutines.
type inquiries struct{ open sync.Map }

// ask asks about the victims of a task. The task of the question is a copy, so that no other question has it.
func (i *inquiries) ask(evictor *api.TaskInfo, about func(question *api.TaskInfo) []*api.TaskInfo) []*api.TaskInfo {
	question := *evictor
	i.open.Store(&question, true)
	defer i.open.Delete(&question)
	return about(&question)
}

// has reports whether a question about the victims of a task is an inquiry.
func (i *inquiries) has(question *api.TaskInfo) bool {
	_, own := i.open.Load(question)
	return own
}

// agreedInQueue returns the tasks that all other plugins allow preempt to evict. It is safe for many goroutines.
func (s *Rules) agreedInQueue(preemptor *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	return s.inquiries.ask(preemptor, func(question *api.TaskInfo) []*api.TaskInfo {
		return s.Volcano.Preemptable(question, tasks)
	})
}

// starvesBeyond reports whether a job starves as if the pods that get nodes without a plan had them: pods with an
// earmark, and pods without requests, which backfill places. Gang counts these as missing, so it is asked as if the job
// needed as many pods less.
func (s *Rules) starvesBeyond(job *api.JobInfo) bool {
	minimum := job.MinAvailable
	defer func() { job.MinAvailable = minimum }()
	backfills := conf.EnabledActionMap["backfill"]
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if s.Books.Waits(task) || backfills && task.BestEffort && !task.SchGated {
			job.MinAvailable--
		}
	}
	return s.Volcano.JobStarving(job)
}

// agreedWithoutGang returns the tasks that all other plugins allow to evict for a task. Gang is asked as if no job had
// a minimum: the planner keeps minimums.
func (s *Rules) agreedWithoutGang(evictor *api.TaskInfo, tasks []*api.TaskInfo, within bool) []*api.TaskInfo {
	minimums := map[*api.JobInfo]int32{}
	for _, task := range tasks {
		job := s.Volcano.Jobs[task.Job]
		_, known := minimums[job]
		if !known && job != nil {
			minimums[job] = job.MinAvailable
			job.MinAvailable = -1
		}
	}

	defer func() {
		for job, minimum := range minimums {
			job.MinAvailable = minimum
		}
	}()

	if within {
		return s.agreedInQueue(evictor, tasks)
	}
	return s.inquiries.ask(evictor, func(question *api.TaskInfo) []*api.TaskInfo {
		return s.Volcano.Reclaimable(question, tasks)
	})
}

// VictimsWithin returns the tasks that the other plugins allow preempt to evict for a task of their queue. Where whole
// jobs may be taken, gang spares none.
func (s *Rules) VictimsWithin(preemptor *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	if s.takesWhole(true) {
		return s.agreedWithoutGang(preemptor, tasks, true)
	}
	return s.agreedInQueue(preemptor, tasks)
}

// agrees reports whether all other plugins agree to the eviction of a task for a claimant.
func (s *Rules) agrees(c *claimant, task *api.TaskInfo) bool {
	if c.consent[task.UID] == unasked {
		agreed := s.agreedWithoutGang(c.tasks[0], []*api.TaskInfo{task}, c.within)
		c.consent[task.UID] = answered(len(agreed) > 0)
	}
	return c.consent[task.UID] == granted
}

// agreeOn reports whether the other plugins agree to all evictions together. Tasks that they do not agree to are spared
// from then on.
func (s *Rules) agreeOn(c *claimant, victims []*api.TaskInfo) bool {
	agreed := s.agreedWithoutGang(c.tasks[0], victims, c.within)
	all := true
	for _, victim := range victims {
		if !has(agreed, victim) {
			c.consent[victim.UID] = refused
			all = false
		}
	}
	return all
}
