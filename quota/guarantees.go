package quota

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// Guarantees keeps the unused guarantees of queues free. realCapability keeps the guarantees of its
// siblings from each single queue. But two siblings together can take the guarantee of a third one,
// and a root without a bound keeps nothing free. Guarantees decides on the sums:
//
//	unused(q) = max(min(Σ unused(children), max(0, realCapability − allocated)), guarantee − allocated)
//	allocated + Σ unused(children) ≤ min(realCapability, available)   for every inner queue
//
// A queue keeps no more free for its children than it can still have itself. available holds the
// resources of the cluster. It bounds the root, or all flat queues together. If a queue uses its own
// guarantee, the left side does not change, and the charge is always allowed. A charge is also
// allowed if nothing is unused: then the nodes decide. Quantities have the units of package fastres.
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
	base      View           // the accounts from which unused is computed
	available fastres.Vector // a dimension without a bound is not kept free
	active    bool           // some dimension is kept free
	kept      []bool         // by dimension: it is bounded, and some queue has a guarantee of it
	unused    index.Rows     // queue → Σ unused of its children; the last row is for flat queues
	all       fastres.Vector // allocated of all flat queues
}

// View is the accounts that a charge is added to: the base of the guarantees, or an overlay of it.
type View interface {
	Allocated(q index.Queue) fastres.Vector

	// AllocatedAt returns one quantity of Allocated.
	AllocatedAt(q index.Queue, d fastres.Dim) float64

	// Changed returns the queues with a private change, with all their ancestors.
	Changed() []index.Queue
}

// Reset prepares g for the accounts base of a session with the queues ix. base is ix itself, or an
// overlay of it.
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
				unused := g.unusedOf(q, d, base.AllocatedAt(q, d), g.unused.At(q, d))
				g.unused.Row(p).Increase(d, unused)
			}
		}
	}
}

// unusedOf returns unused(q). below is Σ unused(children).
func (g *Guarantees) unusedOf(q index.Queue, d fastres.Dim, allocated, below float64) float64 {
	if below > 0 {
		below = min(below, max(0, g.ix.RealCapability.At(q, d)-allocated))
	}
	return max(below, g.ix.Guarantee.At(q, d)-allocated, 0)
}

// findKept finds the dimensions that are kept free. Most cards and groups of cards have no guarantee, and so need no
// sums (BenchmarkGroups).
func (g *Guarantees) findKept() {
	g.active = false
	g.kept = slices.Grow(g.kept[:0], g.available.Len())[:g.available.Len()]
	clear(g.kept)
	for q := range index.Queue(g.ix.Len()) {
		guarantee := g.ix.Guarantee.Row(q)
		for d := range guarantee.Present() {
			if int(d) < len(g.kept) && guarantee.Get(d) > 0 && g.available.Get(d) < fastres.MaxQuantity {
				g.kept[d] = true
				g.active = true
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

// Fits decides whether q may be charged a quantity in one dimension. A refusal has the reason
// Guaranteed, and the lowest queue with children that are guaranteed the rest. In flat mode the
// queue is q. A what-if on an older snapshot sees the present unused.
func (g *Guarantees) Fits(a View, q index.Queue, d fastres.Dim, quantity float64) Verdict {
	v, _ := g.Numbers(a, q, d, quantity)
	return v
}

// FitsClaims decides whether q may be charged for claims that pods share, in one dimension. Each
// queue is charged for the claims that it does not hold (Added).
func (g *Guarantees) FitsClaims(a Accounts, q index.Queue, claims []index.DeviceClaim, d fastres.Dim) Verdict {
	c := charge{q: q, d: d, levels: make([]float64, 0, 8)}
	for _, p := range g.ix.Path(q) {
		c.levels = append(c.levels, Added(a, p, claims, d))
	}
	c.quantity = c.levels[0]

	v, _ := g.compare(a, c)
	return v
}

// Lacks reports whether guarantees refuse a quantity to q at a queue that from is in as well. Then
// the eviction of a pod of from frees a part of the quantity.
func (g *Guarantees) Lacks(a View, q, from index.Queue, d fastres.Dim, quantity float64) bool {
	c := charge{q: q, d: d, quantity: quantity}
	if from != index.None {
		c.within = g.ix.Path(from)
	}

	v, _ := g.compare(a, c)
	return !v.OK()
}

// Numbers decides as Fits does. For a refusal it also returns the two sides of the comparison:
// allocated with everything that is kept free, and the bound.
func (g *Guarantees) Numbers(a View, q index.Queue, d fastres.Dim, quantity float64) (Verdict, Numbers) {
	return g.compare(a, charge{q: q, d: d, quantity: quantity})
}

// charge is a charge of a queue in one dimension.
type charge struct {
	q        index.Queue
	d        fastres.Dim
	quantity float64

	levels []float64     // the quantity of each queue on the path, nil if all are charged the same
	within []index.Queue // only these queues of the path are asked, nil for all
}

// compare decides as Numbers does.
func (g *Guarantees) compare(a View, c charge) (Verdict, Numbers) {
	if !g.active || !g.keeps(c.d) {
		return Verdict{Admitted, c.q}, Numbers{}
	}

	same := len(g.changed(a)) == 0
	change := 0.0 // of unused below p
	for i, p := range g.ix.Path(c.q) {
		if c.levels != nil {
			c.quantity = c.levels[i]
		}

		allocated := a.AllocatedAt(p, c.d)
		unused := g.unused.At(p, c.d)
		if !same {
			unused = g.unusedBelow(a, p, c.d)
		}

		bound := g.boundOf(p, c.d)
		if takesGuaranteed(c.quantity, change, allocated, unused, bound) && c.asks(p) {
			return Verdict{Guaranteed, p}, Numbers{allocated + c.quantity + unused + change, bound}
		}

		// The usual case, in which the formula gives 0.
		if change == 0 && unused == 0 && g.ix.Guarantee.At(p, c.d) <= allocated {
			continue
		}
		after := g.unusedOf(p, c.d, allocated+c.quantity, unused+change)
		change = after - g.unusedOf(p, c.d, allocated, unused)
	}

	if g.ix.Rooted() {
		return Verdict{Admitted, c.q}, Numbers{}
	}
	return g.compareFlat(a, c, change)
}

// changed returns the queues with another allocated than in the base.
func (g *Guarantees) changed(a View) []index.Queue {
	if a == g.base {
		return nil
	}
	return a.Changed()
}

// compareFlat compares a charge with the resources of the cluster in flat mode. change is the
// change of unused of the charged queue.
func (g *Guarantees) compareFlat(a View, c charge, change float64) (Verdict, Numbers) {
	allocated := g.all.Get(c.d)
	for _, other := range g.changed(a) {
		allocated += a.AllocatedAt(other, c.d) - g.base.AllocatedAt(other, c.d)
	}

	unused := g.unusedBelow(a, g.top(), c.d)
	bound := g.available.Get(c.d)
	if takesGuaranteed(c.quantity, change, allocated, unused, bound) {
		return Verdict{Guaranteed, c.q}, Numbers{allocated + c.quantity + unused + change, bound}
	}

	return Verdict{Admitted, c.q}, Numbers{}
}

// asks reports whether p is asked about the charge.
func (c *charge) asks(p index.Queue) bool {
	return c.within == nil || slices.Contains(c.within, p)
}

// boundOf returns the bound of a queue. The resources of the cluster bound the root.
func (g *Guarantees) boundOf(p index.Queue, d fastres.Dim) float64 {
	bound := g.ix.RealCapability.At(p, d)
	if g.ix.Rooted() && p == g.ix.Root() {
		bound = min(bound, g.available.Get(d))
	}
	return bound
}

// takesGuaranteed reports whether a charge would take resources that are guaranteed to others.
func takesGuaranteed(quantity, change, allocated, unused, bound float64) bool {
	return quantity+change > 0 && unused+change > 0 && allocated+quantity+unused+change > bound
}

// unusedBelow returns Σ unused of the children of q.
func (g *Guarantees) unusedBelow(a View, q index.Queue, d fastres.Dim) float64 {
	unused := g.unused.At(q, d)
	for _, child := range g.changed(a) {
		if g.above(child) == q {
			unused += g.unusedOf(child, d, a.AllocatedAt(child, d), g.unusedBelow(a, child, d)) -
				g.unusedOf(child, d, g.base.AllocatedAt(child, d), g.unused.At(child, d))
		}
	}

	return unused
}

// Again repeats Reset, after a change of allocated that differs from level to level.
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

	// A change of 0 at one level does not mean 0 above.
	change := 0.0 // of unused below p
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
		change = g.unusedOf(p, d, allocated, before+change) - g.unusedOf(p, d, allocated-more, before)
	}
}
