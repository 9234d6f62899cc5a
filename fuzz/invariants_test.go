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

// FuzzInvariants admits only tasks and jobs that the rules admit. It checks after each event:
//
//   - No admission takes a queue above its realCapability, at any level, nor above the amount
//     that its overcommit factor allows.
//   - No admission takes a queue above its max-jobs, at any level.
//   - The account of a queue is the sum of its jobs and its children, and its share is up
//     to date.
//   - A charge and its refund cancel to the bit, and so do a promise and its withdrawal.
//   - Victims leave every queue its guarantee.
//   - deserved is within its bounds.
//   - A snapshot does not change.
//   - The order of siblings is a strict weak order.
//   - All of it is the same in an index that served another cluster before, with names,
//     queues and jobs in another order.
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
		_ = other.ix.Version()
		twin := build(t, r, c, other.ix, other.names, r.Shuffle)
		twin.oracle = w.oracle
		w.compareBounds()
		twin.compareBounds()
		w.checkDeserved()
		var snapshots []snapshot
		for range 4 + r.IntN(12) {
			w.admitted(twin)
			w.checkVictims()
			w.checkCancels()
			w.checkWithdraws()
			for _, each := range []*world{w, twin} {
				each.compareAccounts() // the oracle adds up all jobs again
				each.checkOrder()
			}
			if r.IntN(3) == 0 {
				snapshots = append(snapshots, w.snapshot())
			}
			w.compareSnapshots(snapshots)
		}
	})
}

// admitted charges a task or enqueues a job if the rules admit it, or refunds a task.
func (w *world) admitted(twin *world) {
	if j := pick(w.rand, w.jobs); j != nil && w.rand.IntN(3) == 0 {
		q, min := w.number(j.Queue), amounts(j.MinResources)
		if q != index.None && quota.Eligible(w.ix.Tree, q).OK() && quota.Enqueueable(w.ix, q, w.vector(min)).OK() && w.bounded.Fits(q).OK() {
			w.enqueue(j)
			twin.reserve(j)
			w.checkJobs(q)
			w.checkAdmitted(q, min, w.net, w.ix.AdmissionBounds(q))
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
		w.checkAdmitted(w.number(t.queue), t.request, func(q index.Queue, d fastres.Dim) float64 { return w.ix.Allocated(q).Get(d) }, &w.ix.RealCapability)
	}
}

// net returns the usage that the admission of jobs compares with realCapability.
func (w *world) net(q index.Queue, d fastres.Dim) float64 {
	return w.ix.Allocated(q).Get(d) + w.ix.Inqueue.Row(q).Get(d) - w.ix.Elastic.Row(q).Get(d)
}

// checkAdmitted expects every queue on a path to be within its bound, in the dimensions of
// the request that was admitted.
func (w *world) checkAdmitted(q index.Queue, request oracle.Amounts, used func(index.Queue, fastres.Dim) float64, bounds *index.Rows) {
	for _, p := range w.ix.Path(q) {
		for name, quantity := range request {
			d, _ := w.names.Lookup(name)
			if d != fastres.Pods && quantity > 0 {
				require.LessOrEqual(w.t, used(p, d), bounds.Row(p).Get(d), "%s of %s", name, w.ix.Name(p))
			}
		}
	}
}

// checkJobs expects every queue on a path to have no more jobs than it may have.
func (w *world) checkJobs(q index.Queue) {
	if !w.boundsJobs {
		return
	}
	for _, p := range w.ix.Path(q) {
		if n := w.bounded.Numbers(p); n.Bound > 0 {
			require.LessOrEqual(w.t, n.Total, n.Bound+1, "jobs of %s", w.ix.Name(p))
		}
	}
}

func (w *world) checkDeserved() {
	for q := range index.Queue(w.ix.Len()) {
		deserved, guarantee, bound := w.ix.Deserved.Row(q), w.ix.Guarantee.Row(q), w.ix.RealCapability.Row(q)
		for d := range fastres.Dim(w.ix.Dims()) {
			if w.ix.Rooted() && !w.byWeight {
				continue // as configured: compareBounds checks it
			}
			if w.byWeight && w.ix.Broken(q) != nil {
				continue // a broken queue deserves nothing
			}
			if w.byWeight {
				sum := 0.0
				for _, child := range w.ix.Children(q) {
					sum += w.ix.Deserved.Row(child).Get(d)
				}
				require.LessOrEqual(w.t, sum, max(deserved.Get(d), w.ix.ChildGuarantees.At(q, d)), "%s below %s", w.names.Name(d), w.ix.Name(q))
			}
			if w.byWeight && q == w.ix.Root() {
				continue // the root deserves the guarantees of its children, not its own
			}
			require.GreaterOrEqual(w.t, deserved.Get(d), guarantee.Get(d))
			if bound.Has(d) {
				require.LessOrEqual(w.t, deserved.Get(d), max(bound.Get(d), guarantee.Get(d)))
			}
		}
	}
}

// checkVictims takes victims, and checks that their queues keep their guarantees.
func (w *world) checkVictims() {
	reclaimer := pick(w.rand, w.tasks)
	w.beginVictims()
	left := map[string]oracle.Amounts{}
	for _, t := range w.known() {
		if !t.placed || !w.victims.Take(w.number(t.queue), w.vector(t.request), w.number(reclaimer.queue), w.vector(reclaimer.request)) {
			continue
		}
		if left[t.queue] == nil {
			left[t.queue] = w.oracle.Allocated(t.queue)
		}
		left[t.queue] = left[t.queue].Minus(t.request)
		guarantee := w.ix.Guarantee.Row(w.number(t.queue))
		for d := range fastres.Dim(w.ix.Dims()) {
			if rest := left[t.queue][w.names.Name(d)]; rest <= guarantee.Get(d)-fastres.MinResource {
				w.t.Fatalf("%s has %v %s left, below its guarantee of %v", t.queue, rest, w.names.Name(d), guarantee.Get(d))
			}
		}
	}
}

// checkCancels charges a task and refunds it in an overlay, and expects every quantity to be
// as before.
func (w *world) checkCancels() {
	t := pick(w.rand, w.known())
	if t == nil {
		return
	}
	overlay, q, request := index.Over(w.ix.Version()), w.number(t.queue), w.vector(t.request)
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

// checkWithdraws promises the minimum of a job and takes it back, and expects every quantity to
// be as before.
func (w *world) checkWithdraws() {
	j := pick(w.rand, w.jobs)
	if j == nil || w.number(j.Queue) == index.None {
		return
	}
	var before index.Rows
	before.Reset(w.ix.Len(), w.ix.Dims())
	for q := range index.Queue(w.ix.Len()) {
		before.Row(q).CopyFrom(w.ix.Inqueue.Row(q))
	}
	reservation := fastres.NewVector(w.names.Len())
	quota.Reservation(reservation, w.vector(amounts(j.MinResources)), w.vector(j.placed), w.vector(j.gated))
	quota.ChangeInqueue(w.ix, w.number(j.Queue), reservation, 1)
	quota.ChangeInqueue(w.ix, w.number(j.Queue), reservation, -1)
	for q := range index.Queue(w.ix.Len()) {
		for d := range fastres.Dim(w.ix.Dims()) {
			if was, is := before.Row(q).Get(d), w.ix.Inqueue.Row(q).Get(d); was != is {
				w.t.Fatalf("inqueue of %s of %s was %v and is %v", w.names.Name(d), w.ix.Name(q), was, is)
			}
		}
	}
}

// checkOrder expects a strict weak order among the children of each queue, and among flat
// queues. The queues of a whole tree have none: two leaves compare by the ancestors just
// below their lowest common ancestor, which depend on the pair. Upstream does the same.
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

// FuzzProportionRounds divides a cluster by weight. A queue deserves at least its guarantee,
// and above it at most its request and its bound. All queues together deserve at most the
// total and the guarantees.
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
