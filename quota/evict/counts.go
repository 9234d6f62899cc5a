package evict

import (
	"slices"
	"time"
)

// Counter counts evictions by queue. The zero Counter is ready.
type Counter struct{ queues map[string]*account }

// account is the evictions of one queue.
type account struct {
	length time.Duration // for which they count
	times  []moment      // in order
}

// moment is some evictions at one time.
type moment struct {
	at int64 // unix milliseconds
	n  int
}

// Begin lets time pass. length returns the length of the present budget of a queue, 0 for none. Then evictions count
// for as long as before, in case the queue has a budget again. A time in the future is one of before the clock was set
// back.
func (c *Counter) Begin(now time.Time, length func(queue string) time.Duration) {
	for queue, a := range c.queues {
		if l := length(queue); l > 0 {
			a.length = l
		}
		from, latest := now.Add(-a.length).UnixMilli(), ceil(now)
		a.times = slices.DeleteFunc(a.times, func(m moment) bool { return m.at <= from })
		for i := range a.times {
			a.times[i].at = min(a.times[i].at, latest)
		}
		if len(a.times) == 0 {
			delete(c.queues, queue)
		}
	}
}

// ceil returns a time in milliseconds, rounded up.
func ceil(at time.Time) int64 { return at.Add(time.Millisecond - 1).UnixMilli() }

// Used returns how many evictions of a queue count at a time for a length.
func (c *Counter) Used(queue string, now time.Time, length time.Duration) (n int) {
	if a := c.queues[queue]; a != nil {
		from := now.Add(-length).UnixMilli()
		for _, m := range a.times {
			if m.at > from {
				n += m.n
			}
		}
	}
	return n
}

// Add counts evictions of a queue with a budget of some length. With n below 0, it takes back what was counted at the
// same time.
func (c *Counter) Add(queue string, now time.Time, length time.Duration, n int) {
	if c.queues == nil {
		c.queues = map[string]*account{}
	}
	a := c.queues[queue]
	if a == nil {
		a = &account{}
		c.queues[queue] = a
	}
	a.length = length
	at := ceil(now)
	if last := len(a.times) - 1; last >= 0 && a.times[last].at == at {
		a.times[last].n += n
		if a.times[last].n <= 0 {
			a.times = a.times[:last]
		}
	} else if n > 0 {
		a.times = append(a.times, moment{at, n})
	}
}

// Next returns when a budget of most evictions in a length has room for one more, now if it has.
func (c *Counter) Next(queue string, now time.Time, most int, length time.Duration) time.Time {
	a, n := c.queues[queue], 0
	if a == nil {
		return now
	}
	for _, m := range slices.Backward(a.times) {
		n += m.n
		if n >= most {
			if next := time.UnixMilli(m.at).Add(length); next.After(now) {
				return next
			}
			break
		}
	}
	return now
}
