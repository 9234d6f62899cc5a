package usage_test

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/capacity-card/capacity-card/quota/usage"
)

func TestUntilEven(t *testing.T) {
	for name, test := range map[string]struct {
		used, held, norm, gamma float64
		want                    time.Duration
	}{
		"even already":               {4, 4, 8, 0.5, 0},
		"twice, then nothing":        {16, 0, 8, 1, day},
		"four times, then nothing":   {32, 0, 8, 1, 2 * day},
		"the present counts as half": {32, 0, 8, 0.5, day},
		"it keeps half":              {20, 4, 8, 1, 2 * day},
		"it keeps what it deserves":  {16, 8, 8, 1, usage.Never},
		"it keeps more":              {16, 9, 8, 1, usage.Never},
		"it deserves nothing":        {1, 0, 0, 1, usage.Never},
		"nothing of nothing":         {0, 0, 0, 1, 0},
		"less than it now has":       {0, 12, 8, 1, 0}, // its usage has yet to grow
	} {
		t.Run(name, func(t *testing.T) {
			is := usage.UntilEven(test.used, test.held, test.norm, test.gamma, day)
			assert.InDelta(t, float64(test.want), float64(is), float64(time.Second))
			if test.want == usage.Never || test.want == 0 {
				return
			}
			then := test.held + (test.used-test.held)*usage.Decay(is, day)
			assert.InDelta(t, test.norm, usage.Mean(then, test.held, test.gamma), 1e-6)
		})
	}
}

// TestTotal has 8 cards for so long that only they count: their time since ever is 8·h/ln 2.
func TestTotal(t *testing.T) {
	sum := 0.0
	const step = time.Minute
	for at := time.Duration(0); at < 40*day; at += step {
		sum += 8 * step.Seconds() * usage.Decay(at+step/2, day)
	}
	assert.InEpsilon(t, sum, usage.Total(8, day), 1e-4)
	assert.InEpsilon(t, 8*24*3600/math.Ln2, usage.Total(8, day), 1e-9)
}

func TestReset(t *testing.T) {
	tr := tree("a", "root", "a1", "a", "a2", "a", "gone", "a", "b", "root")
	h := &usage.History{}
	h.Bind(tr, columns)
	hold(h, tr, map[string]float64{"a1": 8, "a2": 4, "gone": 2, "b": 16})
	less := tree("a", "root", "a1", "a", "a2", "a", "b", "root")
	h.Bind(less, columns)
	hold(h, less, map[string]float64{"a1": 1, "b": 16})
	assert.Equal(t, map[string]float64{"root": 30, "a": 14, "a1": 8, "a2": 4, "b": 16}, used(h, less))

	h.Reset(less.Lookup("a1"))
	assert.Equal(t, map[string]float64{"root": 23, "a": 7, "a1": 1, "a2": 4, "b": 16}, used(h, less), "a leaf")
	h.Reset(less.Lookup("a"))
	assert.Equal(t, map[string]float64{"root": 17, "a": 1, "a1": 1, "a2": 0, "b": 16}, used(h, less), "with the queues below")

	h.Bind(tr, columns)
	assert.Equal(t, 0.0, used(h, tr)["gone"], "what a deleted queue left to it is gone, too")
	hold(h, tr, map[string]float64{"a1": 1, "b": 16})
	assert.Equal(t, 1.0, used(h, tr)["a"])
}

// TestCovered has a record that begins, a queue and a column that come later, and a record that begins again.
func TestCovered(t *testing.T) {
	h, flat := &usage.History{}, tree("a", "root", "b", "root")
	is := flat
	covered := func(name string, column int) float64 {
		q := is.Lookup(name)
		return math.Round(h.Covered(q, column, day).Hours()*1000) / 1000
	}
	h.Bind(flat, columns[:1])
	h.Begin()
	assert.Zero(t, covered("a", 0))
	h.Advance(usage.Decay(6*time.Hour, day))
	h.Advance(usage.Decay(30*time.Hour, day))
	assert.Equal(t, 36.0, covered("a", 0))

	more := tree("a", "root", "b", "root", "c", "root")
	is = more
	h.Bind(more, columns)
	h.Begin()
	h.Advance(usage.Decay(10*time.Hour, day))
	assert.Equal(t, []float64{46, 10, 10, 10}, []float64{covered("a", 0), covered("a", 1), covered("c", 0), covered("c", 1)})

	again, err := usage.New(h.Record())
	assert.NoError(t, err)
	h = again
	h.Bind(more, columns)
	assert.Equal(t, []float64{46, 10}, []float64{covered("a", 0), covered("c", 0)}, "stored")
	h.Reset(more.Lookup("a"))
	assert.Equal(t, []float64{0, 0, 46}, []float64{covered("a", 0), covered("root", 0), covered("b", 0)}, "reset")
	h.Advance(usage.Decay(1000*day, day))
	assert.Equal(t, 50*24.0, covered("a", 0))

	old := h.Record()
	old.Known = nil
	again, err = usage.New(old)
	assert.NoError(t, err)
	h = again
	h.Bind(more, columns)
	assert.Zero(t, covered("b", 0), "a record of an earlier release")
	old.Known = []float64{2, 1}
	_, err = usage.New(old)
	assert.EqualError(t, err, "a column is known for 2")
}

// TestMostOnAverage draws the past amounts of a queue, and compares the bound with the mean.
func TestMostOnAverage(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 8))
	for range 200 {
		used, last, steps := 50*r.Float64(), 0.0, 1+r.IntN(30)
		const step = time.Hour
		for range steps {
			has := 0.0
			if r.IntN(3) == 0 {
				has = float64(r.IntN(9))
			}
			beta := usage.Decay(step, day)
			used, last = beta*used+(1-beta)*has, last+has
		}
		s := time.Duration(steps) * step
		assert.GreaterOrEqual(t, usage.MostOnAverage(used, s, day)+1e-9, last/float64(steps))
	}
	// All at the beginning of the last day, and for so short a time that it is the bound.
	beta := usage.Decay(time.Second, day)
	used := (1 - beta) * 8 * usage.Decay(day-time.Second, day)
	assert.InEpsilon(t, 8/day.Seconds(), usage.MostOnAverage(used, day, day), 1e-4)
	assert.Zero(t, usage.MostOnAverage(0, 10000*day, day))
}
