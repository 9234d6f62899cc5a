package quota

import (
	"cmp"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Order compares two queues of one priority: negative when l is served first.
// Leaves come before inner queues, and broken queues last. Two leaves compare
// as the two ancestors just below their lowest common one; the smaller share
// first, and at equal shares a queue with deserved before one without.
//
// Upstream: capacity/capacity.go, AddQueueOrderFn and compareShareWithDeserved.
func Order(ix *index.Index, l, r index.Queue) int { return order(ix, nil, l, r) }

// OrderDamped is Order where, before shares are compared, a queue of which a task
// waits that it deserves comes before one that can only borrow; least is the
// least that the tasks which wait in a queue request, nothing where none waits.
//
// By shares alone a queue that lost a task often comes first after that, and gets
// it back before the reclaimer has its place, which then reclaims anew, and so on
// without end. The task that was lost was beyond what its queue deserves, so that
// queue can only borrow for it.
//
// Upstream: none.
func OrderDamped(ix *index.Index, least *index.Rows, l, r index.Queue) int {
	return order(ix, least, l, r)
}

func order(ix *index.Index, least *index.Rows, l, r index.Queue) int {
	if !ix.Rooted() {
		return compare(ix, least, l, r)
	}
	if lb, rb := ix.Broken(l) != nil, ix.Broken(r) != nil; lb != rb {
		return first(rb)
	} else if lb {
		return compareShare(ix, l, r)
	}
	lLeaf, rLeaf := ix.IsLeaf(l), ix.IsLeaf(r)
	switch {
	case lLeaf != rLeaf:
		return first(lLeaf)
	case lLeaf:
		below := commonLevel(ix, l, r) + 1
		l, r = atLevel(ix, l, below), atLevel(ix, r, below)
	}
	return compare(ix, least, l, r)
}

func compare(ix *index.Index, least *index.Rows, l, r index.Queue) int {
	if least != nil {
		if lc, rc := claims(ix, least, l), claims(ix, least, r); lc != rc {
			return first(lc)
		}
	}
	return compareShare(ix, l, r)
}

// claims answers whether some task that waits in q, or below, may be one that q
// deserves: the least that any of them requests would take q above deserved in
// nothing that deserved has.
func claims(ix *index.Index, least *index.Rows, q index.Queue) bool {
	allocated, request, deserved := ix.Allocated(q), least.Row(q), ix.Deserved.Row(q)
	return fastres.FitsSomewhere(allocated, request, deserved) && !fastres.ExceedsWith(allocated, request, deserved)
}

// OrderByShare compares two queues by share alone.
//
// Upstream: proportion/proportion.go, AddQueueOrderFn.
func OrderByShare(ix *index.Index, l, r index.Queue) int {
	return cmp.Compare(ix.Share(l), ix.Share(r))
}

// VictimOrder compares two queues to take victims from: the one whose lowest
// common ancestor with the preemptor is deeper comes first.
//
// Upstream: capacity/capacity.go, AddVictimQueueOrderFn.
func VictimOrder(ix *index.Index, l, r, preemptor index.Queue) int {
	return cmp.Compare(commonLevel(ix, r, preemptor), commonLevel(ix, l, preemptor))
}

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

// apart returns the paths of two queues up to where they meet, without what both
// are in.
func apart(ix *index.Index, l, r index.Queue) (lAlone, rAlone []index.Queue) {
	lPath, rPath := ix.Path(l), ix.Path(r)
	n := 0
	for n < min(len(lPath), len(rPath)) && lPath[len(lPath)-1-n] == rPath[len(rPath)-1-n] {
		n++
	}
	return lPath[:len(lPath)-n], rPath[:len(rPath)-n]
}

// commonLevel is the depth of the lowest ancestor that l and r have in common,
// the queues themselves not counted; 0 if they have none.
func commonLevel(ix *index.Index, l, r index.Queue) int {
	level := 0
	lPath, rPath := ix.Path(l), ix.Path(r)
	for i := 1; i < min(len(lPath), len(rPath)); i++ {
		if lPath[len(lPath)-i] != rPath[len(rPath)-i] {
			break
		}
		level = i - 1
	}
	return level
}

// atLevel is the ancestor of q at a depth, or q where it is not that deep.
func atLevel(ix *index.Index, q index.Queue, depth int) index.Queue {
	path := ix.Path(q)
	return path[max(0, len(path)-1-depth)]
}
