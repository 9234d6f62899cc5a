package model

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/ptr"
)

// mostSeries bounds the series. With all of them, the history has some 100 MiB.
const mostSeries = 20000

// History keeps the cards of queues in the last day. It is bounded: a queue or a card that comes
// when mostSeries are kept has no history.
type History struct {
	mu     sync.Mutex
	series map[seriesKey]int
	keys   []seriesKey
	fine   ring
	coarse ring
}

// seriesKey is a card of a queue, or its jobs that wait: for a card, or "" for all of them. The
// queue "" is the cluster.
type seriesKey struct {
	queue, resource string
	waiting         bool
}

// value holds one point of a series: the allocated cards or the jobs that wait, and the bound of the
// cards, 0 for none.
type value struct{ allocated, inqueue, bound float32 }

// NewHistory returns an empty history.
func NewHistory() *History {
	return &History{
		series: map[seriesKey]int{},
		fine:   ring{slot: fineSlot, slots: fineSlots},
		coarse: ring{slot: coarseSlot, slots: coarseSlots},
	}
}

// Add adds a model. The last one of a slot counts.
func (h *History) Add(m *Model) {
	h.mu.Lock()
	defer h.mu.Unlock()

	values := make([]value, len(h.keys), len(h.keys)+1)
	put := func(k seriesKey, v value) {
		i, known := h.series[k]
		if !known {
			if v.allocated == 0 && v.inqueue == 0 || len(h.keys) == mostSeries {
				return
			}
			i = len(h.keys)
			h.series[k] = i
			h.keys = append(h.keys, k)
		}
		for len(values) <= i {
			values = append(values, value{})
		}
		values[i] = v
	}

	for _, c := range m.Stock.Cards {
		put(seriesKey{resource: c.Card}, value{allocated: float32(c.Charged), bound: float32(c.Allocatable)})
	}
	put(seriesKey{waiting: true}, value{allocated: float32(len(m.Waiting))})
	for i := range m.Queues {
		q := &m.Queues[i]
		put(seriesKey{queue: q.Queue, waiting: true}, value{allocated: float32(q.Waiting)})
		for _, r := range q.Resources {
			if r.Card {
				put(seriesKey{queue: q.Queue, resource: r.Resource}, value{
					allocated: float32(r.Allocated),
					inqueue:   float32(r.Inqueue),
					bound:     float32(ptr.Deref(r.Capability, 0)),
				})
			}
		}
	}
	for k, jobs := range m.waitingFor() {
		put(k, value{allocated: float32(jobs)})
	}

	h.fine.add(m.Time, values)
	h.coarse.add(m.Time, values)
}

// waitingFor counts the jobs that wait by queue and card, in their queues, in the queues above, and in the cluster.
// A job with a list waits for each card of it. Queues that do not exist have no series: only the job has their names.
func (m *Model) waitingFor() map[seriesKey]int {
	jobs := map[seriesKey]int{}
	paths := map[string][]string{} // by queue
	t := newTree(m.Queues)
	for i := range m.Waiting {
		f := &m.Waiting[i]
		path, known := paths[f.Queue]
		if !known && t.byName[f.Queue] != nil {
			path = t.path(f.Queue)
			paths[f.Queue] = path
		}

		for _, name := range f.Cards {
			jobs[seriesKey{"", name, true}]++
			for _, queue := range path {
				jobs[seriesKey{queue, name, true}]++
			}
		}
	}
	return jobs
}

// Series is the history of a queue, or of the cluster.
type Series struct {
	Queue    string  `json:"queue,omitempty"`    // "" for the cluster
	Resource string  `json:"resource,omitempty"` // "" for all jobs that wait
	Waiting  bool    `json:"waiting,omitempty"`  // the jobs that wait, not the allocated cards
	Points   []Point `json:"points"`
}

// Point is a sample of a series.
type Point struct {
	Time    time.Time `json:"time"`
	Value   float64   `json:"value"` // allocated, or jobs that wait
	Inqueue float64   `json:"inqueue,omitempty"`
	// Bound is the quota of the queue, or the cards of the nodes, 0 for none.
	Bound float64 `json:"bound,omitempty"`
}

// Last returns the value of the last point.
func (s Series) Last() float64 { return s.Points[len(s.Points)-1].Value }

// Window is a period of the history that ends at a time.
type Window struct {
	Period time.Duration
	Now    time.Time
}

// Of returns the allocated amounts of a card in the queues that wanted selects. All series have the same number of
// points: one for each slot of the window.
func (h *History) Of(card string, wanted func(queue string) bool, w Window) []Series {
	return h.find(seriesKey{resource: card}, wanted, w)
}

// Waiting is Of for the number of jobs that wait for a card, or for anything if card is "".
func (h *History) Waiting(card string, wanted func(queue string) bool, w Window) []Series {
	return h.find(seriesKey{resource: card, waiting: true}, wanted, w)
}

// find returns the series of a key, whatever its queue is, in the queues that wanted selects.
func (h *History) find(key seriesKey, wanted func(queue string) bool, w Window) []Series {
	h.mu.Lock()
	defer h.mu.Unlock()

	all := []Series{}
	samples := h.samples(w)
	for i, k := range h.keys {
		if len(samples) == 0 || k.resource != key.resource || k.waiting != key.waiting || !wanted(k.queue) {
			continue
		}

		s := Series{Queue: k.queue, Resource: k.resource, Waiting: k.waiting, Points: make([]Point, len(samples))}
		for j, at := range samples {
			v := at.value(i)
			s.Points[j] = Point{at.time, float64(v.allocated), float64(v.inqueue), float64(v.bound)}
		}
		all = append(all, s)
	}

	slices.SortFunc(all, func(a, b Series) int { return strings.Compare(a.Queue, b.Queue) })
	return all
}

// Queues returns the queues that have a series of a card, or of jobs that wait for it.
func (h *History) Queues(card string, waiting bool) map[string]bool {
	h.mu.Lock()
	defer h.mu.Unlock()

	all := map[string]bool{}
	for _, k := range h.keys {
		if k.resource == card && k.waiting == waiting {
			all[k.queue] = true
		}
	}
	return all
}

// samples returns the samples of a window, from the finest ring that lasts for it.
func (h *History) samples(w Window) []sample {
	if w.Period <= h.fine.span() {
		return h.fine.window(w.Period, w.Now)
	}
	return h.coarse.window(w.Period, w.Now)
}

// value returns the value of a series, zero for one that came later.
func (s sample) value(series int) value {
	if series < len(s.values) {
		return s.values[series]
	}
	return value{}
}

// Change compares a series at the begin of a window with its end.
type Change struct {
	Queue    string  `json:"queue,omitempty"` // "" for the cluster
	Resource string  `json:"resource,omitempty"`
	Waiting  bool    `json:"waiting,omitempty"`
	Before   float64 `json:"before"`
	After    float64 `json:"after"`
	// BoundBefore and BoundAfter are the quota of the queue, or the cards of the nodes, 0 for none.
	BoundBefore float64 `json:"boundBefore,omitempty"`
	BoundAfter  float64 `json:"boundAfter,omitempty"`
}

// Bounds reports whether the bound differs. A queue that is new, or gone, has none.
func (c Change) Bounds() bool {
	return c.BoundBefore != c.BoundAfter && c.BoundBefore != 0 && c.BoundAfter != 0
}

// Changes compares the series of the queues that wanted selects, and returns the largest differences first. since is
// the begin of the comparison. It is later than the begin of the window if the history is shorter.
func (h *History) Changes(wanted func(queue string) bool, w Window) (all []Change, since time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()

	all = []Change{}
	samples := h.samples(w)
	if len(samples) == 0 {
		return all, w.Now
	}

	first := samples[0]
	last := samples[len(samples)-1]
	for i, k := range h.keys {
		from := first.value(i)
		to := last.value(i)
		c := Change{
			Queue:       k.queue,
			Resource:    k.resource,
			Waiting:     k.waiting,
			Before:      float64(from.allocated),
			After:       float64(to.allocated),
			BoundBefore: float64(from.bound),
			BoundAfter:  float64(to.bound),
		}
		if wanted(k.queue) && (c.Before != c.After || c.Bounds()) {
			all = append(all, c)
		}
	}

	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(
			cmp.Compare(math.Abs(b.After-b.Before), math.Abs(a.After-a.Before)),
			cmp.Compare(a.Queue, b.Queue),
			cmp.Compare(a.Resource, b.Resource),
		)
	})
	return all, first.time
}
