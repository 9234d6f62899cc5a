package usage_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota/usage"
)

const day = 24 * time.Hour

var columns = []usage.Column{{Name: "H200", Card: true}, {Name: "cpu"}}

// tree builds a tree below root from pairs of a queue and its parent.
func tree(pairs ...string) *index.Tree {
	nodes := []index.Node{}
	for i := 0; i < len(pairs); i += 2 {
		nodes = append(nodes, index.Node{Name: pairs[i], Parent: pairs[i+1]})
	}
	return index.BuildTree(nodes, index.RootName)
}

// hold sets the amounts that leaf queues have of the first column, rolled up, as a session does.
func hold(h *usage.History, t *index.Tree, held map[string]float64) {
	sums := make([]float64, t.Len())
	for name, x := range held {
		for _, q := range t.Path(t.Lookup(name)) {
			sums[q] += x
		}
	}
	for q, x := range sums {
		h.Set(index.Queue(q), 0, x)
	}
	h.Begin()
}

// used returns the usage of queues in the first column.
func used(h *usage.History, t *index.Tree) map[string]float64 {
	is := map[string]float64{}
	for q := range index.Queue(t.Len()) {
		is[t.Name(q)] = math.Round(h.Row(q)[0]*1000) / 1000
	}
	return is
}

func TestHalfAfterOneHalfLife(t *testing.T) {
	assert.Equal(t, 0.5, usage.Decay(day, day))
	assert.Equal(t, 0.25, usage.Decay(2*day, day))
	assert.Equal(t, 1.0, usage.Decay(0, day))
	assert.Equal(t, 1.0, usage.Decay(-time.Hour, day), "the clock was set back")

	tr := tree("q", "")
	h := &usage.History{}
	h.Bind(tr, columns)
	hold(h, tr, nil)
	hold(h, tr, map[string]float64{"q": 8})
	h.Advance(usage.Decay(day, day))
	assert.Equal(t, 4.0, used(h, tr)["q"])
	hold(h, tr, nil)
	h.Advance(usage.Decay(day, day))
	assert.Equal(t, 2.0, used(h, tr)["q"])
}

// TestCutsDoNotMatter lets the same time pass in one step and in random steps.
func TestCutsDoNotMatter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	tr := tree("q", "")
	for range 200 {
		whole, cut := &usage.History{}, &usage.History{}
		for _, h := range []*usage.History{whole, cut} {
			h.Bind(tr, columns)
			hold(h, tr, map[string]float64{"q": 3000})
		}
		for range 20 {
			held := map[string]float64{"q": float64(r.IntN(8000))}
			hold(whole, tr, held)
			hold(cut, tr, held)
			rest := time.Duration(r.Int64N(int64(day)))
			whole.Advance(usage.Decay(rest, day))
			for range r.IntN(50) {
				step := time.Duration(r.Int64N(int64(rest) + 1))
				cut.Advance(usage.Decay(step, day))
				rest -= step
			}
			cut.Advance(usage.Decay(rest, day))
		}
		q := tr.Lookup("q")
		require.InEpsilon(t, whole.Row(q)[0], cut.Row(q)[0], 1e-9)
	}
}

func TestUsageMovesWithItsQueue(t *testing.T) {
	before := tree("a", "", "b", "", "a1", "a", "a2", "a")
	h := &usage.History{}
	h.Bind(before, columns)
	hold(h, before, map[string]float64{"a1": 4, "a2": 2, "b": 1})
	assert.Equal(t, map[string]float64{"root": 7, "a": 6, "b": 1, "a1": 4, "a2": 2}, used(h, before))

	moved := tree("a", "", "b", "", "a1", "b", "a2", "a")
	h.Bind(moved, columns)
	assert.Equal(t, map[string]float64{"root": 7, "a": 2, "b": 5, "a1": 4, "a2": 2}, used(h, moved))

	between := tree("a", "", "b", "", "new", "b", "a1", "new", "a2", "a")
	h.Bind(between, columns)
	hold(h, between, map[string]float64{"a1": 3})
	assert.Equal(t, map[string]float64{"root": 7, "a": 2, "b": 5, "new": 4, "a1": 4, "a2": 2}, used(h, between),
		"a queue that is put between has what is below it")
}

func TestUsageOfDeletedQueues(t *testing.T) {
	all, fewer := tree("a", "", "a1", "a", "a2", "a", "a11", "a1"), tree("a", "", "a2", "a")
	h := &usage.History{}
	h.Bind(all, columns)
	hold(h, all, map[string]float64{"a11": 8, "a2": 2})
	h.Bind(fewer, columns)
	assert.Equal(t, map[string]float64{"root": 10, "a": 10, "a2": 2}, used(h, fewer), "it stays with the queue above")
	h.Advance(usage.Decay(day, day))

	one := tree("a", "", "a1", "a", "a2", "a")
	h.Bind(one, columns)
	assert.Equal(t, map[string]float64{"root": 5, "a": 5, "a1": 0, "a2": 1}, used(h, one), "that of a11 is still missing")
	h.Bind(all, columns)
	assert.Equal(t, map[string]float64{"root": 5, "a": 5, "a1": 4, "a11": 4, "a2": 1}, used(h, all))

	none := tree("b", "")
	h.Bind(none, columns)
	h.Bind(tree("a", "", "b", ""), columns)
	elsewhere := tree("a", "", "b", "", "a11", "b")
	h.Bind(elsewhere, columns)
	assert.Equal(t, map[string]float64{"root": 5, "a": 0, "b": 4, "a11": 4}, used(h, elsewhere), "it comes back below another queue")

	for range 40 {
		h.Bind(none, columns)
		h.Advance(usage.Decay(day, day))
	}
	for name, of := range h.Record().Queues {
		assert.False(t, of.Deleted, "what is negligible is forgotten: %s", name)
	}
	h.Bind(elsewhere, columns)
	assert.Equal(t, map[string]float64{"root": 0, "a": 0, "b": 0, "a11": 0}, used(h, elsewhere), "what is negligible is forgotten")
}

// TestUsageOfDeletedParents deletes a queue, and then the one above it. Who exists again first takes along its own
// usage alone.
func TestUsageOfDeletedParents(t *testing.T) {
	all := tree("a", "", "a1", "a", "a11", "a1")
	h := &usage.History{}
	h.Bind(all, columns)
	hold(h, all, map[string]float64{"a11": 8})
	for _, fewer := range []*index.Tree{tree("a", "", "a1", "a"), tree("a", "")} {
		h.Bind(fewer, columns)
	}
	without := tree("a", "", "a11", "a")
	h.Bind(without, columns)
	assert.Equal(t, map[string]float64{"root": 8, "a": 8, "a11": 8}, used(h, without))
	h.Bind(all, columns)
	assert.Equal(t, map[string]float64{"root": 8, "a": 8, "a1": 8, "a11": 8}, used(h, all), "a1 had nothing but what a11 had")
}

func TestLevel(t *testing.T) {
	tr := tree("q", "")
	h := &usage.History{}
	h.Bind(tr, columns)
	q := tr.Lookup("q")
	h.Set(q, 0, 12)
	h.Begin()
	h.Set(q, 0, 4)
	h.Set(q, 1, 1)
	h.SetNorm(q, 0, 8)
	for _, want := range []struct {
		gamma         float64
		wants         []int32
		level, beyond float64
		why           string
	}{
		{1, []int32{0}, 1.5, 0, "history alone: 12 of 8"},
		{0, []int32{0}, 0.5, 0, "the present alone: 4 of 8"},
		{0.5, []int32{0}, 1, 0, "both"},
		{0.5, nil, 0, 0, "nothing counts"},
		{0.5, []int32{0, 1}, math.Inf(1), 0.5, "some cpu of none"},
		{1, []int32{1}, 0, 0, "no cpu of none"},
	} {
		level, beyond := h.Level(q, want.gamma, want.wants)
		assert.Equal(t, want.level, level, want.why)
		assert.Equal(t, want.beyond, beyond, want.why)
	}
}

func TestColumnsComeAndGo(t *testing.T) {
	tr := tree("q", "")
	h := &usage.History{}
	h.Bind(tr, columns)
	q := tr.Lookup("q")
	h.Set(q, 0, 12)
	h.Set(q, 1, 500)
	h.Begin()
	h.Bind(tr, []usage.Column{{Name: "cpu"}, {Name: "H200"}, {Name: "H200", Card: true}})
	assert.Equal(t, []float64{500, 0, 12}, h.Row(q), "a resource is no card")
}

func TestRecordsComeBack(t *testing.T) {
	all, fewer := tree("a", "", "a1", "a", "a2", "a"), tree("a", "", "a2", "a")
	h := &usage.History{}
	h.Bind(all, columns)
	hold(h, all, map[string]float64{"a1": 8.25, "a2": 1.0 / 3})
	h.Bind(fewer, columns)
	text, err := json.Marshal(h.Record())
	require.NoError(t, err)
	var r usage.Record
	require.NoError(t, json.Unmarshal(text, &r))
	back, err := usage.New(r)
	require.NoError(t, err)
	back.Bind(all, columns)
	h.Bind(all, columns)
	assert.Equal(t, used(h, all), used(back, all))
	back.Add(all.Lookup("a1"), []float64{1, 0})
	assert.Equal(t, map[string]float64{"root": 9.583, "a": 9.583, "a1": 9.25, "a2": 0.333}, used(back, all))
}

func TestWrongRecords(t *testing.T) {
	for name, r := range map[string]usage.Record{
		"too few values":  {Columns: columns, Queues: map[string]usage.QueueRecord{"q": {Usage: []float64{1}}}},
		"below 0":         {Columns: columns, Queues: map[string]usage.QueueRecord{"q": {Usage: []float64{1, -1}}}},
		"no number":       {Columns: columns, Queues: map[string]usage.QueueRecord{"q": {Usage: []float64{1, math.NaN()}}}},
		"without end":     {Columns: columns, Queues: map[string]usage.QueueRecord{"q": {Usage: []float64{1, math.Inf(1)}}}},
		"deleted, no end": {Columns: columns, Queues: map[string]usage.QueueRecord{"q": {Usage: []float64{1, math.Inf(1)}, Deleted: true}}},
	} {
		_, err := usage.New(r)
		assert.Error(t, err, name)
	}
	h, err := usage.New(usage.Record{Root: "root", Columns: columns, Queues: map[string]usage.QueueRecord{
		"a": {Parent: "b", Usage: []float64{1, 1}}, "b": {Parent: "a", Usage: []float64{1, 1}}, "c": {Parent: "none", Usage: []float64{1, 1}},
		"d": {Parent: "d", Usage: []float64{1, 1}, Deleted: true},
	}})
	require.NoError(t, err, "a cycle of parents")
	h.Bind(tree("a", "", "b", "", "c", "", "d", ""), columns)

	h, err = usage.New(usage.Record{Root: "root", Columns: columns, Queues: map[string]usage.QueueRecord{
		"a": {Parent: "b", Usage: []float64{1, 1}, Deleted: true}, "b": {Parent: "a", Usage: []float64{1, 1}, Deleted: true},
		"c": {Parent: "a", Usage: []float64{1, 1}, Deleted: true},
	}})
	require.NoError(t, err, "a circle of heirs")
	h.Bind(tree("c", ""), columns)
	assert.Equal(t, []float64{1, 1}, h.Row(1))
}
