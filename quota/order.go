package quota

import (
	"cmp"

	"github.com/capacity-card/capacity-card/index"
)

// Order compares two queues of one priority: negative when l is served first.
// Leaves come before inner queues, and broken queues last. Two leaves compare
// as the two ancestors just below their lowest common one; the smaller share
// first, and at equal shares a queue with deserved before one without.
//
// Upstream: capacity/capacity.go, AddQueueOrderFn and compareShareWithDeserved.
func Order(ix *index.Index, l, r index.Queue) int {
	if !ix.Rooted() {
		return compareShare(ix, l, r)
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
	return compareShare(ix, l, r)
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
	if l, r := !ix.Deserved.Row(int(l)).IsEmpty(), !ix.Deserved.Row(int(r)).IsEmpty(); l != r {
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
