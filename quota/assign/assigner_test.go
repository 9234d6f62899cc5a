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
			{name: "r", bound: res{cardA: 0, cardB: 2}, allocated: res{cardA: 2}},
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
			assert.Equal(t, test.want, decide(t, new(assign.Assigner), ix, nil, demands))
			assert.Equal(t, test.want, decide(t, &reused, ix, nil, demands), "with memory of other calls")
		})
	}
}

// exhaustive decides by trying every card for every pod.
func exhaustive(demands []assign.Demand, within func(pods []assign.Demand, chosen []fastres.Dim) bool) bool {
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
			return within(pods[:i+1], chosen) && choose(i+1)
		})
	}
	return choose(0)
}

func within(ix *index.Index) func([]assign.Demand, []fastres.Dim) bool {
	return func(pods []assign.Demand, chosen []fastres.Dim) bool { return bounded(ix, pods, chosen) }
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

// boundedGroups is bounded for the groups of cards.
func boundedGroups(ix *index.Index, names *index.Names, groups []fastres.Dim, pods []assign.Demand, chosen []fastres.Dim) bool {
	for p := range index.Queue(ix.Len()) {
		for _, group := range groups {
			sum := 0.0
			for i, pod := range pods {
				for _, share := range names.Groups(chosen[i]) {
					if share.Group == group && slices.Contains(ix.Path(pod.Queue), p) {
						sum += share.Weight * pod.Size
					}
				}
			}
			used := ix.Allocated(p).Get(group) + ix.Inqueue.Row(p).Get(group) - ix.Elastic.Row(p).Get(group)
			if sum > 0 && used+sum > ix.RealCapability.Row(p).Get(group) {
				return false
			}
		}
	}
	return true
}

// randomGroups returns names with three groups of random cards and weights, and their dimensions.
func randomGroups(r *rand.Rand) (*index.Names, []fastres.Dim) {
	names, groups := &index.Names{}, []fastres.Dim{20, 21, 68}
	for names.Len() < dims {
		names.InternCard(fmt.Sprint(names.Len()))
	}
	of := map[fastres.Dim][]index.Share{}
	for _, card := range allCards {
		for _, group := range groups {
			if r.IntN(2) == 0 {
				of[card] = append(of[card], index.Share{Group: group, Weight: []float64{0.25, 0.5, 1, 1, 2, 3}[r.IntN(6)]})
			}
		}
	}
	names.SetGroups(groups, func(card fastres.Dim) []index.Share { return of[card] })
	return names, groups
}

// boundGroups gives queues random room for groups, about as much as the demands take.
func boundGroups(r *rand.Rand, ix *index.Index, groups []fastres.Dim, pods int) {
	for q := range index.Queue(ix.Len()) {
		for _, group := range groups {
			if r.IntN(3) > 0 {
				ix.RealCapability.Row(q).Set(group, noBound)
				continue
			}
			ix.RealCapability.Row(q).Set(group, float64(250*r.IntN(8*pods+4)))
			if r.IntN(4) == 0 {
				ix.Mutable(q).Set(group, float64(250*r.IntN(6)))
			}
		}
	}
}

// TestFeasibleWithGroups compares with every choice of cards.
func TestFeasibleWithGroups(t *testing.T) {
	const rounds = 40_000
	r := rand.New(rand.NewPCG(23, 29))
	var a assign.Assigner
	served, byGroups := 0, 0
	for round := range rounds {
		pods := 1 + r.IntN(6)
		ix := randomCards(r, 1+r.IntN(2*pods+2))
		demands := randomDemands(r, ix, pods)
		if round%2 == 0 {
			plant(r, ix, append(slices.Clone(demands), randomDemands(r, ix, 2)...))
		}
		names, groups := randomGroups(r)
		boundGroups(r, ix, groups, pods)
		a.Names = names
		all := func(pods []assign.Demand, chosen []fastres.Dim) bool {
			return bounded(ix, pods, chosen) && boundedGroups(ix, names, groups, pods, chosen)
		}
		want := exhaustive(demands, all)
		require.Equal(t, want, decide(t, &a, ix, nil, demands), "round %d: %+v", round, demands)
		if want {
			served++
		} else if exhaustive(demands, within(ix)) {
			byGroups++
		}
		given := r.IntN(len(demands) + 1)
		if exhaustive(demands[:given], all) {
			require.Equal(t, want, decide(t, &a, ix, demands[:given], demands[given:]), "round %d, %d given: %+v", round, given, demands)
		}
		loads := assign.Loads{Names: names}
		for _, d := range demands[:given] {
			loads.Add(ix, d)
		}
		if len(demands) > given && loads.Fit(ix, demands[given].Queue, demands[given:given+1]) {
			served := exhaustive(demands[:given], all)
			require.Equal(t, served, exhaustive(demands[:given+1], all), "round %d: loads fit", round)
		}
	}
	t.Logf("%d of %d can be served, groups alone refuse %d", served, rounds, byGroups)
	assert.Greater(t, served, rounds/5)
	assert.Greater(t, byGroups, rounds/20)
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
		want := exhaustive(demands, within(ix))
		require.Equal(t, want, decide(t, &a, ix, nil, demands), "round %d: %+v", round, demands)
		if want {
			served++
		}
		if given := r.IntN(len(demands) + 1); exhaustive(demands[:given], within(ix)) {
			require.Equal(t, want, decide(t, &a, ix, demands[:given], demands[given:]), "round %d, %d given: %+v", round, given, demands)
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
		want := decide(t, &a, ix, nil, demands)
		if want {
			served++
		}
		for range 4 {
			r.Shuffle(len(demands), func(i, j int) { demands[i], demands[j] = demands[j], demands[i] })
			for _, n := range demands {
				r.Shuffle(len(n.Cards), func(i, j int) { n.Cards[i], n.Cards[j] = n.Cards[j], n.Cards[i] })
			}
			require.Equal(t, want, decide(t, &a, ix, nil, demands), "round %d: %+v", round, demands)
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
			now := decide(t, &a, ix, nil, demands[:n])
			require.False(t, now && !before, "round %d, demand %d: %+v", round, n, demands)
			if before && !now && n > 1 {
				turned++
			}
			before = now
		}
	}
	assert.Greater(t, turned, 300)
}
