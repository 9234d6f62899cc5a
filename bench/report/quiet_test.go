package main

import (
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestIdle refuses a machine that is busy at the start.
func TestIdle(t *testing.T) {
	assert.NoError(t, idle(1, 2))
	assert.ErrorContains(t, idle(1.1, 2), "the load average is 1.10, at most 1.00")
}

// TestQuiet finds rounds after which the machine is slow.
func TestQuiet(t *testing.T) {
	for _, c := range []struct {
		name     string
		canaries []time.Duration // before the first round and after each round
		noisy    []bool
		spread   string
	}{
		{"quiet", []time.Duration{100, 109, 100}, []bool{false, false}, "9 %"},
		{"slow for a round", []time.Duration{100, 151, 120}, []bool{true, false}, "20 %"},
		{"slow at the start", []time.Duration{150, 100, 100}, []bool{false, false}, "50 %"},
		{"slower from then on", []time.Duration{100, 160, 160}, []bool{true, true}, "0 %"},
	} {
		t.Run(c.name, func(t *testing.T) {
			next := 0
			q := newQuiet(func() time.Duration {
				next++
				return c.canaries[next-1]
			})

			var noisy []bool
			for next < len(c.canaries) {
				noisy = append(noisy, q.noisy())
			}
			assert.Equal(t, c.noisy, noisy)
			assert.Equal(t, c.spread, q.spread())
		})
	}
}

// TestRoundsAreRepeated has a noisy round, and only noisy rounds.
func TestRoundsAreRepeated(t *testing.T) {
	measure := func(to io.Writer, round int) error {
		_, err := fmt.Fprintln(to, "round", round)
		return err
	}
	var canaries []time.Duration
	watch := func(all ...time.Duration) *quiet {
		canaries = all
		return newQuiet(func() time.Duration {
			next := canaries[0]
			canaries = canaries[1:]
			return next
		})
	}

	raw, err := watch(100, 160, 100, 110).rounds(2, measure)
	require.NoError(t, err)
	assert.Equal(t, "round 0\nround 1\n", string(raw))
	assert.Empty(t, canaries, "round 0 is measured again")

	_, err = watch(100, 160, 160, 160).rounds(2, measure)
	assert.EqualError(t, err, "3 rounds were noisy: nothing is published of this machine")

	_, err = new(quiet).rounds(1, measure)
	assert.NoError(t, err)
}

// TestCanary takes a time that can be compared.
func TestCanary(t *testing.T) {
	assert.Greater(t, canary(), time.Millisecond)
}
