package evict

import (
	"maps"
	"math"
	"slices"
	"time"
)

// Bounds are the bounds over time of the queues that are above one. The zero Bounds are ready.
type Bounds struct{ steps map[account][]step }

// account is a queue and the name of a resource.
type account struct{ queue, resource string }

// step is a bound that held from a time on, until the next step. Its bound is lower than the bound of the step before.
type step struct {
	at    int64 // unix milliseconds
	bound float64
}

// mostSteps bounds the number of steps of a bound that falls all the time. If two steps are merged, the later time
// counts.
const mostSteps = 32

// Note notes that a queue has more of a resource than its bound at a time. It reports whether the bound is lower than
// all bounds since the queue came to be above it.
func (b *Bounds) Note(queue, resource string, now time.Time, bound float64) bool {
	if b.steps == nil {
		b.steps = map[account][]step{}
	}

	// Earlier bounds that are not higher count no longer: the queue may keep as much as the new bound allows. Nor
	// do bounds of a time that is not earlier: the clock was set back.
	key := account{queue, resource}
	steps := b.steps[key]
	next := step{ceil(now), bound}
	lower := true
	for n := len(steps); n > 0 && (steps[n-1].bound <= bound || steps[n-1].at >= next.at); n = len(steps) {
		lower = lower && steps[n-1].bound > bound
		next.at = min(next.at, steps[n-1].at)
		steps = steps[:n-1]
	}

	steps = append(steps, next)
	if len(steps) > mostSteps {
		steps = slices.Delete(steps, len(steps)-2, len(steps)-1)
	}
	b.steps[key] = steps

	return lower
}

// Allowed returns the most that a bound allowed during a time until now. It is infinite if the bound is not known for
// that long.
func (b *Bounds) Allowed(queue, resource string, now time.Time, after time.Duration) float64 {
	allowed := math.Inf(1)
	for _, s := range b.steps[account{queue, resource}] {
		if s.at <= ceil(now.Add(-after)) {
			allowed = s.bound
		}
	}

	return allowed
}

// Keep forgets the bounds of queues and resources for which above returns false.
func (b *Bounds) Keep(above func(queue, resource string) bool) {
	maps.DeleteFunc(b.steps, func(key account, _ []step) bool { return !above(key.queue, key.resource) })
}
