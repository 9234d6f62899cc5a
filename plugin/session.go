package plugin

import (
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// rootName is the queue that all others hang from (capacity.go: rootQueueID).
const rootName = "root"

// session answers Volcano's questions during one session.
type session struct {
	*memory
	variant
	settings
	dimensions
	ssn   *framework.Session
	ix    *index.Index
	cards *cards // nil where cards count for nobody

	queues        []*api.QueueInfo // by number; nil for a root that is made up
	asked         queueNumbers
	jobsOf        []int          // by number: how many jobs
	gaugesByQueue []*queueGauges // by number, from the first use on
	limit         *index.Rows    // the bound of allocation
	share         quota.ShareRule

	kept    bool                   // promises that cannot be kept are sorted out
	missed  map[api.TaskID]bool    // tasks that were refused when they were placed
	current atomic.Pointer[whatIf] // of the task that nodes are looked at for
	asking  sync.Map               // preemptors of questions of our own, see preemptable
}

// openSession counts the queues and jobs of a session and registers the hooks.
func openSession(ssn *framework.Session, v variant, s settings, m *memory) *session {
	o := &session{memory: m, variant: v, settings: s, ssn: ssn, ix: &m.index, share: quota.Share, missed: map[api.TaskID]bool{}}
	o.limit = &o.ix.RealCapability
	if v.weighted {
		o.limit, o.share = &o.ix.Deserved, quota.WeightedShare
	}
	hierarchy := !v.weighted && ssn.HierarchyEnabled(v.name)
	if o.byAnnotation && !hierarchy {
		o.warnOnce(o.name, hierarchyFrom+": "+annotation+" means nothing without a tree; set enableHierarchy")
	}
	tree := o.findTree(hierarchy)
	renewed := m.renewNames()
	o.cards = o.openCards(tree)
	for {
		o.dimensions = dimensions{
			known: &m.names, scalars: v.scalars, length: m.vectorLength(),
			ignored: api.IgnoredDevicesList.List(), usual: m.usual,
		}
		m.resize(o.length)
		if o.intern(o.countQueues(tree)) && o.intern(o.countJobs()) {
			break
		}
	}
	if renewed {
		m.mostNames = 2*m.knownNames() + fewNames
	}
	if m.tree != tree {
		m.forgetQueues(tree)
	}
	m.tree = tree
	m.victims.Reset(o.ix)
	o.ix.RollUp()
	o.findUsual()
	o.refreshShares()
	if o.damped() && !o.weighted {
		o.findLeast()
	}
	o.check()
	o.gaugesByQueue = make([]*queueGauges, o.ix.Len())
	o.publish()
	m.forgetJobs(ssn.Jobs)
	o.register(hierarchy)
	return o
}

// findTree returns the tree of the session's queues, that of the session before
// if nothing changed.
func (o *session) findTree(hierarchy bool) *index.Tree {
	if !o.parents.Matches(len(o.ssn.Queues), o.nodes(), rootName) {
		o.parents = index.BuildTree(collect(o.nodes()), rootName)
	}
	switch {
	case hierarchy && o.byAnnotation:
		return o.findAnnotated()
	case hierarchy:
		return o.parents
	}
	if o.tree.Matches(len(o.ssn.Queues), o.nodes(), "") {
		return o.tree
	}
	return index.BuildTree(collect(o.nodes()), "")
}

func (o *session) nodes() iter.Seq[index.Node] {
	return func(yield func(index.Node) bool) {
		for id, queue := range o.ssn.Queues {
			if !yield(index.Node{Name: string(id), Parent: queue.Queue.Spec.Parent}) {
				return
			}
		}
	}
}

func collect(nodes iter.Seq[index.Node]) []index.Node {
	var all []index.Node
	for n := range nodes {
		all = append(all, n)
	}
	return all
}

// intern gives dimensions to names that were missing, and reports whether there
// were none: the vectors have room for all.
func (o *session) intern(missing []string) bool {
	slices.Sort(missing) // so that dimensions do not depend on the order of maps
	for _, name := range missing {
		o.names.Intern(name)
	}
	return len(missing) == 0
}

// countQueues reads what the queues are configured with and derives the bounds,
// unless nothing has changed since it last did. It reports the names that were
// missing.
func (o *session) countQueues(tree *index.Tree) (missing []string) {
	r := reader{dimensions: o.dimensions}
	total := o.scratch[0]
	total.Reset()
	r.add(total, o.ssn.TotalResource)
	if o.cards != nil {
		for _, card := range o.cards.stock {
			total.Set(card.dim, card.milli)
		}
	}
	o.jobsOf = make([]int, tree.Len())
	o.queues = make([]*api.QueueInfo, tree.Len())
	for id, queue := range o.ssn.Queues {
		o.queues[tree.Lookup(string(id))] = queue
	}
	if o.bounded(tree, total) {
		o.ix.ResetUsage()
	} else {
		o.ix.Reset(tree, o.length)
		o.deriveBounds(&r, total)
		o.report()
		o.reportCards()
	}
	if o.ix.Rooted() {
		root := o.ix.Root()
		o.ssn.TotalGuarantee = o.resourceOf(o.ix.Guarantee.Row(root))
		o.ssn.TotalDeserved = o.resourceOf(o.ix.Deserved.Row(root))
	}
	return r.missing
}

// bounded reports whether the index holds the bounds of this very
// configuration.
func (o *session) bounded(tree *index.Tree, total fastres.Vector) bool {
	b := &o.bounds
	if b.cards != (o.cards != nil) || o.cards != nil && o.cards.requoted {
		return false
	}
	if o.weighted || b.tree != tree || b.settings != o.settings || b.total.Len() != o.length || !b.total.Equal(total) {
		return false
	}
	for q, queue := range o.queues {
		if queue != nil && !sameSpec(queue.Queue, b.queues[q]) {
			return false
		}
	}
	return true
}

// sameSpec reports whether two objects of one queue have one spec. Objects are
// never changed: an update brings another, of a new generation if the spec is
// concerned, and of the same where Volcano has written the status.
func sameSpec(x, y *scheduling.Queue) bool {
	return x == y || x.UID == y.UID && x.Generation == y.Generation && x.Generation != 0
}

// deriveBounds reads the configuration and applies the rules of capability.
func (o *session) deriveBounds(r *reader, total fastres.Vector) {
	b := bounds{tree: o.ix.Tree, settings: o.settings, cards: o.cards != nil, total: fastres.NewVector(o.length)}
	b.total.CopyFrom(total)
	b.queues = make([]*scheduling.Queue, len(o.queues))
	for i, queue := range o.queues {
		if queue == nil {
			continue // a root that is made up
		}
		q := index.Queue(i)
		b.queues[q] = queue.Queue
		spec := &queue.Queue.Spec
		r.addList(o.ix.Capability.Row(q), spec.Capability)
		r.addList(o.ix.Guarantee.Row(q), spec.Guarantee.Resource)
		if !o.weighted {
			r.addList(o.ix.Deserved.Row(q), spec.Deserved)
		}
		o.addCards(q)
	}
	limits := quota.Limits{Total: total, Bound: o.scratch[1], ZeroLeaf: o.zeroLeaf}
	limits.Bound.CopyFrom(total)
	if o.unlimitedRoot {
		limits.Bound.Fill(fastres.MaxQuantity)
	}
	o.boundCards(limits.Bound)
	if o.ix.Rooted() {
		quota.TreeBounds(o.ix, limits)
	} else {
		// DIVERGES: upstream has no accounts of queues without jobs, and panics when
		// it compares one (upstream issue 5878). Here every queue has them.
		quota.FlatBounds(o.ix, limits, func(q index.Queue) bool {
			return len(o.queues[q].Queue.Spec.Capability) != 0 || o.cards != nil && o.cards.counts[q]
		})
	}
	if o.byWeight && !o.weighted {
		quota.DeservedByWeight(o.ix, total, o.weightOf)
	}
	o.bounds = b
	if len(r.missing) > 0 {
		o.bounds = bounds{} // derived without them
	}
}

// weightOf is the weight of a queue among its siblings. Queues where a card does
// not count have no part of it, nor has a queue that annotations do not place:
// it has no weight. The queue that Volcano makes for the root of a tree has no
// part where there is no tree.
func (o *session) weightOf(q index.Queue, d fastres.Dim) float64 {
	switch {
	case o.names.IsCard(d) && (o.cards == nil || !o.cards.counts[q]):
		return 0
	case o.ix.Rooted() && o.byAnnotation:
		return o.annotated.weights[q]
	case o.queues[q] == nil || !o.ix.Rooted() && o.ix.Name(q) == rootName:
		return 0
	}
	return float64(max(0, o.queues[q].Weight))
}

// findUsual finds out which resources the session's tasks ask for.
func (o *session) findUsual() {
	requested := o.scratch[0]
	requested.Reset()
	for q := range index.Queue(o.ix.Len()) {
		if o.ix.Parent(q) != index.None {
			break // numbers go by depth: all tops are seen
		}
		requested.Join(o.ix.Request.Row(q))
	}
	o.memory.usual.reset(&o.names, requested)
	o.dimensions.usual = o.memory.usual
}

// refreshShares sets deserved where it follows from weights, and every share.
func (o *session) refreshShares() {
	if o.weighted {
		clusterTotal := o.scratch[0]
		o.set(clusterTotal, o.ssn.TotalResource)
		var queues []quota.WeightedQueue
		for q, queue := range o.queues {
			if o.jobsOf[q] > 0 {
				queues = append(queues, quota.WeightedQueue{Queue: index.Queue(q), Weight: queue.Weight})
			}
		}
		quota.ProportionRounds(o.ix, clusterTotal, queues)
	}
	for q := range index.Queue(o.ix.Len()) {
		o.ix.SetShare(q, o.share(o.ix.Allocated(q), o.ix.Deserved.Row(q)))
	}
}

// report says once which queues are refused, and which leaves are bound to 0
// because nobody said otherwise.
func (o *session) report() {
	for q := range index.Queue(o.ix.Len()) {
		if err := o.ix.Broken(q); err != nil {
			o.warnOnce(o.name, fmt.Sprintf("queue %s takes no jobs: %v", o.ix.Name(q), err))
		}
		if capability := o.ix.Capability.Row(q); o.zeroLeaf && o.ix.IsLeaf(q) &&
			(capability.Get(fastres.CPU) == 0 || capability.Get(fastres.Memory) == 0) {
			o.warnOnce(o.name, fmt.Sprintf("queue %s sets no cpu or memory capability, which means 0; set it, or %s: %s",
				o.ix.Name(q), unsetCapability, unlimited))
		}
	}
}

// mendParents gives queues that do not reach the root a parent that does, in
// this session alone: Volcano itself walks up to the root when it closes a
// session, and would panic on an unknown parent or never return from a cycle
// (framework/session.go, updateQueueStatus).
func (o *session) mendParents() {
	for q := range index.Queue(o.parents.Len()) {
		if o.parents.Parent(q) != index.None {
			break // numbers go by depth: all tops are seen
		}
		queue := o.ssn.Queues[api.QueueID(o.parents.Name(q))]
		if queue == nil || o.parents.Broken(q) == nil {
			continue
		}
		mended := *queue.Queue
		mended.Spec.Parent = rootName
		queue.Queue = &mended
		klog.V(4).Infof("[%s] queue %s counts for the root: %v", o.name, queue.Name, o.parents.Broken(q))
	}
}
