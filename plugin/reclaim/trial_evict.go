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
func (t *trial) Evict(job int, pods []int) plan.Spared {
	loser := t.jobs[job]
	mark := t.Mark()

	first, by := t.evictFirst(loser, pods)
	for _, pod := range pods {
		if by == plan.Taken && pod != first {
			by = t.evictPod(loser, pod, quota.ByGuarantee)
		}
	}

	if by != plan.Taken {
		t.Undo(mark)
	}
	return by
}

// evictFirst evicts the first of some pods for which the rules hold. If some have cards, it is one of these. Otherwise
// the eviction of a launcher without cards would give away cards that its queue deserves.
func (t *trial) evictFirst(loser *losingJob, pods []int) (first int, by plan.Spared) {
	withCards := slices.ContainsFunc(pods, func(pod int) bool { return t.occupies(loser, pod) })
	for _, pod := range pods {
		if withCards && !t.occupies(loser, pod) {
			continue
		}
		by = t.evictPod(loser, pod, quota.ByDeserved)
		if by == plan.Taken {
			return pod, by
		}
	}

	return plan.None, by
}

// occupies reports whether a pod has cards.
func (t *trial) occupies(loser *losingJob, pod int) bool {
	return loser.pods[pod] != nil && t.Cards.Occupies(loser.pods[pod])
}

// evictPod evicts one pod. The rules of reclaim protect it (ByDeserved), or the guarantees of the queues alone
// (ByGuarantee).
func (t *trial) evictPod(loser *losingJob, pod int, protectedBy quota.Protection) plan.Spared {
	task, q := loser.tasks[pod], loser.queue
	by := t.policy(q, task)
	if by != plan.Taken {
		return by
	}

	charge := fastres.NewVector(t.scratch.Len())
	t.Intake.SetCharge(charge, q, task, task.NodeName)
	switch {
	case t.claimant.within:
		quota.Refund(t.memory.draft.Queues, q, charge, t.scratch)
	case !t.keepsUntilDue(q, charge):
		return plan.ByGuarantee
	case !t.takes(q, charge, task, protectedBy):
		return t.refusalOf(q, charge)
	}

	t.leave(q, task, charge)
	t.CountVictim(q, t.claimant.queue, 1)
	t.lost = append(t.lost, loss{task: task, queue: q, charge: charge})
	return plan.Taken
}

// refusalOf returns which rule of reclaim protects a pod of q that takes refuses.
func (t *trial) refusalOf(q index.Queue, charge fastres.Vector) plan.Spared {
	if !t.memory.victims.AboveDeserved(q, charge) {
		return plan.ByDeserved
	}

	keeps := t.keeps(q, charge)
	mark := t.Mark()
	defer t.Undo(mark)
	switch {
	case !t.memory.victims.TakeForGang(q, charge, t.claimant.queue, quota.ByGuarantee):
		return plan.ByGuarantee
	case keeps:
		return plan.ByDeserved
	}
	return plan.ByLending
}

// keepsUntilDue reports whether the queues of a pod keep their guarantees without it, as long as notices run. Until
// then, the claimants of announced plans have nothing.
func (t *trial) keepsUntilDue(q index.Queue, charge fastres.Vector) bool {
	booked := t.memory.notices.Booked()
	if len(booked) == 0 {
		return true // takes asks for the guarantees
	}

	mark := t.Mark()
	for _, m := range booked {
		quota.Refund(t.memory.draft.Queues, m.Queue, m.Charge, t.scratch)
	}

	keeps := t.memory.victims.TakeForGang(q, charge, t.claimant.queue, quota.ByGuarantee)
	t.Undo(mark)
	return keeps
}

// policy returns which policy spares a pod of q: a fence, a class, a minimum run time, a budget of evictions, or
// another plugin.
func (t *trial) policy(q index.Queue, task *api.TaskInfo) plan.Spared {
	if t.claimant.within {
		if t.Spares(task) {
			return plan.ByPolicy
		}
	} else {
		if t.Protection(t.claimant.reclaimer(), q, task) == quota.Spared {
			return plan.ByPolicy
		}
		if !t.AllowsVictim(q, t.claimant.queue) {
			return plan.ByBudget
		}
	}

	if !t.agrees(t.claimant, task) {
		return plan.ByOthers
	}
	return plan.Taken
}

// takes applies the rules that protect a pod of q, and counts it as gone.
func (t *trial) takes(q index.Queue, charge fastres.Vector, task *api.TaskInfo, protectedBy quota.Protection) bool {
	to := t.claimant.queue
	if protectedBy == quota.ByGuarantee {
		return t.memory.victims.TakeForGang(q, charge, to, quota.ByGuarantee)
	}

	protection := t.Protection(t.claimant.reclaimer(), q, task)
	if protection == quota.ByDeserved && t.keeps(q, charge) || !t.lends(q, charge) {
		return false
	}
	return t.take(q, charge, to, t.request, t.request, protection)
}

// lends decides about a pod of q, for a claimant with a queue that may not deserve its cards. Such a claimant gets them
// from queues that borrow enough.
func (t *trial) lends(q index.Queue, charge fastres.Vector) bool {
	if !t.HasLoans() {
		return true
	}

	for d := range charge.Requested() {
		gained := t.most.Get(d)
		for _, at := range t.placed {
			gained -= at.charge.Get(d)
		}
		if gained <= 0 || !t.isModel(d) || t.deservesMore(d, gained).OK() {
			continue
		}
		loan := constraint.Loan{To: t.claimant.queue, From: q, Card: d, Gained: gained, Lost: charge.Get(d)}
		if !t.AllowsLoan(t.memory.draft.Queues, loan) {
			return false
		}
	}
	return true
}
