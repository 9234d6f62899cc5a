package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

func TestEnqueueable(t *testing.T) {
	ix := session("root",
		queue{name: "root", bound: res{cpu: 100, memory: 1000}},
		queue{name: "eng", bound: res{cpu: 60, memory: 1000, gpu: 4}},
		queue{name: "prod<eng", bound: res{cpu: 50, memory: 10, gpu: 8},
			allocated: res{cpu: 30, gpu: 4}, inqueue: res{cpu: 10}, elastic: res{cpu: 5, gpu: 1}},
		queue{name: "dev<eng", bound: res{cpu: 50, memory: 1000, far: 0},
			allocated: res{cpu: 20}, inqueue: res{cpu: 3, memory: 400}, elastic: res{cpu: 8}},
		queue{name: "biz", bound: res{cpu: 100, memory: 1000}, inqueue: res{cpu: 45, memory: 600}},
		queue{name: "over", bound: res{memory: 1000}, allocated: res{cpu: 5}, elastic: res{cpu: 5}})
	tests := []struct {
		name, queue string
		min         res
		want        string
	}{
		{"room everywhere", "prod", res{cpu: 5, memory: 0}, "Admitted at prod"},
		{"the tolerance does not apply", "prod", res{cpu: 10.05}, "OverQuota at eng"},
		{"the queue lacks room", "prod", res{cpu: 16}, "OverQuota at prod"},
		{"its parent lacks room", "prod", res{cpu: 11}, "OverQuota at eng"},
		{"the root lacks room", "biz", res{cpu: 6}, "OverQuota at root"},
		{"exactly what the root has left", "biz", res{cpu: 5}, "Admitted at biz"},
		{"inqueue of another branch fills the root", "dev", res{memory: 1}, "OverQuota at root"},
		{"a scalar that the root does not have", "prod", res{gpu: 1}, "OverQuota at root"},
		{"elastic alone makes no room", "over", res{cpu: 1}, "OverQuota at over"},
		{"a scalar with the bound 0", "dev", res{far: 1}, "OverQuota at dev"},
		{"pods do not count", "prod", res{cpu: 1, pods: 1000}, "Admitted at prod"},
		{"an empty minimum", "dev", res{}, "Admitted at dev"},
		{"0 of a scalar that no bound names", "dev", res{gpu: 0}, "Admitted at dev"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q := lookup(t, ix, test.queue)
			v := quota.Enqueueable(ix, q, test.min.vector())
			assert.Equal(t, test.want, verdict(ix, v))
			assert.Equal(t, v, quota.Enqueueable(ix, q, test.min.vector()), "the check changed something")
		})
	}
}

// TestEnqueueableTerms begins with a minimum that fits exactly, and changes each term of
// the formula by one, at the queue and at its parent.
func TestEnqueueableTerms(t *testing.T) {
	tests := []struct {
		name    string
		change  func(q *queue)
		refused bool
	}{
		{"exactly", func(*queue) {}, false},
		{"allocated", func(q *queue) { q.allocated[gpu]++ }, true},
		{"inqueue", func(q *queue) { q.inqueue[gpu]++ }, true},
		{"elastic, less", func(q *queue) { q.elastic[gpu]-- }, true},
		{"elastic, more", func(q *queue) { q.elastic[gpu]++ }, false},
		{"realCapability", func(q *queue) { q.bound[gpu]-- }, true},
		{"another dimension", func(q *queue) { q.allocated[cpu]++ }, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, level := range []string{"leaf", "parent"} {
				leaf := queue{name: "leaf<parent", bound: res{gpu: 10},
					allocated: res{gpu: 5}, inqueue: res{gpu: 4}, elastic: res{gpu: 2}}
				parent := queue{name: "parent", bound: res{gpu: 10}, allocated: res{}, inqueue: res{gpu: 1}, elastic: res{gpu: 1}}
				if level == "leaf" {
					parent.bound = res{gpu: 100}
					test.change(&leaf)
				} else {
					leaf.bound = res{gpu: 100}
					test.change(&parent)
				}
				ix := session("root", queue{name: "root", bound: res{gpu: 1000}}, leaf, parent)
				want := "Admitted at leaf"
				if test.refused {
					want = "OverQuota at " + level
				}
				assert.Equal(t, want, verdict(ix, quota.Enqueueable(ix, lookup(t, ix, "leaf"), res{gpu: 3}.vector())))
			}
		})
	}
}

func TestReservation(t *testing.T) {
	tests := []struct {
		name                        string
		min, allocated, gated, want res
	}{
		{"nothing is allocated", res{cpu: 10, gpu: 2000}, res{}, res{}, res{cpu: 10, gpu: 2000}},
		{"a part is allocated", res{cpu: 10, memory: 5, gpu: 2000}, res{cpu: 4, gpu: 500}, res{}, res{cpu: 6, memory: 5, gpu: 1500}},
		{"more than the minimum is allocated", res{cpu: 10, gpu: 2000}, res{cpu: 12, gpu: 2000}, res{}, res{}},
		{"a surplus in one dimension does not reduce another", res{cpu: 10, memory: 5}, res{cpu: 100}, res{}, res{memory: 5}},
		{"a dimension that the minimum does not name", res{cpu: 10}, res{memory: 3, gpu: 1}, res{}, res{cpu: 10}},
		{"gated pods are deducted", res{cpu: 10, gpu: 2000}, res{cpu: 2}, res{cpu: 3, gpu: 500}, res{cpu: 5, gpu: 1500}},
		{"more is gated than missing", res{cpu: 10, gpu: 2}, res{cpu: 8}, res{cpu: 3, gpu: 2}, res{gpu: 0}},
		{"no minimum", res{}, res{cpu: 8}, res{}, res{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dst := res{cpu: 77, memory: 77, far: 77}.vector() // its content does not count
			quota.Reservation(dst, test.min.vector(), test.allocated.vector(), test.gated.vector())
			assert.Equal(t, test.want, resOf(dst))
		})
	}
}

func TestRollUpInqueue(t *testing.T) {
	ten := res{cpu: 10, gpu: 10}
	tests := []struct {
		name   string
		leaf   queue // b, below a; its sibling c has an inqueue of 1 cpu
		closed string
		want   map[string]res
	}{
		{"all of it has room", queue{bound: ten, inqueue: res{cpu: 4}}, "", map[string]res{"b": {cpu: 4}, "a": {cpu: 5}, "root": {cpu: 5}}},
		{"more than the bound", queue{bound: ten, inqueue: res{cpu: 40}}, "", map[string]res{"b": {cpu: 40}, "a": {cpu: 11}, "root": {cpu: 11}}},
		{"each dimension has its bound", queue{bound: ten, inqueue: res{cpu: 4, gpu: 40}}, "",
			map[string]res{"b": {cpu: 4, gpu: 40}, "a": {cpu: 5, gpu: 10}, "root": {cpu: 5, gpu: 10}}},
		{"allocated leaves less room", queue{bound: ten, allocated: res{cpu: 8}, inqueue: res{cpu: 4}}, "", map[string]res{"b": {cpu: 4}, "a": {cpu: 3}, "root": {cpu: 3}}},
		{"what is elastic can be returned", queue{bound: ten, allocated: res{cpu: 8}, elastic: res{cpu: 1}, inqueue: res{cpu: 4}}, "",
			map[string]res{"b": {cpu: 4}, "a": {cpu: 4}, "root": {cpu: 4}}},
		{"above the bound", queue{bound: ten, allocated: res{cpu: 80}, inqueue: res{cpu: 4}}, "", map[string]res{"b": {cpu: 4}, "a": {cpu: 1}, "root": {}}},
		{"a closed leaf", queue{bound: ten, inqueue: res{cpu: 4}}, "b", map[string]res{"b": {cpu: 4}, "a": {cpu: 1}, "root": {cpu: 1}}},
		{"a closed parent", queue{bound: ten, inqueue: res{cpu: 4}}, "a", map[string]res{"b": {cpu: 4}, "a": {cpu: 5}, "root": {}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.leaf.name = "b<a"
			ix := build("root", queue{name: "root", bound: res{cpu: 100, gpu: 100}}, queue{name: "a", bound: res{cpu: 50, gpu: 50}}, test.leaf,
				queue{name: "c<a", bound: ten, inqueue: res{cpu: 1}})
			quota.RollUpInqueue(ix, func(q index.Queue) bool { return ix.Name(q) != test.closed })
			for name, want := range test.want {
				got := resOf(ix.Inqueue.Row(lookup(t, ix, name)))
				assert.Equal(t, []float64{want[cpu], want[gpu]}, []float64{got[cpu], got[gpu]}, name)
			}
		})
	}
}

// TestChargeInqueue charges in steps the amounts that RollUpInqueue adds up at once.
func TestChargeInqueue(t *testing.T) {
	bound := res{cpu: 10, gpu: 10}
	ix := session("root", queue{name: "root", bound: res{cpu: 100, gpu: 100}}, queue{name: "a", bound: res{cpu: 12, gpu: 100}},
		queue{name: "b<a", bound: bound, inqueue: res{cpu: 1}}, queue{name: "c<a", bound: bound})
	for _, step := range []struct {
		queue         string
		more          res
		b, c, a, root float64 // cpu
	}{
		{"b", res{cpu: 4, gpu: 1}, 5, 0, 5, 5},
		{"b", res{cpu: 8}, 13, 0, 10, 10},
		{"b", res{cpu: 50}, 63, 0, 10, 10},
		{"c", res{cpu: 3}, 63, 3, 13, 12},
	} {
		quota.ChangeInqueue(ix, lookup(t, ix, step.queue), step.more.vector(), 1)
		for name, want := range map[string]float64{"b": step.b, "c": step.c, "a": step.a, "root": step.root} {
			assert.Equal(t, want, ix.Inqueue.Row(lookup(t, ix, name)).Get(cpu), "%s after %v in %s", name, step.more, step.queue)
		}
		assert.Equal(t, 1.0, ix.Inqueue.Row(ix.Root()).Get(gpu))
	}
	assert.Equal(t, res{}, resOf(ix.Allocated(ix.Root())))
}

func TestEnqueueableAllocatesNothing(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{cpu: 1e6}}, queue{name: "a", bound: res{cpu: 1e6}},
		queue{name: "b<a", bound: res{cpu: 1e6}})
	b, min, reservation, none := lookup(t, ix, "b"), res{cpu: 1, pods: 1}.vector(), res{}.vector(), res{}.vector()
	admitted := true
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		admitted = admitted && quota.Enqueueable(ix, b, min).OK()
		quota.Reservation(reservation, min, none, none)
		quota.ChangeInqueue(ix, b, reservation, 1)
	}))
	assert.True(t, admitted)
}
