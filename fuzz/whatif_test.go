package fuzz

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// snapshot is a simulation in the engine and in the oracle.
type snapshot struct {
	overlay *index.Overlay
	oracle  *oracle.Oracle
}

func (w *world) snapshot() snapshot {
	overlay := index.Over(w.ix.Version())
	return snapshot{&overlay, w.oracle.Clone()}
}

func (s snapshot) clone() snapshot {
	overlay := s.overlay.Clone()
	return snapshot{&overlay, s.oracle.Clone()}
}

// step is one change of a simulation: a charge or a refund.
type step struct {
	*task
	add bool
}

// change makes a change in the engine and in the oracle.
func (s snapshot) change(w *world, c step, request, scratch fastres.Vector) {
	if c.add {
		quota.Charge(s.overlay, w.number(c.queue), request)
		s.oracle.Charge(c.queue, c.request)
	} else {
		quota.Refund(s.overlay, w.number(c.queue), request, scratch)
		s.oracle.Refund(c.queue, c.request)
	}
}

// compare compares the overlay with the oracle.
func (s snapshot) compare(w *world, what string) {
	for _, name := range s.oracle.Names() {
		w.same(s.oracle.Allocated(name), s.overlay.Allocated(w.number(name)), false, what, ", allocated of ", name)
	}
}

// compareSnapshots compares overlays with the copies that the oracle made at the same
// moments.
func (w *world) compareSnapshots(taken []snapshot) {
	for i, s := range taken {
		s.compare(w, fmt.Sprintf("snapshot %d", i))
	}
}

// FuzzUndo changes simulations of several moments while the accounts change too, and undoes most changes. The engine
// and the oracle always agree on verdicts, overlays and accounts.
func FuzzUndo(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, workload.Bytes(data))
		tasks := w.known()
		if len(tasks) == 0 {
			return
		}
		taken := []snapshot{w.snapshot()}
		for range 2 + w.rand.IntN(6) {
			s := taken[w.rand.IntN(len(taken))]
			var undo []step
			for range w.rand.IntN(6) {
				c := step{pick(w.rand, tasks), true}
				s.change(w, c, w.vector(c.request), w.scratch)
				undo = append(undo, step{c.task, false})
				other := pick(w.rand, tasks)
				want := s.oracle.Allocatable(other.queue, other.request)
				got := w.at(quota.Allocatable(s.overlay, &w.ix.RealCapability, w.number(other.queue), w.vector(other.request)))
				if want != got && !w.oracle.Broken(other.queue) {
					t.Fatalf("the simulated verdict is %q in the oracle, and %q in the engine", want, got)
				}
			}
			w.event()
			if w.rand.IntN(4) > 0 { // the others keep the change
				for _, c := range undo {
					s.change(w, c, w.vector(c.request), w.scratch)
				}
			}
			if w.rand.IntN(2) == 0 {
				taken = append(taken, w.snapshot())
			} else {
				taken = append(taken, s.clone())
			}
			w.compareSnapshots(taken)
			w.compareAccounts()
		}
	})
}

// FuzzClones changes clones of one overlay in concurrent goroutines. Each clone ends as if it
// were alone.
func FuzzClones(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, workload.Bytes(data))
		tasks := w.known()
		if len(tasks) == 0 {
			return
		}
		first := w.snapshot()
		w.event() // the snapshot reads rows that are not the newest
		first.change(w, step{tasks[0], true}, w.vector(tasks[0].request), w.scratch)
		plans := make([][]step, 2+w.rand.IntN(6))
		for i := range plans {
			for range w.rand.IntN(12) {
				plans[i] = append(plans[i], step{pick(w.rand, tasks), w.rand.IntN(2) == 0})
			}
		}
		clones := make([]snapshot, len(plans))
		var all sync.WaitGroup
		for i, plan := range plans {
			all.Add(1)
			order := rand.New(rand.NewPCG(uint64(i), 1))
			go func() {
				defer all.Done()
				clones[i] = first.clone()
				scratch := fastres.NewVector(w.ix.Dims())
				for _, c := range plan {
					clones[i].change(w, c, w.vector(c.request), scratch)
					other := pick(order, tasks)
					quota.Allocatable(clones[i].overlay, &w.ix.RealCapability, w.number(other.queue), w.vector(other.request))
				}
			}()
		}
		all.Wait()
		w.compareSnapshots(append(clones, first))
		w.compareAccounts()
	})
}
