package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Cards are dimensions like any other, except that a task takes one of several:
// which one is known when it has a node. Until then a rule asks whether any of
// them would do, and the rules here look at one dimension instead of a vector.
// Upstream knows no cards.

// CardFits answers whether a task may take quantity of card d:
//
//	allocated + quantity ≤ bound
//
// for the queue and all its ancestors.
func CardFits(a Accounts, bound *index.Rows, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	for _, p := range a.Path(q) {
		if a.Allocated(p).Get(d)+quantity > bound.Row(p).Get(d) {
			return Verdict{OverQuota, p}
		}
	}
	return Verdict{Admitted, q}
}

// AnyCard answers a rule about one of several cards: the first that will do. If
// none will, the reason is that of the first, and the queue is q, as each card may
// be refused by another queue on the path; of a single card it is the one that
// refuses. Without any card nobody has a quota.
func AnyCard(q index.Queue, cards []fastres.Dim, rule func(fastres.Dim) Verdict) Verdict {
	verdict := Verdict{OverQuota, q}
	for i, d := range cards {
		v := rule(d)
		if v.OK() {
			return v
		}
		if i == 0 {
			verdict.Reason = v.Reason
		}
		if len(cards) == 1 {
			verdict.Queue = v.Queue
		}
	}
	return verdict
}

// EnqueueableCard answers whether a job may be promised quantity of card d:
//
//	quantity + allocated + inqueue − elastic ≤ realCapability
//
// for the queue and all its ancestors. Assigner answers the same for jobs that
// take one of several cards.
func EnqueueableCard(ix *index.Index, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	for _, p := range ix.Path(q) {
		sum := quantity + ix.Allocated(p).Get(d) + ix.Inqueue.Row(p).Get(d) - ix.Elastic.Row(p).Get(d)
		if sum > ix.RealCapability.Row(p).Get(d) {
			return Verdict{OverQuota, p}
		}
	}
	return Verdict{Admitted, q}
}

// PreemptiveCard answers whether a queue may take card d from others for a task:
//
//	allocated + quantity ≤ min(realCapability, deserved)
//
// of the queue itself; see Preemptive for why its ancestors do not count.
func PreemptiveCard(ix *index.Index, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	after := ix.Allocated(q).Get(d) + quantity
	switch {
	case after > ix.RealCapability.Row(q).Get(d):
		return Verdict{OverQuota, q}
	case after > ix.Deserved.Row(q).Get(d):
		return Verdict{OverDeserved, q}
	}
	return Verdict{Admitted, q}
}

// FreesCard answers whether a victim of queue from makes card d usable for a
// reclaimer of queue to: to may take it (PreemptiveCard), and every ancestor of
// to that is not one of from's as well has room for it. Room under a common
// ancestor is what the victim makes.
func FreesCard(ix *index.Index, from, to index.Queue, d fastres.Dim, quantity float64) bool {
	if !PreemptiveCard(ix, to, d, quantity).OK() {
		return false
	}
	_, alone := apart(ix, from, to)
	for _, p := range alone {
		if ix.Allocated(p).Get(d)+quantity > ix.RealCapability.Row(p).Get(d) {
			return false
		}
	}
	return true
}
