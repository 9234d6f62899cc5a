package reclaim

import (
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// victimsFrom says which pods can be victims of a plan.
type victimsFrom int

const (
	anyVictims   victimsFrom = iota
	readyVictims             // victims that need no notice
	dueVictims               // victims of the claimant's own plan, once their notice is over
)

// allows reports whether a pod that is kept for a job, "" for none, can be a victim for the claimant of a job. Other
// pods of that job may have plans of their own, so the pods that are kept for it count only once they are due.
func (from victimsFrom) allows(keptFor, claimant api.JobID, hasNotice bool) bool {
	if keptFor != "" && (from != dueVictims || keptFor != claimant) {
		return false
	}

	switch from {
	case readyVictims:
		return !hasNotice
	case dueVictims:
		return keptFor != "" && !hasNotice
	}
	return true
}

// planFor makes the plan for a claimant with some pods as victims.
func (p *planner) planFor(c *claimant, from victimsFrom) *proposal {
	snap := p.snapshot()
	problem := &plan.Problem{Nodes: p.freeNodes(snap), Whole: p.takesWhole(c.within)}

	var jobs []*losingJob
	for j := range snap.jobs {
		job := &snap.jobs[j]
		if !p.offers(c, job) {
			continue
		}
		offered := p.offeredOf(c, job, from)
		offered.Class = p.classOf(c, snap, job.queue)

		problem.Jobs = append(problem.Jobs, offered)
		jobs = append(jobs, job)
	}

	for i, task := range c.tasks {
		if !snap.hasAll(task) {
			return &proposal{}
		}
		requests := snap.requests(p.Rules, c.queue, task)
		problem.Pods = append(problem.Pods, plan.Pod{Kind: c.kindOf[i], Requests: requests})
	}

	c.keepApart(problem)

	t := p.openTrial(c, snap, jobs)
	problem.Accounts = t
	return &proposal{Plan: plan.Make(problem), trial: t}
}

// freeNodes returns the nodes without the room that earlier claimants wait for.
func (p *planner) freeNodes(snap *snapshot) []plan.Node {
	if len(p.holds) == 0 {
		return snap.free
	}

	nodes := slices.Clone(snap.free)
	for _, h := range p.holds {
		free := slices.Clone(nodes[h.node].Free)
		for r, requested := range snap.requests(p.Rules, h.ask.Queue, h.ask.Task) {
			free[r] -= requested
		}
		nodes[h.node].Free = free
	}
	return nodes
}

// offers reports whether pods of a job may be evicted for a claimant at all.
func (p *planner) offers(c *claimant, job *losingJob) bool {
	if c.within {
		return job.queue == c.queue && job.info != c.job
	}
	return job.queue != c.queue && p.Volcano.Queues[job.info.Queue].Reclaimable()
}

// offeredOf returns a job for a problem. Pods that cannot be victims for the claimant are fixed. Those that are kept
// for another plan count as gone, so the job can spare fewer.
func (p *planner) offeredOf(c *claimant, job *losingJob, from victimsFrom) plan.Job {
	offered := job.Job
	if !p.GivesNotice() {
		return offered
	}

	offered.Pods = slices.Clone(offered.Pods)
	offered.Roles = maps.Clone(offered.Roles)
	for i, task := range job.tasks {
		keptFor := p.memory.notices.KeptFor(task.UID)
		if from.allows(keptFor, c.job.UID, p.hasNotice(task)) {
			continue
		}

		offered.Pods[i].Fixed = true
		if keptFor != "" {
			spareLess(&offered, task.TaskRole)
		}
	}

	return offered
}

// spareLess counts a pod of a job as gone. The job is not broken before its pods are.
func spareLess(job *plan.Job, role string) {
	if job.Spare > 0 {
		job.Spare--
	}
	if job.Roles[role] > 0 {
		job.Roles[role]--
	}
}

// classOf is added to the classes of the pods of a queue. Queues above their soft quota lose first, then those that are
// nearer in the tree.
func (p *planner) classOf(c *claimant, snap *snapshot, q index.Queue) int {
	far := snap.deepest
	if p.Index.Rooted() {
		far -= quota.LCADepth(p.Index, q, c.queue)
	}
	if !p.LoseFirst(q, c.queue) {
		far += snap.deepest + 1
	}
	return far * snap.classes
}
