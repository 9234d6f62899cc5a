package evict

import (
	"math"
	"slices"
	"time"
)

// Bounds are the bounds over time of the queues that are above one, by queue and by the name of a resource. The zero
// Bounds are ready.
type Bounds struct{ queues map[string]map[string][]step }

// step is a bound that held from a time on, or a lower one did, until the next step.
type step struct {
	at    int64 // unix milliseconds
	bound float64
}

// mostSteps bounds what is kept of a bound that falls all the time. Two steps in one have the later time.
const mostSteps = 32

// Note notes that a queue has more of a resource than its bound at a time. It reports whether no bound was as low since
// the queue came to be above it.
func (b *Bounds) Note(queue, resource string, now time.Time, bound float64) bool {
	if b.queues == nil {
		b.queues = map[string]map[string][]step{}
	}
	if b.queues[queue] == nil {
		b.queues[queue] = map[string][]step{}
	}
	steps := b.queues[queue][resource]
	next, lower := step{ceil(now), bound}, true
	for n := len(steps); n > 0 && steps[n-1].bound <= bound; n = len(steps) {
		next.at = steps[n-1].at
		steps = steps[:n-1]
		lower = false
	}
	steps = append(steps, next)
	if len(steps) > mostSteps {
		steps = slices.Delete(steps, len(steps)-2, len(steps)-1)
	}
	b.queues[queue][resource] = steps
	return lower
}

// Allowed returns the most that a bound allowed in a time until now, infinity for one that is not known for as long.
func (b *Bounds) Allowed(queue, resource string, now time.Time, after time.Duration) float64 {
	allowed := math.Inf(1)
	for _, s := range b.queues[queue][resource] {
		if s.at <= ceil(now.Add(-after)) {
			allowed = s.bound
		}
	}
	return allowed
}

// Due returns from when on the queue may not have more than the lowest bound.
func (b *Bounds) Due(queue, resource string, after time.Duration) time.Time {
	steps := b.queues[queue][resource]
	if len(steps) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(steps[len(steps)-1].at).Add(after)
}

// Keep forgets the bounds of queues and resources that are not above one any more.
func (b *Bounds) Keep(above func(queue, resource string) bool) {
	for queue, all := range b.queues {
		for resource := range all {
			if !above(queue, resource) {
				delete(all, resource)
			}
		}
		if len(all) == 0 {
			delete(b.queues, queue)
		}
	}
}
