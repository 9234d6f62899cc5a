package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// terminating makes a part of what a queue has that of pods which are being deleted.
func terminating(t *testing.T, ix *index.Index, name string, part res) {
	t.Helper()
	for _, q := range ix.Path(lookup(t, ix, name)) {
		ix.Terminating.Row(q).Add(part.vector())
	}
}

// TestFuture is the example of Future: three pods of one card, of which two end for a gang that
// needs four.
func TestFuture(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "q", allocated: res{gpu: 3}}, queue{name: "other", allocated: res{gpu: 1}})
	q, other, scratch := lookup(t, ix, "q"), lookup(t, ix, "other"), fastres.NewVector(dims)
	terminating(t, ix, "q", res{gpu: 2})
	var future quota.Future
	future.Reset(ix)
	requireAllocated(t, ix, &future, map[string]res{"q": {gpu: 1}, "other": {gpu: 1}, "root": {gpu: 2}})

	gang := res{gpu: 4}.vector()
	quota.Charge(&future, q, gang)
	requireAllocated(t, ix, &future, map[string]res{"q": {gpu: 5}, "other": {gpu: 1}, "root": {gpu: 6}})
	requireAllocated(t, ix, ix, map[string]res{"q": {gpu: 3}, "other": {gpu: 1}, "root": {gpu: 4}})

	for name, at := range map[string]index.Queue{"q": q, "other": other} { // other has no row of its own
		quota.Charge(ix, at, res{gpu: 1}.vector())
		future.Charged(at, res{gpu: 1}.vector())
		assert.Equal(t, 7.0, future.Allocated(ix.Root()).Get(gpu), name)
		future.Refunded(at, quota.Refund(ix, at, res{gpu: 1}.vector(), scratch))
	}
	quota.Refund(&future, q, gang, scratch)
	requireAllocated(t, ix, &future, map[string]res{"q": {gpu: 1}, "other": {gpu: 1}, "root": {gpu: 2}})
}

// TestFutureWithoutDifference reads a Future of a session in which nothing terminates, after one
// in which something did.
func TestFutureWithoutDifference(t *testing.T) {
	ix := session("", queue{name: "q", allocated: res{gpu: 3}})
	terminating(t, ix, "q", res{gpu: 3})
	var future quota.Future
	future.Reset(ix)
	assert.True(t, future.Differs())
	next := session("", queue{name: "q", allocated: res{gpu: 3}})
	future.Reset(next)
	assert.False(t, future.Differs())
	quota.Charge(next, lookup(t, next, "q"), res{gpu: 1}.vector())
	requireAllocated(t, next, &future, map[string]res{"q": {gpu: 4}})
}

// TestFutureOfASnapshot copies what will be to a snapshot: the queues that differ, and no other.
func TestFutureOfASnapshot(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "q", allocated: res{gpu: 3}}, queue{name: "other", allocated: res{gpu: 1}})
	terminating(t, ix, "q", res{gpu: 2})
	var future quota.Future
	future.Reset(ix)
	snapshot := ix.Version().Overlay()
	future.CopyTo(&snapshot)
	requireAllocated(t, ix, &snapshot, map[string]res{"q": {gpu: 1}, "other": {gpu: 1}, "root": {gpu: 2}})
	requireAllocated(t, ix, ix, map[string]res{"q": {gpu: 3}, "other": {gpu: 1}, "root": {gpu: 4}})
}

// TestRulesReadTheFuture asks about queues whose pods end: neither the reclaimer's nor the victim's
// count them.
func TestRulesReadTheFuture(t *testing.T) {
	ix := session("", queue{name: "to", allocated: res{gpu: 2}, bound: res{gpu: 2}, deserved: res{gpu: 2}},
		queue{name: "q", allocated: res{gpu: 4}, deserved: res{gpu: 3}})
	to, q, one := lookup(t, ix, "to"), lookup(t, ix, "q"), res{gpu: 1}.vector()
	for _, ends := range []bool{false, true} {
		if ends {
			terminating(t, ix, "to", res{gpu: 1})
		}
		var future quota.Future
		future.Reset(ix)
		assert.Equal(t, ends, quota.Preemptive(ix, &future, &ix.RealCapability, to, one, 0).OK())
		assert.Equal(t, ends, quota.PreemptiveCard(ix, &future, &ix.RealCapability, to, gpu, 1, 0).OK())
		var victims quota.Victims
		victims.Reset(ix, &future, &index.Names{})
		victims.Begin()
		assert.Equal(t, ends, victims.TakeDamped(q, one, to, one, 1))
	}
	terminating(t, ix, "q", res{gpu: 1})
	var future quota.Future
	future.Reset(ix)
	victims := quota.Victims{}
	victims.Reset(ix, &future, &index.Names{})
	victims.Begin()
	assert.False(t, victims.Take(q, one, to, one), "q will have what it deserves")
}

// TestDraft changes a draft of a draft. The accounts below stay as they are.
func TestDraft(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "q", allocated: res{gpu: 3}}, queue{name: "other", allocated: res{gpu: 1}})
	q, other, scratch := lookup(t, ix, "q"), lookup(t, ix, "other"), fastres.NewVector(dims)
	first := &quota.Draft{Accounts: ix}
	quota.Refund(first, q, res{gpu: 2}.vector(), scratch)
	second := &quota.Draft{Accounts: first}
	quota.Charge(second, other, res{gpu: 5}.vector())
	requireAllocated(t, ix, second, map[string]res{"q": {gpu: 1}, "other": {gpu: 6}, "root": {gpu: 7}})
	requireAllocated(t, ix, first, map[string]res{"q": {gpu: 1}, "other": {gpu: 1}, "root": {gpu: 2}})
	requireAllocated(t, ix, ix, map[string]res{"q": {gpu: 3}, "other": {gpu: 1}, "root": {gpu: 4}})
	assert.Equal(t, []index.Queue{q, ix.Root()}, first.Changed())
	assert.Equal(t, []index.Queue{other, ix.Root()}, second.Changed())
}
