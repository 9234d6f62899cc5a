package assign_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/assign"
)

// TestSearchEndsWithItsBudget has demands that the search cannot decide within its budget.
// Then a refusal may be wrong, but an admission is not.
func TestSearchEndsWithItsBudget(t *testing.T) {
	var a assign.Assigner
	both := of(cardA, cardB)

	// There is room for the sum, but each card has room for 20 of the 41 pods only.
	ix := session("", queue{name: "q", bound: res{cardA: 20915, cardB: 20915}})
	demands := unlikely(ix, "q")
	assert.Equal(t, assign.Unknown, a.Feasible(ix, nil, demands, plenty()))

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
	t.Log("a partition that is hard to find is found:", a.Feasible(ix, nil, demands, plenty()) == assign.Yes)
	bound[cardA]--
	ix = session("", queue{name: "q", bound: bound})
	assert.NotEqual(t, assign.Yes, a.Feasible(ix, nil, demands, plenty()))

	assert.Equal(t, assign.Yes, a.Feasible(ix, nil, demands[:20], plenty()), "after a search that reached its limit")
}

// unlikely returns 41 demands of a queue with room for 40 of them, which the search does
// not decide within a sensible budget.
func unlikely(ix *index.Index, queue string) []assign.Demand {
	return repeat(41, func(i int) assign.Demand { return demand{queue, float64(1000 + i), 1, of(cardA, cardB)}.of(ix) })
}

// TestHardComponentsAreSearchedForTheirOwnDemands has two queues with demands that the search does not decide. A demand
// pays only for the search of its own component.
func TestHardComponentsAreSearchedForTheirOwnDemands(t *testing.T) {
	var a assign.Assigner
	edge := res{cardA: 20915, cardB: 20915}
	ix := session("root", queue{name: "root", bound: res{cardA: noBound, cardB: noBound}},
		queue{name: "q", bound: edge}, queue{name: "r", bound: edge}, queue{name: "s", bound: res{cardA: 8000, cardB: 8000}})
	given := append(unlikely(ix, "q"), unlikely(ix, "r")...)
	s := []assign.Demand{demand{"s", 3000, 2, of(cardA, cardB)}.of(ix), demand{"s", 5000, 2, of(cardA, cardB)}.of(ix)}

	budget := assign.Budget(10_000)
	assert.Equal(t, assign.Yes, a.Feasible(ix, given, s, &budget))
	assert.Greater(t, budget, assign.Budget(9_000))

	s = append(s, demand{"s", 1000, 1, of(cardA, cardB)}.of(ix))
	assert.Equal(t, assign.No, a.Feasible(ix, given, s, &budget), "q and r are not decided, but s is full")

	budget = 100_000
	assert.Equal(t, assign.Unknown, a.Feasible(ix, nil, given, &budget))
	assert.Less(t, budget, assign.Budget(30_000), "both were searched")
	assert.Greater(t, budget, assign.Budget(20_000), "each with half of what was left")

	affects := []assign.Demand{demand{"q", 10, 1, of(cardA)}.of(ix)}
	assert.Equal(t, assign.Unknown, a.Feasible(ix, given, affects, &budget), "a demand without a choice takes room of q")
	assert.Less(t, budget, assign.Budget(20_000))
}

// TestSearchWithoutBudget decides demands of one size, and demands that a flow decides.
func TestSearchWithoutBudget(t *testing.T) {
	var a assign.Assigner
	ix := session("", queue{name: "q", bound: res{cardA: 20915, cardB: 20915}})
	for _, budget := range []assign.Budget{0, -5} {
		before := budget
		assert.Equal(t, assign.Yes, a.Feasible(ix, nil, []assign.Demand{demand{"q", 1000, 40, of(cardA, cardB)}.of(ix)}, &budget))
		assert.Equal(t, assign.No, a.Feasible(ix, nil, []assign.Demand{demand{"q", 1000, 41, of(cardA, cardB)}.of(ix)}, &budget))
		assert.Equal(t, assign.No, a.Feasible(ix, nil, append(unlikely(ix, "q"), unlikely(ix, "q")...), &budget))
		assert.Equal(t, assign.Unknown, a.Feasible(ix, nil, unlikely(ix, "q"), &budget))
		assert.Equal(t, before, budget)
	}
}

func TestFeasibleOfThousands(t *testing.T) {
	var a assign.Assigner
	for _, sizes := range [][]float64{{1000}, {1000, 8000}} {
		ix, demands := planted(rand.New(rand.NewPCG(37, 41)), stress, sizes...)
		next := assign.Demand{Queue: demands[0].Queue, Cards: allCards, Size: 1000, Count: 1}
		assert.True(t, decide(t, &a, ix, nil, demands), "%v, exactly", sizes)
		widen(ix, 999)
		assert.True(t, decide(t, &a, ix, nil, demands), "%v, with room for less than a pod", sizes)
		assert.False(t, decide(t, &a, ix, nil, append(demands, next)), "%v, one pod too many", sizes)
		widen(ix, 4000)
		assert.True(t, decide(t, &a, ix, nil, append(demands, next)), "%v, with some room", sizes)
	}
	ix, demands := planted(rand.New(rand.NewPCG(37, 41)), stress, 1000, 2000, 4000, 8000)
	assert.True(t, decide(t, &a, ix, nil, demands), "four sizes, exactly")
	widen(ix, 4000)
	t.Log("four sizes, with some room, within the budget:", a.Feasible(ix, nil, demands, plenty()) == assign.Yes)
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
		assert.True(t, decide(t, &a, ix, nil, demands), "seed %d", seed)
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
	budget := plenty()
	gate := func(name string, ix *index.Index, demands []assign.Demand) {
		t.Helper()
		require.True(t, decide(t, &a, ix, nil, demands), name)
		assert.Zero(t, testing.AllocsPerRun(100, func() { a.Feasible(ix, demands[:len(demands)/2], demands[len(demands)/2:], budget) }), name)
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
			budget := plenty()
			before := *budget
			answer := a.Feasible(ix, nil, demands, budget)
			for b.Loop() {
				*budget = before
				if a.Feasible(ix, nil, demands, budget) != answer {
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
