package evict

import (
	"fmt"
	"math"
	"time"
)

// Ledger has the evictions that still count, and since when queues are above their bounds. The zero Ledger is ready.
type Ledger struct {
	Lost  Counter // by the queue that had the pod, and those above it
	Taken Counter // by the queue that the pod was evicted for, and those above it
	Above Bounds
	// Changed: something is to be saved.
	Changed bool
}

// Shift makes all times later: a dump of a cluster was taken some time ago.
func (l *Ledger) Shift(by time.Duration) {
	for _, c := range []*Counter{&l.Lost, &l.Taken} {
		for _, a := range c.queues {
			for i := range a.times {
				a.times[i].at += by.Milliseconds()
			}
		}
	}
	for _, all := range l.Above.queues {
		for _, steps := range all {
			for i := range steps {
				steps[i].at += by.Milliseconds()
			}
		}
	}
}

// Record is a Ledger as it is stored. Times are unix milliseconds.
type Record struct {
	Lost  map[string]CountRecord             `json:"lost,omitempty"`
	Taken map[string]CountRecord             `json:"taken,omitempty"`
	Above map[string]map[string][]StepRecord `json:"above,omitempty"`
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
	if len(l.Lost.queues)+len(l.Taken.queues)+len(l.Above.queues) == 0 {
		return nil
	}
	r := &Record{Lost: l.Lost.record(), Taken: l.Taken.record(), Above: map[string]map[string][]StepRecord{}}
	for queue, all := range l.Above.queues {
		r.Above[queue] = map[string][]StepRecord{}
		for resource, steps := range all {
			for _, s := range steps {
				r.Above[queue][resource] = append(r.Above[queue][resource], StepRecord{s.at, s.bound})
			}
		}
	}
	return r
}

func (c *Counter) record() map[string]CountRecord {
	all := map[string]CountRecord{}
	for queue, a := range c.queues {
		of := CountRecord{Seconds: int64(a.length / time.Second)}
		for _, m := range a.times {
			of.Times = append(of.Times, [2]int64{m.at, int64(m.n)})
		}
		all[queue] = of
	}
	return all
}

// New returns the ledger of a record. It returns an error for a record that no Ledger wrote.
func New(r *Record) (*Ledger, error) {
	l := &Ledger{}
	for _, each := range []struct {
		to   *Counter
		from map[string]CountRecord
	}{{&l.Lost, r.Lost}, {&l.Taken, r.Taken}} {
		for queue, of := range each.from {
			a := &account{length: time.Duration(of.Seconds) * time.Second}
			before := int64(math.MinInt64)
			for _, t := range of.Times {
				if t[0] <= before || t[1] <= 0 || t[1] > math.MaxInt32 {
					return nil, fmt.Errorf("queue %s has the evictions %v", queue, of.Times)
				}
				before = t[0]
				a.times = append(a.times, moment{t[0], int(t[1])})
			}
			if each.to.queues == nil {
				each.to.queues = map[string]*account{}
			}
			each.to.queues[queue] = a
		}
	}
	return l, l.Above.read(r.Above)
}

func (b *Bounds) read(from map[string]map[string][]StepRecord) error {
	for queue, all := range from {
		for resource, steps := range all {
			for i, s := range steps {
				if math.IsNaN(s.Bound) || s.Bound < 0 || i > 0 && (s.At <= steps[i-1].At || s.Bound >= steps[i-1].Bound) {
					return fmt.Errorf("queue %s has the bounds %v of %s", queue, steps, resource)
				}
				if b.queues == nil {
					b.queues = map[string]map[string][]step{}
				}
				if b.queues[queue] == nil {
					b.queues[queue] = map[string][]step{}
				}
				b.queues[queue][resource] = append(b.queues[queue][resource], step{s.At, s.Bound})
			}
		}
	}
	return nil
}
