package quota

import "github.com/capacity-card/capacity-card/index"

// Fences are the queues at which reclaim ends: no queue outside of a fence takes from queues
// below it, and no queue below takes from outside. The zero Fences separate nothing.
type Fences struct {
	nearest []index.Queue // queue → itself or its nearest ancestor that is fenced; empty: no fence
}

// Reset reads the fences of a tree, and reports whether there are any.
func (f *Fences) Reset(tree *index.Tree, fenced func(index.Queue) bool) (found bool) {
	f.nearest = f.nearest[:0]

	// Parents have lower numbers than their children.
	for q := range index.Queue(tree.Len()) {
		at := index.None
		if parent := tree.Parent(q); parent != index.None {
			at = f.nearest[parent]
		}
		if fenced(q) {
			at = q
			found = true
		}

		f.nearest = append(f.nearest, at)
	}
	if !found {
		f.nearest = f.nearest[:0]
	}
	return found
}

// Separate reports whether a fence is between two queues. to is None for a reclaimer without
// a queue, which is outside of all fences. Two queues have the same nearest fence if and only
// if they are inside of the same fences.
func (f *Fences) Separate(q, to index.Queue) bool {
	return len(f.nearest) > 0 && f.Of(q) != f.Of(to)
}

// Of returns the nearest fence around a queue, None for none.
func (f *Fences) Of(q index.Queue) index.Queue {
	if q == index.None || len(f.nearest) == 0 {
		return index.None
	}
	return f.nearest[q]
}
