package quota

import (
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Returns holds the resources that reclaim and preempt can take back for jobs that wait for admission.
// With the argument admitReclaimable they do not count against these jobs. In each dimension and queue:
//
//	held     = allocated − elastic
//	entitled = max(deserved, guarantee)
//	surplus  = max(0, held − entitled)                                  of a leaf
//	surplus  = min(max(0, held − entitled), Σ surplus of the children)  of another queue
//
// If reclaim takes nothing from a leaf, the leaf has no surplus. For a job of q, with q = p(0) and its
// ancestors p(1), p(2), … up to the root:
//
//	returned(0) = preempted
//	returned(k) = returned(k−1) + Σ surplus of the siblings of p(k−1)
//
// preempted is the amount that preempt can take from jobs of q itself. The siblings of p(k−1) give
// something back only if all queues below stay within deserved with the job:
//
//	min + held + inqueue − returned ≤ deserved   for p(0) … p(k−1)
//
// Otherwise returned(k), returned(k+1) and so on are returned(k−1). Nothing crosses a fence.
// Enqueueable and the rules of cards then compare
//
//	min + held + inqueue − returned ≤ bound      at every level
//
// inqueue counts in full, so nothing is promised twice. If deserved does not name a group of cards,
// the group deserves the weighted sum of its cards.
//
// # Example
//
// A department may use 8 cards, and its queues a1 and a2 deserve 4 each. a1 has 8, so its surplus
// is 4.
//
//	job in a2        a2 deserves    returned   total in the department
//	4 cards          0 + 4 ≤ 4      4          8 + 4 − 4 = 8       admitted
//	5 cards          0 + 5 > 4      0          8 + 5 = 13          refused
//	1, after the 4   4 + 1 > 4      0          8 + 4 + 1 = 13      refused
//
// Upstream: none.
//
// DIVERGES: upstream counts all of allocated, even if reclaim or preempt would take it back. A job that
// is not admitted has no pods, and so reclaim and preempt never look at it (upstream issues
// 4235, 4679, 4756, 4817).
type Returns struct {
	ix     *index.Index
	names  *index.Names
	fenced func(index.Queue) bool

	surplus    index.Rows // the amount that a queue gives back to queues outside of it
	ofChildren index.Rows // Σ surplus of the children
	bounds     index.Rows // the raised bounds of the queues of a question

	// widest are the bounds of RaiseAll. It has no rows before RaiseAll.
	widest index.Rows

	raised []index.Queue // the queues with other bounds than in widest
	base   *index.Rows   // the plain bounds of the question
}

// Giving says which queues give something back.
type Giving struct {
	// Leaf reports whether reclaim takes from a leaf queue at all.
	Leaf func(index.Queue) bool

	// Fenced reports whether reclaim ends at a queue.
	Fenced func(index.Queue) bool
}

// Read computes the surplus of all queues. Call it again after a change of allocated.
func (r *Returns) Read(ix *index.Index, names *index.Names, g Giving) {
	r.ix = ix
	r.names = names
	r.fenced = g.Fenced
	r.surplus.Reset(ix.Len(), ix.Dims())
	r.ofChildren.Reset(ix.Len(), ix.Dims())
	r.bounds.Reset(ix.Len(), ix.Dims())
	r.widest.Reset(0, ix.Dims())
	r.raised = nil

	// Parents have lower numbers than their children.
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		if ix.IsLeaf(q) && !g.Leaf(q) || g.Fenced(q) {
			continue
		}

		surplus := r.surplus.Row(q)
		for d := range ix.Allocated(q).Present() {
			more := max(0, r.held(q, d)-max(r.deserved(q, d), ix.Guarantee.At(q, d)))
			if !ix.IsLeaf(q) {
				more = min(more, r.ofChildren.At(q, d))
			}
			if more > 0 {
				surplus.Set(d, more)
			}
		}
		if p := ix.Parent(q); p != index.None {
			r.ofChildren.Row(p).Add(surplus)
		}
	}
}

func (r *Returns) held(q index.Queue, d fastres.Dim) float64 {
	return r.ix.AllocatedAt(q, d) - r.ix.Elastic.At(q, d)
}

// deserved returns deserved of a queue. If deserved does not name a group, it returns the sum of the cards of the
// group.
func (r *Returns) deserved(q index.Queue, d fastres.Dim) float64 {
	deserved := r.ix.Deserved.Row(q)
	if !r.names.IsGroup(d) || deserved.Has(d) {
		return deserved.Get(d)
	}

	sum := 0.0
	for card := range deserved.Present() {
		for _, share := range r.names.Groups(card) {
			if share.Group == d {
				sum += share.Of(deserved.Get(card))
			}
		}
	}

	return sum
}

// Raise raises the bounds of admission for a job of q by the amounts that are given back to it, until Lower.
// preempted is the amount that preempt can take from jobs of q. Raise reports whether it raised a bound.
func (r *Returns) Raise(q index.Queue, preempted fastres.Vector) (some bool) {
	ix := r.ix
	ix.Raised = nil

	// Undo the previous question.
	if r.widest.Len() > 0 {
		for _, p := range r.raised {
			r.bounds.Row(p).CopyFrom(r.widest.Row(p))
		}
	}

	r.raised = ix.Path(q)
	r.base = ix.AdmissionBounds(q)
	for _, p := range r.raised {
		r.bounds.Row(p).CopyFrom(r.base.Row(p))
	}

	for d := range fastres.Dim(ix.Dims()) {
		some = r.raise(r.raised, d, preempted.Get(d)) || some
	}

	ix.Raised = &r.bounds
	return some
}

// RaiseAll raises the bounds of all queues by all amounts that are given back below them, until Lower.
// These are the bounds for earlier promises to jobs. preempted returns the amounts that preempt can take
// from jobs of a queue for them. Raise keeps these bounds for queues that are not on its path.
func (r *Returns) RaiseAll(preempted func(index.Queue) fastres.Vector) {
	ix := r.ix
	ix.Raised = nil
	r.widest.Reset(ix.Len(), ix.Dims())

	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		returned := r.widest.Row(q) // to begin with, by the children
		returned.Add(preempted(q))
		if p := ix.Parent(q); p != index.None {
			more := fastres.NewVector(ix.Dims())
			more.CopyFrom(returned)
			more.RaiseTo(r.surplus.Row(q))
			r.widest.Row(p).Add(more)
		}
	}

	for q := range index.Queue(ix.Len()) {
		bounds := r.widest.Row(q)
		plain := ix.AdmissionBounds(q).Row(q)
		for d := range fastres.Dim(ix.Dims()) {
			more := bounds.Get(d)
			if plain.Has(d) || more > 0 {
				bounds.Set(d, min(fastres.MaxQuantity, plain.Get(d)+more))
			}
		}

		r.bounds.Row(q).CopyFrom(bounds)
	}

	r.raised = nil
	ix.Raised = &r.bounds
}

// Lower ends a question: the plain bounds of admission apply again.
func (r *Returns) Lower() { r.ix.Raised = nil }

// raise raises the bounds of a path in one dimension. The returned amount depends on the request of the
// job, so raise chooses the level that admits the largest request.
func (r *Returns) raise(path []index.Queue, d fastres.Dim, preempted float64) bool {
	best := 0
	most := r.most(path, d, preempted, 0)
	for level := 1; level < len(path) && !r.fenced(path[level-1]); level++ {
		if n := r.most(path, d, preempted, level); n > most {
			best = level
			most = n
		}
	}
	if best == 0 && preempted == 0 {
		return false
	}

	for k := range path {
		bounds := r.bounds.Row(path[k])
		if bound := bounds.Get(d); bound < fastres.MaxQuantity || k < best {
			bounds.Set(d, r.bound(path, d, preempted, best, k))
		}
	}

	return true
}

// most returns the largest request that is admitted if siblings give back up to a level.
func (r *Returns) most(path []index.Queue, d fastres.Dim, preempted float64, level int) float64 {
	most := fastres.MaxQuantity
	for k, p := range path {
		most = min(most, r.bound(path, d, preempted, level, k)-r.held(p, d)-r.ix.Inqueue.At(p, d))
	}
	return most
}

// bound returns the raised bound of path[k] if siblings give back up to a level. Below the level the
// queue stays within deserved.
func (r *Returns) bound(path []index.Queue, d fastres.Dim, preempted float64, level, k int) float64 {
	bound := r.base.At(path[k], d)
	if k < level {
		bound = min(bound, r.deserved(path[k], d))
	}
	if bound >= fastres.MaxQuantity {
		return fastres.MaxQuantity
	}

	returned := preempted
	for i := 1; i <= min(k, level); i++ {
		returned += r.ofChildren.At(path[i], d) - r.surplus.At(path[i-1], d)
	}
	return bound + returned
}
