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

// The cards of the tests in this file.
const (
	cardA = gpu
	cardB = far
	cardC = fastres.Dim(10)
	cardD = fastres.Dim(11)
)

var allCards = []fastres.Dim{cardA, cardB, cardC, cardD}

// demand is a Demand as tests write it.
type demand struct {
	queue string
	size  float64
	count int
	cards []fastres.Dim
}

func (a demand) of(ix *index.Index) assign.Demand {
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
	// team returns two leaves below an inner queue. Only the inner queue has bounds.
	team := func(bound res) []queue {
		open := res{cardA: noBound, cardB: noBound, cardC: noBound}
		return []queue{
			{name: "root", bound: open}, {name: "team", bound: bound},
			{name: "q<team", bound: open}, {name: "r<team", bound: open}, {name: "other", bound: res{cardA: 1, cardB: 1}},
		}
	}
	tests := []struct {
		name    string
		root    string
		queues  []queue
		demands []demand
		want    bool
	}{
		{"no demands", "", one(res{}), nil, true},
		{"no demands in a queue above its bound", "", []queue{{name: "q", allocated: res{cardA: 1}}}, nil, true},
		{"an empty list", "", one(res{cardA: 9}), []demand{{"q", 1, 1, nil}}, false},
		{"an empty list beside a demand that fits", "", one(res{cardA: 9}), []demand{{"q", 1, 1, of(cardA)}, {"q", 1, 1, of()}}, false},
		{"a card that no bound names", "", one(res{cardA: 1}), []demand{{"q", 1, 1, of(cardB)}}, false},

		{"one card, exactly", "", one(res{cardA: 3}), []demand{{"q", 1, 2, of(cardA)}, {"q", 1, 1, of(cardA)}}, true},
		{"one card, one pod too many", "", one(res{cardA: 3}), []demand{{"q", 1, 2, of(cardA)}, {"q", 2, 1, of(cardA)}}, false},
		{"one card, half a pod too many", "", one(res{cardA: 2.5}), []demand{{"q", 1, 3, of(cardA)}}, false},

		{"two pods on A=1, B=1", "", one(res{cardA: 1, cardB: 1}), []demand{{"q", 1, 2, of(cardA, cardB)}}, true},
		{"three pods on A=1, B=1", "", one(res{cardA: 1, cardB: 1}), []demand{{"q", 1, 3, of(cardA, cardB)}}, false},
		{"three demands on A=1, B=1", "", one(res{cardA: 1, cardB: 1}), repeat(3, func(int) demand { return demand{"q", 1, 1, of(cardA, cardB)} }), false},
		{"a pod is not split", "", one(res{cardA: 1, cardB: 1}), []demand{{"q", 2, 1, of(cardA, cardB)}}, false},
		{"three pods are not split", "", one(res{cardA: 3, cardB: 3}), []demand{{"q", 2, 3, of(cardA, cardB)}}, false},
		{"a pod with a choice leaves the card to a pod without", "", one(res{cardA: 1, cardB: 1}), []demand{{"q", 1, 1, of(cardA, cardB)}, {"q", 1, 1, of(cardA)}}, true},
		{"no card is left for a pod with a choice", "", one(res{cardA: 1, cardB: 1}), []demand{{"q", 1, 1, of(cardA, cardB)}, {"q", 1, 2, of(cardA)}}, false},
		{"a chain of three pods gives way", "", one(res{cardA: 1, cardB: 1, cardC: 1}),
			[]demand{{"q", 1, 1, of(cardA, cardB)}, {"q", 1, 1, of(cardB, cardC)}, {"q", 1, 1, of(cardA, cardC)}}, true},
		{"four pods on three cards", "", one(res{cardA: 1, cardB: 1, cardC: 1}),
			[]demand{{"q", 1, 1, of(cardA, cardB)}, {"q", 1, 1, of(cardB, cardC)}, {"q", 1, 1, of(cardA, cardC)}, {"q", 1, 1, of(cardA, cardB, cardC)}}, false},

		{"an inner queue has room for both leaves", "root", team(res{cardA: 1, cardB: 1}), []demand{{"q", 1, 1, of(cardA, cardB)}, {"r", 1, 1, of(cardA, cardB)}}, true},
		{"an inner queue lacks room for both leaves", "root", team(res{cardA: 1, cardB: 1}), []demand{{"q", 1, 1, of(cardA, cardB)}, {"r", 1, 2, of(cardA, cardB)}}, false},
		{"an inner queue does not bound its siblings", "root", team(res{cardA: 1, cardB: 1}),
			[]demand{{"q", 1, 1, of(cardA, cardB)}, {"r", 1, 1, of(cardA, cardB)}, {"other", 1, 2, of(cardA, cardB)}}, true},
		{"flat, a parent has no effect", "", team(res{}), []demand{{"q", 5, 5, of(cardA, cardB)}}, true},
		{"leaves share the room of the root", "root", []queue{
			{name: "root", bound: res{cardA: 2, cardB: 2}}, {name: "q", bound: res{cardA: 2, cardB: 1}}, {name: "r", bound: res{cardA: 2}},
		}, []demand{{"q", 1, 2, of(cardA, cardB)}, {"r", 1, 2, of(cardA, cardB)}}, false},
		{"a leaf gives way to its sibling", "root", []queue{
			{name: "root", bound: res{cardA: 2, cardB: 2}}, {name: "q", bound: res{cardA: 2, cardB: 2}}, {name: "r", bound: res{cardA: 2}},
		}, []demand{{"q", 1, 2, of(cardA, cardB)}, {"r", 1, 2, of(cardA, cardB)}}, true},

		{"a queue above its bound on the other card", "", []queue{{name: "q", bound: res{cardA: 1, cardB: 1}, allocated: res{cardB: 5}}},
			[]demand{{"q", 1, 1, of(cardA, cardB)}}, true},
		{"a queue above its bound has no room on that card", "", []queue{{name: "q", bound: res{cardA: 1, cardB: 1}, allocated: res{cardB: 5}}},
			[]demand{{"q", 1, 2, of(cardA, cardB)}}, false},
		{"a queue above its bound does not reduce the load of its parent", "root", []queue{
			{name: "root", bound: res{cardA: 3, cardB: 1}}, {name: "q", bound: res{cardA: 9, cardB: 9}},
			{name: "r", bound: res{cardA: 0, cardB: 2}, inqueue: res{cardA: 2}},
		}, []demand{{"q", 1, 2, of(cardA, cardB)}, {"r", 1, 1, of(cardA, cardB)}}, false},
		{"a queue above its bound in another subtree", "root", []queue{
			{name: "root", bound: res{cardA: 9, cardB: 1}}, {name: "q", bound: res{cardA: 1, cardB: 1}},
			{name: "r", bound: res{}, allocated: res{cardA: 5}},
		}, []demand{{"q", 1, 2, of(cardA, cardB)}}, true},

		{"no bound on one card", "", one(res{cardA: 1, cardB: noBound}), []demand{{"q", 1, 1e6, of(cardA, cardB)}, {"q", 1, 1, of(cardA)}}, true},
		{"no bound, for any size", "", one(res{cardA: noBound}), []demand{{"q", noBound, 2, of(cardA)}, {"q", 1, 1, of(cardA)}}, true},
		{"no bound in the leaf, but above", "root", team(res{cardA: 1, cardB: 2}), []demand{{"q", 1, 4, of(cardA, cardB)}}, false},

		{"allocated takes room", "", []queue{{name: "q", bound: res{cardA: 3, cardB: 1}, allocated: res{cardA: 2}}}, []demand{{"q", 1, 3, of(cardA, cardB)}}, false},
		{"inqueue takes room", "", []queue{{name: "q", bound: res{cardA: 3, cardB: 1}, inqueue: res{cardA: 2}}}, []demand{{"q", 1, 3, of(cardA, cardB)}}, false},
		{"elastic makes room", "", []queue{{name: "q", bound: res{cardA: 3, cardB: 1}, allocated: res{cardA: 2}, elastic: res{cardA: 1}}},
			[]demand{{"q", 1, 3, of(cardA, cardB)}}, true},

		{"1 and 8, both full", "", one(res{cardA: 9, cardB: 8}), []demand{{"q", 1, 9, of(cardA, cardB)}, {"q", 8, 1, of(cardA, cardB)}}, true},
		{"1 and 8, room for two of 8", "", one(res{cardA: 9, cardB: 15}), []demand{{"q", 1, 8, of(cardA, cardB)}, {"q", 8, 2, of(cardA, cardB)}}, true},
		{"1 and 8, no room for three of 8", "", one(res{cardA: 15, cardB: 15}), []demand{{"q", 1, 1, of(cardA, cardB)}, {"q", 8, 3, of(cardA, cardB)}}, false},
		{"size 1 gives way to size 8", "", one(res{cardA: 8, cardB: 8}), []demand{{"q", 1, 8, of(cardA, cardB)}, {"q", 8, 1, of(cardB)}}, true},
		{"5 and 3 make 13 and 11", "", one(res{cardA: 13, cardB: 11}), []demand{{"q", 5, 3, of(cardA, cardB)}, {"q", 3, 3, of(cardA, cardB)}}, true},
		{"5 and 3 never make 12", "", one(res{cardA: 12, cardB: 12}), []demand{{"q", 5, 3, of(cardA, cardB)}, {"q", 3, 3, of(cardA, cardB)}}, false},
	}
	var reused assign.Assigner
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := session(test.root, test.queues...)
			demands := repeat(len(test.demands), func(i int) assign.Demand { return test.demands[i].of(ix) })
			assert.Equal(t, test.want, new(assign.Assigner).Feasible(ix, demands))
			assert.Equal(t, test.want, reused.Feasible(ix, demands), "with memory of other calls")
		})
	}
}

// exhaustive decides by trying every card for every pod.
func exhaustive(ix *index.Index, demands []assign.Demand) bool {
	var pods []assign.Demand
	for _, n := range demands {
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

// bounded reports whether every queue and card is within its bound when each pod gets its
// chosen card.
func bounded(ix *index.Index, pods []assign.Demand, chosen []fastres.Dim) bool {
	for p := range index.Queue(ix.Len()) {
		for _, card := range allCards {
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

// randomCards returns an index of up to 7 queues, a tree or flat, with random rooms: up to
// about most cards, negative, or without bound.
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
		for _, card := range allCards {
			if r.IntN(4) == 0 {
				ix.RealCapability.Row(q).Set(card, noBound)
				continue
			}
			ix.RealCapability.Row(q).Set(card, float64(500*r.IntN(2*most+1)))
			if r.IntN(3) == 0 {
				ix.Mutable(q).Set(card, float64(500*r.IntN(5)))
				ix.Inqueue.Row(q).Set(card, float64(500*r.IntN(3)))
				ix.Elastic.Row(q).Set(card, float64(500*r.IntN(4)))
			}
		}
	}
	return ix
}

// randomDemands returns random demands of the given number of pods in total.
func randomDemands(r *rand.Rand, ix *index.Index, pods int) []assign.Demand {
	var demands []assign.Demand
	largest, choice := 1+r.IntN(4), 1+r.IntN(len(allCards))
	for pods > 0 {
		n := assign.Demand{Queue: index.Queue(r.IntN(ix.Len())), Size: float64(1000 * (1 + r.IntN(largest))), Count: 1}
		if r.IntN(2) == 0 {
			n.Count += r.IntN(pods)
		}
		for _, i := range r.Perm(choice)[:1+r.IntN(choice)] {
			n.Cards = append(n.Cards, allCards[i])
		}
		pods -= n.Count
		demands = append(demands, n)
	}
	return demands
}

// plant sets all rooms to what one assignment of the demands takes.
func plant(r *rand.Rand, ix *index.Index, demands []assign.Demand) {
	ix.Reset(ix.Tree, ix.Dims())
	for _, n := range demands {
		for range n.Count {
			card := n.Cards[r.IntN(len(n.Cards))]
			for _, p := range ix.Path(n.Queue) {
				ix.RealCapability.Row(p).Increase(card, n.Size)
			}
		}
	}
}

// shake changes some random rooms by one card.
func shake(r *rand.Rand, ix *index.Index) {
	for q := range index.Queue(ix.Len()) {
		for _, card := range allCards {
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
		demands := randomDemands(r, ix, pods)
		if round%2 == 0 {
			// The hardest cases have rooms about as large as the demands.
			demands = append(demands, randomDemands(r, ix, 4)...)
			plant(r, ix, demands)
			shake(r, ix)
		}
		want := exhaustive(ix, demands)
		require.Equal(t, want, a.Feasible(ix, demands), "round %d: %+v", round, demands)
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
		demands := randomDemands(r, ix, pods)
		want := a.Feasible(ix, demands)
		if want {
			served++
		}
		for range 4 {
			r.Shuffle(len(demands), func(i, j int) { demands[i], demands[j] = demands[j], demands[i] })
			for _, n := range demands {
				r.Shuffle(len(n.Cards), func(i, j int) { n.Cards[i], n.Cards[j] = n.Cards[j], n.Cards[i] })
			}
			require.Equal(t, want, a.Feasible(ix, demands), "round %d: %+v", round, demands)
		}
	}
	t.Logf("%d can be served", served)
}

// TestInfeasibleStaysInfeasible adds demands one by one. After the first refusal, no
// further demand makes them feasible.
func TestInfeasibleStaysInfeasible(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 23))
	var a assign.Assigner
	turned := 0
	for round := range 1000 {
		pods := 1 + r.IntN(40)
		ix := randomCards(r, pods)
		demands, before := randomDemands(r, ix, pods), true
		for n := range len(demands) + 1 {
			now := a.Feasible(ix, demands[:n])
			require.False(t, now && !before, "round %d, demand %d: %+v", round, n, demands)
			if before && !now && n > 1 {
				turned++
			}
			before = now
		}
	}
	assert.Greater(t, turned, 300)
}

// TestSearchEndsWithItsBudget has demands that the search cannot decide within its budget.
// Then a refusal may be wrong, but an admission is not.
func TestSearchEndsWithItsBudget(t *testing.T) {
	var a assign.Assigner
	both := of(cardA, cardB)

	// There is room for the sum, but each card has room for 20 of the 41 pods only.
	ix := session("", queue{name: "q", bound: res{cardA: 20915, cardB: 20915}})
	demands := repeat(41, func(i int) assign.Demand { return demand{"q", float64(1000 + i), 1, both}.of(ix) })
	assert.False(t, a.Feasible(ix, demands))

	// The only known assignment alternates between the cards, and fills both.
	r := rand.New(rand.NewPCG(29, 31))
	bound := res{}
	drawn := repeat(40, func(i int) demand {
		size := float64(1e9 + r.IntN(1e9))
		bound[both[i%2]] += size
		return demand{"q", size, 1, both}
	})
	ix = session("", queue{name: "q", bound: bound})
	demands = repeat(40, func(i int) assign.Demand { return drawn[i].of(ix) })
	t.Log("a partition that is hard to find is found:", a.Feasible(ix, demands))
	bound[cardA]--
	ix = session("", queue{name: "q", bound: bound})
	assert.False(t, a.Feasible(ix, demands))

	assert.True(t, a.Feasible(ix, demands[:20]), "after a search that exceeded its budget")
}

// shape is the size of a cluster: leaves below inner queues below a root.
type shape struct{ inner, leaves, demands int }

var stress = shape{30, 1000, 3000}

// planted returns a cluster of a shape. The rooms at every level are exactly what one
// assignment of its demands takes.
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
	demands := repeat(of.demands, func(int) assign.Demand {
		n := assign.Demand{Queue: ix.Lookup(fmt.Sprint("leaf", r.IntN(of.leaves))), Size: sizes[r.IntN(len(sizes))], Count: 1 + r.IntN(4)}
		for _, i := range r.Perm(len(allCards))[:1+r.IntN(len(allCards))] {
			n.Cards = append(n.Cards, allCards[i])
		}
		return n
	})
	plant(r, ix, demands)
	return ix, demands
}

// widen increases the room of every queue for every card.
func widen(ix *index.Index, amount float64) {
	for q := range index.Queue(ix.Len()) {
		for _, card := range allCards {
			ix.RealCapability.Row(q).Increase(card, amount)
		}
	}
}

func TestFeasibleOfThousands(t *testing.T) {
	var a assign.Assigner
	for _, sizes := range [][]float64{{1000}, {1000, 8000}} {
		ix, demands := planted(rand.New(rand.NewPCG(37, 41)), stress, sizes...)
		next := assign.Demand{Queue: demands[0].Queue, Cards: allCards, Size: 1000, Count: 1}
		assert.True(t, a.Feasible(ix, demands), "%v, exactly", sizes)
		widen(ix, 999)
		assert.True(t, a.Feasible(ix, demands), "%v, with room for less than a pod", sizes)
		assert.False(t, a.Feasible(ix, append(demands, next)), "%v, one pod too many", sizes)
		widen(ix, 4000)
		assert.True(t, a.Feasible(ix, append(demands, next)), "%v, with some room", sizes)
	}
	ix, demands := planted(rand.New(rand.NewPCG(37, 41)), stress, 1000, 2000, 4000, 8000)
	assert.True(t, a.Feasible(ix, demands), "four sizes, exactly")
	widen(ix, 4000)
	t.Log("four sizes, with some room, within the budget:", a.Feasible(ix, demands))
}

// TestSearchFindsMixedSizes has sizes that must be packed, without spare room above the
// leaves. The budget suffices for them.
func TestSearchFindsMixedSizes(t *testing.T) {
	var a assign.Assigner
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 43))
		leaves := 1 + r.IntN(12)
		ix, demands := planted(r, shape{1 + leaves/4, leaves, 1 + r.IntN(8*leaves)}, 1000, 2000, 4000, 8000)
		for q := range index.Queue(ix.Len()) {
			if ix.IsLeaf(q) {
				for _, card := range allCards {
					ix.RealCapability.Row(q).Increase(card, float64(1000*r.IntN(8)))
				}
			}
		}
		assert.True(t, a.Feasible(ix, demands), "seed %d", seed)
	}
}

// atTheEdge returns four demands of one queue that just fit.
func atTheEdge() (*index.Index, []assign.Demand) {
	ix := session("root",
		queue{name: "root", bound: res{cardA: 1e6, cardB: 1e6, cardC: 1e6}},
		queue{name: "team", bound: res{cardA: 20_000, cardB: 20_000, cardC: 9000}},
		queue{name: "q<team", bound: res{cardA: 16_000, cardB: 10_000, cardC: 8000}, allocated: res{cardA: 4000}})
	demands := []demand{
		{"q", 8000, 1, of(cardA, cardB)}, {"q", 1000, 4, of(cardB, cardA)},
		{"q", 4000, 2, of(cardA, cardC)}, {"q", 2000, 5, of(cardC, cardB)},
	}
	return ix, repeat(len(demands), func(i int) assign.Demand { return demands[i].of(ix) })
}

// oneCard returns n demands of many queues for the same card.
func oneCard(n int) (*index.Index, []assign.Demand) {
	ix, _ := planted(rand.New(rand.NewPCG(37, 41)), stress, 1000)
	widen(ix, 16e6)
	return ix, repeat(n, func(i int) assign.Demand { return demand{fmt.Sprint("leaf", i%1000), 8000, 2, of(cardA)}.of(ix) })
}

func TestFeasibleAllocatesNothing(t *testing.T) {
	var a assign.Assigner
	gate := func(name string, ix *index.Index, demands []assign.Demand) {
		t.Helper()
		require.True(t, a.Feasible(ix, demands), name)
		assert.Zero(t, testing.AllocsPerRun(100, func() { a.Feasible(ix, demands) }), name)
	}
	ix, demands := oneCard(50)
	gate("no demands", ix, nil)
	gate("one card", ix, demands)
	ix, demands = atTheEdge()
	gate("two cards", ix, demands)
	ix, demands = planted(rand.New(rand.NewPCG(37, 41)), stress, 1000, 8000)
	gate("many", ix, demands)
}

func BenchmarkFeasible(b *testing.B) {
	run := func(name string, ix *index.Index, demands []assign.Demand) {
		b.Run(name, func(b *testing.B) {
			var a assign.Assigner
			b.ReportAllocs()
			answer := a.Feasible(ix, demands)
			for b.Loop() {
				if a.Feasible(ix, demands) != answer {
					b.Fatal("the answer changed")
				}
			}
		})
	}
	ix, demands := oneCard(1000)
	run("card=one/demands=1", ix, demands[:1])
	run("card=one/demands=1000", ix, demands)
	ix, demands = atTheEdge()
	run("card=two/demands=4", ix, demands)
	for _, sizes := range [][]float64{{1000}, {1000, 8000}} {
		ix, demands = planted(rand.New(rand.NewPCG(37, 41)), stress, sizes...)
		run(fmt.Sprintf("stress/sizes=%d/exact", len(sizes)), ix, demands)
		widen(ix, 4000)
		run(fmt.Sprintf("stress/sizes=%d/wide", len(sizes)), ix, demands)
	}
}
