package model

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
)

// TestOrders sorts queues by each order: all queues, and the queues of one card.
func TestOrders(t *testing.T) {
	all := treeOf("root", "a root", "a1 a", "a2 a", "b root")
	all[2].Resources = []queues.Holding{{Resource: "X", Card: true, Allocated: 4, Deserved: to(1), Capability: to(8)}}
	all[3].Resources = []queues.Holding{{Resource: "X", Card: true, Allocated: 2, Capability: to(2)}, {Resource: "Y", Card: true, Allocated: 9, Deserved: to(2), Capability: to(90)}}
	all[4].Resources = []queues.Holding{{Resource: "Y", Card: true, Allocated: 1, Capability: to(10)}}
	all[2].Waiting, all[4].Waiting, all[1].Share = 1, 7, 3
	for name, c := range map[string]struct {
		selection Selection
		want      []string
	}{
		"use":              {Selection{Sort: "use"}, []string{"a2", "a1", "b", "root", "a"}},
		"use of Y":         {Selection{Sort: "use", Resource: "Y"}, []string{"a2", "b", "root", "a"}},
		"waiting":          {Selection{Sort: "waiting"}, []string{"b", "a1", "root", "a", "a2"}},
		"share":            {Selection{Sort: "share"}, []string{"a", "root", "a1", "a2", "b"}},
		"borrowed":         {Selection{Sort: "borrowed"}, []string{"a2", "a1", "root", "a", "b"}},
		"borrowed of X":    {Selection{Sort: "borrowed", Resource: "X"}, []string{"a1", "root", "a", "a2"}},
		"a tree of Y":      {Selection{Resource: "Y"}, []string{"root+", "a+", "a2", "b"}},
		"a tree of none":   {Selection{Resource: "Z"}, []string{}},
		"full of X":        {Selection{Full: true, Resource: "X"}, []string{"a2"}},
		"borrowing of X":   {Selection{Borrowing: true, Resource: "X"}, []string{"a1"}},
		"no order is that": {Selection{Sort: "size"}, []string{"root+", "a+", "a1", "a2", "b"}},
	} {
		got := names(Rows(all, c.selection))
		if len(c.want) == 0 {
			assert.Empty(t, got, name)
			continue
		}
		assert.Equal(t, c.want, got, name)
	}
}

// TestGroups sums up queues at the deepest level that has as many colours as there are.
func TestGroups(t *testing.T) {
	all := treeOf("root", "a root", "a1 a", "a11 a1", "a12 a1", "a2 a", "b root", "b1 b")
	leaves := []string{"a11", "a12", "a2", "b1", "gone"}
	for name, c := range map[string]struct {
		chosen string
		most   int
		want   map[string]string
	}{
		"all have one":    {"", 4, map[string]string{"a11": "a11", "a12": "a12", "a2": "a2", "b1": "b1"}},
		"teams":           {"", 3, map[string]string{"a11": "a1", "a12": "a1", "a2": "a2", "b1": "b1"}},
		"departments":     {"", 2, map[string]string{"a11": "a", "a12": "a", "a2": "a", "b1": "b"}},
		"the first level": {"", 1, map[string]string{"a11": "a", "a12": "a", "a2": "a", "b1": "b"}},
		"below a queue":   {"a", 2, map[string]string{"a11": "a1", "a12": "a1", "a2": "a2"}},
		"a leaf":          {"b1", 2, map[string]string{"b1": "b1"}},
	} {
		assert.Equal(t, c.want, Groups(all, c.chosen, leaves, c.most), name)
	}
	assert.Empty(t, Groups(all, "gone", leaves, 9))
	flat := treeOf("x", "y")
	assert.Equal(t, map[string]string{"x": "x", "y": "y"}, Groups(flat, "", []string{"x", "y"}, 1), "queues without a root")
}

// TestScales has bars end at the quota of the queue, or at its allocated and promised amounts if they are more.
func TestScales(t *testing.T) {
	for want, h := range map[float64]queues.Holding{
		8:  {Allocated: 2, Inqueue: 1, Capability: to(8), Deserved: to(9), Guarantee: 9},
		10: {Allocated: 6, Inqueue: 4, Capability: to(8)},
		9:  {Allocated: 2, Deserved: to(9), Guarantee: 1},
		7:  {Allocated: 7, Capability: to(0)},
		0:  {},
	} {
		assert.InDelta(t, want, OwnScale(h), 0, "%v", h)
	}
	over := queues.Holding{Resource: "X", Allocated: 6, Capability: to(4)}
	assert.InDelta(t, 2, Over(over), 0)
	assert.Zero(t, Over(queues.Holding{Allocated: 6}))
	less := queues.Holding{Resource: "X", Allocated: 1, Capability: to(4), Guarantee: 9}
	assert.Equal(t, map[string]float64{"X": 9}, Scales([]queues.Queue{{Resources: []queues.Holding{over}}, {Resources: []queues.Holding{less}}}))
}
