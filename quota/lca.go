package quota

import "github.com/capacity-card/capacity-card/index"

// The lowest common ancestor (LCA) of two queues is the deepest queue that is on both
// paths. Only the queues below it compete with one another: above it, both queues draw
// on the same quota. Paths run from a queue to its top, so the common suffix of two paths
// is the path of the LCA.

// belowLCA returns the paths of two queues without the part that they share. A result is
// empty if its queue is the LCA itself. Without an LCA the results are the whole paths.
func belowLCA(ix *index.Index, l, r index.Queue) (lBelow, rBelow []index.Queue) {
	lPath := ix.Path(l)
	rPath := ix.Path(r)
	n := 0
	for n < min(len(lPath), len(rPath)) && lPath[len(lPath)-1-n] == rPath[len(rPath)-1-n] {
		n++
	}

	return lPath[:len(lPath)-n], rPath[:len(rPath)-n]
}

// Common returns the queues that are on both paths: the lowest common ancestor, and the
// queues above it.
func Common(ix *index.Index, l, r index.Queue) []index.Queue {
	below, _ := belowLCA(ix, l, r)
	return ix.Path(l)[len(below):]
}

// LCADepth returns the depth of the lowest common ancestor of two queues that is
// neither of the two. The depth of a root is 0, which is also the result for two queues
// without a common ancestor.
func LCADepth(ix *index.Index, l, r index.Queue) int {
	above := min(len(Common(ix, l, r)), len(ix.Path(l))-1, len(ix.Path(r))-1) // common queues other than l and r
	return max(0, above-1)
}

// ancestorAt returns the ancestor of q at a depth. It returns q if q is not deeper.
func ancestorAt(ix *index.Index, q index.Queue, depth int) index.Queue {
	path := ix.Path(q)
	return path[max(0, len(path)-1-depth)]
}
