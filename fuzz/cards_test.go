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

// FuzzCards holds the rules of cards against the oracle. To the engine a card is
// a dimension like any other, so the scalars of the cluster are the cards.
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
			w.compareAssignable(&assigner)
		}
	})
}

// card draws a dimension.
func (w *world) card() (fastres.Dim, string) {
	d := fastres.Pods + fastres.Dim(w.rand.IntN(w.names.Len()-int(fastres.Pods)))
	return d, w.names.Name(d)
}

// whole draws a queue that reaches the root.
func (w *world) whole() (string, index.Queue) {
	for {
		if name := pick(w.rand, w.oracle.Names()); !w.oracle.Broken(name) {
			return name, w.number(name)
		}
	}
}

func (w *world) compareCard() {
	d, card := w.card()
	from, fq := w.whole()
	to, tq := w.whole()
	amount := float64(1 + w.rand.IntN(4))
	require.Equal(w.t, w.oracle.CardFits(to, card, amount), w.at(quota.CardFits(w.ix, &w.ix.RealCapability, tq, d, amount)), "fits: %v %s in %s", amount, card, to)
	require.Equal(w.t, w.oracle.Feasible([]oracle.Need{{Queue: to, Cards: []string{card}, Amount: amount}}),
		quota.EnqueueableCard(w.ix, tq, d, amount).OK(), "enqueueable: %v %s in %s", amount, card, to)
	reason := map[quota.Reason]string{quota.OverQuota: "over quota", quota.OverDeserved: "over deserved"}
	require.Equal(w.t, w.oracle.PreemptiveCard(to, card, amount), reason[quota.PreemptiveCard(w.ix, tq, d, amount).Reason], "preemptive: %v %s in %s", amount, card, to)
	require.Equal(w.t, w.oracle.FreesCard(from, to, card, amount), quota.FreesCard(w.ix, fq, tq, d, amount), "%v %s of %s for %s", amount, card, from, to)
}

// compareAssignable asks for up to seven pods at once, each with its own choice.
func (w *world) compareAssignable(assigner *assign.Assigner) {
	var all []oracle.Need
	var needs []assign.Demand
	for range w.rand.IntN(4) {
		name, q := w.whole()
		need := assign.Demand{Queue: q, Size: float64(1 + w.rand.IntN(3)), Count: 1 + w.rand.IntN(2)}
		var cards []string
		for range 1 + w.rand.IntN(3) {
			if d, card := w.card(); !slices.Contains(need.Cards, d) {
				need.Cards, cards = append(need.Cards, d), append(cards, card)
			}
		}
		for range need.Count {
			all = append(all, oracle.Need{Queue: name, Cards: cards, Amount: need.Size})
		}
		needs = append(needs, need)
	}
	require.Equal(w.t, w.oracle.Feasible(all), assigner.Feasible(w.ix, needs), "%v", all)
}
