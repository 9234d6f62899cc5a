package quota_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestReturns changes the example of Returns: a department has 8 cards. a1 has 8 and deserves 4, and a2 deserves 4.
func TestReturns(t *testing.T) {
	type change = func(queues map[string]*queue)
	allocated := func(name string, n float64) change {
		return func(q map[string]*queue) { q[name].allocated = res{gpu: n} }
	}
	inqueue := func(name string, n float64) change {
		return func(q map[string]*queue) { q[name].inqueue = res{gpu: n} }
	}
	tests := []struct {
		name      string
		change    []change
		queue     string
		preempted float64
		spared    string // a queue that reclaim takes nothing from
		fenced    string
		most      float64 // the largest minimum that is admitted
	}{
		{name: "what a2 deserves", queue: "a2", most: 4},
		{name: "less is left of what it deserves", queue: "a2", change: []change{allocated("a2", 1), allocated("a1", 7)}, most: 3},
		{name: "it is promised already", queue: "a2", change: []change{inqueue("a2", 3)}, most: 1},
		{name: "a sibling is promised a part", queue: "a2", change: []change{inqueue("a3", 1)}, most: 3},
		{name: "a sibling has more than it deserves by its guarantee", queue: "a2",
			change: []change{func(q map[string]*queue) { q["a1"].guarantee = res{gpu: 6} }}, most: 2},
		{name: "what is elastic is given back anyway", queue: "a2",
			change: []change{func(q map[string]*queue) { q["a1"].elastic = res{gpu: 3} }}, most: 4},
		{name: "beyond what it deserves, what idles", queue: "a2", change: []change{allocated("a1", 2)}, most: 6},
		{name: "who has more than it deserves gets nothing back", queue: "a1", most: 0},
		{name: "reclaim spares the sibling", queue: "a2", spared: "a1", most: 0},
		{name: "a fence around the queue", queue: "a2", fenced: "a2", most: 0},
		{name: "a fence around the sibling", queue: "a2", fenced: "a1", most: 0},
		{name: "preempt in the queue", queue: "a1", preempted: 3, most: 3},
		{name: "preempt, and reclaim", queue: "a2", preempted: 2, change: []change{allocated("a2", 2), allocated("a1", 6)}, most: 4},
		{name: "the department gives back to another one", queue: "b1", most: 4},
		{name: "an inner queue gives back what its children have beyond what they deserve", queue: "b1",
			change: []change{func(q map[string]*queue) { q["a1"].deserved = res{gpu: 6} }}, most: 2},
		{name: "an inner queue keeps what it deserves", queue: "b1",
			change: []change{func(q map[string]*queue) { q["a"].deserved = res{gpu: 7} }}, most: 1},
		{name: "its siblings first", queue: "b1", change: []change{allocated("b2", 6), allocated("a1", 2)}, most: 4},
		{name: "a queue between has what it deserves", queue: "b1", change: []change{allocated("b2", 4), allocated("a1", 4), func(q map[string]*queue) {
			q["b2"].deserved, q["a"].deserved, q["a1"].deserved = res{gpu: 4}, res{gpu: 2}, res{gpu: 2}
		}}, most: 0},
		{name: "the siblings in the department, and then the other department", queue: "b1",
			change: []change{allocated("b2", 4), allocated("a1", 4)}, most: 4},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			queues := []queue{
				{name: "root", bound: res{gpu: 8}},
				{name: "a", bound: res{gpu: 8}, deserved: res{gpu: 4}}, {name: "b", bound: res{gpu: 8}, deserved: res{gpu: 4}},
				{name: "a1<a", bound: res{gpu: 8}, deserved: res{gpu: 4}, allocated: res{gpu: 8}},
				{name: "a2<a", bound: res{gpu: 8}, deserved: res{gpu: 4}}, {name: "a3<a", bound: res{gpu: 8}},
				{name: "b1<b", bound: res{gpu: 8}, deserved: res{gpu: 4}}, {name: "b2<b", bound: res{gpu: 8}},
			}
			byName := map[string]*queue{}
			for i := range queues {
				name, _, _ := strings.Cut(queues[i].name, "<")
				byName[name] = &queues[i]
			}
			for _, change := range test.change {
				change(byName)
			}
			ix := session("root", queues...)
			q := lookup(t, ix, test.queue)
			var returns quota.Returns
			returns.Read(ix, &index.Names{}, quota.Giving{
				Leaf:   func(p index.Queue) bool { return ix.Name(p) != test.spared },
				Fenced: func(p index.Queue) bool { return ix.Name(p) == test.fenced },
			})
			returns.Raise(q, res{gpu: test.preempted}.vector())
			if test.most > 0 {
				assert.True(t, quota.EnqueueableCard(ix, q, gpu, test.most).OK(), "%v", test.most)
				assert.True(t, quota.Enqueueable(ix, q, res{gpu: test.most}.vector()).OK(), "%v", test.most)
			}
			assert.False(t, quota.EnqueueableCard(ix, q, gpu, test.most+1).OK(), "%v", test.most+1)
			assert.False(t, quota.Enqueueable(ix, q, res{gpu: test.most + 1}.vector()).OK(), "%v", test.most+1)

			returns.Lower()
			assert.Equal(t, &ix.RealCapability, ix.AdmissionBounds(0), "the bounds are those of before")
		})
	}
}

// TestReturnsToAll raises the bounds of queues that are not on the path of a question, and keeps them.
func TestReturnsToAll(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{gpu: 8}},
		queue{name: "a", bound: res{gpu: 8}, deserved: res{gpu: 4}, allocated: res{gpu: 8}},
		queue{name: "b", bound: res{gpu: 6}, deserved: res{gpu: 4}}, queue{name: "c", bound: res{gpu: fastres.MaxQuantity}})
	a, b, c := lookup(t, ix, "a"), lookup(t, ix, "b"), lookup(t, ix, "c")
	var returns quota.Returns
	returns.Read(ix, &index.Names{}, quota.Giving{Leaf: func(index.Queue) bool { return true }, Fenced: func(index.Queue) bool { return false }})
	bounds := func() (at [4]float64) {
		for i, q := range []index.Queue{ix.Root(), a, b, c} {
			at[i] = ix.AdmissionBounds(q).At(q, gpu)
		}
		return at
	}

	returns.RaiseAll(func(q index.Queue) fastres.Vector {
		if q == b {
			return res{gpu: 1}.vector()
		}
		return res{}.vector()
	})
	all := [4]float64{8 + 4 + 1, 8, 6 + 1, fastres.MaxQuantity}
	assert.Equal(t, all, bounds())

	assert.True(t, returns.Raise(b, res{}.vector()))
	assert.Equal(t, [4]float64{8 + 4, 8, 4, fastres.MaxQuantity}, bounds())

	assert.False(t, returns.Raise(a, res{}.vector()), "nothing is given back to a")
	assert.Equal(t, [4]float64{8, 8, 7, fastres.MaxQuantity}, bounds())
}
