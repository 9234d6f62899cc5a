package usage_test

import (
	"math"
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
