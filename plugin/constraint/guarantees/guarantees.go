// Package guarantees keeps free what queues are guaranteed and do not use.
package guarantees

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule refuses what is guaranteed to other queues (quota.Guarantees). The guarantees are those of
// the accounts that are asked.
type Rule struct {
	groups bool // some group of cards is guaranteed to a queue
}

var (
	_ constraint.TaskRule  = Rule{}
	_ constraint.ClaimRule = Rule{}
	_ constraint.GroupRule = Rule{}
	_ constraint.Measurer  = Rule{}
)

// Open returns the rule, nil where no guarantee is kept free.
func Open(s *constraint.Session) any {
	if !s.Books.Now.Guarantees.Active() {
		return nil
	}
	return Rule{s.Books.Now.Guarantees.KeepsAny(s.Names.AllGroups())} // what is guaranteed is the same in the future
}

// AsksGroups reports whether some group of cards is guaranteed to a queue.
func (r Rule) AsksGroups() bool { return r.groups }

func (Rule) Fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	for d := range a.Request.Requested() {
		if v := b.Guarantees.Fits(b.Queues, a.Queue, d, a.Request.Get(d)); !v.OK() {
			return v
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

func (Rule) FitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	return b.Guarantees.Fits(b.Queues, a.Queue, d, milli)
}

func (Rule) FitClaims(b *quota.Books, a constraint.Ask, claims []index.DeviceClaim) quota.Verdict {
	for _, claim := range claims {
		for _, of := range claim.Devices {
			if v := b.Guarantees.FitsClaims(b.Queues, a.Queue, claims, of.Dim); !v.OK() {
				return v
			}
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

func (Rule) Measure(r *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	if r.Admission {
		return constraint.Shortfall{}
	}
	v, n := r.Books.Guarantees.Numbers(r.Books.Queues, r.Path()[0], d, milli)
	return constraint.Shortfall{Verdict: v, Numbers: n, Against: constraint.Unguaranteed}
}

func (Rule) Lacks(b *quota.Books, a constraint.Ask, q index.Queue, _ *api.TaskInfo, d fastres.Dim, milli float64) bool {
	return b.Guarantees.Lacks(b.Queues, a.Queue, q, d, milli)
}

// FitOwn has nothing to say: what is guaranteed to others is no account of the queue itself.
func (Rule) FitOwn(_ *quota.Books, a constraint.Ask, _ fastres.Dim, _ float64) quota.Verdict {
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}
