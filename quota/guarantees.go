package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Guarantees keeps free what is guaranteed to queues and not used by them. realCapability
// leaves the guarantees of siblings to each queue by itself, but two siblings together can
// take what a third one is guaranteed, and a root without a bound leaves nothing at all.
// Guarantees decides on the sums:
//
//	unused(q) = max(min(Σ unused(children), max(0, realCapability − allocated)), guarantee − allocated)
//	allocated + Σ unused(children) ≤ min(realCapability, available)   for every inner queue
//
// A queue keeps free for its children no more than it can still have itself. available holds the
// resources of the cluster. It bounds the root, or all flat queues
// together. A charge that leaves the left side as it is, because the queue uses its own
// guarantee, is always allowed. So is one where nothing is unused: then the nodes decide.
// Quantities have the units of package fastres.
//
// # Example
//
// The cluster has 8 cards. x, y and z are children of the root; y is guaranteed 3.
//
//	allocated  unused of y  charge    allocated + unused
//	x 4, z 0   3            z 1       5 + 3 ≤ 8: allowed
//	x 4, z 1   3            z 1       6 + 3 > 8: refused
//	x 4, z 1   3            y 1       6 + 2 ≤ 8: allowed
//
// A Guarantees is used in one session, from Reset on, and its memory is kept for the next.
//
// Upstream: none.
type Guarantees struct {
	ix        *index.Index
	base      View           // the accounts that unused is of
	available fastres.Vector // a dimension without a bound is not kept free
	active    bool           // some dimension is kept free
	kept      []bool         // by dimension: it is bounded, and some queue is guaranteed some of it
	unused    index.Rows     // queue → Σ unused of its children; the last row is of flat queues
	all       fastres.Vector // allocated of all flat queues
}

// View is the accounts that a charge is added to: those of the session, their future, those of
// a what-if simulation, or one of these without some victims.
type View interface {
	Allocated(q index.Queue) fastres.Vector
	// AllocatedAt returns one quantity of Allocated.
	AllocatedAt(q index.Queue, d fastres.Dim) float64
	// Changed returns the queues whose allocated differs from that of the session, or from its
	// future, with all their ancestors.
	Changed() []index.Queue
}

// Reset prepares g for the accounts base of a session with the queues ix: those of ix itself, or
// a Future of them.
func (g *Guarantees) Reset(ix *index.Index, base View, available fastres.Vector) {
	g.ix = ix
	g.base = base
	g.available = available
	g.findKept()
	if !g.active {
		return
	}
	g.unused.Reset(ix.Len()+1, ix.Dims())
	if g.all.Len() != ix.Dims() {
		g.all = fastres.NewVector(ix.Dims())
	}
	g.all.Reset()
	for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
		p := g.above(q)
		if p == index.None {
			continue
		}
		if p == g.top() {
			g.all.Add(base.Allocated(q))
		}
		for d := range ix.Guarantee.Row(q).Present() {
			if g.keeps(d) {
				g.unused.Row(p).Increase(d, g.unusedOf(q, d, base.AllocatedAt(q, d), g.unused.At(q, d)))
			}
		}
	}
}

// unusedOf returns unused(q), where below is Σ unused(children).
func (g *Guarantees) unusedOf(q index.Queue, d fastres.Dim, allocated, below float64) float64 {
	if below > 0 {
		below = min(below, max(0, g.ix.RealCapability.At(q, d)-allocated))
	}
	return max(below, g.ix.Guarantee.At(q, d)-allocated, 0)
}

// findKept finds the dimensions that are kept free. Where nobody is guaranteed anything, nothing can be taken: most
// cards and groups of cards need no question and no sum (BenchmarkGroups).
func (g *Guarantees) findKept() {
	g.active = false
	g.kept = slices.Grow(g.kept[:0], g.available.Len())[:g.available.Len()]
	clear(g.kept)
	for q := range index.Queue(g.ix.Len()) {
		guarantee := g.ix.Guarantee.Row(q)
		for d := range guarantee.Present() {
			if int(d) < len(g.kept) && guarantee.Get(d) > 0 && g.available.Get(d) < fastres.MaxQuantity {
				g.kept[d], g.active = true, true
			}
		}
	}
}

// Active reports whether guarantees of some dimension are kept free. If not, Fits allows all
// charges.
func (g *Guarantees) Active() bool { return g.active }

// keeps reports whether guarantees of d are kept free.
func (g *Guarantees) keeps(d fastres.Dim) bool { return int(d) < len(g.kept) && g.kept[d] }

// KeepsAny reports whether guarantees of one of some dimensions are kept free.
func (g *Guarantees) KeepsAny(dims []fastres.Dim) bool {
	return g.active && slices.ContainsFunc(dims, g.keeps)
}

// top stands for all flat queues together.
func (g *Guarantees) top() index.Queue { return index.Queue(g.ix.Len()) }

// above returns the parent of q, top for a flat queue.
func (g *Guarantees) above(q index.Queue) index.Queue {
	if p := g.ix.Parent(q); p != index.None || g.ix.Rooted() {
		return p
	}
	return g.top()
}

// Fits decides whether q may be charged a quantity in one dimension. A refusal has the
// reason Guaranteed, and the lowest queue whose children are guaranteed the rest, or q
// where queues are flat. A what-if on an older snapshot sees what is unused now.
func (g *Guarantees) Fits(a View, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	v, _ := g.compare(a, q, index.None, d, quantity, nil)
	return v
}

// FitsClaims decides whether q may be charged for claims that pods share, in one dimension. Each queue is charged for
// those that it does not hold (Added).
func (g *Guarantees) FitsClaims(a Accounts, q index.Queue, claims []index.DeviceClaim, d fastres.Dim) Verdict {
	added := make([]float64, 0, 8)
	for _, p := range g.ix.Path(q) {
		added = append(added, Added(a, p, claims, d))
	}
	v, _ := g.compare(a, q, index.None, d, added[0], added)
	return v
}

// Lacks reports whether q may not be charged a quantity because of what is guaranteed to others
// below a queue that from is in as well. Then a pod of from takes a part of what is lacking.
func (g *Guarantees) Lacks(a View, q, from index.Queue, d fastres.Dim, quantity float64) bool {
	v, _ := g.compare(a, q, from, d, quantity, nil)
	return !v.OK()
}

// Numbers decides as Fits does. Of a refusal it also returns what was compared: what would be
// allocated and kept free, and the bound.
func (g *Guarantees) Numbers(a View, q index.Queue, d fastres.Dim, quantity float64) (Verdict, Numbers) {
	return g.compare(a, q, index.None, d, quantity, nil)
}

// compare decides as Numbers does, where from is None, or else asks only the queues that from is in. levels has the
// quantity of each queue on the path of q, nil where all are charged the same.
func (g *Guarantees) compare(a View, q, from index.Queue, d fastres.Dim, quantity float64, levels []float64) (Verdict, Numbers) {
	if !g.active || !g.keeps(d) {
		return Verdict{Admitted, q}, Numbers{}
	}
	same := len(a.Changed()) == 0
	change := 0.0 // of what is unused below p
	for i, p := range g.ix.Path(q) {
		if levels != nil {
			quantity = levels[i]
		}
		allocated, unused := a.AllocatedAt(p, d), g.unused.At(p, d)
		if !same {
			unused = g.unusedBelow(a, p, d)
		}
		bound := g.ix.RealCapability.At(p, d)
		if g.ix.Rooted() && p == g.ix.Root() {
			bound = min(bound, g.available.Get(d))
		}
		if takesGuaranteed(quantity, change, allocated, unused, bound) && (from == index.None || slices.Contains(g.ix.Path(from), p)) {
			return Verdict{Guaranteed, p}, Numbers{allocated + quantity + unused + change, bound}
		}
		if change == 0 && unused == 0 && g.ix.Guarantee.At(p, d) <= allocated {
			continue // the usual case, in which the formula gives 0
		}
		change = g.unusedOf(p, d, allocated+quantity, unused+change) - g.unusedOf(p, d, allocated, unused)
	}
	if !g.ix.Rooted() {
		allocated := g.all.Get(d)
		for _, other := range a.Changed() {
			allocated += a.AllocatedAt(other, d) - g.base.AllocatedAt(other, d)
		}
		unused, bound := g.unusedBelow(a, g.top(), d), g.available.Get(d)
		if takesGuaranteed(quantity, change, allocated, unused, bound) {
			return Verdict{Guaranteed, q}, Numbers{allocated + quantity + unused + change, bound}
		}
	}
	return Verdict{Admitted, q}, Numbers{}
}

// takesGuaranteed reports whether a charge would take what is guaranteed to others.
func takesGuaranteed(quantity, change, allocated, unused, bound float64) bool {
	return quantity+change > 0 && unused+change > 0 && allocated+quantity+unused+change > bound
}

// unusedBelow returns Σ unused of the children of q.
func (g *Guarantees) unusedBelow(a View, q index.Queue, d fastres.Dim) float64 {
	unused := g.unused.At(q, d)
	for _, child := range a.Changed() {
		if g.above(child) == q {
			unused += g.unusedOf(child, d, a.AllocatedAt(child, d), g.unusedBelow(a, child, d)) -
				g.unusedOf(child, d, g.base.AllocatedAt(child, d), g.unused.At(child, d))
		}
	}
	return unused
}

// Again prepares g once more, after a change of allocated that differs from level to level.
func (g *Guarantees) Again() { g.Reset(g.ix, g.base, g.available) }

// Update follows a charge of q and its ancestors (sign 1), or a refund (sign −1). Call it
// after the change of allocated.
func (g *Guarantees) Update(q index.Queue, changed fastres.Vector, sign float64) {
	if !g.active {
		return
	}
	for d := range changed.Requested() {
		if g.keeps(d) {
			g.update(q, d, sign*changed.Get(d))
		}
	}
}

func (g *Guarantees) update(q index.Queue, d fastres.Dim, more float64) {
	if !g.ix.Rooted() {
		g.all.Increase(d, more)
	}
	change := 0.0 // of what is unused below p
	for p := q; p != index.None; p = g.above(p) {
		unused := g.unused.Row(p)
		before := unused.Get(d)
		if change != 0 {
			unused.Set(d, before+change)
		}
		if p == g.top() {
			return
		}
		allocated := g.base.AllocatedAt(p, d)
		change = g.unusedOf(p, d, allocated, before+change) - g.unusedOf(p, d, allocated-more, before) // 0 here does not mean 0 above
	}
}
