// Package jobs bounds how many jobs a queue admits.
package jobs

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// rule counts the admitted jobs of queues (quota.Jobs).
type rule struct{ jobs *quota.Jobs }

// Open returns the hooks, nil where no queue bounds its jobs.
func Open(s *constraint.Session, jobs *quota.Jobs) *constraint.Hooks {
	most := func(q index.Queue) int { return s.Intake.Policies(q).MaxJobs() }
	if !s.Intake.HasPolicies() || !jobs.Reset(s.Index.Tree, s.Intake.Admitted, most) {
		return nil
	}
	return rule{jobs}.hooks()
}

// hooks returns the hooks of the number of jobs.
func (r rule) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      r.admitJob,
		Hold:          r.hold,
		Withdraw:      r.withdraw,
		Fit:           nil, // the job of a task is admitted
		FitOwn:        nil, // an eviction ends no job
		Lacks:         nil, // for the same reason
		MayTake:       nil, // for the same reason
		Charge:        nil, // a simulation admits no job
		Charged:       nil, // a job counts from its admission to its end
		CompareQueues: nil, // jobs are no resource
		Measure:       r.measure,
	}
}

func (r rule) admitJob(a constraint.JobAsk) quota.Verdict { return r.jobs.Fits(a.Queue) }

func (r rule) hold(a constraint.JobAsk) { r.jobs.Count(a.Queue, 1) }

func (r rule) withdraw(a constraint.JobAsk) (restore func()) {
	r.jobs.Count(a.Queue, -1)
	return func() { r.jobs.Count(a.Queue, 1) }
}

var admitted = constraint.Count{Unit: "jobs", Bound: policy.Short(policy.MaxJobsKey)}

// measure returns the number of jobs, whatever is requested.
func (r rule) measure(refusal *constraint.Refusal, _ fastres.Dim, _ float64) constraint.Shortfall {
	if refusal.Verdict.Reason != quota.TooManyJobs {
		return constraint.Shortfall{}
	}
	return constraint.Shortfall{
		Verdict: refusal.Verdict,
		Numbers: r.jobs.Numbers(refusal.Verdict.Queue),
		Against: constraint.Counted,
		Count:   &admitted,
	}
}
