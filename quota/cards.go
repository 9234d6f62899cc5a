package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// A card is a dimension like any other, with one exception: a task that requests a card
// list takes one card of the list, and its node decides which. Before the task has a
// node, a rule is evaluated for each card of the list. Therefore the rules of this file
// decide on one dimension instead of a vector. Quantities are milli-cards, and
// comparisons have no tolerance. Upstream has no cards.

// CardFits decides whether a task of q may take a quantity of card d:
//
//	allocated + quantity ≤ bound
//
// for the queue and all its ancestors. A refusal has the reason OverQuota and the lowest
// queue with an exceeded bound.
func CardFits(a Accounts, bound *index.Rows, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	for _, p := range a.Path(q) {
		if a.AllocatedAt(p, d)+quantity > bound.At(p, d) {
			return Verdict{OverQuota, p}
		}
	}

	return Verdict{Admitted, q}
}

// CardRoom returns the largest additional quantity of card d that tasks of q may take:
//
//	min over the queue and all its ancestors of bound − allocated
//
// It is negative if allocated exceeds a bound.
func CardRoom(a Accounts, bound *index.Rows, q index.Queue, d fastres.Dim) float64 {
	room := fastres.MaxQuantity
	for _, p := range a.Path(q) {
		room = min(room, bound.At(p, d)-a.AllocatedAt(p, d))
	}
	return room
}

// AnyCard evaluates a rule for each card of a list, in order, and returns the first
// verdict that admits. If the rule refuses every card, AnyCard returns the reason for the
// first card. The queue of this verdict is q, because different queues on the path may refuse
// different cards. For a single card it is the queue that refuses. An empty list is OverQuota.
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

// EnqueueableCard decides whether a job of q that requests a quantity of card d is
// admitted:
//
//	quantity + allocated + inqueue − elastic ≤ bound
//
// for the queue and all its ancestors, with the bound of Enqueueable. A refusal has the reason
// OverQuota and the lowest queue with an exceeded bound. assign.Assigner decides for card lists.
func EnqueueableCard(ix *index.Index, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	for _, p := range ix.Path(q) {
		if EnqueueableNumbers(ix, p, d, quantity).Exceeded() {
			return Verdict{OverQuota, p}
		}
	}

	return Verdict{Admitted, q}
}

// EnqueueableClaim decides as EnqueueableCard does, on a quantity of a claim that pods share. Queues that hold the
// claim, and their ancestors, are charged nothing.
func EnqueueableClaim(ix *index.Index, q index.Queue, claim string, d fastres.Dim, quantity float64) Verdict {
	for _, p := range ix.Path(q) {
		if ix.DeviceClaim(p, claim).References > 0 {
			break
		}
		if EnqueueableNumbers(ix, p, d, quantity).Exceeded() {
			return Verdict{OverQuota, p}
		}
	}

	return Verdict{Admitted, q}
}

// Unpromised reports whether a task of q can take a quantity of card d and leave the
// reservations of admitted jobs:
//
//	quantity + allocated + inqueue ≤ realCapability
//
// for the queue and all its ancestors. A reservation counts until the next session, even if
// pods of its job have been placed in this session.
func Unpromised(ix *index.Index, q index.Queue, d fastres.Dim, quantity float64) bool {
	for _, p := range ix.Path(q) {
		if quantity+ix.AllocatedAt(p, d)+ix.Inqueue.At(p, d) > ix.RealCapability.At(p, d) {
			return false
		}
	}

	return true
}

// PreemptiveCard decides whether q may take a quantity of card d from other queues for a
// task:
//
//	allocated + quantity ≤ bound      for q, and
//	allocated + quantity ≤ deserved   for q, or an ancestor up to Levels above it
//
// Preemptive says why bounds of ancestors do not count. A refusal has the reason OverQuota or OverDeserved, and the
// queue itself.
func (p Preemption) PreemptiveCard(q index.Queue, d fastres.Dim, quantity float64) Verdict {
	if p.Allocated.AllocatedAt(q, d)+quantity > p.Bound.At(q, d) {
		return Verdict{OverQuota, q}
	}

	for _, at := range levelsFrom(p.Index, q, p.Levels) {
		if p.Allocated.AllocatedAt(at, d)+quantity <= p.Index.Deserved.At(at, d) {
			return Verdict{Admitted, q}
		}
	}

	return Verdict{OverDeserved, q}
}
