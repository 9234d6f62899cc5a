// Package fairness orders queues by usage over time: the queue that had less goes first, of the cards that its jobs
// wait for. Package quota/usage has the formulas.
//
// Only the order differs. No quota changes, and no pod is evicted for it.
package fairness

import (
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/store"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/usage"
)

// Memory is the history of all queues. The zero Memory is ready.
type Memory struct {
	history *usage.History
	last    time.Time     // when the last session opened
	dims    []fastres.Dim // of the columns
	weights []float64     // of the columns
	columns []usage.Column
	vendors []bool  // of the columns: resources that stand for cards without names
	listed  []bool  // by queue and column: pending pods name the card in a list; empty where none has a list
	wants   []int32 // columns, queue by queue
	ends    []int32 // by queue: where its columns end in wants
	ranks   []rank
	holds   holds
	tags    startTags
	order   order // of the session that is open
	// The hooks of order and loans are made once: they ask the order of the session that is open.
	orderHooks, loanHooks *constraint.Hooks
}

// rank is the place of a queue among its siblings.
type rank struct {
	// within: the queue waits, and has less than it deserves of each column that it waits for.
	within        bool
	level, beyond float64
	gamma         float64
}

// compare compares two ranks.
func (r rank) compare(other rank) int {
	if r.within != other.within {
		if r.within {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(r.level, other.level), cmp.Compare(r.beyond, other.beyond))
}

// order is the order of queues in a session.
type order struct {
	session *constraint.Session
	memory  *Memory
	with    *arguments.FairShare
	gamma   float64
}

// Open lets the time since the last session pass, and returns the order, nil where it is off. stored is what was
// loaded, nil for nothing.
func Open(s *constraint.Session, m *Memory, with *arguments.FairShare, stored *store.State) *constraint.Hooks {
	if with.HalfLife == 0 {
		m.history = nil
		return nil
	}

	m.order = order{s, m, with, usage.Decay(with.Horizon, with.HalfLife)}
	o := &m.order
	o.readColumns()

	if m.history == nil {
		m.history = &usage.History{}
	} else {
		m.history.Advance(usage.Decay(s.Now.Sub(m.last), with.HalfLife))
	}
	m.last = s.Now

	m.history.Bind(s.Index.Tree, m.columns)
	if stored != nil && stored.History != nil {
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
	m.tags.begin(s.Index.Tree, m.ranks)
	m.ranks = append(m.ranks[:0], make([]rank, s.Index.Len())...)
	for q := range index.Queue(s.Index.Len()) {
		o.rank(q)
	}

	if m.orderHooks == nil {
		m.orderHooks = o.hooks()
	}
	return m.orderHooks
}

// hooks returns the hooks of usage over time.
func (o *order) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      nil, // usage changes the order alone
		Hold:          nil, // a reservation is no usage
		Fit:           nil, // usage changes the order alone
		FitOwn:        nil, // deserved does not depend on usage
		Lacks:         nil, // for the same reason
		MayTake:       nil, // for the same reason
		Charge:        nil, // queues are not ordered in simulations
		Charged:       o.charged,
		Refunded:      o.refunded,
		CompareQueues: o.compareQueues,
	}
}

// readColumns sets the columns: all cards, or the cards and resources that fairShare: {of: …} names.
func (o *order) readColumns() {
	m, names := o.memory, o.session.Names
	m.dims = m.dims[:0]
	for d := range fastres.Dim(names.Len()) {
		if d != fastres.Pods && !names.IsGroup(d) && o.counts(names.Name(d), names.IsCard(d)) {
			m.dims = append(m.dims, d)
		}
	}

	if len(m.columns) != len(m.dims) {
		m.columns = make([]usage.Column, len(m.dims))
		m.weights = make([]float64, len(m.dims))
		m.vendors = make([]bool, len(m.dims))
	}

	for c, d := range m.dims {
		name := names.Name(d)
		m.columns[c] = usage.Column{Name: name, Card: names.IsCard(d)}
		m.weights[c] = 1
		m.vendors[c] = !names.IsCard(d) && !slices.Contains(o.with.Of, name)

		if weight, given := o.with.Weights[name]; given {
			m.weights[c] = weight
		}
	}
}

// counts reports whether the usage of a card or resource counts. Where cards have no names, their
// resources count.
func (o *order) counts(name string, isCard bool) bool {
	for _, counted := range o.with.Of {
		ofCards := isCard || card.OfVendor(v1.ResourceName(name))
		if counted == name || counted == arguments.FairShareOfCards && ofCards {
			return true
		}
	}
	return false
}

// countsIn reports whether a column counts in a queue. Where the cards of a queue count by name, a resource such as
// nvidia.com/gpu is the same cards once more, and the queue deserves nothing of it.
func (o *order) countsIn(q index.Queue, column int) bool {
	return !o.memory.vendors[column] || !o.session.Cards.Counted(q)
}

// read sets the present usage of a queue.
func (o *order) read(q index.Queue) {
	for c, d := range o.memory.dims {
		o.memory.history.Set(q, c, o.held(q, d))
	}
}

// held returns the part of allocated that counts as usage.
func (o *order) held(q index.Queue, d fastres.Dim) float64 {
	return o.heldOf(q, d, o.session.Index.AllocatedAt(q, d))
}

func (o *order) heldOf(q index.Queue, d fastres.Dim, allocated float64) float64 {
	if o.with.Counts == arguments.FairShareCountsBorrowed {
		allocated -= o.session.Index.Deserved.At(q, d)
	}
	return max(0, allocated)
}

// norm returns the norm of the usage of a queue.
func (o *order) norm(q index.Queue, d fastres.Dim) float64 {
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

// gammaOf returns γ of a queue. It is 0 where the past of the queue does not count.
func (o *order) gammaOf(q index.Queue) float64 {
	if o.session.Intake.Policies(q).NoFairShare() {
		return 0
	}
	return o.gamma
}

// readWants sets the columns that count for each queue: those that pending pods in it and below
// request. A queue without such pods is compared where it may lose pods: the columns that it holds count.
func (o *order) readWants() {
	o.readLists()
	m := o.memory
	ix := o.session.Index
	m.wants, m.ends = m.wants[:0], m.ends[:0]

	for q := range index.Queue(ix.Len()) {
		before, allocated := len(m.wants), ix.Allocated(q)
		for c, d := range m.dims {
			if o.waitsFor(q, c, d) {
				m.wants = append(m.wants, int32(c))
			}
		}

		// A queue that does not wait is compared where it may lose pods.
		if len(m.wants) == before {
			for c, d := range m.dims {
				if allocated.Get(d) > 0 && o.countsIn(q, c) {
					m.wants = append(m.wants, int32(c))
				}
			}
		}
		m.ends = append(m.ends, int32(len(m.wants)))
	}
}

// readLists notes all cards of the lists of pending pods. If only the first one counted, pods could name a card first
// that their queue has never had.
func (o *order) readLists() {
	m, s := o.memory, o.session
	m.listed = m.listed[:0]
	if len(s.Intake.Lists) == 0 {
		return
	}

	m.listed = append(m.listed, make([]bool, s.Index.Len()*len(m.dims))...)
	for _, list := range s.Intake.Lists {
		for _, d := range list.Cards {
			if c, counts := m.columnOf(d); counts {
				for _, above := range s.Index.Path(list.Queue) {
					m.listed[int(above)*len(m.dims)+c] = true
				}
			}
		}
	}
}

// waitsFor reports whether pending pods of a queue, or below it, request something of a column.
func (o *order) waitsFor(q index.Queue, column int, d fastres.Dim) bool {
	m, ix := o.memory, o.session.Index
	if !o.countsIn(q, column) {
		return false
	}
	return ix.Request.At(q, d) > ix.AllocatedAt(q, d) || len(m.listed) > 0 && m.listed[int(q)*len(m.dims)+column]
}

// columnOf returns the column of a card or resource, and whether it counts.
func (m *Memory) columnOf(d fastres.Dim) (column int, counts bool) {
	return slices.BinarySearch(m.dims, d)
}

// wantsOf returns the columns that count for a queue. It is for reading.
func (m *Memory) wantsOf(q index.Queue) []int32 {
	from := int32(0)
	if q > 0 {
		from = m.ends[q-1]
	}
	return m.wants[from:m.ends[q]]
}

// rank computes the rank of a queue.
func (o *order) rank(q index.Queue) {
	m := o.memory
	ix := o.session.Index
	wants := o.memory.wantsOf(q)
	r := rank{gamma: o.gammaOf(q)}
	r.level, r.beyond = m.history.Level(q, r.gamma, wants)

	r.within = len(wants) > 0
	for _, c := range wants {
		d := m.dims[c]
		r.within = r.within && ix.AllocatedAt(q, d) < ix.Deserved.At(q, d)
	}

	m.ranks[q] = r
}

// compareQueues compares two queues of one priority. A queue that waits for deserved cards goes first: otherwise it
// reclaims them from the other. Then the one with the lower level. Queues of different parents are compared by the
// ranks that queues above them have when it is their turn.
func (o *order) compareQueues(l, r index.Queue) int {
	lc, rc, ok := quota.Rivals(o.session.Index, l, r)
	if !ok {
		return 0
	}

	if lc == l && rc == r {
		if c := o.memory.ranks[l].compare(o.memory.ranks[r]); c != 0 || !o.session.Index.Rooted() || l == r {
			return c
		}
	}

	return o.memory.tags.compare(o, l, r, lc, rc)
}

func (o *order) charged(a constraint.Ask) {
	o.rankAgain(a.Queue)
	o.memory.tags.gets(a.Queue)
}

func (o *order) refunded(a constraint.Ask) {
	o.rankAgain(a.Queue)
	o.memory.tags.loses(a.Queue)
}

// rankAgain computes the ranks of a queue and its ancestors after a change of their accounts.
func (o *order) rankAgain(q index.Queue) {
	for _, above := range o.session.Index.Path(q) {
		o.read(above)
		o.rank(above)
	}
}

// History returns the history of the session that is open, nil where it is off. It is for reading.
func (m *Memory) History() *usage.History { return m.history }

// Forget forgets the history of earlier sessions.
func (m *Memory) Forget() {
	m.history, m.holds = nil, holds{}
	m.tags.tree = nil
}

// Level returns the level of a queue in the session.
func (m *Memory) Level(q index.Queue) float64 { return m.ranks[q].level }

// WaitsFor reports whether pending pods of a queue, or below it, request something of a column in this session.
func (m *Memory) WaitsFor(q index.Queue, column int) bool {
	return m.order.waitsFor(q, column, m.dims[column])
}
