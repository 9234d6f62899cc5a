package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// FuzzInvariants lets in what the rules let in, and nothing else, and checks
// after each event that
//
//   - nothing that is let in takes a queue above its realCapability, at any level;
//   - a queue has what its own jobs and its children have, and its share is that
//     of this moment;
//   - what is charged and refunded cancels to the bit;
//   - victims leave every queue its guarantee;
//   - deserved is within its bounds;
//   - a snapshot stays as it was;
//   - the order of siblings is a strict weak order;
//   - all of it is the same in an index that served another cluster before, with
//     names, queues and jobs come across in another order.
func FuzzInvariants(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		c := draw(r)
		w := build(t, r, c, &index.Index{}, &index.Names{}, inOrder)
		other := newWorld(t, r)
		for range 3 {
			other.event()
		}
		other.ix.Snapshot()
		twin := build(t, r, c, other.ix, other.names, r.Shuffle)
		twin.oracle = w.oracle
		w.compareBounds()
		twin.compareBounds()
		w.checkDeserved()
		var taken []snapshot
		for range 4 + r.IntN(12) {
			w.admitted(twin)
			w.checkVictims()
			w.checkCancels()
			for _, each := range []*world{w, twin} {
				each.compareAccounts() // which the oracle adds up anew
				each.checkOrder()
			}
			if r.IntN(3) == 0 {
				taken = append(taken, w.snapshot())
			}
			w.compareSnapshots(taken)
		}
	})
}

// admitted lets one task or job in if the rules do, or takes a task away.
func (w *world) admitted(twin *world) {
	if j := pick(w.rand, w.jobs); j != nil && w.rand.IntN(3) == 0 {
		q, min := w.number(j.Queue), amounts(j.MinResources)
		if q != index.None && quota.Eligible(w.ix.Tree, q).OK() && quota.Enqueueable(w.ix, q, w.vector(min)).OK() {
			w.enqueue(j)
			twin.promise(j)
			w.checkAdmitted(q, min, w.net)
		}
		return
	}
	t := pick(w.rand, w.known())
	switch {
	case t == nil:
	case t.placed:
		w.place(t, false)
		twin.charge(t, false)
	case quota.Eligible(w.ix.Tree, w.number(t.queue)).OK() &&
		quota.Allocatable(w.ix, &w.ix.RealCapability, w.number(t.queue), w.vector(t.request)).OK():
		w.place(t, true)
		twin.charge(t, true)
		w.checkAdmitted(w.number(t.queue), t.request, func(q index.Queue, d fastres.Dim) float64 { return w.ix.Allocated(q).Get(d) })
	}
}

// net is what admission of jobs is held against.
func (w *world) net(q index.Queue, d fastres.Dim) float64 {
	return w.ix.Allocated(q).Get(d) + w.ix.Inqueue.Row(q).Get(d) - w.ix.Elastic.Row(q).Get(d)
}

// checkAdmitted expects every queue on a path to be within its bound in what was
// just let in.
func (w *world) checkAdmitted(q index.Queue, request oracle.Amounts, used func(index.Queue, fastres.Dim) float64) {
	for _, p := range w.ix.Path(q) {
		for name, quantity := range request {
			d, _ := w.names.Lookup(name)
			if d != fastres.Pods && quantity > 0 {
				require.LessOrEqual(w.t, used(p, d), w.ix.RealCapability.Row(p).Get(d), "%s of %s", name, w.ix.Name(p))
			}
		}
	}
}

func (w *world) checkDeserved() {
	for q := range index.Queue(w.ix.Len()) {
		deserved, guarantee, bound := w.ix.Deserved.Row(q), w.ix.Guarantee.Row(q), w.ix.RealCapability.Row(q)
		for d := range fastres.Dim(w.ix.Dims()) {
			if w.ix.Rooted() && !w.byWeight {
				continue // as it is written, which compareBounds looks at
			}
			if w.byWeight && w.ix.Broken(q) != nil {
				continue // refused, so it deserves nothing
			}
			if w.byWeight {
				sum := 0.0
				for _, child := range w.ix.Children(q) {
					sum += w.ix.Deserved.Row(child).Get(d)
				}
				require.LessOrEqual(w.t, sum, deserved.Get(d), "%s below %s", w.names.Name(d), w.ix.Name(q))
			}
			if w.byWeight && q == w.ix.Root() {
				continue // what is guaranteed to others is not the root's own
			}
			require.GreaterOrEqual(w.t, deserved.Get(d), guarantee.Get(d))
			if bound.Has(d) {
				require.LessOrEqual(w.t, deserved.Get(d), max(bound.Get(d), guarantee.Get(d)))
			}
		}
	}
}

// checkVictims takes victims as they come, and counts what their queues are left
// with.
func (w *world) checkVictims() {
	reclaimer := pick(w.rand, w.tasks)
	w.victims.Begin()
	left := map[string]oracle.Amounts{}
	for _, t := range w.known() {
		if !t.placed || !w.victims.Take(w.number(t.queue), w.vector(t.request), w.vector(reclaimer.request)) {
			continue
		}
		if left[t.queue] == nil {
			left[t.queue] = w.oracle.Allocated(t.queue)
		}
		left[t.queue] = left[t.queue].Minus(t.request)
		guarantee := w.ix.Guarantee.Row(w.number(t.queue))
		for d := range fastres.Dim(w.ix.Dims()) {
			if rest := left[t.queue][w.names.Name(d)]; rest <= guarantee.Get(d)-fastres.MinResource {
				w.t.Fatalf("%s is left with %v %s, guaranteed are %v", t.queue, rest, w.names.Name(d), guarantee.Get(d))
			}
		}
	}
}

// checkCancels charges a task and refunds it in a what-if, and expects every
// quantity to be what it was.
func (w *world) checkCancels() {
	t := pick(w.rand, w.known())
	if t == nil {
		return
	}
	overlay, q, request := w.ix.Snapshot(), w.number(t.queue), w.vector(t.request)
	quota.Charge(&overlay, q, request)
	quota.Refund(&overlay, q, request, w.scratch)
	for _, p := range w.ix.Path(q) {
		for d := range fastres.Dim(w.ix.Dims()) {
			if was, is := w.ix.Allocated(p).Get(d), overlay.Allocated(p).Get(d); was != is {
				w.t.Fatalf("%s of %s was %v and is %v", w.names.Name(d), w.ix.Name(p), was, is)
			}
		}
	}
}

// checkOrder expects a strict weak order among the children of each queue, and
// among flat queues. Among all queues of a tree there is none: two leaves
// compare as their ancestors below the lowest common one, and which those are
// depends on the pair; upstream's order is the same.
func (w *world) checkOrder() {
	siblings := map[index.Queue][]index.Queue{}
	for q := range index.Queue(w.ix.Len()) {
		if w.ix.Broken(q) == nil {
			siblings[w.ix.Parent(q)] = append(siblings[w.ix.Parent(q)], q)
		}
	}
	for _, all := range siblings {
		for _, x := range all {
			for _, y := range all {
				xy := quota.Order(w.ix, x, y)
				if yx := quota.Order(w.ix, y, x); xy != -yx {
					w.t.Fatalf("%s and %s compare as %d and %d", w.ix.Name(x), w.ix.Name(y), xy, yx)
				}
				for _, z := range all {
					yz, xz := quota.Order(w.ix, y, z), quota.Order(w.ix, x, z)
					if xy <= 0 && yz <= 0 && (xz > 0 || (xz == 0) != (xy == 0 && yz == 0)) {
						w.t.Fatalf("%s, %s, %s: %d and %d, but %d", w.ix.Name(x), w.ix.Name(y), w.ix.Name(z), xy, yz, xz)
					}
				}
			}
		}
	}
}

// FuzzProportionRounds divides a cluster by weight, and expects every queue to deserve at
// least its guarantee and otherwise at most what it asks for and is bound to,
// and all together no more than there is, guarantees aside.
func FuzzProportionRounds(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := workload.Bytes(data)
		c := workload.Draw(r)
		c.Hierarchy = false
		w := build(t, r, c, &index.Index{}, &index.Names{}, inOrder)
		total := oracle.Amounts{}
		for _, n := range c.Nodes {
			total = total.Plus(amounts(n.Allocatable))
		}
		var queues []quota.WeightedQueue
		for q := range index.Queue(w.ix.Len()) {
			queues = append(queues, quota.WeightedQueue{Queue: q, Weight: int32(r.IntN(5) - 1)})
		}
		quota.ProportionRounds(w.ix, w.vector(total), queues)
		for d := range fastres.Dim(w.ix.Dims()) {
			given, guaranteed := 0.0, 0.0
			for q := range index.Queue(w.ix.Len()) {
				deserved, guarantee := w.ix.Deserved.Row(q).Get(d), w.ix.Guarantee.Row(q).Get(d)
				most := min(w.ix.RealCapability.Row(q).Get(d), w.ix.Request.Row(q).Get(d))
				if !w.ix.RealCapability.Row(q).Has(d) {
					most = w.ix.Request.Row(q).Get(d)
				}
				require.GreaterOrEqual(t, deserved, 0.0)
				require.LessOrEqual(t, deserved, max(most, guarantee), "%s of %s", w.names.Name(d), w.ix.Name(q))
				if deserved > 0 {
					require.GreaterOrEqual(t, deserved, guarantee)
				}
				given, guaranteed = given+deserved, guaranteed+guarantee
			}
			require.LessOrEqual(t, given, (total[w.names.Name(d)]+guaranteed)*(1+1e-9), w.names.Name(d))
		}
	})
}
