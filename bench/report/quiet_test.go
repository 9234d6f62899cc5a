package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestQuiet refuses a machine that is busy at the start, and one that changes its speed.
func TestQuiet(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name     string
		load     float64
		canaries []time.Duration
		refusal  string
	}{
		{"quiet", 1, []time.Duration{100 * ms, 109 * ms, 100 * ms}, ""},
		{"busy", 1.1, []time.Duration{10 * ms}, "the load average is 1.10, at most 1.00"},
		{"slower", 0, []time.Duration{10 * ms, 10 * ms, 12 * ms}, "took from 10ms to 12ms, 20 % more, at most 10 %"},
		{"faster", 0, []time.Duration{12 * ms, 10 * ms}, "took from 10ms to 12ms, 20 % more, at most 10 %"},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := 0
			q := quiet{canary: func() time.Duration {
				next++
				return c.canaries[next-1]
			}}

			err := q.begin(c.load, 2)
			for err == nil && next < len(c.canaries) {
				err = q.check()
			}

			if c.refusal == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, c.refusal)
		})
	}
}

// TestCanary takes a time that can be compared.
func TestCanary(t *testing.T) {
	assert.Greater(t, canary(), time.Millisecond)
}
