// Package guarantees keeps free what queues are guaranteed and do not use.
package guarantees

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Open returns the hooks, nil where no guarantee is kept free.
func Open(s *constraint.Session) *constraint.Hooks {
	if !s.Books.Now.Guarantees.Active() {
		return nil
	}
	// The guarantees are the same in the future.
	return hooks(s.Books.Now.Guarantees.KeepsAny(s.Names.AllGroups()))
}

// hooks returns the hooks of guarantees. The rules have no state of their own: the accounts have the guarantees
// (quota.Guarantees). groups says that a group of cards is guaranteed to a queue.
func hooks(groups bool) *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // realCapability leaves out guarantees of siblings, and a job waits for lent cards
		Hold:          nil, // for the same reason
		FitCard:       fitCard,
		FitClaims:     fitClaims,
		SkipsGroups:   !groups,
		FitOwn:        nil, // guarantees of others are no account of the queue itself
		Lacks:         lacks,
		MayTake:       nil, // the eviction of queues that borrow makes room
		Charge:        nil, // the guarantees follow the accounts of queues
		Charged:       nil, // for the same reason
		CompareQueues: nil, // deserved is at least the guarantee
		Measure:       measure,
	}
}

func fitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	return b.Guarantees.Fits(b.Queues, a.Queue, d, milli)
}

// fitClaims is not fitCard of the added cards: each level of the tree can get another amount.
func fitClaims(b *quota.Books, a constraint.Ask, claims []index.DeviceClaim) quota.Verdict {
	for _, claim := range claims {
		for _, device := range claim.Devices {
			if v := b.Guarantees.FitsClaims(b.Queues, a.Queue, claims, device.Dim); !v.OK() {
				return v
			}
		}
	}
	return constraint.Admitted(a.Queue)
}

func lacks(b *quota.Books, a constraint.Ask, q index.Queue, _ *api.TaskInfo, d fastres.Dim, milli float64) bool {
	return b.Guarantees.Lacks(b.Queues, a.Queue, q, d, milli)
}

func measure(r *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	if r.Admission {
		return constraint.Shortfall{}
	}
	v, numbers := r.Books.Guarantees.Numbers(r.Books.Queues, r.Path()[0], d, milli)
	return constraint.Shortfall{Verdict: v, Numbers: numbers, Against: constraint.Unguaranteed}
}
