package evict

import (
	"fmt"
	"math"
	"time"
)

// Ledger has the evictions that still count, and the bounds of queues above them. The zero Ledger is ready.
type Ledger struct {
	Lost  Counter // by the queue of the evicted pod, and its ancestors
	Taken Counter // by the queue that the pod was evicted for, and its ancestors
	Above Bounds

	// Changed says that the ledger differs from the stored record.
	Changed bool
}

// Shift makes all times later, for a dump of a cluster that was taken some time ago.
func (l *Ledger) Shift(by time.Duration) {
	for _, c := range []*Counter{&l.Lost, &l.Taken} {
		for _, evicted := range c.queues {
			for i := range evicted.times {
				evicted.times[i].at += by.Milliseconds()
			}
		}
	}

	for _, steps := range l.Above.steps {
		for i := range steps {
			steps[i].at += by.Milliseconds()
		}
	}
}

// Merge adds the evictions that another ledger has counted. Evictions that both have count once. Bounds stay.
func (l *Ledger) Merge(other *Ledger) {
	l.Lost.merge(&other.Lost)
	l.Taken.merge(&other.Taken)
	l.Changed = l.Changed || other.Changed
}

// Record is a Ledger as it is stored. Times are unix milliseconds.
type Record struct {
	Lost  map[string]CountRecord             `json:"lost,omitempty"`
	Taken map[string]CountRecord             `json:"taken,omitempty"`
	Above map[string]map[string][]StepRecord `json:"above,omitempty"` // by queue and resource
}

// CountRecord is the evictions of a queue: pairs of a time and a number.
type CountRecord struct {
	Seconds int64      `json:"seconds"` // for which they count
	Times   [][2]int64 `json:"times"`
}

// StepRecord is a bound from a time on.
type StepRecord struct {
	At    int64   `json:"at"`
	Bound float64 `json:"bound"`
}

// Record returns a copy of the ledger, nil for an empty one.
func (l *Ledger) Record() *Record {
	if len(l.Lost.queues)+len(l.Taken.queues)+len(l.Above.steps) == 0 {
		return nil
	}

	return &Record{Lost: l.Lost.record(), Taken: l.Taken.record(), Above: l.Above.record()}
}

func (c *Counter) record() map[string]CountRecord {
	all := map[string]CountRecord{}
	for queue, evicted := range c.queues {
		r := CountRecord{Seconds: int64(evicted.length / time.Second)}
		for _, m := range evicted.times {
			r.Times = append(r.Times, [2]int64{m.at, int64(m.n)})
		}
		all[queue] = r
	}

	return all
}

func (b *Bounds) record() map[string]map[string][]StepRecord {
	all := map[string]map[string][]StepRecord{}
	for key, steps := range b.steps {
		if all[key.queue] == nil {
			all[key.queue] = map[string][]StepRecord{}
		}
		for _, s := range steps {
			all[key.queue][key.resource] = append(all[key.queue][key.resource], StepRecord{s.at, s.bound})
		}
	}

	return all
}

// New returns the ledger of a record. It returns an error for a record that no Ledger wrote.
func New(r *Record) (*Ledger, error) {
	l := &Ledger{}
	if err := l.Lost.read(r.Lost); err != nil {
		return nil, err
	}
	if err := l.Taken.read(r.Taken); err != nil {
		return nil, err
	}

	return l, l.Above.read(r.Above)
}

func (c *Counter) read(from map[string]CountRecord) error {
	c.queues = map[string]*count{}
	for queue, r := range from {
		evicted := &count{length: time.Duration(r.Seconds) * time.Second}
		before := int64(math.MinInt64)
		for _, t := range r.Times {
			if t[0] <= before || t[1] <= 0 || t[1] > math.MaxInt32 {
				return fmt.Errorf("queue %s has the evictions %v", queue, r.Times)
			}

			before = t[0]
			evicted.times = append(evicted.times, moment{t[0], int(t[1])})
		}
		c.queues[queue] = evicted
	}

	return nil
}

func (b *Bounds) read(from map[string]map[string][]StepRecord) error {
	b.steps = map[account][]step{}
	for queue, byResource := range from {
		for resource, steps := range byResource {
			if !falling(steps) {
				return fmt.Errorf("queue %s has the bounds %v of %s", queue, steps, resource)
			}

			key := account{queue, resource}
			for _, s := range steps {
				b.steps[key] = append(b.steps[key], step{s.At, s.Bound})
			}
		}
	}

	return nil
}

// falling reports whether steps are bounds that fall over time.
func falling(steps []StepRecord) bool {
	for i, s := range steps {
		if math.IsNaN(s.Bound) || s.Bound < 0 {
			return false
		}
		if i > 0 && (s.At <= steps[i-1].At || s.Bound >= steps[i-1].Bound) {
			return false
		}
	}

	return true
}
