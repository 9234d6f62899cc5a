package reclaim

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// Claim is the decision of the action reclaim about a job. Nobody is evicted.
type Claim struct {
	// Tasks are the pods that the plan is for: those that the job lacks to its minimum, or one pod beyond it.
	Tasks []*api.TaskInfo

	// Refusal is why the queue of the job may not take from others, or which bound refuses the first task without a
	// node, after all evictions that are allowed. It is nil if neither refuses.
	Refusal *constraint.Refusal

	Found   bool            // the plan has a node for each task
	Victims []*api.TaskInfo // of the plan

	// Fit is the number of tasks that would have a node, and Spared the running pods that would help and are not
	// evicted.
	Fit    int
	Spared []Spare
}

// Spare is a running pod that is not evicted.
type Spare struct {
	Task *api.TaskInfo
	By   plan.Spared
	Kept bool // it is kept as a victim for another job
}

// ClaimOf returns the decision of reclaim about a job now, nil for a job that reclaim does not look at.
func (s *Rules) ClaimOf(job *api.JobInfo) *Claim {
	p := planner{Rules: s}
	q := s.Index.Lookup(string(job.Queue))
	if q == index.None || !s.Plans() || !p.claims(job) {
		return nil
	}
	c := s.claimantOf(job, q, false, nil)
	if c == nil {
		return nil
	}

	claim := &Claim{Tasks: c.tasks}
	s.PrepareQueue(q)
	request := fastres.NewVector(s.Intake.Dims.Length())
	outcome := s.mayReclaim(q, request, c.tasks)
	if !outcome.Verdict.OK() {
		asked := constraint.Refusal{Request: request, Task: c.tasks[0], Job: job.UID, Queue: q, Books: &s.Books.Future}
		claim.Refusal = s.Refused(constraint.Frame{}, asked, outcome)
		return claim
	}

	found := p.choose(c)
	claim.Found = found.Found()
	claim.Victims = found.victims()
	if !claim.Found && found.Failure != nil {
		claim.Fit = found.Failure.Pod
		claim.Refusal = found.trial.refusal
		claim.Spared = p.sparesOf(found)
	}
	return claim
}

// sparesOf returns the pods that a plan spares, in the order of their names.
func (p *planner) sparesOf(found *proposal) (all []Spare) {
	t := found.trial
	for victim, by := range found.Failure.Spared {
		if by == plan.Taken {
			continue
		}
		task := t.jobs[victim.Job].tasks[victim.Pod]
		all = append(all, Spare{Task: task, By: by})
	}

	for _, job := range t.jobs {
		for _, task := range job.tasks {
			keptFor := p.memory.notices.KeptFor(task.UID)
			if keptFor != "" && keptFor != t.claimant.job.UID {
				all = append(all, Spare{Task: task, Kept: true})
			}
		}
	}

	slices.SortFunc(all, func(x, y Spare) int {
		return cmp.Or(cmp.Compare(x.Task.Namespace, y.Task.Namespace), cmp.Compare(x.Task.Name, y.Task.Name))
	})
	return all
}
