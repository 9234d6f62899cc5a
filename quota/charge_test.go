package quota_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestCharge(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "a"}, queue{name: "b<a", allocated: res{cpu: 1}},
		queue{name: "c<a"}, queue{name: "d"})
	b := lookup(t, ix, "b")
	quota.Charge(ix, b, res{cpu: 5, gpu: 1000, far: 0}.vector())
	requireAllocated(t, ix, ix, map[string]res{
		"root": {cpu: 6, gpu: 1000, far: 0}, "a": {cpu: 6, gpu: 1000, far: 0}, "b": {cpu: 6, gpu: 1000, far: 0},
		"c": {}, "d": {},
	})
}

func requireAllocated(t *testing.T, ix *index.Index, a quota.Accounts, want map[string]res) {
	t.Helper()
	for name, w := range want {
		assert.Equal(t, w, resOf(a.Allocated(lookup(t, ix, name))), name)
	}
}

func TestRefund(t *testing.T) {
	tests := []struct {
		name    string
		request res
		want    map[string]res
	}{
		{"part", res{cpu: 2, gpu: 1}, map[string]res{
			"b": {cpu: 3, gpu: 3}, "a": {cpu: 10, gpu: 7}, "root": {cpu: 21, gpu: 7}}},
		{"everything", res{cpu: 5, gpu: 4}, map[string]res{
			"b": {gpu: 0}, "a": {cpu: 7, gpu: 4}, "root": {cpu: 18, gpu: 4}}},
		{"more than was charged, in one dimension", res{cpu: 9, gpu: 1}, map[string]res{
			"b": {gpu: 3}, "a": {cpu: 7, gpu: 7}, "root": {cpu: 18, gpu: 7}}},
		{"what was never charged", res{memory: 100, far: 1}, map[string]res{
			"b": {cpu: 5, gpu: 4, far: 0}, "a": {cpu: 12, gpu: 8, far: 0}, "root": {cpu: 23, gpu: 8, far: 0}}},
		{"nothing", res{}, map[string]res{
			"b": {cpu: 5, gpu: 4}, "a": {cpu: 12, gpu: 8}, "root": {cpu: 23, gpu: 8}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			ix := session("root", queue{name: "root"}, queue{name: "a"},
				queue{name: "b<a", allocated: res{cpu: 5, gpu: 4}}, queue{name: "c<a", allocated: res{cpu: 7, gpu: 4}},
				queue{name: "d", allocated: res{cpu: 11}})
			scratch := res{cpu: 77, memory: 77, pods: 77}.vector() // its content does not count
			request := test.request.vector()
			quota.Refund(ix, lookup(t, ix, "b"), request, scratch)
			requireAllocated(t, ix, ix, test.want)
			requireAllocated(t, ix, ix, map[string]res{"c": {cpu: 7, gpu: 4}, "d": {cpu: 11}})
			assert.Equal(t, test.request, resOf(request), "the request was changed")
			ix.Check()
		})
	}
}

// TestRefundsKeepTheSums charges and refunds random queues, including inner queues, and
// often refunds more than was charged. After each step the account of a queue is the sum
// of its own charges and its children's accounts.
func TestRefundsKeepTheSums(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	scratch := fastres.NewVector(dims)
	for round := range 30 {
		ix := randomTree(r, 15)
		overlay := index.Over(ix.Version())
		var a quota.Accounts = ix
		if round%2 == 0 {
			a = &overlay
		}
		want := make([]fastres.Vector, ix.Len())
		for q := range index.Queue(ix.Len()) {
			want[q] = fastres.NewVector(dims)
			ix.NoteOwnJobs(q)
		}
		dropped := 0
		for range 300 {
			q, x := index.Queue(r.IntN(ix.Len())), randomRequest(r, 100)
			if r.IntN(2) == 0 {
				quota.Charge(a, q, x)
				want[q].Add(x)
			} else {
				if !x.LessEqual(want[q]) {
					dropped++
				}
				quota.Refund(a, q, x, scratch)
				want[q].Sub(x)
			}
			below := make([]fastres.Vector, ix.Len())
			for q := range below {
				below[q] = fastres.NewVector(dims)
			}
			for q := index.Queue(ix.Len()) - 1; q >= 0; q-- {
				below[q].Add(want[q])
				require.Equal(t, resOf(below[q]), resOf(a.Allocated(q)), ix.Name(q))
				if p := ix.Parent(q); p != index.None {
					below[p].Add(below[q])
				}
			}
			ix.Check()
		}
		assert.Greater(t, dropped, 20, "too few refunds exceeded their charge")
	}
}

func TestChargeAllocatesNothing(t *testing.T) {
	ix := session("root", queue{name: "root", deserved: res{cpu: 9}}, queue{name: "a"}, queue{name: "b<a", deserved: res{cpu: 3}})
	b, x, scratch := lookup(t, ix, "b"), res{cpu: 1, far: 2}.vector(), fastres.NewVector(dims)
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		quota.Charge(ix, b, x)
		quota.RefreshShare(ix, b, quota.Share)
		quota.Refund(ix, b, x, scratch)
		quota.RefreshShare(ix, b, quota.Share)
	}))
}

// TestRefundOfGroups refunds more of one card than was charged. The group gives back as much as its cards.
func TestRefundOfGroups(t *testing.T) {
	names := &index.Names{}
	a, b, group := names.InternCard("A"), names.InternCard("B"), names.InternCard("@g")
	names.SetGroups([]fastres.Dim{group}, func(card fastres.Dim) []index.Share {
		return []index.Share{{Group: group, Weight: map[fastres.Dim]float64{a: 1, b: 2}[card]}}
	})
	of := func(cardsA, cardsB float64) fastres.Vector {
		x := fastres.NewVector(names.Len())
		names.AddCard(x, a, cardsA)
		names.AddCard(x, b, cardsB)
		return x
	}
	ix := &index.Index{}
	ix.Reset(index.BuildTree([]index.Node{{Name: "root"}, {Name: "team"}, {Name: "q", Parent: "team"}}, "root"), names.Len())
	ix.SetNames(names)
	leaf, team := ix.Lookup("q"), ix.Lookup("team")
	for _, q := range []index.Queue{leaf, team} { // a job in a leaf, and one in an inner queue
		quota.Charge(ix, q, of(1000, 3000))
	}

	scratch := fastres.NewVector(names.Len())
	overlay := index.Over(ix.Version())
	live := index.Over(ix)
	for _, accounts := range []quota.Accounts{&overlay, &live, ix} {
		for _, q := range []index.Queue{team, leaf} {
			refund := quota.Refund(accounts, q, of(5000, 1000), scratch)
			require.Equal(t, 3000.0, refund.Get(group), "1 of A, and 1 of B with the weight 2")
		}
		require.Equal(t, 8000.0, accounts.Allocated(team).Get(group))
		require.Equal(t, 4000.0, accounts.AllocatedAt(leaf, b)*2)
	}
}
