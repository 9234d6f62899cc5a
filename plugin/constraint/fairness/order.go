// Package fairness orders queues by what they have had over time: the queue that had less, of the
// cards that its jobs wait for, goes first. Package quota/usage has the formulas.
//
// Only the order differs. No quota changes, and no pod is evicted for it.
package fairness

import (
	"cmp"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// Memory is the history of all queues, and the place where it is stored. The zero Memory is ready.
type Memory struct {
	history *usage.History
	last    time.Time     // when the last session opened
	dims    []fastres.Dim // of the columns
	weights []float64     // of the columns
	columns []usage.Column
	wants   []int32 // columns, queue by queue
	ends    []int32 // by queue: where its columns end in wants
	ranks   []rank
	due     bool // it is time to save and to publish
	next    time.Time
	store   store
	holds   holds
	order   Order // of the session that is open
}

// rank is the place of a queue among its siblings.
type rank struct {
	// within: the queue waits, and only for columns of which it has less than it deserves.
	within        bool
	level, beyond float64
	gamma         float64
}

// Order is the order of queues in a session.
type Order struct {
	session *constraint.Session
	memory  *Memory
	with    *arguments.FairShare
	gamma   float64
}

var (
	_ constraint.QueueOrder = (*Order)(nil)
	_ constraint.Watcher    = (*Order)(nil)
)

// Open lets the time since the last session pass, and returns the order, nil where it is off.
func Open(s *constraint.Session, m *Memory, with *arguments.FairShare) any {
	if with.HalfLife == 0 {
		m.history, m.due = nil, false
		return nil
	}
	m.order = Order{s, m, with, usage.Decay(with.Horizon, with.HalfLife)}
	o := &m.order
	o.readColumns()
	switch {
	case m.history == nil:
		m.history = &usage.History{}
	default:
		m.history.Advance(usage.Decay(s.Now.Sub(m.last), with.HalfLife))
	}
	m.last = s.Now
	m.history.Bind(s.Index.Tree, m.columns)
	m.store.open(s.Volcano.KubeClient(), with)
	if stored := m.store.take(); stored != nil {
		o.restore(stored)
	}
	m.history.Namespaces().Bind(m.columns)
	for q := range index.Queue(s.Index.Len()) {
		o.read(q)
		for c, d := range m.dims {
			m.history.SetNorm(q, c, o.norm(q, d)/m.weights[c])
		}
	}
	m.history.Begin()
	o.readWants()
	m.ranks = append(m.ranks[:0], make([]rank, s.Index.Len())...)
	for q := range index.Queue(s.Index.Len()) {
		o.rank(q)
	}
	if m.due = !s.Now.Before(m.next); m.due {
		m.next = s.Now.Add(with.Save)
		m.store.offer(s.Now, m.history)
	}
	return o
}

// readColumns sets the columns: all cards, or what the argument fairShareOf names.
func (o *Order) readColumns() {
	m, names := o.memory, o.session.Names
	m.dims = m.dims[:0]
	for d := range fastres.Dim(names.Len()) {
		if d != fastres.Pods && !names.IsGroup(d) && o.counts(names.Name(d), names.IsCard(d)) {
			m.dims = append(m.dims, d)
		}
	}
	if len(m.columns) != len(m.dims) {
		m.columns, m.weights = make([]usage.Column, len(m.dims)), make([]float64, len(m.dims))
	}
	for c, d := range m.dims {
		name := names.Name(d)
		m.columns[c], m.weights[c] = usage.Column{Name: name, Card: names.IsCard(d)}, 1
		if weight, given := o.with.Weights[name]; given {
			m.weights[c] = weight
		}
	}
}

// counts reports whether the usage of a card or resource counts. Where cards have no names, their
// resources count.
func (o *Order) counts(name string, isCard bool) bool {
	for _, of := range o.with.Of {
		if of == name || of == arguments.FairShareOfCards && (isCard || card.OfVendor(v1.ResourceName(name))) {
			return true
		}
	}
	return false
}

// read sets what a queue has now.
func (o *Order) read(q index.Queue) {
	for c, d := range o.memory.dims {
		o.memory.history.Set(q, c, o.held(q, d))
	}
}

// held returns the part of what a queue has that counts as usage.
func (o *Order) held(q index.Queue, d fastres.Dim) float64 {
	return o.heldOf(q, d, o.session.Index.Allocated(q).Get(d))
}

func (o *Order) heldOf(q index.Queue, d fastres.Dim, allocated float64) float64 {
	if o.with.Counts == arguments.FairShareCountsBorrowed {
		allocated -= o.session.Index.Deserved.At(q, d)
	}
	return max(0, allocated)
}

// norm returns what the usage of a queue is compared with.
func (o *Order) norm(q index.Queue, d fastres.Dim) float64 {
	s := o.session
	if o.with.By != arguments.FairShareByWeight {
		return s.Index.Deserved.At(q, d)
	}
	weight := s.Intake.Weight(s.Index, q, d)
	if milli := s.Intake.Policies(q).FairShareWeight(); milli > 0 {
		weight = float64(milli) / 1000
	}
	return weight * s.Intake.Total.Get(d)
}

// gammaOf returns γ of a queue. Of one whose past does not count, only the present does.
func (o *Order) gammaOf(q index.Queue) float64 {
	if o.session.Intake.Policies(q).NoFairShare() {
		return 0
	}
	return o.gamma
}

// readWants sets the columns that count for each queue: those that pending pods in it and below
// request. A queue without such pods is compared where it may lose pods: the columns that it holds count.
func (o *Order) readWants() {
	m, ix := o.memory, o.session.Index
	m.wants, m.ends = m.wants[:0], m.ends[:0]
	for q := range index.Queue(ix.Len()) {
		before, allocated := len(m.wants), ix.Allocated(q)
		for c, d := range m.dims {
			if ix.Request.At(q, d) > allocated.Get(d) {
				m.wants = append(m.wants, int32(c))
			}
		}
		if len(m.wants) == before {
			for c, d := range m.dims {
				if allocated.Get(d) > 0 {
					m.wants = append(m.wants, int32(c))
				}
			}
		}
		m.ends = append(m.ends, int32(len(m.wants)))
	}
}

// rank computes the rank of a queue.
func (o *Order) rank(q index.Queue) {
	m, ix, from := o.memory, o.session.Index, int32(0)
	if q > 0 {
		from = m.ends[q-1]
	}
	wants := m.wants[from:m.ends[q]]
	r := rank{gamma: o.gammaOf(q)}
	r.level, r.beyond = m.history.Level(q, r.gamma, wants)
	r.within = len(wants) > 0
	for _, c := range wants {
		d := m.dims[c]
		r.within = r.within && ix.Allocated(q).Get(d) < ix.Deserved.At(q, d)
	}
	m.ranks[q] = r
}

// CompareQueues compares two queues of one priority. A queue that waits for what it deserves goes
// first, since it would otherwise reclaim from the other; then the one with the lower level.
func (o *Order) CompareQueues(l, r index.Queue) int {
	l, r, ok := quota.Rivals(o.session.Index, l, r)
	if !ok {
		return 0
	}
	lr, rr := o.memory.ranks[l], o.memory.ranks[r]
	if lr.within != rr.within {
		if lr.within {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(lr.level, rr.level), cmp.Compare(lr.beyond, rr.beyond))
}

// Charged and Refunded follow what queues have in the session.
func (o *Order) Charged(a constraint.Ask)  { o.changed(a.Queue) }
func (o *Order) Refunded(a constraint.Ask) { o.changed(a.Queue) }

func (o *Order) changed(q index.Queue) {
	for _, above := range o.session.Index.Path(q) {
		o.read(above)
		o.rank(above)
	}
}

// History returns the history of the session that is open, nil where it is off. It is for reading.
func (m *Memory) History() *usage.History { return m.history }

// Due reports whether the session is the first one after the time between saves.
func (m *Memory) Due() bool { return m.due }

// Level returns the level of a queue in the session.
func (m *Memory) Level(q index.Queue) float64 { return m.ranks[q].level }

// Saved returns when the history was saved or loaded last, the zero time for never.
func (m *Memory) Saved() time.Time { return m.store.lastSave() }

// Problems returns the problems of the store since the last call.
func (m *Memory) Problems() []string { return m.store.takeProblems() }

// Wait waits until nothing is being loaded or saved.
func (m *Memory) Wait() { m.store.work.Wait() }
