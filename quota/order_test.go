package quota_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestOrder(t *testing.T) {
	some := res{cpu: 10}
	tree := []queue{
		{name: "root", share: 0.5, deserved: some},
		{name: "eng", share: 0.6, deserved: some},
		{name: "prod<eng", share: 0.9, deserved: some},
		{name: "dev<eng", share: 0.1, deserved: some},
		{name: "web<prod", share: 0.2, deserved: some},
		{name: "db<prod", share: 0.3, deserved: some},
		{name: "biz", share: 0.4, deserved: some},
		{name: "sales<biz", share: 0.95, deserved: some},
		{name: "ads<biz", share: 1, deserved: some},
		{name: "scratch<biz", share: 1},
		{name: "spare<biz", share: 1},
		{name: "empty<biz", share: 1, deserved: res{gpu: 0}},
		{name: "lone", share: 0.5, deserved: some},
		{name: "lost<nobody", share: 0, deserved: some},
		{name: "tail<lost", share: 0.1, deserved: some},
		{name: "worse<lost", share: 0.2, deserved: some},
	}
	const before, equal = -1, 0
	tests := []struct {
		name, l, r string
		want       int
	}{
		{"siblings", "web", "db", before},
		{"a queue and itself", "web", "web", equal},
		{"an inner queue and itself", "eng", "eng", equal},
		{"the shares just below the LCA decide", "sales", "web", before},
		{"the LCA is an inner queue", "dev", "db", before},
		{"one leaf is just below the LCA", "lone", "web", before},
		{"one leaf is just below the LCA, with the greater share", "sales", "lone", before},
		{"a leaf before an inner queue with a smaller share", "sales", "biz", before},
		{"a leaf before its ancestor", "web", "eng", before},
		{"a leaf before the root", "sales", "root", before},
		{"inner queues by their own shares, at any depth", "biz", "prod", before},
		{"an inner queue and its ancestor", "eng", "prod", before},
		{"at equal shares, best effort after deserved", "ads", "scratch", before},
		{"two best-effort queues", "scratch", "spare", equal},
		{"a deserved of 0 is best effort", "scratch", "empty", equal},
		{"a smaller share before best effort", "sales", "scratch", before},
		{"a broken leaf after a leaf with a greater share", "scratch", "tail", before},
		{"a broken leaf after an inner queue", "prod", "tail", before},
		{"a broken inner queue after an inner queue", "prod", "lost", before},
		{"broken queues by share, inner or leaf", "lost", "tail", before},
		{"broken siblings", "tail", "worse", before},
	}
	ix := session("root", tree...)
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, r := lookup(t, ix, test.l), lookup(t, ix, test.r)
			assert.Equal(t, test.want, quota.Order(ix, l, r))
			assert.Equal(t, -test.want, quota.Order(ix, r, l))
		})
	}
}

func TestOrderWhenFlat(t *testing.T) {
	ix := session("",
		queue{name: "a", share: 0.5, deserved: res{cpu: 1}}, queue{name: "b<a", share: 0.4, deserved: res{cpu: 1}},
		queue{name: "c<nobody", share: 1, deserved: res{cpu: 1}}, queue{name: "d", share: 1})
	for i, names := range [][2]string{{"b", "a"}, {"a", "c"}, {"c", "d"}} {
		l, r := lookup(t, ix, names[0]), lookup(t, ix, names[1])
		assert.Equal(t, -1, quota.Order(ix, l, r), "case %d", i)
		assert.Equal(t, 1, quota.Order(ix, r, l), "case %d", i)
	}
}

func TestOrderByShare(t *testing.T) {
	ix := session("", queue{name: "a", share: 0.5, deserved: res{cpu: 1}}, queue{name: "b", share: 0.5}, queue{name: "c", share: 0.6})
	a, b, c := lookup(t, ix, "a"), lookup(t, ix, "b"), lookup(t, ix, "c")
	assert.Zero(t, quota.OrderByShare(ix, a, b), "deserved does not count")
	assert.Equal(t, -1, quota.OrderByShare(ix, b, c))
	assert.Equal(t, 1, quota.OrderByShare(ix, c, a))
}

func TestVictimOrder(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "eng"}, queue{name: "biz"},
		queue{name: "prod<eng"}, queue{name: "dev<eng"}, queue{name: "web<prod"}, queue{name: "db<prod"},
		queue{name: "sales<biz"}, queue{name: "lost<nobody"}, queue{name: "tail<lost"})
	tests := []struct {
		name, l, r, preemptor string
		want                  int
	}{
		{"a sibling before a cousin", "db", "dev", "web", -1},
		{"a cousin before a queue of another subtree", "dev", "sales", "web", -1},
		{"a sibling before a queue of another subtree", "db", "sales", "web", -1},
		{"two queues of another subtree", "sales", "biz", "web", 0},
		{"two cousins", "web", "db", "dev", 0},
		{"the preemptor's queue and its sibling", "web", "db", "web", 0},
		{"an ancestor and its sibling", "prod", "dev", "web", 0},
		{"a queue of another subtree and the root", "sales", "root", "web", 0},
		{"a queue of another subtree and a broken queue", "sales", "tail", "web", 0},
		{"a cousin before a broken queue", "dev", "tail", "web", -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l, r, preemptor := lookup(t, ix, test.l), lookup(t, ix, test.r), lookup(t, ix, test.preemptor)
			assert.Equal(t, test.want, quota.VictimOrder(ix, l, r, preemptor))
			assert.Equal(t, -test.want, quota.VictimOrder(ix, r, l, preemptor))
		})
	}
}

// requireOrder checks compare for every three of n queues: antisymmetry, transitivity, and,
// if weak, transitivity of equality. A sort requires a strict weak order.
func requireOrder(t *testing.T, n int, weak bool, compare func(l, r index.Queue) int) {
	t.Helper()
	all := make([][]int, n)
	for l := range n {
		for r := range n {
			all[l] = append(all[l], compare(index.Queue(l), index.Queue(r)))
		}
	}
	for a := range n {
		for b := range n {
			if all[a][b] != -all[b][a] {
				t.Fatalf("%d and %d compare as %d, and in reverse as %d", a, b, all[a][b], all[b][a])
			}
			for c := range n {
				if all[a][b] < 0 && all[b][c] < 0 && all[a][c] >= 0 {
					t.Fatalf("%d < %d < %d, but not the first < the last", a, b, c)
				}
				if weak && all[a][b] == 0 && all[b][c] == 0 && all[a][c] != 0 {
					t.Fatalf("%d = %d = %d, but the first is not the last", a, b, c)
				}
			}
		}
	}
}

// TestOrderIsAnOrder checks random trees with random shares. If two siblings have equal
// shares, the leaves below them are equal, but the leaves below one of them are not. So
// equality is transitive only if the shares of siblings differ.
func TestOrderIsAnOrder(t *testing.T) {
	for _, siblingsDiffer := range []bool{true, false} {
		t.Run(fmt.Sprintf("siblings differ: %t", siblingsDiffer), func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 4))
			for range 200 {
				ix := randomTree(r, 16)
				taken := map[string]bool{}
				for q := range index.Queue(ix.Len()) {
					share := func() float64 { return float64(r.IntN(6)) / 5 }
					if siblingsDiffer {
						share = func() float64 { return float64(r.IntN(20)) / 10 }
					}
					ix.SetShare(q, share())
					for key := siblingKey(ix, q); siblingsDiffer && taken[key]; key = siblingKey(ix, q) {
						ix.SetShare(q, share())
					}
					taken[siblingKey(ix, q)] = true
					if r.IntN(2) == 0 {
						ix.Deserved.Row(q).Set(cpu, 1)
					}
				}
				requireOrder(t, ix.Len(), siblingsDiffer, func(l, r index.Queue) int { return quota.Order(ix, l, r) })
			}
		})
	}
}

func siblingKey(ix *index.Index, q index.Queue) string { return fmt.Sprint(ix.Parent(q), ix.Share(q)) }

func TestFlatOrdersAreOrders(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		var queues []queue
		for i := range 12 {
			q := queue{name: fmt.Sprintf("q%d", i), share: float64(r.IntN(4)) / 3}
			if r.IntN(2) == 0 {
				q.deserved = res{cpu: 1}
			}
			queues = append(queues, q)
		}
		ix := session("", queues...)
		requireOrder(t, ix.Len(), true, func(l, r index.Queue) int { return quota.Order(ix, l, r) })
		requireOrder(t, ix.Len(), true, func(l, r index.Queue) int { return quota.OrderByShare(ix, l, r) })
	}
}

func TestVictimOrderIsAnOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 200 {
		ix := randomTree(r, 16)
		preemptor := index.Queue(r.IntN(ix.Len()))
		requireOrder(t, ix.Len(), true, func(l, r index.Queue) int { return quota.VictimOrder(ix, l, r, preemptor) })
	}
}

func TestOrdersAllocateNothing(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "a"}, queue{name: "b<a"}, queue{name: "c<a"}, queue{name: "d"})
	b, c, d := lookup(t, ix, "b"), lookup(t, ix, "c"), lookup(t, ix, "d")
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		_ = quota.Order(ix, b, c) + quota.Order(ix, b, d) + quota.OrderByShare(ix, b, c) + quota.VictimOrder(ix, b, d, c)
	}))
}
