package fuzz

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// FuzzGates reserves the requests of pending tasks that the rules admit. It also reserves some requests that they
// refuse, as for pods that never had a gate. Tasks with a reservation get nodes and lose them. After each event, the
// engine and the oracle agree on accounts and verdicts.
func FuzzGates(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, workload.Bytes(data))
		held := map[*task]bool{}
		for range 4 + w.rand.IntN(16) {
			if task := pick(w.rand, w.known()); task != nil && !w.oracle.Broken(task.queue) {
				w.gateEvent(task, held)
			}
			w.compareGates()
		}
	})
}

// gateEvent gives a task a reservation, or a node in its place, or takes its node.
func (w *world) gateEvent(t *task, held map[*task]bool) {
	q, request := w.number(t.queue), w.vector(t.request)
	admits := quota.Allocatable(w.ix, &w.ix.RealCapability, q, request).OK()
	switch {
	case t.placed:
		w.place(t, false)
	case held[t]:
		delete(held, t)
		if admits {
			w.place(t, true)
		}
		w.ix.NoteOwnJobs(q)
		quota.Unreserve(w.ix, q, request)
		w.oracle.Unreserve(t.queue, t.request)
	default:
		beside := true
		for d := range request.Requested() {
			beside = beside && quota.FitsBeside(w.ix, w.ix, &w.ix.RealCapability, q, d, request.Get(d)).OK()
		}
		if (!admits || !beside) && w.rand.IntN(4) > 0 {
			return
		}
		held[t] = true
		w.ix.NoteOwnJobs(q)
		quota.Reserve(w.ix, q, request)
		w.oracle.Reserve(t.queue, t.request)
		if admits && beside {
			w.checkAdmitted(q, t.request, func(p index.Queue, d fastres.Dim) float64 {
				return w.ix.Allocated(p).Get(d) + w.ix.Reserved.Row(p).Get(d)
			}, &w.ix.RealCapability)
		}
	}
	w.ix.Check()
}

// compareGates compares reserved of all queues, and the rule for a random queue.
func (w *world) compareGates() {
	if w.ix.Reserved.Len() == 0 {
		return
	}
	for _, name := range w.oracle.Names() {
		w.same(w.oracle.Reserved(name), w.ix.Reserved.Row(w.number(name)), false, "reserved of ", name)
	}
	to, q := w.sound()
	d := fastres.Dim(w.rand.IntN(w.names.Len()))
	name, quantity := w.names.Name(d), float64(1+w.rand.IntN(4000))
	require.Equal(w.t, w.oracle.FitsBeside(to, name, quantity), w.at(quota.FitsBeside(w.ix, w.ix, &w.ix.RealCapability, q, d, quantity)),
		"%v %s in %s", quantity, name, to)
	overlay := index.Over(w.ix.Version())
	s := snapshot{&overlay, w.oracle.Clone()}
	if c := pick(w.rand, w.known()); c != nil {
		s.change(w, step{c, w.rand.IntN(2) == 0}, w.vector(c.request), w.scratch)
		require.Equal(w.t, s.oracle.FitsBeside(to, name, quantity), w.at(quota.FitsBeside(w.ix, s.overlay, &w.ix.RealCapability, q, d, quantity)),
			"%v %s in %s in a simulation", quantity, name, to)
	}
}
