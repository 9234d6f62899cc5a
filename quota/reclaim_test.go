package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestTake(t *testing.T) {
	tests := []struct {
		name              string
		queue             queue
		victim, reclaimer res
		want              bool
	}{
		// 1. It requests a dimension that the reclaimer requests.
		{"no dimension in common", queue{allocated: res{cpu: 50, gpu: 4}}, res{gpu: 1}, res{cpu: 1}, false},
		{"pods in common", queue{allocated: res{cpu: 50, memory: 9, pods: 4}}, res{cpu: 1, pods: 1}, res{memory: 1, pods: 1}, false},
		{"one of several in common", queue{allocated: res{cpu: 50, gpu: 4}}, res{cpu: 1, gpu: 1}, res{gpu: 1, memory: 1}, true},
		{"a common dimension of 0", queue{allocated: res{cpu: 50, gpu: 4}}, res{cpu: 1, gpu: 0}, res{gpu: 1}, false},
		{"less than the tolerance in common", queue{allocated: res{cpu: 50}}, res{cpu: 0.05}, res{cpu: 1}, false},

		// 3. allocated − victim ≥ guarantee.
		{"exactly the guarantee", queue{allocated: res{cpu: 50}, guarantee: res{cpu: 40}}, res{cpu: 10}, res{cpu: 1}, true},
		{"below the guarantee, within the tolerance", queue{allocated: res{cpu: 50}, guarantee: res{cpu: 40.05}}, res{cpu: 10}, res{cpu: 1}, true},
		{"below the guarantee", queue{allocated: res{cpu: 50}, guarantee: res{cpu: 41}}, res{cpu: 10}, res{cpu: 1}, false},
		{"below the guarantee in one of several", queue{allocated: res{cpu: 50, gpu: 4}, guarantee: res{gpu: 4}}, res{cpu: 10, gpu: 1}, res{cpu: 1}, false},
		{"below a guarantee of a dimension that it does not request", queue{allocated: res{cpu: 50}, guarantee: res{gpu: 1}}, res{cpu: 10}, res{cpu: 1}, false},
		{"above deserved, but below the guarantee", queue{allocated: res{cpu: 50}, guarantee: res{cpu: 45}, deserved: res{cpu: 10}},
			res{cpu: 10}, res{cpu: 1}, false},
		{"a victim with more than is allocated", queue{allocated: res{cpu: 5}}, res{cpu: 10}, res{cpu: 1}, true},

		// 2. It requests no dimension that deserved names.
		{"no deserved", queue{allocated: res{cpu: 5}}, res{cpu: 1}, res{cpu: 1}, true},
		{"deserved of another dimension", queue{allocated: res{cpu: 5}, deserved: res{gpu: 4}}, res{cpu: 1}, res{cpu: 1}, true},
		{"deserved of 0", queue{allocated: res{cpu: 5, gpu: 1}, deserved: res{gpu: 0}}, res{cpu: 1, gpu: 1}, res{cpu: 1}, true},
		{"pods are in common with deserved", queue{allocated: res{cpu: 5, pods: 4}, deserved: res{pods: 4}},
			res{cpu: 1, pods: 1}, res{cpu: 1}, false},

		// 2. Or allocated > deserved in a dimension that it requests.
		{"over deserved", queue{allocated: res{cpu: 50}, deserved: res{cpu: 49}}, res{cpu: 10}, res{cpu: 1}, true},
		{"over deserved by less than the tolerance", queue{allocated: res{cpu: 50}, deserved: res{cpu: 49.95}}, res{cpu: 10}, res{cpu: 1}, true},
		{"exactly deserved", queue{allocated: res{cpu: 50}, deserved: res{cpu: 50}}, res{cpu: 10}, res{cpu: 1}, false},
		{"under deserved", queue{allocated: res{cpu: 50}, deserved: res{cpu: 51}}, res{cpu: 10}, res{cpu: 1}, false},
		{"over deserved in a dimension that it does not request", queue{allocated: res{cpu: 50, gpu: 4}, deserved: res{cpu: 60, gpu: 1}},
			res{cpu: 10}, res{cpu: 1}, false},
		{"over deserved in one of its dimensions", queue{allocated: res{cpu: 50, gpu: 4}, deserved: res{cpu: 60, gpu: 1}},
			res{cpu: 10, gpu: 1}, res{cpu: 1}, true},
		{"over in a dimension that deserved does not name", queue{allocated: res{cpu: 50, memory: 9}, deserved: res{cpu: 60}},
			res{cpu: 10, memory: 1}, res{memory: 1}, false},
		{"over a deserved of 0 that is present", queue{allocated: res{cpu: 50, gpu: 4}, deserved: res{cpu: 60, gpu: 0}},
			res{cpu: 10, gpu: 1}, res{cpu: 1}, true},
		{"over in pods alone", queue{allocated: res{cpu: 50, pods: 4}, deserved: res{cpu: 60, pods: 1}},
			res{cpu: 10, pods: 1}, res{cpu: 1}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.queue.name = "q"
			ix := session("", test.queue)
			victims := victimsOf(ix)
			q, victim, reclaimer := lookup(t, ix, "q"), test.victim.vector(), test.reclaimer.vector()
			assert.Equal(t, test.want, victims.Take(q, victim, index.None, reclaimer))
			requireAllocated(t, ix, ix, map[string]res{"q": resOf(test.queue.allocated.vector())})
			assert.Equal(t, test.victim, resOf(victim))
		})
	}
}

// calls is Victims with the overlay of its calls.
type calls struct {
	quota.Victims
	ix      *index.Index
	overlay index.Overlay
}

func victimsOf(ix *index.Index) *calls {
	c := &calls{}
	c.open(ix)
	return c
}

func (c *calls) open(ix *index.Index) {
	c.ix = ix
	c.Reset(ix, ix, &index.Names{})
	c.Begin()
}

func (c *calls) Begin() {
	c.overlay.Begin(c.ix)
	c.Victims.Begin(&c.overlay)
}

// TestTakeCountsVictimsAsGone takes one victim after another.
func TestTakeCountsVictimsAsGone(t *testing.T) {
	ix := session("root", queue{name: "root"},
		queue{name: "a", allocated: res{cpu: 50}, deserved: res{cpu: 25}},
		queue{name: "b", allocated: res{cpu: 50, gpu: 2}, guarantee: res{cpu: 35}})
	a, b, ten := lookup(t, ix, "a"), lookup(t, ix, "b"), res{cpu: 10}.vector()
	victims := victimsOf(ix)
	for range 3 {
		for i, want := range []bool{true, true, true, false, false} { // 50, 40, 30 > 25
			assert.Equal(t, want, victims.Take(a, ten, index.None, ten), "victim %d of a", i)
		}
		assert.True(t, victims.Take(b, ten, index.None, ten), "victims of a do not count for b")
		for range 3 {
			assert.False(t, victims.Take(b, ten, index.None, ten), "30 is below the guarantee of 35")
		}
		assert.True(t, victims.Take(b, res{cpu: 5}.vector(), index.None, ten), "a task that is spared does not count as gone")
		assert.False(t, victims.Take(b, res{cpu: 1}.vector(), index.None, ten))
		victims.Begin() // all tasks count again
	}
	requireAllocated(t, ix, ix, map[string]res{"a": {cpu: 50}, "b": {cpu: 50, gpu: 2}, "root": {cpu: 100, gpu: 2}})
}

// TestBeginSeesCharges charges between two calls. The second call sees the charge.
func TestBeginSeesCharges(t *testing.T) {
	ix := session("", queue{name: "a", allocated: res{cpu: 20}, deserved: res{cpu: 15}})
	a, ten := lookup(t, ix, "a"), res{cpu: 10}.vector()
	victims := victimsOf(ix)
	assert.True(t, victims.Take(a, ten, index.None, ten))
	assert.False(t, victims.Take(a, ten, index.None, ten))
	quota.Charge(ix, a, ten)
	victims.Begin()
	assert.True(t, victims.Take(a, ten, index.None, ten))
	assert.True(t, victims.Take(a, ten, index.None, ten), "20 of 15")
	assert.False(t, victims.Take(a, ten, index.None, ten))

	next := session("", queue{name: "a", allocated: res{cpu: 16}, deserved: res{cpu: 15}}, queue{name: "b"})
	victims.open(next)
	victims.Begin() // as many calls as in the session before
	assert.True(t, victims.Take(lookup(t, next, "a"), ten, index.None, ten), "the next session")
	assert.False(t, victims.Take(lookup(t, next, "a"), ten, index.None, ten))
}

func TestTakeOverused(t *testing.T) {
	tests := []struct {
		name   string
		queue  queue
		victim res
		want   []bool // of one victim after another
	}{
		{"over deserved", queue{allocated: res{cpu: 50}, deserved: res{cpu: 25}}, res{cpu: 10}, []bool{true, true, true, false}},
		{"exactly deserved", queue{allocated: res{cpu: 50}, deserved: res{cpu: 50}}, res{cpu: 10}, []bool{false, false}},
		{"over within the tolerance", queue{allocated: res{cpu: 50.05}, deserved: res{cpu: 50}}, res{cpu: 10}, []bool{false}},
		{"over in a dimension that the victim does not request", queue{allocated: res{cpu: 50, gpu: 4}, deserved: res{cpu: 60}}, res{cpu: 10},
			[]bool{true, true, true, true, true, true}},
		{"no deserved", queue{allocated: res{cpu: 15}}, res{cpu: 10}, []bool{true, true, false}},
		{"the guarantee does not count", queue{allocated: res{cpu: 15}, guarantee: res{cpu: 15}}, res{cpu: 10}, []bool{true, true, false}},
		{"nothing allocated", queue{}, res{cpu: 10}, []bool{false}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.queue.name = "q"
			ix := session("", test.queue, queue{name: "other", allocated: res{cpu: 1}})
			q, victims := lookup(t, ix, "q"), victimsOf(ix)
			for range 2 {
				for i, want := range test.want {
					assert.Equal(t, want, victims.TakeOverused(q, test.victim.vector()), "victim %d", i)
				}
				assert.True(t, victims.TakeOverused(lookup(t, ix, "other"), test.victim.vector()))
				victims.Begin()
			}
			requireAllocated(t, ix, ix, map[string]res{"q": resOf(test.queue.allocated.vector()), "other": {cpu: 1}})
		})
	}
}

func TestTakeAllocatesNothing(t *testing.T) {
	ix := session("", queue{name: "a", allocated: res{cpu: 50, far: 3}, deserved: res{cpu: 15}})
	a, victim, victims := lookup(t, ix, "a"), res{cpu: 10, far: 1}.vector(), victimsOf(ix)
	taken := 0
	assert.Zero(t, testing.AllocsPerRun(99, func() {
		victims.Begin()
		for victims.Take(a, victim, index.None, victim) {
			taken++
		}
		victims.Begin()
		for victims.TakeOverused(a, victim) {
			taken++
		}
	}))
	assert.Greater(t, taken, 400)
}

// TestTakeContended compares the ancestors of a victim with their deserved amounts, two levels up. The reclaimer's
// queue is to, and sub and flat are queues of the same department.
func TestTakeContended(t *testing.T) {
	for _, test := range []struct {
		name, from string
		dept, sub  float64 // deserved
		want       bool
	}{
		{"the department is as many levels above both", "flat", 9, 0, true},
		{"the department is higher above the victim, and has what it deserves", "deep", 9, 0, false},
		{"the department is higher above the victim, and has more", "deep", 5, 0, true},
		{"the queue between has what it deserves", "deep", 5, 3, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			ix := session("root", queue{name: "root"}, queue{name: "dept", deserved: res{gpu: test.dept}},
				queue{name: "to<dept", deserved: res{gpu: 1}}, queue{name: "flat<dept", allocated: res{gpu: 3}, deserved: res{gpu: 0}},
				queue{name: "sub<dept", deserved: res{gpu: test.sub}}, queue{name: "deep<sub", allocated: res{gpu: 3}, deserved: res{gpu: 0}})
			one := res{gpu: 1}.vector()
			taken := victimsOf(ix).TakeContended(lookup(t, ix, test.from), one, lookup(t, ix, "to"), one, true, 2)
			assert.Equal(t, test.want, taken)
		})
	}
}
