package fuzz

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// FuzzCards compares the rules of cards with the oracle. For the engine a card is a
// dimension like any other, so the scalars of the cluster serve as cards.
func FuzzCards(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		w := newWorld(t, workload.Bytes(data))
		var assigner assign.Assigner
		for range 3 + w.rand.IntN(6) {
			w.event()
			for range 4 {
				w.compareCard()
			}
			w.compareFeasible(&assigner)
			w.compareFeasibleReturned(&assigner)
		}
	})
}

// card draws a dimension, and returns its name.
func (w *world) card() (fastres.Dim, string) {
	for {
		if d := fastres.Pods + fastres.Dim(w.rand.IntN(w.names.Len()-int(fastres.Pods))); !w.names.IsGroup(d) {
			return d, w.names.Name(d)
		}
	}
}

// sound draws a queue that reaches the root.
func (w *world) sound() (string, index.Queue) {
	for {
		if name := pick(w.rand, w.oracle.Names()); !w.oracle.Broken(name) {
			return name, w.number(name)
		}
	}
}

// preemption has the accounts of the world.
func (w *world) preemption(levels int) quota.Preemption {
	return quota.Preemption{Index: w.ix, Allocated: w.ix, Bound: &w.ix.RealCapability, Levels: levels}
}

func (w *world) compareCard() {
	d, card := w.card()
	to, tq := w.sound()
	amount := float64(1 + w.rand.IntN(4))
	require.Equal(w.t, w.oracle.CardFits(to, card, amount), w.at(quota.CardFits(w.ix, &w.ix.RealCapability, tq, d, amount)), "fits: %v %s in %s", amount, card, to)
	require.Equal(w.t, w.oracle.Feasible([]oracle.Need{{Queue: to, Cards: []string{card}, Amount: amount}}),
		quota.EnqueueableCard(w.ix, tq, d, amount).OK(), "enqueueable: %v %s in %s", amount, card, to)
	levels := w.rand.IntN(3)
	require.Equal(w.t, w.oracle.PreemptiveCard(to, card, amount, levels), reasonOf(w.preemption(levels).PreemptiveCard(tq, d, amount)), "preemptive: %v %s in %s", amount, card, to)
}

// compareFeasible draws a few demands, with a card list each, and divides them into given
// and asked ones. The given ones can be served.
func (w *world) compareFeasible(assigner *assign.Assigner) {
	var all []oracle.Need
	var demands []assign.Demand
	given := 0
	for range w.rand.IntN(4) {
		name, q := w.sound()
		demand := assign.Demand{Queue: q, Size: float64(1 + w.rand.IntN(3)), Count: 1 + w.rand.IntN(2)}
		var cards []string
		for range 1 + w.rand.IntN(3) {
			if d, card := w.card(); !slices.Contains(demand.Cards, d) {
				demand.Cards, cards = append(demand.Cards, d), append(cards, card)
			}
		}
		for range demand.Count {
			all = append(all, oracle.Need{Queue: name, Cards: cards, Amount: demand.Size})
		}
		demands = append(demands, demand)
		if w.oracle.Feasible(all) && w.rand.IntN(2) == 0 {
			given = len(demands)
		}
	}
	want, budget := assign.No, assign.Budget(1<<20)
	if w.oracle.Feasible(all) {
		want = assign.Yes
	}
	assigner.Names = w.names
	require.Equal(w.t, want, assigner.Feasible(w.ix, demands[:given], demands[given:], &budget), "%v, of which %d demands are given", all, given)
	w.compareLoads(demands[:given], demands[given:], want)
}

// compareLoads holds demands that fit whatever the others take against the answer.
func (w *world) compareLoads(given, asked []assign.Demand, answer assign.Answer) {
	loads := assign.Loads{Names: w.names}
	for _, d := range given {
		loads.Add(w.ix, d)
	}
	for _, d := range asked {
		if d.Queue != asked[0].Queue {
			return
		}
	}
	if len(asked) > 0 && loads.Fit(w.ix, asked[0].Queue, asked) {
		require.Equal(w.t, assign.Yes, answer, "%v fit beside %v", asked, given)
	}
}
