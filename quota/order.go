package quota

import (
	"cmp"

	"github.com/capacity-card/capacity-card/index"
)

// Order compares two queues of the same priority. The result is negative if Volcano
// serves l first, positive if it serves r first, and 0 if neither goes first.
//
//  1. a queue that reaches the root, before one that does not
//  2. a leaf queue, before an inner queue
//  3. the smaller share
//  4. a queue with deserved, before a queue without
//
// Two leaf queues compare by the ancestors just below their lowest common ancestor in 3
// and 4. In flat mode only 3 and 4 apply.
//
// Upstream: capacity/capacity.go, AddQueueOrderFn and compareShareWithDeserved.
func Order(ix *index.Index, l, r index.Queue) int {
	if ix.Rooted() {
		if lb, rb := ix.Broken(l) != nil, ix.Broken(r) != nil; lb != rb {
			return first(rb)
		} else if lb {
			return compareShare(ix, l, r)
		}
		if lLeaf := ix.IsLeaf(l); lLeaf != ix.IsLeaf(r) {
			return first(lLeaf)
		}
		l, r = rivals(ix, l, r)
	}
	return compareShare(ix, l, r)
}

// OrderByReclaim compares two queues where reclaim is damped, before their priorities and
// Order: a queue with a pending task that it can reclaim for goes before a queue that can
// only borrow. A task with a list of cards may borrow one card and reclaim another: its
// queue goes between the two. The result is 0 for two queues that can reclaim alike, or that Order
// compares by the steps 1 or 2. levels is the argument reclaimDamping.
//
// A queue can reclaim for a pending task that fits under its deserved in some dimension, and
// exceeds deserved in none, of the queue and of as many of its ancestors as TakeDamped asks.
//
// The step prevents an endless exchange. A queue that loses a task to a reclaimer often
// has the smallest share afterwards, or a higher priority. By these it gets the resources
// back before the reclaimer is placed, and the reclaimer reclaims again in the next cycle.
// The lost task was above deserved, so its queue can only borrow for it, and the reclaimer
// goes first.
//
// Upstream: none.
func OrderByReclaim(ix *index.Index, pending *Pending, l, r index.Queue, levels int) int {
	if ix.Rooted() && (ix.Broken(l) != nil || ix.Broken(r) != nil || ix.IsLeaf(l) != ix.IsLeaf(r)) {
		return 0
	}
	lBelow, rBelow := belowLCA(ix, l, r)
	left := pending.reclaimOf(ix, lBelow[:min(len(lBelow), levels+1)])
	right := pending.reclaimOf(ix, rBelow[:min(len(rBelow), levels+1)])
	return cmp.Compare(right, left)
}

// rivals returns the queues by which two queues of a tree compare: of two leaves, the
// ancestors just below their lowest common ancestor.
func rivals(ix *index.Index, l, r index.Queue) (index.Queue, index.Queue) {
	if !ix.IsLeaf(l) {
		return l, r
	}
	below := LCADepth(ix, l, r) + 1
	return ancestorAt(ix, l, below), ancestorAt(ix, r, below)
}

// Rivals returns the queues whose usage decides which of two queues of the same priority goes first. ok is
// false where Order decides by the steps 1 or 2.
func Rivals(ix *index.Index, l, r index.Queue) (_, _ index.Queue, ok bool) {
	if !ix.Rooted() {
		return l, r, true
	}
	if ix.Broken(l) != nil || ix.Broken(r) != nil || ix.IsLeaf(l) != ix.IsLeaf(r) {
		return l, r, false
	}
	l, r = rivals(ix, l, r)
	return l, r, true
}

// OrderByShare compares two queues by share: the smaller share goes first. It is the
// order of queues under the name proportion.
//
// Upstream: proportion/proportion.go, AddQueueOrderFn.
func OrderByShare(ix *index.Index, l, r index.Queue) int {
	return cmp.Compare(ix.Share(l), ix.Share(r))
}

// VictimOrder compares two queues to take victims from. The queue whose lowest common
// ancestor with the preemptor's queue is deeper goes first. So a queue takes back from its
// own subtree first.
//
// Upstream: capacity/capacity.go, AddVictimQueueOrderFn.
func VictimOrder(ix *index.Index, l, r, preemptor index.Queue) int {
	return cmp.Compare(LCADepth(ix, r, preemptor), LCADepth(ix, l, preemptor))
}

// compareShare compares by share, then by deserved.
func compareShare(ix *index.Index, l, r index.Queue) int {
	if c := OrderByShare(ix, l, r); c != 0 {
		return c
	}
	if l, r := !ix.Deserved.Row(l).IsEmpty(), !ix.Deserved.Row(r).IsEmpty(); l != r {
		return first(l)
	}
	return 0
}

// first is the order of two queues of which exactly one goes first.
func first(l bool) int {
	if l {
		return -1
	}
	return 1
}
