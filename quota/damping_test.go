package quota_test

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// TestTakeDamped takes a task of one cpu from q. q and the reclaimer's queue are both two
// levels below their lowest common ancestor.
func TestTakeDamped(t *testing.T) {
	over, even := queue{allocated: res{cpu: 9}, deserved: res{cpu: 8}}, queue{allocated: res{cpu: 9}, deserved: res{cpu: 9}}
	tests := []struct {
		name                        string
		q, above, to, aboveTo, both queue // allocated of above, aboveTo and both: their own part, without their children
		levels                      int
		want                        bool
	}{
		{"the victim's queue is over deserved", over, queue{deserved: res{cpu: 1}}, queue{deserved: res{cpu: 1}}, queue{deserved: res{cpu: 1}}, queue{}, 1, true},
		{"the victim's queue is not over deserved", even, queue{deserved: res{cpu: 1}}, queue{deserved: res{cpu: 1}}, queue{deserved: res{cpu: 1}}, queue{}, 1, false},
		{"its parent is not over deserved", over, queue{deserved: res{cpu: 9}}, queue{deserved: res{cpu: 1}}, queue{deserved: res{cpu: 1}}, queue{}, 1, false},
		{"its parent is not over deserved, at 0 levels", over, queue{deserved: res{cpu: 9}}, queue{deserved: res{cpu: 1}}, queue{deserved: res{cpu: 1}}, queue{}, 0, true},
		{"its parent would fall below guarantee", over, queue{deserved: res{cpu: 1}, guarantee: res{cpu: 9}}, queue{deserved: res{cpu: 1}},
			queue{deserved: res{cpu: 1}}, queue{}, 1, false},
		{"its parent is over deserved by its own part", over, queue{allocated: res{cpu: 1}, deserved: res{cpu: 9}}, queue{deserved: res{cpu: 1}},
			queue{deserved: res{cpu: 1}}, queue{}, 1, true},
		{"the reclaimer's queue would exceed deserved", over, queue{}, queue{allocated: res{cpu: 1}, deserved: res{cpu: 1}}, queue{}, queue{}, 1, false},
		{"the reclaimer's queue would reach deserved", over, queue{}, queue{allocated: res{cpu: 1}, deserved: res{cpu: 2}}, queue{}, queue{}, 1, true},
		{"the reclaimer's queue is over in another dimension", over, queue{}, queue{allocated: res{memory: 5}, deserved: res{cpu: 1, memory: 1}}, queue{}, queue{}, 1, true},
		{"the reclaimer's parent would exceed deserved", over, queue{}, queue{deserved: res{cpu: 1}},
			queue{allocated: res{cpu: 4}, deserved: res{cpu: 4}}, queue{}, 1, false},
		{"the reclaimer's parent would exceed deserved, at 0 levels", over, queue{}, queue{deserved: res{cpu: 1}},
			queue{allocated: res{cpu: 4}, deserved: res{cpu: 4}}, queue{}, 0, true},
		{"the LCA does not count", over, queue{}, queue{deserved: res{cpu: 1}}, queue{},
			queue{deserved: res{cpu: 1}, guarantee: res{cpu: 99}}, 9, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.q.name, test.above.name, test.to.name, test.aboveTo.name, test.both.name = "q<above", "above<both", "to<aboveTo", "aboveTo<both", "both"
			ix := session("root", queue{name: "root"}, test.both, test.above, test.q, test.aboveTo, test.to)
			victims := victimsOf(ix)
			one := res{cpu: 1}.vector()
			assert.Equal(t, test.want, victims.TakeDamped(lookup(t, ix, "q"), one, lookup(t, ix, "to"), one, test.levels))
			assert.False(t, victims.TakeDamped(lookup(t, ix, "q"), res{gpu: 1}.vector(), lookup(t, ix, "to"), one, test.levels), "a victim without a common dimension")
		})
	}
}

// TestTakeDampedCountsVictimsAsGone takes victims from two queues. Their parent is above
// its deserved by two.
func TestTakeDampedCountsVictimsAsGone(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "above", deserved: res{cpu: 8}},
		queue{name: "a<above", allocated: res{cpu: 5}, deserved: res{cpu: 1}}, queue{name: "b<above", allocated: res{cpu: 5}, deserved: res{cpu: 1}},
		queue{name: "to", deserved: res{cpu: 9}}, queue{name: "near<above", deserved: res{cpu: 9}})
	a, b, to, near, one := lookup(t, ix, "a"), lookup(t, ix, "b"), lookup(t, ix, "to"), lookup(t, ix, "near"), res{cpu: 1}.vector()
	victims := victimsOf(ix)
	for range 2 {
		assert.True(t, victims.TakeDamped(a, one, to, one, 1))
		assert.True(t, victims.TakeDamped(b, one, to, one, 1))
		assert.False(t, victims.TakeDamped(a, one, to, one, 1), "the parent has 8 left, which it deserves")
		assert.True(t, victims.TakeDamped(a, one, near, one, 1), "the parent is a common ancestor")
		victims.Begin()
	}
	requireAllocated(t, ix, ix, map[string]res{"a": {cpu: 5}, "b": {cpu: 5}, "above": {cpu: 10}})

	inner := victims.TakeDamped(lookup(t, ix, "above"), one, near, one, 1)
	assert.True(t, inner, "a job in an inner queue: 10 of 8")
	assert.True(t, victims.TakeDamped(lookup(t, ix, "above"), one, near, one, 1))
	assert.False(t, victims.TakeDamped(lookup(t, ix, "above"), one, near, one, 1))
}

func TestOrderByReclaim(t *testing.T) {
	ix := session("root", queue{name: "root"},
		queue{name: "a", deserved: res{cpu: 10, memory: 10}, share: 0.9}, queue{name: "b", deserved: res{cpu: 10, memory: 10}, share: 0.1},
		queue{name: "a1<a", allocated: res{cpu: 3, memory: 12}, deserved: res{cpu: 5, memory: 5}, share: 0.9},
		queue{name: "a2<a", allocated: res{cpu: 1}, deserved: res{cpu: 5, memory: 5}, share: 0.1},
		queue{name: "a3<a", allocated: res{cpu: 5}, deserved: res{cpu: 15}, share: 0.1},
		queue{name: "b1<b", allocated: res{cpu: 1}, deserved: res{cpu: 5, memory: 5}, share: 0.1})
	const before, none, after = -1, 0, 1
	var names index.Names
	for _, test := range []struct {
		name    string
		pending map[string][]res
		l, r    string
		levels  int
		want    int
	}{
		{"nothing is pending", nil, "a1", "a2", 1, none},
		{"one deserves its pending task", map[string][]res{"a1": {{cpu: 2}}}, "a1", "a2", 1, before},
		{"one would exceed deserved", map[string][]res{"a1": {{cpu: 3}}}, "a1", "a2", 1, none},
		{"one would exceed deserved in one dimension", map[string][]res{"a1": {{cpu: 2, memory: 1}}}, "a1", "a2", 1, none},
		{"a dimension that deserved does not name", map[string][]res{"a1": {{cpu: 2, gpu: 1}}}, "a1", "a2", 1, before},
		{"only a dimension that deserved does not name", map[string][]res{"a1": {{gpu: 1}}}, "a1", "a2", 1, none},
		{"both deserve their pending tasks: neither goes first", map[string][]res{"a1": {{cpu: 1}}, "a2": {{cpu: 1}}}, "a1", "a2", 1, none},
		{"one of many", map[string][]res{"a2": {{cpu: 5}, {gpu: 1}, {cpu: 2, memory: 6}, {cpu: 3, memory: 5}}}, "a2", "a1", 1, before},
		{"each is too large in another dimension", map[string][]res{"a2": {{cpu: 5, memory: 1}, {cpu: 1, memory: 6}}}, "a2", "a1", 1, none},
		{"a dimension more", map[string][]res{"a2": {{gpu: 1}, {gpu: 1, cpu: 1}}}, "a2", "a1", 1, before},
		{"the smaller one, whatever comes first", map[string][]res{"a2": {{cpu: 4, memory: 5}, {cpu: 9, memory: 9}}}, "a2", "a1", 1, before},
		{"an ancestor would exceed deserved", map[string][]res{"a3": {{cpu: 2}}}, "a3", "b1", 1, none},
		{"an ancestor that is not asked", map[string][]res{"a3": {{cpu: 2}}}, "a3", "b1", 0, before},
		{"a common ancestor does not count", map[string][]res{"a3": {{cpu: 2}}}, "a3", "a1", 1, before},
		{"a pending task of a sibling", map[string][]res{"a2": {{cpu: 1}}}, "a1", "b1", 1, none},
		{"an inner queue", map[string][]res{"a2": {{cpu: 1}}}, "a2", "b", 1, none},
	} {
		pending := &quota.Pending{}
		pending.Reset(ix, &names)
		for range 2 { // each is added twice
			for name, requests := range test.pending {
				for _, request := range requests {
					pending.Add(lookup(t, ix, name), choices(request), 0, anywhere)
				}
			}
		}
		l, r := lookup(t, ix, test.l), lookup(t, ix, test.r)
		assert.Equal(t, test.want, quota.OrderByReclaim(ix, pending, l, r, test.levels), test.name)
		assert.Equal(t, -test.want, quota.OrderByReclaim(ix, pending, r, l, test.levels), test.name)
	}
	flat := session("", queue{name: "x", deserved: res{cpu: 5}, share: 1}, queue{name: "y", share: 0.5})
	pending := &quota.Pending{}
	pending.Reset(flat, &names)
	pending.Add(flat.Lookup("x"), choices(res{cpu: 5}), 0, anywhere)
	assert.Equal(t, before, quota.OrderByReclaim(flat, pending, flat.Lookup("x"), flat.Lookup("y"), 1), "flat")
	assert.Equal(t, after, quota.Order(flat, flat.Lookup("x"), flat.Lookup("y")))
	assert.Zero(t, testing.AllocsPerRun(99, func() { quota.OrderByReclaim(flat, pending, index.Queue(0), index.Queue(1), 1) }))
}

// choices are the rows that Pending.Add expects.
func choices(requests ...res) *fastres.Rows {
	rows := &fastres.Rows{}
	rows.Reset(0, dims)
	for _, request := range requests {
		rows.Append(request.vector())
	}
	return rows
}

// anywhere is for tasks that have room on the same nodes.
func anywhere(int, int) bool { return true }

// TestPendingKeepsWhatFitsElsewhere adds a larger task that has room where the smaller one has none.
func TestPendingKeepsWhatFitsElsewhere(t *testing.T) {
	flat := session("", queue{name: "x", deserved: res{cpu: 5}}, queue{name: "y", share: 0.5})
	for _, order := range [][]int{{1, 2}, {2, 1}} {
		pending := &quota.Pending{}
		pending.Reset(flat, &index.Names{})
		for _, size := range order {
			pending.Add(0, choices(res{cpu: float64(size)}), size, func(x, y int) bool { return x == y })
		}
		assert.Equal(t, 2, pending.Len(0))
		pending.Keep(func(number, _ int) bool { return number == 2 })
		assert.Equal(t, -1, quota.OrderByReclaim(flat, pending, 0, 1, 1), "queue x can reclaim for the task that has room")
	}
}

// TestPendingKeepsLargerLists adds tasks with lists of two cards. The larger one cannot borrow card
// B, so its claim is better.
func TestPendingKeepsLargerLists(t *testing.T) {
	var names index.Names
	a, b := names.InternCard("A"), names.InternCard("B")
	flat := session("", queue{name: "x", bound: res{a: 9, b: 1}, deserved: res{a: 9}}, queue{name: "y", bound: res{a: 9, b: 9}, deserved: res{a: 9}})
	pending := &quota.Pending{}
	pending.Reset(flat, &names)
	pending.Add(0, choices(res{a: 1}, res{b: 1}), 0, anywhere)
	pending.Add(1, choices(res{a: 1}, res{b: 1}), 1, anywhere)
	assert.Zero(t, quota.OrderByReclaim(flat, pending, 0, 1, 1), "both may borrow")
	for range 2 {
		pending.Add(0, choices(res{a: 2}, res{b: 2}), 2, anywhere)
	}
	assert.Equal(t, 2, pending.Len(0))
	assert.Equal(t, -1, quota.OrderByReclaim(flat, pending, 0, 1, 1))
}

// TestOrderOfChoices orders queues with pending tasks that have lists of two cards.
func TestOrderOfChoices(t *testing.T) {
	var names index.Names
	a, b := names.InternCard("A"), names.InternCard("B")
	none, many := res{a: 0, b: 0}, res{cpu: 9, a: 9, b: 9}
	ix := session("", queue{name: "idle", bound: many}, queue{name: "has", bound: many, deserved: res{a: 2, b: 2}, allocated: res{b: 2}},
		queue{name: "full", bound: res{cpu: 9, a: 9, b: 2}, deserved: res{a: 2, b: 2}, allocated: res{b: 2}},
		queue{name: "undeserved", bound: many, deserved: res{cpu: 9, a: 2}}, queue{name: "all", bound: many, deserved: res{a: 2, b: 2}}, queue{name: "over", bound: many, deserved: none})
	pending := &quota.Pending{}
	pending.Reset(ix, &names)
	for q := range index.Queue(ix.Len()) {
		if q != ix.Lookup("idle") {
			pending.Add(q, choices(res{cpu: 1, a: 1}, res{cpu: 1, b: 1}), 0, anywhere)
		}
	}
	want := map[string]int{"all": 2, "full": 2, "has": 1, "undeserved": 1, "over": 0, "idle": 0}
	for l := range want {
		for r := range want {
			assert.Equal(t, cmp.Compare(want[r], want[l]), quota.OrderByReclaim(ix, pending, lookup(t, ix, l), lookup(t, ix, r), 1), "%s, %s", l, r)
		}
	}
	pending.Add(ix.Lookup("has"), choices(res{a: 1}), 0, anywhere)
	assert.Zero(t, quota.OrderByReclaim(ix, pending, ix.Lookup("has"), ix.Lookup("all"), 1), "a task without a choice")
}

// TestPendingIsBounded adds many sizes, and no size is smaller than another. The queue still has a bounded number of
// sizes to compare.
func TestPendingIsBounded(t *testing.T) {
	flat := session("", queue{name: "x", deserved: res{cpu: 1e6, memory: 1e6}})
	pending := &quota.Pending{}
	pending.Reset(flat, &index.Names{})
	sizes := func() (n int) {
		for i := range 10000 {
			pending.Add(0, choices(res{cpu: float64(1 + i), memory: float64(20000 - i)}), 0, anywhere)
		}
		return pending.Len(0)
	}
	assert.Equal(t, 128, sizes())
	pending.Add(0, choices(res{cpu: 1, memory: 1}), 0, anywhere)
	assert.Equal(t, 1, pending.Len(0), "it is smaller than all others")
}
