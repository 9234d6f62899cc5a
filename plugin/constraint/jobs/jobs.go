// Package jobs bounds how many jobs a queue admits.
package jobs

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule counts the admitted jobs of queues (quota.Jobs).
type Rule struct{ jobs *quota.Jobs }

var (
	_ constraint.JobRule  = Rule{}
	_ constraint.Reserver = Rule{}
	_ constraint.Measurer = Rule{}
)

// Open returns the rule, nil where no queue bounds its jobs.
func Open(s *constraint.Session, jobs *quota.Jobs) any {
	jobs.Reset(s.Index.Tree, s.Intake.Admitted, s.Intake.MaxJobs())
	if !jobs.Bounded() {
		return nil
	}
	return Rule{jobs}
}

func (r Rule) AdmitJob(a constraint.JobAsk) quota.Verdict { return r.jobs.Fits(a.Queue) }

// Measure returns the numbers of jobs, whatever is requested.
func (r Rule) Measure(of *constraint.Refusal, _ fastres.Dim, _ float64) constraint.Shortfall {
	if of.Verdict.Reason != quota.TooManyJobs {
		return constraint.Shortfall{}
	}
	return constraint.Shortfall{Verdict: of.Verdict, Numbers: r.jobs.Numbers(of.Verdict.Queue), Against: constraint.MaxJobs}
}

func (r Rule) Hold(a constraint.JobAsk) { r.jobs.Admit(a.Queue) }

func (r Rule) Withdraw(a constraint.JobAsk) (restore func()) {
	r.jobs.Leave(a.Queue)
	return func() { r.jobs.Admit(a.Queue) }
}
