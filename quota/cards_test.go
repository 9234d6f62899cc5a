package quota_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/quota"
)

// Two cards, in different presence words.
const (
	cardA = gpu
	cardB = far
)

// TestCardFits looks at one dimension along the path, exactly.
func TestCardFits(t *testing.T) {
	tests := []struct {
		name         string
		queue, inner queue
		cards        []fastres.Dim
		want         string
	}{
		{"room for exactly that", queue{bound: res{cardA: 4}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 9}},
			[]fastres.Dim{cardA}, "admitted at q"},
		{"no room", queue{bound: res{cardA: 3}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 9}},
			[]fastres.Dim{cardA}, "over quota at q"},
		{"no tolerance", queue{bound: res{cardA: 3.95}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 9}},
			[]fastres.Dim{cardA}, "over quota at q"},
		{"no room above", queue{bound: res{cardA: 9}, allocated: res{cardA: 2}}, queue{bound: res{cardA: 4}, allocated: res{cardA: 1}},
			[]fastres.Dim{cardA}, "over quota at inner"},
		{"the second card will do", queue{bound: res{cardA: 1, cardB: 2}}, queue{bound: res{cardA: 9, cardB: 2}},
			[]fastres.Dim{cardA, cardB}, "admitted at q"},
		{"neither, each by another queue", queue{bound: res{cardA: 9, cardB: 1}}, queue{bound: res{cardA: 1, cardB: 9}},
			[]fastres.Dim{cardA, cardB}, "over quota at q"},
		{"a card that nobody has", queue{bound: res{cardA: 9}}, queue{bound: res{cardA: 9}}, []fastres.Dim{cardB}, "over quota at q"},
		{"no cards", queue{bound: res{cardA: 9}}, queue{bound: res{cardA: 9}}, nil, "over quota at q"},
		{"other dimensions do not matter", queue{bound: res{cardA: 2}, allocated: res{cpu: 9}}, queue{bound: res{cardA: 2}},
			[]fastres.Dim{cardA}, "admitted at q"},
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

// TestEnqueueableCard counts what was promised, and what can come back.
func TestEnqueueableCard(t *testing.T) {
	ix := session("root", queue{name: "root", bound: res{cardA: 8}}, queue{name: "other", allocated: res{cardA: 1}, elastic: res{cardA: 1}},
		queue{name: "q", bound: res{cardA: 8}, allocated: res{cardA: 4}, inqueue: res{cardA: 3}, elastic: res{cardA: 2}})
	q := lookup(t, ix, "q")
	assert.Equal(t, "admitted at q", verdict(ix, quota.EnqueueableCard(ix, q, cardA, 3)))
	assert.Equal(t, "over quota at q", verdict(ix, quota.EnqueueableCard(ix, q, cardA, 4)))
	ix.Elastic.Row(ix.Root()).Set(cardA, 1)
	assert.Equal(t, "over quota at root", verdict(ix, quota.EnqueueableCard(ix, q, cardA, 2)))
}

// TestPreemptiveCard asks capability first, then deserved, of the queue alone.
func TestPreemptiveCard(t *testing.T) {
	build := func(bound, deserved, allocated res) string {
		ix := session("root", queue{name: "root"}, queue{name: "inner", allocated: res{cardA: 99, cardB: 99}},
			queue{name: "q<inner", bound: bound, deserved: deserved, allocated: allocated})
		q := lookup(t, ix, "q")
		return verdict(ix, quota.AnyCard(q, []fastres.Dim{cardA, cardB}, func(d fastres.Dim) quota.Verdict {
			return quota.PreemptiveCard(ix, q, d, 2)
		}))
	}
	assert.Equal(t, "admitted at q", build(res{cardA: 4}, res{cardA: 4}, res{cardA: 2}))
	assert.Equal(t, "over deserved at q", build(res{cardA: 9}, res{cardA: 3}, res{cardA: 2}))
	assert.Equal(t, "over quota at q", build(res{cardA: 3}, res{cardA: 9}, res{cardA: 2}))
	assert.Equal(t, "admitted at q", build(res{cardA: 3, cardB: 2}, res{cardA: 9, cardB: 2}, res{cardA: 2}))
	assert.Equal(t, "over quota at q", build(res{cardA: 3, cardB: 2}, res{cardA: 9, cardB: 1}, res{cardA: 2}), "that of the first")
}

// TestFreesCard needs room in the reclaimer's own subtree, and makes it above.
func TestFreesCard(t *testing.T) {
	build := func(side, common float64, flat bool) bool {
		enough := res{cardA: 4}
		root, queues := "root", []queue{{name: "root", bound: res{cardA: 0}}, {name: "common", bound: res{cardA: common}},
			{name: "side<common", bound: res{cardA: side}}, {name: "to<side", bound: enough, deserved: enough, allocated: res{cardA: 1}},
			{name: "twin<side", bound: enough, allocated: res{cardA: 1}}, {name: "from<common", bound: enough, allocated: res{cardA: 3}}}
		if flat {
			root = ""
		}
		ix := session(root, queues...)
		return quota.FreesCard(ix, lookup(t, ix, "from"), lookup(t, ix, "to"), cardA, 2)
	}
	assert.True(t, build(4, 5, false), "what is full above is what the victim makes room in")
	assert.False(t, build(3, 9, false), "its own subtree is full")
	assert.True(t, build(0, 0, true), "there is nothing above")
}

// TestKeepsCard counts the victims of a call.
func TestKeepsCard(t *testing.T) {
	ix := session("", queue{name: "q", allocated: res{cardA: 3}, deserved: res{cardA: 2}})
	var victims quota.Victims
	victims.Reset(ix)
	victims.Begin()
	q, one := lookup(t, ix, "q"), res{cardA: 1}.vector()
	assert.False(t, victims.KeepsCard(q, cardA))
	assert.True(t, victims.Take(q, one, one))
	assert.True(t, victims.KeepsCard(q, cardA), "two are left, and two are deserved")
	victims.Begin()
	assert.False(t, victims.KeepsCard(q, cardA))
}
