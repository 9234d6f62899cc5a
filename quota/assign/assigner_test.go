package assign_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// The kinds of cards that the tests of this file have.
const (
	kindA = gpu
	kindB = far
	kindC = fastres.Dim(10)
	kindD = fastres.Dim(11)
)

var kinds = []fastres.Dim{kindA, kindB, kindC, kindD}

// ask is a Demand as it is written in tests.
type ask struct {
	queue string
	size  float64
	count int
	cards []fastres.Dim
}

func (a ask) need(ix *index.Index) assign.Demand {
	return assign.Demand{Queue: ix.Lookup(a.queue), Cards: a.cards, Size: a.size, Count: a.count}
}

func of(cards ...fastres.Dim) []fastres.Dim { return cards }

func repeat[T any](n int, of func(i int) T) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = of(i)
	}
	return all
}

func TestFeasible(t *testing.T) {
	one := func(bound res) []queue { return []queue{{name: "q", bound: bound}} }
	// Two leaves below an inner queue, in which only the inner queue bounds.
	team := func(bound res) []queue {
		open := res{kindA: noBound, kindB: noBound, kindC: noBound}
		return []queue{
			{name: "root", bound: open}, {name: "team", bound: bound},
			{name: "q<team", bound: open}, {name: "r<team", bound: open}, {name: "other", bound: res{kindA: 1, kindB: 1}},
		}
	}
	tests := []struct {
		name   string
		root   string
		queues []queue
		asks   []ask
		want   bool
	}{
		{"nothing asked for", "", one(res{}), nil, true},
		{"nothing asked for of a queue that is over its bound", "", []queue{{name: "q", allocated: res{kindA: 1}}}, nil, true},
		{"no card", "", one(res{kindA: 9}), []ask{{"q", 1, 1, nil}}, false},
		{"no card, beside one that can be served", "", one(res{kindA: 9}), []ask{{"q", 1, 1, of(kindA)}, {"q", 1, 1, of()}}, false},
		{"a card that no bound names", "", one(res{kindA: 1}), []ask{{"q", 1, 1, of(kindB)}}, false},

		{"one card, exactly", "", one(res{kindA: 3}), []ask{{"q", 1, 2, of(kindA)}, {"q", 1, 1, of(kindA)}}, true},
		{"one card, one too many", "", one(res{kindA: 3}), []ask{{"q", 1, 2, of(kindA)}, {"q", 2, 1, of(kindA)}}, false},
		{"one card, less than one too many", "", one(res{kindA: 2.5}), []ask{{"q", 1, 3, of(kindA)}}, false},

		{"two pods on A=1, B=1", "", one(res{kindA: 1, kindB: 1}), []ask{{"q", 1, 2, of(kindA, kindB)}}, true},
		{"three pods on A=1, B=1", "", one(res{kindA: 1, kindB: 1}), []ask{{"q", 1, 3, of(kindA, kindB)}}, false},
		{"three needs on A=1, B=1", "", one(res{kindA: 1, kindB: 1}), repeat(3, func(int) ask { return ask{"q", 1, 1, of(kindA, kindB)} }), false},
		{"a pod is not divided", "", one(res{kindA: 1, kindB: 1}), []ask{{"q", 2, 1, of(kindA, kindB)}}, false},
		{"nor are several", "", one(res{kindA: 3, kindB: 3}), []ask{{"q", 2, 3, of(kindA, kindB)}}, false},
		{"what is asked for on its own is left to it", "", one(res{kindA: 1, kindB: 1}), []ask{{"q", 1, 1, of(kindA, kindB)}, {"q", 1, 1, of(kindA)}}, true},
		{"nothing is left", "", one(res{kindA: 1, kindB: 1}), []ask{{"q", 1, 1, of(kindA, kindB)}, {"q", 1, 2, of(kindA)}}, false},
		{"one gives way to the next, and that to a third", "", one(res{kindA: 1, kindB: 1, kindC: 1}),
			[]ask{{"q", 1, 1, of(kindA, kindB)}, {"q", 1, 1, of(kindB, kindC)}, {"q", 1, 1, of(kindA, kindC)}}, true},
		{"four for three", "", one(res{kindA: 1, kindB: 1, kindC: 1}),
			[]ask{{"q", 1, 1, of(kindA, kindB)}, {"q", 1, 1, of(kindB, kindC)}, {"q", 1, 1, of(kindA, kindC)}, {"q", 1, 1, of(kindA, kindB, kindC)}}, false},

		{"an inner queue bounds", "root", team(res{kindA: 1, kindB: 1}), []ask{{"q", 1, 1, of(kindA, kindB)}, {"r", 1, 1, of(kindA, kindB)}}, true},
		{"an inner queue bounds all below", "root", team(res{kindA: 1, kindB: 1}), []ask{{"q", 1, 1, of(kindA, kindB)}, {"r", 1, 2, of(kindA, kindB)}}, false},
		{"but not what is beside it", "root", team(res{kindA: 1, kindB: 1}),
			[]ask{{"q", 1, 1, of(kindA, kindB)}, {"r", 1, 1, of(kindA, kindB)}, {"other", 1, 2, of(kindA, kindB)}}, true},
		{"flat, a parent does not bound", "", team(res{}), []ask{{"q", 5, 5, of(kindA, kindB)}}, true},
		{"leaves share what is above them", "root", []queue{
			{name: "root", bound: res{kindA: 2, kindB: 2}}, {name: "q", bound: res{kindA: 2, kindB: 1}}, {name: "r", bound: res{kindA: 2}},
		}, []ask{{"q", 1, 2, of(kindA, kindB)}, {"r", 1, 2, of(kindA, kindB)}}, false},
		{"a leaf gives way to another", "root", []queue{
			{name: "root", bound: res{kindA: 2, kindB: 2}}, {name: "q", bound: res{kindA: 2, kindB: 2}}, {name: "r", bound: res{kindA: 2}},
		}, []ask{{"q", 1, 2, of(kindA, kindB)}, {"r", 1, 2, of(kindA, kindB)}}, true},

		{"a queue over its bound on another card", "", []queue{{name: "q", bound: res{kindA: 1, kindB: 1}, allocated: res{kindB: 5}}},
			[]ask{{"q", 1, 1, of(kindA, kindB)}}, true},
		{"and none is left on that", "", []queue{{name: "q", bound: res{kindA: 1, kindB: 1}, allocated: res{kindB: 5}}},
			[]ask{{"q", 1, 2, of(kindA, kindB)}}, false},
		{"a queue over its bound gives no room to its parent", "root", []queue{
			{name: "root", bound: res{kindA: 3, kindB: 1}}, {name: "q", bound: res{kindA: 9, kindB: 9}},
			{name: "r", bound: res{kindA: 0, kindB: 2}, inqueue: res{kindA: 2}},
		}, []ask{{"q", 1, 2, of(kindA, kindB)}, {"r", 1, 1, of(kindA, kindB)}}, false},
		{"a queue over its bound, elsewhere in the tree", "root", []queue{
			{name: "root", bound: res{kindA: 9, kindB: 1}}, {name: "q", bound: res{kindA: 1, kindB: 1}},
			{name: "r", bound: res{}, allocated: res{kindA: 5}},
		}, []ask{{"q", 1, 2, of(kindA, kindB)}}, true},

		{"no bound on one card", "", one(res{kindA: 1, kindB: noBound}), []ask{{"q", 1, 1e6, of(kindA, kindB)}, {"q", 1, 1, of(kindA)}}, true},
		{"no bound, more than any", "", one(res{kindA: noBound}), []ask{{"q", noBound, 2, of(kindA)}, {"q", 1, 1, of(kindA)}}, true},
		{"no bound in the leaf, but above", "root", team(res{kindA: 1, kindB: 2}), []ask{{"q", 1, 4, of(kindA, kindB)}}, false},

		{"allocated takes room", "", []queue{{name: "q", bound: res{kindA: 3, kindB: 1}, allocated: res{kindA: 2}}}, []ask{{"q", 1, 3, of(kindA, kindB)}}, false},
		{"inqueue takes room", "", []queue{{name: "q", bound: res{kindA: 3, kindB: 1}, inqueue: res{kindA: 2}}}, []ask{{"q", 1, 3, of(kindA, kindB)}}, false},
		{"elastic gives it back", "", []queue{{name: "q", bound: res{kindA: 3, kindB: 1}, allocated: res{kindA: 2}, elastic: res{kindA: 1}}},
			[]ask{{"q", 1, 3, of(kindA, kindB)}}, true},

		{"1 and 8, both full", "", one(res{kindA: 9, kindB: 8}), []ask{{"q", 1, 9, of(kindA, kindB)}, {"q", 8, 1, of(kindA, kindB)}}, true},
		{"1 and 8, room for two of 8", "", one(res{kindA: 9, kindB: 15}), []ask{{"q", 1, 8, of(kindA, kindB)}, {"q", 8, 2, of(kindA, kindB)}}, true},
		{"1 and 8, no room for three of 8", "", one(res{kindA: 15, kindB: 15}), []ask{{"q", 1, 1, of(kindA, kindB)}, {"q", 8, 3, of(kindA, kindB)}}, false},
		{"1 makes way for 8", "", one(res{kindA: 8, kindB: 8}), []ask{{"q", 1, 8, of(kindA, kindB)}, {"q", 8, 1, of(kindB)}}, true},
		{"5 and 3 make 13 and 11", "", one(res{kindA: 13, kindB: 11}), []ask{{"q", 5, 3, of(kindA, kindB)}, {"q", 3, 3, of(kindA, kindB)}}, true},
		{"5 and 3 never make 12", "", one(res{kindA: 12, kindB: 12}), []ask{{"q", 5, 3, of(kindA, kindB)}, {"q", 3, 3, of(kindA, kindB)}}, false},
	}
	var reused assign.Assigner
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := session(test.root, test.queues...)
			needs := repeat(len(test.asks), func(i int) assign.Demand { return test.asks[i].need(ix) })
			assert.Equal(t, test.want, new(assign.Assigner).Feasible(ix, needs))
			assert.Equal(t, test.want, reused.Feasible(ix, needs), "with memory of other calls")
		})
	}
}

// servedSomehow is the rule without a thought: every card for every pod, and for
// each every queue and every card.
func servedSomehow(ix *index.Index, needs []assign.Demand) bool {
	var pods []assign.Demand
	for _, n := range needs {
		for range n.Count {
			pods = append(pods, n)
		}
	}
	chosen := make([]fastres.Dim, len(pods))
	var choose func(i int) bool
	choose = func(i int) bool {
		if i == len(pods) {
			return true
		}
		return slices.ContainsFunc(pods[i].Cards, func(card fastres.Dim) bool {
			chosen[i] = card
			return bounded(ix, pods[:i+1], chosen) && choose(i+1)
		})
	}
	return choose(0)
}

// bounded reports whether every queue and card keeps to its bound when each pod
// has the card chosen for it.
func bounded(ix *index.Index, pods []assign.Demand, chosen []fastres.Dim) bool {
	for p := range index.Queue(ix.Len()) {
		for _, card := range kinds {
			sum := 0.0
			for i, pod := range pods {
				if chosen[i] == card && slices.Contains(ix.Path(pod.Queue), p) {
					sum += pod.Size
				}
			}
			used := ix.Allocated(p).Get(card) + ix.Inqueue.Row(p).Get(card) - ix.Elastic.Row(p).Get(card)
			if sum > 0 && used+sum > ix.RealCapability.Row(p).Get(card) {
				return false
			}
		}
	}
	return true
}

// randomCards is an index of up to 7 queues, in a tree or flat, whose rooms are
// random: about as large as most, negative, or without bound.
func randomCards(r *rand.Rand, most int) *index.Index {
	nodes := []index.Node{{Name: "root"}}
	for i := range r.IntN(7) {
		nodes = append(nodes, index.Node{Name: fmt.Sprint(i), Parent: nodes[r.IntN(len(nodes))].Name})
	}
	root := "root"
	if r.IntN(4) == 0 {
		root = ""
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, root), dims)
	for q := range index.Queue(ix.Len()) {
		for _, card := range kinds {
			if r.IntN(4) == 0 {
				ix.RealCapability.Row(q).Set(card, noBound)
				continue
			}
			ix.RealCapability.Row(q).Set(card, float64(500*r.IntN(2*most+1)))
			if r.IntN(3) == 0 {
				ix.Mutable(index.Queue(q)).Set(card, float64(500*r.IntN(5)))
				ix.Inqueue.Row(q).Set(card, float64(500*r.IntN(3)))
				ix.Elastic.Row(q).Set(card, float64(500*r.IntN(4)))
			}
		}
	}
	return ix
}

// randomNeeds has the given number of pods.
func randomNeeds(r *rand.Rand, ix *index.Index, pods int) []assign.Demand {
	var needs []assign.Demand
	largest, choice := 1+r.IntN(4), 1+r.IntN(len(kinds))
	for pods > 0 {
		n := assign.Demand{Queue: index.Queue(r.IntN(ix.Len())), Size: float64(1000 * (1 + r.IntN(largest))), Count: 1}
		if r.IntN(2) == 0 {
			n.Count += r.IntN(pods)
		}
		for _, i := range r.Perm(choice)[:1+r.IntN(choice)] {
			n.Cards = append(n.Cards, kinds[i])
		}
		pods -= n.Count
		needs = append(needs, n)
	}
	return needs
}

// plant sets all rooms to what an assignment of the needs takes.
func plant(r *rand.Rand, ix *index.Index, needs []assign.Demand) {
	ix.Reset(ix.Tree, ix.Dims())
	for _, n := range needs {
		for range n.Count {
			card := n.Cards[r.IntN(len(n.Cards))]
			for _, p := range ix.Path(n.Queue) {
				ix.RealCapability.Row(p).Increase(card, n.Size)
			}
		}
	}
}

// shake moves some rooms by a card up or down.
func shake(r *rand.Rand, ix *index.Index) {
	for q := range index.Queue(ix.Len()) {
		for _, card := range kinds {
			if r.IntN(4) == 0 {
				ix.RealCapability.Row(q).Increase(card, float64(1000*(r.IntN(3)-1)))
			}
		}
	}
}

func TestFeasibleIsExact(t *testing.T) {
	const rounds = 40_000
	r := rand.New(rand.NewPCG(7, 11))
	var a assign.Assigner
	served := 0
	for round := range rounds {
		pods := 1 + r.IntN(7)
		ix := randomCards(r, 1+r.IntN(2*pods+2))
		needs := randomNeeds(r, ix, pods)
		if round%2 == 0 {
			// What is hardest to decide: rooms about as large as the needs.
			needs = append(needs, randomNeeds(r, ix, 4)...)
			plant(r, ix, needs)
			shake(r, ix)
		}
		want := servedSomehow(ix, needs)
		require.Equal(t, want, a.Feasible(ix, needs), "round %d: %+v", round, needs)
		if want {
			served++
		}
	}
	t.Logf("%d of %d can be served", served, rounds)
	assert.Greater(t, served, rounds/5)
	assert.Less(t, served, rounds*4/5)
}

func TestFeasibleInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 17))
	var a assign.Assigner
	served := 0
	for round := range 3000 {
		pods := 1 + r.IntN(60)
		ix := randomCards(r, pods)
		needs := randomNeeds(r, ix, pods)
		want := a.Feasible(ix, needs)
		if want {
			served++
		}
		for range 4 {
			r.Shuffle(len(needs), func(i, j int) { needs[i], needs[j] = needs[j], needs[i] })
			for _, n := range needs {
				r.Shuffle(len(n.Cards), func(i, j int) { n.Cards[i], n.Cards[j] = n.Cards[j], n.Cards[i] })
			}
			require.Equal(t, want, a.Feasible(ix, needs), "round %d: %+v", round, needs)
		}
	}
	t.Logf("%d can be served", served)
}

// TestInfeasibleStaysInfeasible adds needs one by one: from the first that cannot be
// served, none that follows can mend it.
func TestInfeasibleStaysInfeasible(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 23))
	var a assign.Assigner
	turned := 0
	for round := range 1000 {
		pods := 1 + r.IntN(40)
		ix := randomCards(r, pods)
		needs, before := randomNeeds(r, ix, pods), true
		for n := range len(needs) + 1 {
			now := a.Feasible(ix, needs[:n])
			require.False(t, now && !before, "round %d, need %d: %+v", round, n, needs)
			if before && !now && n > 1 {
				turned++
			}
			before = now
		}
	}
	assert.Greater(t, turned, 300)
}

// TestSearchEndsWithItsBudget asks for what takes longer to decide than there is
// time for. What is refused in such a case may be wrong, what is admitted not.
func TestSearchEndsWithItsBudget(t *testing.T) {
	var a assign.Assigner
	both := of(kindA, kindB)

	// 20 of them fit on either card, whichever, though there is room for the sum.
	ix := session("", queue{name: "q", bound: res{kindA: 20915, kindB: 20915}})
	needs := repeat(41, func(i int) assign.Demand { return ask{"q", float64(1000 + i), 1, both}.need(ix) })
	assert.False(t, a.Feasible(ix, needs))

	// Every second one on A would fill both cards to the last.
	r := rand.New(rand.NewPCG(29, 31))
	bound := res{}
	asks := repeat(40, func(i int) ask {
		size := float64(1e9 + r.IntN(1e9))
		bound[both[i%2]] += size
		return ask{"q", size, 1, both}
	})
	ix = session("", queue{name: "q", bound: bound})
	needs = repeat(40, func(i int) assign.Demand { return asks[i].need(ix) })
	t.Log("a partition that is hard to find is found:", a.Feasible(ix, needs))
	bound[kindA]--
	ix = session("", queue{name: "q", bound: bound})
	assert.False(t, a.Feasible(ix, needs))

	assert.True(t, a.Feasible(ix, needs[:20]), "after searches that were given up")
}

// shape is the size of a cluster: leaves below inner queues below a root.
type shape struct{ inner, leaves, needs int }

var stress = shape{30, 1000, 3000}

// planted is a cluster of the shape, with rooms at every level that are exactly
// what one assignment of its needs takes.
func planted(r *rand.Rand, of shape, sizes ...float64) (*index.Index, []assign.Demand) {
	var nodes []index.Node
	for i := range of.inner {
		nodes = append(nodes, index.Node{Name: fmt.Sprint("inner", i)})
	}
	for i := range of.leaves {
		nodes = append(nodes, index.Node{Name: fmt.Sprint("leaf", i), Parent: fmt.Sprint("inner", i%of.inner)})
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree(nodes, "root"), dims)
	needs := repeat(of.needs, func(int) assign.Demand {
		n := assign.Demand{Queue: ix.Lookup(fmt.Sprint("leaf", r.IntN(of.leaves))), Size: sizes[r.IntN(len(sizes))], Count: 1 + r.IntN(4)}
		for _, i := range r.Perm(len(kinds))[:1+r.IntN(len(kinds))] {
			n.Cards = append(n.Cards, kinds[i])
		}
		return n
	})
	plant(r, ix, needs)
	return ix, needs
}

// widen gives every queue more of every card.
func widen(ix *index.Index, amount float64) {
	for q := range index.Queue(ix.Len()) {
		for _, card := range kinds {
			ix.RealCapability.Row(q).Increase(card, amount)
		}
	}
}

func TestFeasibleOfThousands(t *testing.T) {
	var a assign.Assigner
	for _, sizes := range [][]float64{{1000}, {1000, 8000}} {
		ix, needs := planted(rand.New(rand.NewPCG(37, 41)), stress, sizes...)
		next := assign.Demand{Queue: needs[0].Queue, Cards: kinds, Size: 1000, Count: 1}
		assert.True(t, a.Feasible(ix, needs), "%v, exactly", sizes)
		widen(ix, 999)
		assert.True(t, a.Feasible(ix, needs), "%v, with room for less than a pod", sizes)
		assert.False(t, a.Feasible(ix, append(needs, next)), "%v, one pod too many", sizes)
		widen(ix, 4000)
		assert.True(t, a.Feasible(ix, append(needs, next)), "%v, with some room", sizes)
	}
	ix, needs := planted(rand.New(rand.NewPCG(37, 41)), stress, 1000, 2000, 4000, 8000)
	assert.True(t, a.Feasible(ix, needs), "four sizes, exactly")
	widen(ix, 4000)
	t.Log("four sizes, with some room, within the budget:", a.Feasible(ix, needs))
}

// TestSearchFindsMixedSizes has sizes that must be packed, and no room to
// spare above the leaves. The budget is to be enough for that.
func TestSearchFindsMixedSizes(t *testing.T) {
	var a assign.Assigner
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 43))
		leaves := 1 + r.IntN(12)
		ix, needs := planted(r, shape{1 + leaves/4, leaves, 1 + r.IntN(8*leaves)}, 1000, 2000, 4000, 8000)
		for q := range index.Queue(ix.Len()) {
			if ix.IsLeaf(index.Queue(q)) {
				for _, card := range kinds {
					ix.RealCapability.Row(q).Increase(card, float64(1000*r.IntN(8)))
				}
			}
		}
		assert.True(t, a.Feasible(ix, needs), "seed %d", seed)
	}
}

// atTheEdge are four needs of one queue that just fit.
func atTheEdge() (*index.Index, []assign.Demand) {
	ix := session("root",
		queue{name: "root", bound: res{kindA: 1e6, kindB: 1e6, kindC: 1e6}},
		queue{name: "team", bound: res{kindA: 20_000, kindB: 20_000, kindC: 9000}},
		queue{name: "q<team", bound: res{kindA: 16_000, kindB: 10_000, kindC: 8000}, allocated: res{kindA: 4000}})
	asks := []ask{
		{"q", 8000, 1, of(kindA, kindB)}, {"q", 1000, 4, of(kindB, kindA)},
		{"q", 4000, 2, of(kindA, kindC)}, {"q", 2000, 5, of(kindC, kindB)},
	}
	return ix, repeat(len(asks), func(i int) assign.Demand { return asks[i].need(ix) })
}

// oneCard is a job in each of many queues, all of which name one card.
func oneCard(n int) (*index.Index, []assign.Demand) {
	ix, _ := planted(rand.New(rand.NewPCG(37, 41)), stress, 1000)
	widen(ix, 16e6)
	return ix, repeat(n, func(i int) assign.Demand { return ask{fmt.Sprint("leaf", i%1000), 8000, 2, of(kindA)}.need(ix) })
}

func TestFeasibleAllocatesNothing(t *testing.T) {
	var a assign.Assigner
	gate := func(name string, ix *index.Index, needs []assign.Demand) {
		t.Helper()
		require.True(t, a.Feasible(ix, needs), name)
		assert.Zero(t, testing.AllocsPerRun(100, func() { a.Feasible(ix, needs) }), name)
	}
	ix, needs := oneCard(50)
	gate("no needs", ix, nil)
	gate("one card", ix, needs)
	ix, needs = atTheEdge()
	gate("two cards", ix, needs)
	ix, needs = planted(rand.New(rand.NewPCG(37, 41)), stress, 1000, 8000)
	gate("many", ix, needs)
}

func BenchmarkFeasible(b *testing.B) {
	run := func(name string, ix *index.Index, needs []assign.Demand) {
		b.Run(name, func(b *testing.B) {
			var a assign.Assigner
			b.ReportAllocs()
			answer := a.Feasible(ix, needs)
			for b.Loop() {
				if a.Feasible(ix, needs) != answer {
					b.Fatal("the answer changed")
				}
			}
		})
	}
	ix, needs := oneCard(1000)
	run("card=one/needs=1", ix, needs[:1])
	run("card=one/needs=1000", ix, needs)
	ix, needs = atTheEdge()
	run("card=two/needs=4", ix, needs)
	for _, sizes := range [][]float64{{1000}, {1000, 8000}} {
		ix, needs = planted(rand.New(rand.NewPCG(37, 41)), stress, sizes...)
		run(fmt.Sprintf("stress/sizes=%d/exact", len(sizes)), ix, needs)
		widen(ix, 4000)
		run(fmt.Sprintf("stress/sizes=%d/wide", len(sizes)), ix, needs)
	}
}
