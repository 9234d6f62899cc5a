package intake

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// bounds is the configuration that the bounds of the index were derived from.
// They stay valid while it stays the same.
type bounds struct {
	tree     *index.Tree
	settings Settings
	cards    bool
	specs    uint64 // the session of the specs, see objects.Queues
	total    fastres.Vector
	gone     fastres.Vector
	more     fastres.Vector // see stock
	less     fastres.Vector
	closed   closed
	devices  bool // the capability of some queue bounds devices
}

// readQueues derives the bounds of all queues, unless they are valid, and empties
// the other accounts. It returns the names that have no dimension.
func (s *State) readQueues(ssn *framework.Session, ix *index.Index, session *Session) (missing []string) {
	r := reader{dims: &session.Dims}
	s.total.Reset()
	r.add(s.total, ssn.TotalResource)
	for _, stock := range session.cards.Stock() {
		session.Dims.names.AddCard(s.total, stock.Dim, float64(stock.Milli))
	}
	session.Jobs = make([]int, session.tree.Len())
	session.Queues = make([]*api.QueueInfo, session.tree.Len())
	for id, queue := range ssn.Queues {
		session.Queues[session.tree.Lookup(string(id))] = s.queues.Info(queue)
	}
	s.setEligible(session)
	session.setTimeouts()
	s.holders.limits.read(session, &r)
	session.Admitted = nil
	if session.MaxJobs() != nil {
		session.Admitted = make([]int, session.tree.Len())
	}
	bounding := session.tree.Rooted() || session.cards != nil || session.settings.KeepGuarantees
	if !bounding {
		s.gone = gone{} // out of date when it bounds something again
	}
	s.gone.resize(session.Dims.length)
	if bounding {
		s.gone.find(ssn, s.jobs, session)
	}
	s.stock.resize(session.Dims.length)
	s.stock.find(ssn, s.jobs, session, &s.crew, s.gone.some)
	s.closed = findClosed(s.jobs, session)
	if s.valid(session) {
		ix.ResetUsage()
		session.devices = s.bounds.devices
	} else {
		ix.Reset(session.tree, session.Dims.length)
		s.deriveBounds(ix, session, &r)
		session.BoundsChanged = true
	}
	session.Gone = s.gone.some || s.stock.differs()
	session.stock = &s.stock

	// Events of the session change both vectors. The next session, for which the same bounds hold, begins with s.available.
	session.Available = s.availableNow
	s.availableNow.CopyFrom(s.available)
	session.AvailableThen = s.availableThen
	s.availableThen.CopyFrom(s.available)
	for d := range s.gone.ending.Present() {
		if s.available.Get(d) < fastres.MaxQuantity {
			s.availableThen.Increase(d, -s.gone.ending.Get(d))
		}
	}
	for d := range s.stock.moreThen.Scalars() {
		s.availableThen.Increase(d, s.stock.moreThen.Get(d))
	}
	return r.missing
}

// valid reports whether the bounds of the index follow from the configuration of
// this session. Those of proportion depend on requests, so they never do.
func (s *State) valid(session *Session) bool {
	b := &s.bounds
	if b.cards != (session.cards != nil) || session.cards.QuotasChanged() {
		return false
	}
	return !session.settings.Proportion && b.tree == session.tree && b.specs == s.queues.Specs() && b.settings == session.settings &&
		same(b.gone, s.gone.charges) && same(b.more, s.stock.more) && same(b.less, s.stock.less) && b.closed.equal(s.closed) &&
		same(b.total, s.total)
}

func same(x, y fastres.Vector) bool { return x.Len() == y.Len() && x.Equal(y) }

// deriveBounds reads the configuration and applies the rules of capability.
func (s *State) deriveBounds(ix *index.Index, session *Session, r *reader) {
	b := bounds{tree: ix.Tree, settings: session.settings, cards: session.cards != nil, specs: s.queues.Specs(),
		total: fastres.NewVector(session.Dims.length), gone: fastres.NewVector(session.Dims.length),
		more: fastres.NewVector(session.Dims.length), less: fastres.NewVector(session.Dims.length), closed: s.closed}
	b.total.CopyFrom(s.total)
	b.gone.CopyFrom(s.gone.charges)
	b.more.CopyFrom(s.stock.more)
	b.less.CopyFrom(s.stock.less)
	for i, queue := range session.Queues {
		if queue == nil {
			continue
		}
		q := index.Queue(i)
		spec := &queue.Queue.Spec
		devices := session.settings.Devices
		r.addList(ix.Capability.Row(q), devices.withoutDevices(spec.Capability))
		r.addList(ix.Guarantee.Row(q), devices.withoutDevices(spec.Guarantee.Resource))
		if !session.settings.Proportion {
			r.addList(ix.Deserved.Row(q), devices.withoutDevices(spec.Deserved))
		}
		session.cards.AddBounds(ix, q)
		if has, some := s.closed[q]; some {
			ix.Guarantee.Row(q).CapToZero(has)
		}
	}
	limits := quota.Limits{Total: session.cards.Deservable(s.total), Bound: s.rootBound, OpenRoot: session.settings.OpenRoot,
		ZeroLeaf: session.settings.UnsetCapability == UnsetZero}
	s.boundRoot(ix, session, b.gone)
	if ix.Rooted() {
		quota.TreeBounds(ix, limits)
		if !limits.OpenRoot {
			session.cards.DeserveRoot(ix, limits.Total)
		}
	} else {
		// DIVERGES: upstream has no accounts of queues without jobs, and panics when
		// it compares one (upstream issue 5878). Here every queue has accounts.
		quota.FlatBounds(ix, limits, func(q index.Queue) bool {
			return len(session.Queues[q].Queue.Spec.Capability) != 0 || session.cards.Counted(q)
		})
	}
	for q, queue := range session.Queues {
		if queue != nil && session.boundDevices(ix, index.Queue(q), queue.Queue.Spec.Capability) {
			b.devices = true
		}
	}
	s.liftTotal(ix, session)
	if session.settings.DeservedFrom == DeservedFromWeight && !session.settings.Proportion {
		quota.DeservedByWeight(ix, s.total, func(q index.Queue, d fastres.Dim) float64 { return session.Weight(ix, q, d) })
	}
	s.bounds = b
	session.devices = b.devices
	if len(r.missing) > 0 {
		s.bounds = bounds{} // derived without them
	}
}

// boundRoot sets rootBound, the bound of admission at the root and what flat queues share, and
// available.
//
// DIVERGES: upstream compares all that queues have with what the present nodes have.
// After a loss of nodes that is more, and no queue below the root gets anything. Here
// what is gone does not count against the root's total. Flat queues without cards are
// upstream's: there each queue is compared by itself.
func (s *State) boundRoot(ix *index.Index, session *Session, gone fastres.Vector) {
	s.available.CopyFrom(s.total)
	s.available.Add(gone)
	s.available.Add(s.stock.more)
	s.available.Sub(s.stock.less)
	s.rootBound.CopyFrom(s.total)
	s.rootBound.Add(s.stock.more)
	s.rootBound.Sub(s.stock.less)
	for d := range gone.Present() {
		if ix.Rooted() || session.Dims.names.IsCard(d) {
			s.rootBound.Increase(d, gone.Get(d))
		}
	}
	switch {
	case session.settings.RootCapability == RootUnlimited:
		s.rootBound.Fill(fastres.MaxQuantity)
	case session.settings.RootCapability == RootOwn && ix.Rooted():
		s.ownBound(ix.Capability.Row(ix.Root()))
	}
	session.cards.BoundRoot(ix, s.rootBound)
	for d := range fastres.Dim(s.available.Len()) {
		if !session.settings.KeepGuarantees && !session.Dims.names.IsCard(d) {
			s.available.Set(d, fastres.MaxQuantity)
		}
	}
}

// liftTotal removes the bounds of the resources of cards that follow from the total alone (quota.LiftTotal). A resource
// through which no node gives a card keeps its bound.
func (s *State) liftTotal(ix *index.Index, session *Session) {
	own := session.settings.RootCapability == RootOwn && ix.Rooted()
	if session.cards == nil || !session.settings.Scalars || session.settings.Proportion || own {
		return
	}
	names := session.Dims.names
	var dims []fastres.Dim
	for d := range s.total.Scalars() {
		if !names.IsCard(d) && session.cards.GivesCards(v1.ResourceName(names.Name(d))) {
			dims = append(dims, d)
		}
	}
	quota.LiftTotal(ix, dims, session.cards.Counted, func(q index.Queue, d fastres.Dim) bool {
		if session.Queues[q] == nil {
			return false
		}
		_, set := session.Queues[q].Queue.Spec.Capability[v1.ResourceName(names.Name(d))]
		return set
	})
}

// ownBound sets rootBound to the root's capability, or to no bound in the dimensions of
// the nodes if it is empty.
func (s *State) ownBound(capability fastres.Vector) {
	s.rootBound.CopyFrom(capability)
	if !capability.IsEmpty() {
		return
	}
	s.rootBound.Set(fastres.CPU, fastres.MaxQuantity)
	s.rootBound.Set(fastres.Memory, fastres.MaxQuantity)
	for d := range s.total.Present() {
		s.rootBound.Set(d, fastres.MaxQuantity)
	}
}

// setEligible decides about each queue (Eligible) once for a session, because hooks ask about a queue for each of its
// tasks.
func (s *State) setEligible(session *Session) {
	s.eligible = s.eligible[:0]
	for i, queue := range session.Queues {
		v := quota.Eligible(session.tree, index.Queue(i))
		if v.OK() && (queue == nil || queue.Queue.Status.State != scheduling.QueueStateOpen) {
			v.Reason = quota.ClosedQueue
		}
		s.eligible = append(s.eligible, v)
	}
	session.eligible = s.eligible
}

// Eligible is the first part of every admission: the queue exists, reaches the root, is a leaf,
// and is open.
func (s *Session) Eligible(q index.Queue) quota.Verdict {
	if q == index.None {
		return quota.Verdict{Reason: quota.UnknownQueue, Queue: q}
	}
	return s.eligible[q]
}

// Open reports whether jobs of a queue can still be admitted, or, of a queue with
// children, whether it is not being closed.
func (s *Session) Open(q index.Queue) bool {
	if s.Queues[q] == nil {
		return true
	}
	switch s.Queues[q].Queue.Status.State {
	case scheduling.QueueStateClosed, scheduling.QueueStateClosing, scheduling.QueueStateUnknown:
		return false
	}
	return true
}

// Weight is the weight of a queue among its siblings in one dimension. It is 0
// for a card where cards do not count, for a queue that annotations do not place,
// and for the root queue that Volcano creates where quotas are flat.
func (s *Session) Weight(ix *index.Index, q index.Queue, d fastres.Dim) float64 {
	switch {
	case s.Dims.names.IsCard(d) && !s.cards.Counted(q):
		return 0
	case ix.Rooted() && s.settings.HierarchyFrom == HierarchyFromAnnotation:
		return s.weights[q]
	case s.Queues[q] == nil || !ix.Rooted() && ix.Name(q) == index.RootName:
		return 0
	}
	return float64(max(0, s.Queues[q].Weight))
}
