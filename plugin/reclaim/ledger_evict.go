package reclaim

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// Evict evicts pods of a job together. The rules of reclaim must hold for one of them, which goes first. The others do
// no work without it, so only the guarantees of the queues protect them.
func (l *ledger) Evict(job int, pods []int) plan.Spared {
	loser := l.jobs[job]
	mark := l.Mark()

	first, by := l.evictFirst(loser, pods)
	for _, pod := range pods {
		if by == plan.Taken && pod != first {
			by = l.evictPod(loser, pod, quota.ByGuarantee)
		}
	}

	if by != plan.Taken {
		l.Undo(mark)
	}
	return by
}

// evictFirst evicts the first of some pods for which the rules hold. If some have cards, it is one of these. Otherwise
// the eviction of a launcher without cards would give away cards that its queue deserves.
func (l *ledger) evictFirst(loser *losingJob, pods []int) (first int, by plan.Spared) {
	withCards := slices.ContainsFunc(pods, func(pod int) bool { return l.occupies(loser, pod) })
	for _, pod := range pods {
		if withCards && !l.occupies(loser, pod) {
			continue
		}
		by = l.evictPod(loser, pod, quota.ByDeserved)
		if by == plan.Taken {
			return pod, by
		}
	}

	return plan.None, by
}

// occupies reports whether a pod has cards.
func (l *ledger) occupies(loser *losingJob, pod int) bool {
	return loser.pods[pod] != nil && l.Cards.Occupies(loser.pods[pod])
}

// evictPod evicts one pod. The rules of reclaim protect it (ByDeserved), or the guarantees of the queues alone
// (ByGuarantee).
func (l *ledger) evictPod(loser *losingJob, pod int, protectedBy quota.Protection) plan.Spared {
	task, q := loser.tasks[pod], loser.queue
	by := l.policy(q, task)
	if by != plan.Taken {
		return by
	}

	charge := fastres.NewVector(l.scratch.Len())
	l.Intake.SetCharge(charge, q, task, task.NodeName)
	switch {
	case l.claimant.within:
		quota.Refund(l.memory.draft.Queues, q, charge, l.scratch)
	case !l.keepsUntilDue(q, charge):
		return plan.ByGuarantee
	case !l.takes(q, charge, task, protectedBy):
		if l.memory.victims.AboveDeserved(q, charge) {
			return plan.ByGuarantee
		}
		return plan.ByDeserved
	}

	l.leave(q, task, charge)
	l.CountVictim(q, l.claimant.queue, 1)
	l.lost = append(l.lost, loss{task: task, queue: q, charge: charge})
	return plan.Taken
}

// keepsUntilDue reports whether the queues of a pod keep their guarantees without it, as long as notices run. Until
// then, the claimants of announced plans have nothing.
func (l *ledger) keepsUntilDue(q index.Queue, charge fastres.Vector) bool {
	booked := l.memory.notices.Booked()
	if len(booked) == 0 {
		return true // takes asks for the guarantees
	}

	mark := l.Mark()
	for _, m := range booked {
		quota.Refund(l.memory.draft.Queues, m.Queue, m.Charge, l.scratch)
	}

	keeps := l.memory.victims.TakeForGang(q, charge, l.claimant.queue, quota.ByGuarantee)
	l.Undo(mark)
	return keeps
}

// policy returns which policy spares a pod of q: a fence, a class, a minimum run time, a budget of evictions, or
// another plugin.
func (l *ledger) policy(q index.Queue, task *api.TaskInfo) plan.Spared {
	if l.claimant.within {
		if l.Spares(task) {
			return plan.ByPolicy
		}
	} else {
		if l.Protection(l.claimant.reclaimer(), q, task) == quota.Spared {
			return plan.ByPolicy
		}
		if !l.AllowsVictim(q, l.claimant.queue) {
			return plan.ByBudget
		}
	}

	if !l.agrees(l.claimant, task) {
		return plan.ByOthers
	}
	return plan.Taken
}

// takes applies the rules that protect a pod of q, and counts it as gone.
func (l *ledger) takes(q index.Queue, charge fastres.Vector, task *api.TaskInfo, protectedBy quota.Protection) bool {
	to := l.claimant.queue
	if protectedBy == quota.ByGuarantee {
		return l.memory.victims.TakeForGang(q, charge, to, quota.ByGuarantee)
	}

	protection := l.Protection(l.claimant.reclaimer(), q, task)
	if protection == quota.ByDeserved && l.keeps(q, charge) || !l.lends(q, charge) {
		return false
	}
	return l.take(q, charge, to, l.request, l.request, protection)
}

// lends decides about a pod of q, for a claimant with a queue that may not deserve its cards. Such a claimant gets them
// from queues that borrow enough.
func (l *ledger) lends(q index.Queue, charge fastres.Vector) bool {
	if !l.HasLoans() {
		return true
	}

	for d := range charge.Requested() {
		gained := l.most.Get(d)
		for _, at := range l.placed {
			gained -= at.charge.Get(d)
		}
		if gained <= 0 || !l.isModel(d) || l.deservesMore(d, gained).OK() {
			continue
		}
		loan := constraint.Loan{To: l.claimant.queue, From: q, Card: d, Gained: gained, Lost: charge.Get(d)}
		if !l.AllowsLoan(l.memory.draft.Queues, loan) {
			return false
		}
	}
	return true
}
