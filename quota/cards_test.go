package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Two cards, in different presence words.
const (
	cardA = gpu
	cardB = far
)

// TestCardFits compares one dimension at every queue of the path, without tolerance.
func TestCardFits(t *testing.T) {
	tests := []struct {
		name         string
		queue, inner queue
		cards        []fastres.Dim
		want         string
	}{
		{"exactly what is left", queue{bound: res{cardA: 4}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 9}},
			[]fastres.Dim{cardA}, "Admitted at q"},
		{"the queue lacks room", queue{bound: res{cardA: 3}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 9}},
			[]fastres.Dim{cardA}, "OverQuota at q"},
		{"no tolerance", queue{bound: res{cardA: 3.95}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 9}},
			[]fastres.Dim{cardA}, "OverQuota at q"},
		{"the inner queue lacks room", queue{bound: res{cardA: 9}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 4}, allocated: res{cardA: 1}},
			[]fastres.Dim{cardA}, "OverQuota at inner"},
		{"the second card of the list fits", queue{bound: res{cardA: 1, cardB: 2}}, queue{bound: res{cardA: 9, cardB: 2}},
			[]fastres.Dim{cardA, cardB}, "Admitted at q"},
		{"different queues refuse the two cards", queue{bound: res{cardA: 9, cardB: 1}}, queue{bound: res{cardA: 1, cardB: 9}},
			[]fastres.Dim{cardA, cardB}, "OverQuota at q"},
		{"a card without quota", queue{bound: res{cardA: 9}}, queue{bound: res{cardA: 9}}, []fastres.Dim{cardB}, "OverQuota at q"},
		{"an empty list", queue{bound: res{cardA: 9}}, queue{bound: res{cardA: 9}}, nil, "OverQuota at q"},
		{"other dimensions do not count", queue{bound: res{cardA: 2}, allocated: res{cpu: 9}}, queue{bound: res{cardA: 2}},
			[]fastres.Dim{cardA}, "Admitted at q"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.queue.name, test.inner.name = "q<inner", "inner"
			ix := session("root", queue{name: "root", bound: res{cardA: 99, cardB: 99}}, test.inner, test.queue)
			q := lookup(t, ix, "q")
			assert.Equal(t, test.want, verdict(ix, quota.AnyCard(q, test.cards, func(d fastres.Dim) quota.Verdict {
				return quota.CardFits(ix, &ix.RealCapability, q, d, 2)
			})))
			if len(test.cards) == 1 {
				assert.Equal(t, test.want, verdict(ix, quota.CardFits(ix, &ix.RealCapability, q, test.cards[0], 2)))
				assert.Equal(t, test.want, verdict(ix, quota.EnqueueableCard(ix, q, test.cards[0], 2)))
			}
		})
	}
}

// TestEnqueueableCard counts inqueue and elastic.
func TestEnqueueableCard(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{cardA: 8}}, queue{name: "other", allocated: res{cardA: 1}, elastic: res{cardA: 1}},
		queue{name: "q", bound: res{cardA: 8}, allocated: res{cardA: 4}, inqueue: res{cardA: 3}, elastic: res{cardA: 2}})
	q := lookup(t, ix, "q")
	assert.Equal(t, "Admitted at q", verdict(ix, quota.EnqueueableCard(ix, q, cardA, 3)))
	assert.Equal(t, "OverQuota at q", verdict(ix, quota.EnqueueableCard(ix, q, cardA, 4)))
	ix.Elastic.Row(ix.Root()).Set(cardA, 1)
	assert.Equal(t, "OverQuota at root", verdict(ix, quota.EnqueueableCard(ix, q, cardA, 2)))
}

// TestPreemptiveCard compares with capability, then with deserved, for the queue alone.
func TestPreemptiveCard(t *testing.T) {
	build := func(bound, deserved, allocated res) string {
		ix := session("root", queue{name: "root"}, queue{name: "inner", allocated: res{cardA: 99, cardB: 99}},
			queue{name: "q<inner", bound: bound, deserved: deserved, allocated: allocated})
		q := lookup(t, ix, "q")
		return verdict(ix, quota.AnyCard(q, []fastres.Dim{cardA, cardB}, func(d fastres.Dim) quota.Verdict {
			return preemption(ix, ix).PreemptiveCard(q, d, 2)
		}))
	}
	assert.Equal(t, "Admitted at q", build(res{cardA: 4}, res{cardA: 4}, res{cardA: 2}))
	assert.Equal(t, "OverDeserved at q", build(res{cardA: 9}, res{cardA: 3}, res{cardA: 2}))
	assert.Equal(t, "OverQuota at q", build(res{cardA: 3}, res{cardA: 9}, res{cardA: 2}))
	assert.Equal(t, "Admitted at q", build(res{cardA: 3, cardB: 2}, res{cardA: 9, cardB: 2}, res{cardA: 2}))
	assert.Equal(t, "OverQuota at q", build(res{cardA: 3, cardB: 2}, res{cardA: 9, cardB: 1}, res{cardA: 2}), "the reason is that of the first card")
}

// TestKeepsCard counts the victims of the call as gone.
func TestKeepsCard(t *testing.T) {
	ix := session("", queue{name: "q", allocated: res{cardA: 3}, deserved: res{cardA: 2}})
	var victims quota.Victims
	victims.Reset(ix, ix, &index.Names{})
	overlay := index.Over(ix)
	victims.Begin(&overlay)
	q, one := lookup(t, ix, "q"), res{cardA: 1}.vector()
	assert.False(t, victims.KeepsCard(q, cardA))
	assert.True(t, victims.Take(q, one, q, one))
	assert.True(t, victims.KeepsCard(q, cardA), "two cards are left, and two are deserved")
	overlay.Begin(ix)
	assert.False(t, victims.KeepsCard(q, cardA))
}
