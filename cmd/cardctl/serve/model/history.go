package model

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/capacity-card/capacity-card/plugin/report"
)

// The history has a sample for each slot of the last hour.
const (
	slot       = 30 * time.Second
	slots      = 120
	mostSeries = 20000
)

// History keeps what queues had in the last hour. It is bounded: a queue or a card that comes
// when mostSeries are kept has no history.
type History struct {
	mu      sync.Mutex
	series  map[seriesKey]int
	keys    []seriesKey
	samples []sample // the oldest first
}

// seriesKey is a card of a queue, those below it included, or its own jobs that wait: for a card, or "" for all of them.
type seriesKey struct {
	queue, resource string
	waiting         bool
}

type sample struct {
	time   time.Time
	values []value // by series
}

type value struct{ allocated, inqueue float32 }

// NewHistory returns an empty history.
func NewHistory() *History { return &History{series: map[seriesKey]int{}} }

// Add adds a model. The last one of a slot counts.
func (h *History) Add(m *Model) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := sample{time: m.Time.Truncate(slot), values: make([]value, len(h.keys), len(h.keys)+1)}
	put := func(k seriesKey, v value) {
		i, known := h.series[k]
		if !known {
			if v == (value{}) || len(h.keys) == mostSeries {
				return
			}
			i = len(h.keys)
			h.series[k], h.keys = i, append(h.keys, k)
		}
		for len(s.values) <= i {
			s.values = append(s.values, value{})
		}
		s.values[i] = v
	}
	for i := range m.Queues {
		q := &m.Queues[i]
		for _, r := range q.Resources {
			if r.Card {
				put(seriesKey{queue: q.Queue, resource: r.Resource}, value{float32(r.Allocated), float32(r.Inqueue)})
			}
		}
	}
	for k, jobs := range m.waitingFor() {
		put(k, value{allocated: float32(jobs)})
	}
	if n := len(h.samples); n > 0 && h.samples[n-1].time.Equal(s.time) {
		h.samples[n-1] = s
		return
	}
	h.samples = append(h.samples, s)
	// Keep the last sample before the hour: the first slot takes its values if it has no sample.
	for len(h.samples) > 1 && s.time.Sub(h.samples[1].time) >= slot*(slots-1) {
		h.samples = h.samples[1:]
	}
}

// waitingFor counts the jobs that wait, each in its own queue: all of them, and those that wait for a card. A job with a
// list waits for each card of it. The queue is "" for jobs whose queue does not exist.
func (m *Model) waitingFor() map[seriesKey]int {
	jobs := map[seriesKey]int{}
	for i := range m.Waiting {
		f := &m.Waiting[i]
		queue := f.Queue
		if f.Rule == report.UnknownQueue {
			queue = ""
		}
		jobs[seriesKey{queue: queue, waiting: true}]++
		for _, name := range f.Cards {
			jobs[seriesKey{queue, name, true}]++
		}
	}
	return jobs
}

// Series is the history of a queue.
type Series struct {
	Queue    string  `json:"queue"`
	Resource string  `json:"resource,omitempty"` // "" for all jobs that wait
	Waiting  bool    `json:"waiting,omitempty"`  // the jobs that wait, not what is allocated
	Points   []Point `json:"points"`
}

// Point is a sample of a series.
type Point struct {
	Time    time.Time `json:"time"`
	Value   float64   `json:"value"` // allocated, or jobs that wait
	Inqueue float64   `json:"inqueue,omitempty"`
}

// Of returns what was allocated of a card in the queues that wanted selects. The series have a
// point for each slot up to now; a slot without a sample has the value before, because a cluster
// that does not change is not read.
func (h *History) Of(card string, wanted func(queue string) bool, now time.Time) []Series {
	return h.of(seriesKey{resource: card}, wanted, now)
}

// Waiting is Of for the number of jobs that wait for a card, or for anything if card is "".
func (h *History) Waiting(card string, wanted func(queue string) bool, now time.Time) []Series {
	return h.of(seriesKey{resource: card, waiting: true}, wanted, now)
}

func (h *History) of(what seriesKey, wanted func(queue string) bool, now time.Time) []Series {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []Series{}
	samples := h.inSlots(now)
	for i, k := range h.keys {
		if k.resource != what.resource || k.waiting != what.waiting || !wanted(k.queue) {
			continue
		}
		s := Series{Queue: k.queue, Resource: k.resource, Waiting: k.waiting, Points: make([]Point, len(samples))}
		for j, at := range samples {
			s.Points[j].Time = at.time
			if i < len(at.values) {
				s.Points[j].Value, s.Points[j].Inqueue = float64(at.values[i].allocated), float64(at.values[i].inqueue)
			}
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b Series) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}

// inSlots returns a sample for each slot of the last hour, from the first sample on.
func (h *History) inSlots(now time.Time) (all []sample) {
	if len(h.samples) == 0 {
		return nil
	}
	now = now.Truncate(slot)
	at := now.Add(-slot * (slots - 1))
	if first := h.samples[0].time; first.After(at) {
		at = first
	}
	last := 0
	for ; !at.After(now); at = at.Add(slot) {
		for last+1 < len(h.samples) && !h.samples[last+1].time.After(at) {
			last++
		}
		all = append(all, sample{at, h.samples[last].values})
	}
	return all
}
