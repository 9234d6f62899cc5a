package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// terminating marks a part of the allocation of a queue as the allocation of pods that are being deleted.
func terminating(t *testing.T, ix *index.Index, name string, part res) {
	t.Helper()
	for _, q := range ix.Path(lookup(t, ix, name)) {
		ix.Terminating.Row(q).Add(part.vector())
	}
}

// ended returns the accounts once the pods that are being deleted are gone.
func ended(ix *index.Index) index.Overlay {
	future := index.Over(ix)
	for q := range index.Queue(ix.Len()) {
		future.Mutable(q).Sub(ix.Terminating.Row(q))
	}
	return future
}

// TestRulesReadTheFuture asks about queues with pods that terminate. These pods count neither for the reclaimer's queue
// nor for the victim's queue.
func TestRulesReadTheFuture(t *testing.T) {
	ix := session("", queue{name: "to", allocated: res{gpu: 2}, bound: res{gpu: 2}, deserved: res{gpu: 2}},
		queue{name: "q", allocated: res{gpu: 4}, deserved: res{gpu: 3}})
	to, q, one := lookup(t, ix, "to"), lookup(t, ix, "q"), res{gpu: 1}.vector()
	for _, ends := range []bool{false, true} {
		if ends {
			terminating(t, ix, "to", res{gpu: 1})
		}
		future := ended(ix)
		assert.Equal(t, ends, preemption(ix, &future).Preemptive(to, one).OK())
		assert.Equal(t, ends, preemption(ix, &future).PreemptiveCard(to, gpu, 1).OK())
		var victims quota.Victims
		victims.Reset(ix, &future, &index.Names{})
		victims.Begin(&future)
		assert.Equal(t, ends, victims.TakeDamped(q, one, to, one, 1))
	}
	terminating(t, ix, "q", res{gpu: 1})
	future := ended(ix)
	victims := quota.Victims{}
	victims.Reset(ix, &future, &index.Names{})
	victims.Begin(&future)
	assert.False(t, victims.Take(q, one, to, one), "q will have what it deserves")
}

// TestOverlayOfAnOverlay changes an overlay of an overlay. The accounts below stay as they are.
func TestOverlayOfAnOverlay(t *testing.T) {
	ix := session("root", queue{name: "root"}, queue{name: "q", allocated: res{gpu: 3}}, queue{name: "other", allocated: res{gpu: 1}})
	q, other, scratch := lookup(t, ix, "q"), lookup(t, ix, "other"), fastres.NewVector(dims)
	first := index.Over(ix)
	quota.Refund(&first, q, res{gpu: 2}.vector(), scratch)
	second := index.Over(&first)
	quota.Charge(&second, other, res{gpu: 5}.vector())
	requireAllocated(t, ix, &second, map[string]res{"q": {gpu: 1}, "other": {gpu: 6}, "root": {gpu: 7}})
	requireAllocated(t, ix, &first, map[string]res{"q": {gpu: 1}, "other": {gpu: 1}, "root": {gpu: 2}})
	requireAllocated(t, ix, ix, map[string]res{"q": {gpu: 3}, "other": {gpu: 1}, "root": {gpu: 4}})
	assert.Equal(t, []index.Queue{q, ix.Root()}, first.Changed())
	assert.Equal(t, []index.Queue{other, ix.Root()}, second.Changed())
}
