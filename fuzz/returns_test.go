package fuzz

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/fuzz/oracle"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// returning draws the queues that give something back, and the amounts that preempt takes for a job.
func (w *world) returning() (oracle.Returns, quota.Giving, oracle.Amounts) {
	gives, fenced := map[string]bool{}, map[string]bool{}
	for _, name := range w.oracle.Names() {
		gives[name], fenced[name] = w.rand.IntN(5) > 0, w.rand.IntN(8) == 0
	}
	preempted := oracle.Amounts{}
	if t := pick(w.rand, w.tasks); t != nil && w.rand.IntN(2) == 0 {
		preempted = t.request
	}
	return oracle.Returns{Gives: func(name string) bool { return gives[name] }, Fenced: func(name string) bool { return fenced[name] }},
		quota.Giving{Leaf: func(q index.Queue) bool { return gives[w.ix.Name(q)] }, Fenced: func(q index.Queue) bool { return fenced[w.ix.Name(q)] }},
		preempted
}

// compareReturned compares the admission of a job that others give something back to.
func (w *world) compareReturned(name string, min oracle.Amounts) {
	with, giving, preempted := w.returning()
	q := w.number(name)
	w.returns.Read(w.ix, w.names, giving)
	w.returns.Raise(q, w.vector(preempted))
	got := w.at(quota.Enqueueable(w.ix, q, w.vector(min)))
	w.returns.Lower()
	require.Equal(w.t, w.oracle.EnqueueableWith(with, name, min, preempted) == "", got == "", "enqueueable beside what is given back: %v in %s", min, name)
}

// compareFeasibleReturned does so for the cards of a job.
func (w *world) compareFeasibleReturned(assigner *assign.Assigner) {
	name, q := w.sound()
	with, giving, preempted := w.returning()
	var needs []oracle.Need
	var demands []assign.Demand
	for range 1 + w.rand.IntN(2) {
		demand := assign.Demand{Queue: q, Size: float64(1 + w.rand.IntN(3)), Count: 1 + w.rand.IntN(2)}
		var cards []string
		for range 1 + w.rand.IntN(2) {
			if d, card := w.card(); d >= fastres.FirstFree && !slices.Contains(demand.Cards, d) {
				demand.Cards, cards = append(demand.Cards, d), append(cards, card)
			}
		}
		for range demand.Count {
			needs = append(needs, oracle.Need{Queue: name, Cards: cards, Amount: demand.Size})
		}
		demands = append(demands, demand)
	}
	assigner.Names = w.names
	budget := assign.Budget(1 << 20)
	w.returns.Read(w.ix, w.names, giving)
	w.returns.Raise(q, w.vector(preempted))
	got := assigner.Feasible(w.ix, nil, demands, &budget)
	w.returns.Lower()
	require.Equal(w.t, w.oracle.FeasibleWith(with, name, preempted, needs), got == assign.Yes, "%v beside what is given back", needs)
}
