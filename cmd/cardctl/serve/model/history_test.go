package model

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/queues"
	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index/card"
)

// started is a time at which a slot of each ring begins.
var started = time.Unix(1_000_000_200, 0)

func every(string) bool { return true }

// hour is the window of an hour that ends some time after started.
func hour(after time.Duration) Window { return Window{time.Hour, started.Add(after)} }

// grow adds a model some time after started: queue q has some of card X, of a quota, and three of its jobs wait.
func grow(h *History, after time.Duration, allocated, quota float64, more ...queues.Queue) {
	q := queues.Queue{Queue: "q", Parent: "top", Waiting: 1, Resources: []queues.Holding{
		{Resource: "X", Card: true, Allocated: allocated, Capability: &quota}}}
	h.Add(&Model{Reading: &Reading{Time: started.Add(after)}, Queues: append([]queues.Queue{{Queue: "top"}, q}, more...),
		Stock: &stock.Stock{Cards: []stock.Card{{Card: "X", Charged: allocated, Allocatable: 8}}},
		Waiting: []explain.Finding{{Queue: "q", Cards: card.List{"X"}}, {Queue: "q", Cards: card.List{"X", "Y"}}, {Queue: "q"},
			{Queue: "gone", Cards: card.List{"X"}}},
	})
}

func valuesOf(s Series) (all []float64) {
	for _, p := range s.Points {
		all = append(all, p.Value)
	}
	return all
}

func of(name string) func(string) bool { return func(queue string) bool { return queue == name } }

// TestHistory keeps one sample for a slot and drops those that are older than an hour.
func TestHistory(t *testing.T) {
	h := NewHistory()
	grow(h, 0, 1, 6)
	grow(h, time.Second, 2, 6)
	grow(h, fineSlot, 3, 4, queues.Queue{Queue: "late", Waiting: 5})
	x := h.Of("X", of("q"), hour(fineSlot))
	require.Len(t, x, 1)
	assert.Equal(t, []float64{2, 3}, valuesOf(x[0]))
	assert.Equal(t, []float64{6, 4}, []float64{x[0].Points[0].Bound, x[0].Points[1].Bound}, "the quota at that time")
	assert.InDelta(t, 3, x[0].Last(), 0)
	assert.Equal(t, []float64{0, 5}, valuesOf(h.Waiting("", of("late"), hour(fineSlot))[0]), "late was not there")
	for name, want := range map[string][]float64{"q": {2, 2}, "top": {2, 2}, "": {3, 3}} {
		assert.Equal(t, want, valuesOf(h.Waiting("X", of(name), hour(fineSlot))[0]), "a list waits for each of its cards: %s", name)
	}
	assert.Empty(t, h.Waiting("", of("gone"), hour(fineSlot)), "only a job has the name")
	cluster := h.Of("X", of(""), hour(fineSlot))[0]
	assert.Equal(t, Point{Time: x[0].Points[1].Time, Value: 3, Bound: 8}, cluster.Points[1])
	assert.Equal(t, []float64{2, 3, 3, 3}, valuesOf(h.Of("X", of("q"), hour(3*fineSlot))[0]), "nothing changed")
	assert.Len(t, h.Of("X", of("q"), hour(5*fineSlots*fineSlot))[0].Points, fineSlots)
	for i := range 2 * fineSlots {
		grow(h, time.Duration(i+2)*fineSlot, 4, 4)
	}
	assert.Len(t, h.Of("X", of("q"), hour((2*fineSlots+1)*fineSlot))[0].Points, fineSlots)
	assert.LessOrEqual(t, len(h.fine.samples), fineSlots)
}

// TestPeriods has fine samples for an hour and less, coarse ones for more, and none from before the first.
func TestPeriods(t *testing.T) {
	h := NewHistory()
	points := func(period, after time.Duration) []float64 {
		return valuesOf(h.Of("X", of("q"), Window{period, started.Add(after)})[0])
	}
	grow(h, 0, 1, 6)
	grow(h, 2*coarseSlot, 2, 6)
	assert.Len(t, points(5*time.Minute, 2*coarseSlot), 10)
	assert.Len(t, points(time.Hour, 2*coarseSlot), 21)
	assert.Equal(t, []float64{1, 1, 2}, points(6*time.Hour, 2*coarseSlot))
	for i := range 400 {
		grow(h, time.Duration(i+3)*coarseSlot, 3, 6)
	}
	last := 402 * coarseSlot
	assert.Len(t, points(6*time.Hour, last), 72)
	assert.Len(t, points(24*time.Hour, last), coarseSlots)
	assert.Len(t, points(1000*time.Hour, last), coarseSlots)
	assert.LessOrEqual(t, len(h.coarse.samples), coarseSlots)
}

// TestChanges finds the differences between the start and the end of a window.
func TestChanges(t *testing.T) {
	h := NewHistory()
	all, since := h.Changes(every, hour(0))
	assert.Empty(t, all)
	assert.Equal(t, started, since)
	grow(h, 0, 1, 6)
	grow(h, 30*time.Minute, 4, 7, queues.Queue{Queue: "late", Waiting: 9})
	all, since = h.Changes(func(name string) bool { return name != "" }, hour(30*time.Minute))
	assert.True(t, started.Equal(since), since)
	assert.Equal(t, []Change{
		{Queue: "late", Waiting: true, After: 9},
		{Queue: "q", Resource: "X", Before: 1, After: 4, BoundBefore: 6, BoundAfter: 7},
	}, all)
	assert.Equal(t, []bool{false, true}, []bool{all[0].Bounds(), all[1].Bounds()})
	all, _ = h.Changes(every, Window{5 * time.Minute, started.Add(2 * time.Hour)})
	assert.Empty(t, all, "nothing since")
}

// TestParts has the queues of the deepest level for which there is room.
func TestParts(t *testing.T) {
	all := treeOf("root", "a root", "a1 a", "a2 a", "b root", "b1 b", "b2 b", "b3 b", "c root")
	for _, c := range []struct {
		name string
		most int
		want []string
	}{
		{"", 9, []string{"a1", "a2", "b1", "b2", "b3", "c"}},
		{"", 5, []string{"a", "b", "c"}},
		{"", 1, []string{"a", "b", "c"}},
		{"b", 9, []string{"b1", "b2", "b3"}},
		{"b1", 9, []string{"b1"}},
	} {
		assert.Equal(t, c.want, Parts(all, c.name, every, c.most), "%s %d", c.name, c.most)
	}
	assert.Equal(t, []string{"b1"}, Parts(all, "b", of("b1"), 9), "others have no series")
	assert.Empty(t, Parts(all, "", func(string) bool { return false }, 9))
	cycle := []queues.Queue{{Queue: "p", Parent: "q"}, {Queue: "q", Parent: "p"}}
	assert.Len(t, Parts(cycle, "p", every, 9), 1)
}

// TestHistoryIsBounded has no more series than it may have.
func TestHistoryIsBounded(t *testing.T) {
	h := NewHistory()
	m := &Model{Reading: &Reading{Time: time.Now()}, Stock: &stock.Stock{}}
	for i := range mostSeries + 5 {
		m.Queues = append(m.Queues, queues.Queue{Queue: fmt.Sprint(i), Waiting: 1})
	}
	h.Add(m)
	assert.Len(t, h.Waiting("", every, Window{time.Hour, time.Now()}), mostSeries)
}
