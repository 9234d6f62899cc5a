package evict

import (
	"cmp"
	"slices"
	"time"
)

// Counter counts evictions by queue. The zero Counter is ready.
type Counter struct{ queues map[string]*count }

// count has the evictions of one queue.
type count struct {
	length time.Duration // for which an eviction counts
	times  []moment      // in order
}

// moment is a number of evictions at one time.
type moment struct {
	at int64 // unix milliseconds
	n  int
}

// Begin lets time pass. length returns the length of the present budget of a queue, 0 for none. Without a budget, the
// last length stays, in case the queue has a budget again.
func (c *Counter) Begin(now time.Time, length func(queue string) time.Duration) {
	for queue, evicted := range c.queues {
		if l := length(queue); l > 0 {
			evicted.length = l
		}

		from := now.Add(-evicted.length).UnixMilli()
		evicted.times = slices.DeleteFunc(evicted.times, func(m moment) bool { return m.at <= from })

		// Times in the future were noted before the clock was set back. They become one, since Record has each once.
		latest := ceil(now)
		ahead := 0
		for n := len(evicted.times); n > 0 && evicted.times[n-1].at >= latest; n = len(evicted.times) {
			ahead += evicted.times[n-1].n
			evicted.times = evicted.times[:n-1]
		}
		if ahead > 0 {
			evicted.times = append(evicted.times, moment{latest, ahead})
		}

		if len(evicted.times) == 0 {
			delete(c.queues, queue)
		}
	}
}

// ceil returns a time in milliseconds, rounded up.
func ceil(at time.Time) int64 { return at.Add(time.Millisecond - 1).UnixMilli() }

// Used returns the number of evictions of a queue during a length until now.
func (c *Counter) Used(queue string, now time.Time, length time.Duration) (n int) {
	evicted := c.queues[queue]
	if evicted == nil {
		return 0
	}

	from := now.Add(-length).UnixMilli()
	for _, m := range evicted.times {
		if m.at > from {
			n += m.n
		}
	}

	return n
}

// Add counts evictions of a queue with a budget of some length. If n is below 0, it takes back evictions that were
// counted at the same time.
func (c *Counter) Add(queue string, now time.Time, length time.Duration, n int) {
	if c.queues == nil {
		c.queues = map[string]*count{}
	}
	evicted := c.queues[queue]
	if evicted == nil {
		evicted = &count{}
		c.queues[queue] = evicted
	}
	evicted.length = length

	at := ceil(now)
	last := len(evicted.times) - 1
	if last >= 0 && evicted.times[last].at == at {
		evicted.times[last].n += n
		if evicted.times[last].n <= 0 {
			evicted.times = evicted.times[:last]
		}
		return
	}

	if n > 0 {
		evicted.times = append(evicted.times, moment{at, n})
	}
}

// merge adds the evictions of another counter. Evictions of a queue at one time are the same ones.
func (c *Counter) merge(other *Counter) {
	if c.queues == nil {
		c.queues = map[string]*count{}
	}

	for queue, added := range other.queues {
		evicted := c.queues[queue]
		if evicted == nil {
			c.queues[queue] = added
			continue
		}

		times := slices.Concat(evicted.times, added.times)
		slices.SortFunc(times, func(x, y moment) int { return cmp.Or(cmp.Compare(x.at, y.at), cmp.Compare(y.n, x.n)) })
		evicted.times = slices.CompactFunc(times, func(x, y moment) bool { return x.at == y.at })
	}
}

// Next returns the time when a budget of most evictions in a length has room for one more. It returns now if the budget
// has room already.
func (c *Counter) Next(queue string, now time.Time, most int, length time.Duration) time.Time {
	evicted := c.queues[queue]
	if evicted == nil {
		return now
	}

	// The budget has room once the latest evictions are fewer than most.
	n := 0
	for _, m := range slices.Backward(evicted.times) {
		n += m.n
		if n < most {
			continue
		}

		if next := time.UnixMilli(m.at).Add(length); next.After(now) {
			return next
		}
		break
	}

	return now
}
