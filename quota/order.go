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
	if !ix.Rooted() {
		return compareShare(ix, l, r)
	}

	lBroken := ix.Broken(l) != nil
	rBroken := ix.Broken(r) != nil
	if lBroken != rBroken {
		return first(rBroken)
	}
	if lBroken {
		return compareShare(ix, l, r)
	}

	lLeaf := ix.IsLeaf(l)
	if lLeaf != ix.IsLeaf(r) {
		return first(lLeaf)
	}

	l, r = rivals(ix, l, r)
	return compareShare(ix, l, r)
}

// OrderByReclaim compares two queues with reclaimCompares: damped=N, before their priorities and Order. It
// orders queues by their pending tasks:
//
//  1. a queue that can reclaim for a pending task
//  2. a queue with a task that may borrow one card of its list and reclaim another
//  3. a queue that can only borrow
//
// The result is 0 for two queues that can reclaim alike, or that Order compares by the steps 1 or 2.
// levels is the number N.
//
// A queue can reclaim for a pending task that fits under deserved of the queue in some dimension. The
// task must not exceed deserved in any dimension, of the queue and of as many of its ancestors as
// TakeDamped asks.
//
// The step prevents an endless exchange. A queue that loses a task to a reclaimer often has the
// smallest share afterwards, or a higher priority. By these it would get the resources back before the
// reclaimer is placed, and the reclaimer would reclaim again in the next cycle. The lost task was
// above deserved, so its queue can only borrow for it, and the reclaimer goes first.
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

// rivals returns the queues by which two queues of a tree compare. For two leaves, these are the
// ancestors just below their lowest common ancestor.
func rivals(ix *index.Index, l, r index.Queue) (index.Queue, index.Queue) {
	if !ix.IsLeaf(l) {
		return l, r
	}
	below := LCADepth(ix, l, r) + 1
	return ancestorAt(ix, l, below), ancestorAt(ix, r, below)
}

// Rivals returns the queues by which two queues of the same priority compare their usage. ok is false if Order
// decides by the steps 1 or 2.
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

// VictimOrder compares two queues to take victims from. The queue with the deeper lowest common
// ancestor with the preemptor's queue goes first. So a queue takes back from its own subtree
// first.
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

	lDeserves := !ix.Deserved.Row(l).IsEmpty()
	rDeserves := !ix.Deserved.Row(r).IsEmpty()
	if lDeserves != rDeserves {
		return first(lDeserves)
	}

	return 0
}

// first is the order of two queues if exactly one of them goes first: l or the other.
func first(l bool) int {
	if l {
		return -1
	}
	return 1
}
