package measure

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestJain compares with values that are computed by hand.
func TestJain(t *testing.T) {
	assert.InDelta(t, 1, Jain([]float64{0.5, 0.5, 0.5}), 1e-12)
	assert.InDelta(t, 1.0/3, Jain([]float64{1, 0, 0}), 1e-12)
	assert.InDelta(t, 36.0/42, Jain([]float64{1, 2, 3}), 1e-12) // (1+2+3)² / (3 (1+4+9))
	assert.InDelta(t, 1, Jain([]float64{0, 0}), 1e-12)
	assert.True(t, math.IsNaN(Jain(nil)))
}

// TestPercentile is the nearest rank.
func TestPercentile(t *testing.T) {
	var waits []time.Duration
	for i := range 20 {
		waits = append(waits, time.Duration(i+1))
	}
	assert.Equal(t, time.Duration(10), Percentile(waits, 50))
	assert.Equal(t, time.Duration(19), Percentile(waits, 95))
	assert.Equal(t, time.Duration(20), Percentile(waits, 100))
	assert.Equal(t, time.Duration(2), Percentile([]time.Duration{1, 2, 3}, 50))
	assert.Equal(t, time.Duration(1), Percentile([]time.Duration{1}, 50))
	assert.Zero(t, Percentile(nil, 95))
}

// TestSizes groups jobs by powers of two.
func TestSizes(t *testing.T) {
	var jobs []Started
	for _, cards := range []int64{0, 1, 2, 3, 4, 5, 8, 9, 16, 17} {
		jobs = append(jobs, Started{Cards: cards, Wait: time.Duration(cards)})
	}
	jobs = append(jobs, Started{Cards: 1, Wait: -1})
	var groups []string
	for _, w := range BySize(jobs) {
		groups = append(groups, w.Group)
	}
	assert.Equal(t, []string{"0", "1", "2", "3-4", "5-8", "9-16", "17-32"}, groups)
	assert.Equal(t, Waits{Group: "1", Jobs: 2, Started: 1, P50: 1, P95: 1, Max: 1}, BySize(jobs)[1], "one of two jobs never started")
}

// TestLockOuts finds the longest of several lock-outs, and one that does not end.
func TestLockOuts(t *testing.T) {
	b := NewBook(nil)
	b.Lock(10, "a", true)
	b.Lock(12, "a", true)
	b.Lock(15, "a", false)
	b.Lock(20, "a", true)
	b.Lock(23, "a", false)
	b.Lock(25, "b", true)
	b.Lock(26, "c", false)
	totals := b.Close(40)
	assert.Equal(t, LockOut{Queue: "b", From: 25, Time: 15}, totals.LockOut)
	b = NewBook(map[string]float64{"H": 8})
	b.Allocate(0, "a", "H", 1)
	b.Lock(10, "a", true)
	b.Lock(15, "a", false)
	b.Lock(20, "a", true)
	b.Lock(23, "a", false)
	require.Len(t, b.Close(40).Queues, 1)
	assert.Equal(t, LockOut{Queue: "a", From: 10, Time: 5}, b.Close(40).Queues[0].LockOut)
}

// TestIntegrals adds up two queues on 8 cards over 100 s. Queue a deserves 4, has 8 for 50 s and then 2, and
// wants nothing more. Queue b deserves 4, has nothing, and wants 6 from 50 s on.
func TestIntegrals(t *testing.T) {
	b := NewBook(map[string]float64{"H": 8})
	for _, queue := range []string{"a", "b"} {
		b.Deserve(0, queue, "H", 4)
	}
	b.Allocate(0, "a", "H", 8)
	b.Allocate(50*time.Second, "a", "H", -6)
	b.Submit(50*time.Second, "b", "H", 6)
	assert.InDelta(t, 2, b.Room("a", "H"), 1e-12)
	b.Evict(6, 30*time.Minute)
	b.Break(2, 15*time.Minute)
	totals := b.Close(100 * time.Second)
	assert.InDelta(t, (400.0+100)/800, totals.Utilisation, 1e-12)
	require.Len(t, totals.Queues, 2)
	assert.InDelta(t, 500.0/3600, totals.Queues[0].CardHours, 1e-12)
	assert.InDelta(t, 1, totals.Queues[0].Satisfied, 1e-12, "it has all that it wants of what it deserves")
	assert.InDelta(t, 0, totals.Queues[1].Satisfied, 1e-12)
	assert.InDelta(t, 0.5, totals.Jain, 1e-12)
	assert.InDelta(t, 0.5, totals.JainOfUse, 1e-12, "until 50 s a has twice what it deserves, and b nothing")
	assert.Equal(t, 1, b.Evicted)
	assert.InDelta(t, 3.5, b.LostCardHours, 1e-12)
	assert.Equal(t, Series{{0, 8}, {50 * time.Second, 2}}, totals.QueueCards[0].Allocated)
}

// TestDeservedIsBounded is a queue that deserves more than the cluster has.
func TestDeservedIsBounded(t *testing.T) {
	b := NewBook(map[string]float64{"H": 8})
	b.Deserve(0, "a", "H", math.Inf(1))
	assert.InDelta(t, 8, b.Room("a", "H"), 1e-12)
	assert.Zero(t, b.Room("b", "H"))
}

// TestJainOfUse has the last submission at 100 s. Until then, a has 8 cards for 50 s and 2 for 50 s, and deserves 4.
// b has 2 cards for 50 s, and deserves 1. Later cards do not count, and neither does c, which wants nothing.
func TestJainOfUse(t *testing.T) {
	b := NewBook(map[string]float64{"H": 16})
	for queue, deserved := range map[string]float64{"a": 4, "b": 1, "c": 8} {
		b.Deserve(0, queue, "H", deserved)
	}
	b.Allocate(0, "a", "H", 8)
	b.Allocate(50*time.Second, "a", "H", -6)
	b.Allocate(50*time.Second, "b", "H", 2)
	b.Submit(100*time.Second, "b", "H", 1)
	b.Want(300*time.Second, "b", "H", 1)
	b.Allocate(200*time.Second, "b", "H", 10)
	assert.InDelta(t, Jain([]float64{500.0 / 400, 100.0 / 100}), b.Close(1000*time.Second).JainOfUse, 1e-12)
}

// TestSeries keeps the last amount of a time, and no amount twice.
func TestSeries(t *testing.T) {
	s := Series(nil).set(0, 4).set(1, 4).set(2, 6).set(2, 4).set(3, 5).set(3, 7)
	assert.Equal(t, Series{{0, 4}, {3, 7}}, s)
}
