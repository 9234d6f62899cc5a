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

// bounds is the configuration from which the bounds of the index were derived. The bounds are valid while it stays the
// same.
type bounds struct {
	tree     *index.Tree
	settings Settings
	cards    bool
	specs    uint64 // the session in which a spec changed last, see objects.Queues
	total    fastres.Vector
	gone     fastres.Vector
	more     fastres.Vector // see stock
	less     fastres.Vector
	closed   closed
	devices  bool // the capability of any queue bounds devices
}

// readQueues derives the bounds of all queues, unless they are valid, and empties the other accounts. It returns the
// names that have no dimension.
func (s *State) readQueues(ssn *framework.Session, ix *index.Index, session *Inputs) (missing []string) {
	r := reader{dims: &session.Dims}
	s.total.Reset()
	r.add(s.total, ssn.TotalResource)
	for _, stock := range session.cards.Stock() {
		session.Dims.names.AddCard(s.total, stock.Dim, float64(stock.Milli))
	}

	s.setQueues(ssn, session)
	s.holders.limits.read(session, &r)
	s.findCharges(ssn, session)
	if s.valid(session) {
		ix.ResetUsage()
		session.devices = s.bounds.devices
	} else {
		ix.Reset(session.tree, session.Dims.length)
		s.deriveBounds(ix, session, &r)
		session.BoundsChanged = true
	}

	s.setAvailable(session)
	return r.missing
}

// setQueues finds the objects of the queues, and decides once for a session what hooks ask about them.
func (s *State) setQueues(ssn *framework.Session, session *Inputs) {
	session.Queues = make([]*api.QueueInfo, session.tree.Len())
	for id, queue := range ssn.Queues {
		session.Queues[session.tree.Lookup(string(id))] = s.queues.Info(queue)
	}

	s.setEligible(session)
	session.setTimeouts()

	session.Jobs = make([]int, session.tree.Len())
	session.Admitted = nil
	if session.HasPolicies() {
		session.Admitted = make([]int, session.tree.Len())
	}
}

// findCharges finds the charges that the nodes do not cover, and the charges of closed queues.
func (s *State) findCharges(ssn *framework.Session, session *Inputs) {
	bounding := session.tree.Rooted() || session.cards != nil || session.settings.KeepsGuarantees()
	if !bounding {
		s.gone = gone{} // out of date when it bounds something again
	}
	s.gone.resize(session.Dims.length)
	if bounding {
		s.gone.find(ssn, s.jobs, session, s.nodes.left)
	}

	s.stock.resize(session.Dims.length)
	s.stock.find(ssn, s.jobs, session, &s.crew, s.gone.some)
	s.closed = findClosed(s.jobs, session)

	session.Gone = s.gone.some || s.stock.differs()
	session.stock = &s.stock
}

// setAvailable sets Available and AvailableThen. Events of the session change both vectors, so they are copies: the
// next session begins with s.available, if the same bounds hold.
func (s *State) setAvailable(session *Inputs) {
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
}

// valid reports whether the bounds of the index follow from the configuration of this session.
func (s *State) valid(session *Inputs) bool {
	b := &s.bounds
	switch {
	case session.settings.Proportion: // its bounds depend on requests
		return false
	case b.cards != (session.cards != nil) || session.cards.QuotasChanged():
		return false
	case b.tree != session.tree || b.specs != s.queues.Specs() || b.settings != session.settings:
		return false
	}
	return same(b.gone, s.gone.charges) && same(b.more, s.stock.more) && same(b.less, s.stock.less) &&
		b.closed.equal(s.closed) && same(b.total, s.total)
}

func same(x, y fastres.Vector) bool { return x.Len() == y.Len() && x.Equal(y) }

// deriveBounds reads the configuration and applies the rules of capability.
func (s *State) deriveBounds(ix *index.Index, session *Inputs, r *reader) {
	s.findAvailable()
	session.cards.ResolveShares(session.tree, s.available)
	s.readSpecs(ix, session, r)
	s.boundRoot(ix, session, s.gone.charges)
	limits := quota.Limits{
		Total:    session.cards.Deservable(s.total),
		Bound:    s.rootBound,
		OpenRoot: session.settings.OpenRoot,
		ZeroLeaf: session.settings.UnsetCapability == UnsetZero,
	}
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

	session.devices = false
	for q, queue := range session.Queues {
		if queue != nil && session.boundDevices(ix, index.Queue(q), queue.Queue.Spec.Capability) {
			session.devices = true
		}
	}

	s.liftTotal(ix, session)
	if session.settings.DeservedFrom == DeservedFromWeight && !session.settings.Proportion {
		weight := func(q index.Queue, d fastres.Dim) float64 { return session.Weight(ix, q, d) }
		quota.DeservedByWeight(ix, limits.Total, weight)
	}

	s.bounds = bounds{}
	if len(r.missing) == 0 { // otherwise they were derived without some names
		s.keepBounds(ix, session)
	}
}

// keepBounds keeps copies of the configuration from which the bounds were derived.
func (s *State) keepBounds(ix *index.Index, session *Inputs) {
	s.bounds = bounds{
		tree:     ix.Tree,
		settings: session.settings,
		cards:    session.cards != nil,
		specs:    s.queues.Specs(),
		total:    fastres.NewVector(session.Dims.length),
		gone:     fastres.NewVector(session.Dims.length),
		more:     fastres.NewVector(session.Dims.length),
		less:     fastres.NewVector(session.Dims.length),
		closed:   s.closed,
		devices:  session.devices,
	}
	s.bounds.total.CopyFrom(s.total)
	s.bounds.gone.CopyFrom(s.gone.charges)
	s.bounds.more.CopyFrom(s.stock.more)
	s.bounds.less.CopyFrom(s.stock.less)
}

// readSpecs reads the bounds in the specs and annotations of the queues.
func (s *State) readSpecs(ix *index.Index, session *Inputs, r *reader) {
	devices := session.settings.Devices
	for i, queue := range session.Queues {
		if queue == nil {
			continue
		}

		q := index.Queue(i)
		spec := &queue.Queue.Spec
		r.addList(ix.Capability.Row(q), devices.withoutDevices(spec.Capability))
		r.addList(ix.Guarantee.Row(q), devices.withoutDevices(spec.Guarantee.Resource))
		if !session.settings.Proportion {
			r.addList(ix.Deserved.Row(q), devices.withoutDevices(spec.Deserved))
		}
		session.cards.AddBounds(ix, q)
		if has, is := s.closed[q]; is {
			ix.Guarantee.Row(q).CapToZero(has)
		}
	}
}

// findAvailable sets available to the resources that the nodes give and the queues have. Of cards it is the stock.
func (s *State) findAvailable() {
	s.available.CopyFrom(s.total)
	s.available.Add(s.gone.charges)
	s.available.Add(s.stock.more)
	s.available.Sub(s.stock.less)
}

// boundRoot sets rootBound, and lifts the bounds in available of what no guarantee keeps free. rootBound is the bound
// of admission at the root, and the resources that flat queues share.
//
// DIVERGES: upstream compares the allocated resources of all queues with the resources of the present nodes. After a
// loss of nodes the queues have more, and no queue below the root gets anything. Here the charges on lost nodes do not
// count against the root's total. Flat queues without cards follow upstream: each queue is compared separately.
func (s *State) boundRoot(ix *index.Index, session *Inputs, gone fastres.Vector) {
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
		if !session.settings.KeepsGuarantees() && !session.Dims.names.IsCard(d) {
			s.available.Set(d, fastres.MaxQuantity)
		}
	}
}

// liftTotal removes the bounds of card resources that only follow from the total (quota.LiftTotal). A resource keeps
// its bound if no node gives cards through it.
func (s *State) liftTotal(ix *index.Index, session *Inputs) {
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

	bounded := func(q index.Queue, d fastres.Dim) bool {
		if session.Queues[q] == nil {
			return false
		}

		_, set := session.Queues[q].Queue.Spec.Capability[v1.ResourceName(names.Name(d))]
		return set
	}
	quota.LiftTotal(ix, dims, session.cards.Counted, bounded)
}

// ownBound sets rootBound to the capability of the root. If the capability is empty, the resources of nodes have no
// bound.
func (s *State) ownBound(capability fastres.Vector) {
	if !capability.IsEmpty() {
		s.rootBound.CopyFrom(capability)
		return
	}

	// A capability of 0 of everything is empty, too.
	s.rootBound.Reset()
	s.rootBound.Set(fastres.CPU, fastres.MaxQuantity)
	s.rootBound.Set(fastres.Memory, fastres.MaxQuantity)
	for d := range s.total.Present() {
		s.rootBound.Set(d, fastres.MaxQuantity)
	}
}

// setEligible decides once for a session about each queue (Eligible): hooks ask about a queue for each of its tasks.
func (s *State) setEligible(session *Inputs) {
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
func (s *Inputs) Eligible(q index.Queue) quota.Verdict {
	if q == index.None {
		return quota.Verdict{Reason: quota.UnknownQueue, Queue: q}
	}
	return s.eligible[q]
}

// Open reports whether a queue is neither closed nor being closed. A root without an object is open.
func (s *Inputs) Open(q index.Queue) bool {
	if s.Queues[q] == nil {
		return true
	}

	switch s.Queues[q].Queue.Status.State {
	case scheduling.QueueStateClosed, scheduling.QueueStateClosing, scheduling.QueueStateUnknown:
		return false
	}
	return true
}

// Weight returns the weight of a queue among its siblings in one dimension. It is 0 for a card where cards do not
// count, and for a queue that annotations do not place. Where quotas are flat, it is 0 for the root queue that
// Volcano creates.
func (s *Inputs) Weight(ix *index.Index, q index.Queue, d fastres.Dim) float64 {
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
