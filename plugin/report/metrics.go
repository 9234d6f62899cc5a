package report

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apimachinery/pkg/types"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
)

// Metrics holds the gauges of all queues across sessions. Open binds it to a session. The goroutine of the session sets
// the gauges, and Publish exports them.
type Metrics struct {
	mu           sync.RWMutex // guards the set of gauges, which scrapes read
	queues       map[string]*queueGauges
	cluster      accountGauges
	clusterShown fastres.Vector // all scalars that the cluster has ever had; a lost one is 0

	holders []holderGauges // in queues that limit them

	resources []*dto.LabelPair // by dimension, nil where nothing has it

	ix         *index.Index
	names      *index.Names
	cards      *cards.Snapshot
	objects    []*api.QueueInfo // by queue; nil for a root without a Queue object
	byQueue    []*queueGauges   // by queue, from the first use in the session on
	proportion bool
}

// NewMetrics returns Metrics without gauges.
func NewMetrics() *Metrics { return &Metrics{queues: map[string]*queueGauges{}} }

// Len returns the number of queues with gauges.
func (m *Metrics) Len() int { return len(m.queues) }

// queueGauges holds the gauges of one queue. A gauge is made when it is first set: a series that nobody sets does not
// exist.
type queueGauges struct {
	name     string
	uid      types.UID // of the Queue object: a new object with the same name has new series
	labels   []*dto.LabelPair
	parent   *dto.LabelPair // nil before the first session
	accounts [accounts]accountGauges
	inqueue  accountGauges
	// shown has the dimensions that all accounts show: each scalar that any account of the queue has ever had, and
	// each card that the queue has ever used, requested or deserved, or had a quota of. inqueueShown has the
	// dimensions that inqueue shows.
	shown, inqueueShown           fastres.Vector
	share, weight, overused, leaf gauge
	admission                     prometheus.Observer // nil until a job is admitted
}

func newQueueGauges(name string, uid types.UID) *queueGauges {
	return &queueGauges{
		name:     name,
		uid:      uid,
		labels:   []*dto.LabelPair{label(queueLabel, name)},
		share:    unset,
		weight:   unset,
		overused: unset,
		leaf:     unset,
	}
}

// Open binds the metrics to a session.
func (m *Metrics) Open(ix *index.Index, names *index.Names, c *cards.Snapshot, objects []*api.QueueInfo,
	proportion bool) {
	m.ix = ix
	m.names = names
	m.cards = c
	m.objects = objects
	m.proportion = proportion
	m.byQueue = make([]*queueGauges, ix.Len())
}

// gauges returns the gauges of q.
func (m *Metrics) gauges(q index.Queue) *queueGauges {
	if g := m.byQueue[q]; g != nil {
		return g
	}

	name := m.ix.Name(q)
	var uid types.UID
	if queue := m.objects[q]; queue != nil {
		uid = queue.Queue.UID
	}

	g := m.queues[name]
	if g == nil || g.uid != uid {
		// A new Queue with the name of a deleted one has not admitted jobs.
		if g != nil {
			admissionVec.DeleteLabelValues(name)
		}
		g = newQueueGauges(name, uid)
		m.mu.Lock()
		m.queues[name] = g
		m.mu.Unlock()
	}

	m.byQueue[q] = g
	return g
}

// Publish sets all series when a session opens. jobs is the number of jobs by queue.
func (m *Metrics) Publish(total fastres.Vector, jobs []int) {
	m.clusterShown = lengthen(m.clusterShown, total.Len())
	m.clusterShown.Join(total)
	m.set(&m.cluster, total, m.clusterShown)

	for q := range index.Queue(m.ix.Len()) {
		if m.objects[q] == nil {
			continue
		}

		g := m.gauges(q)
		m.setParent(g, q)
		g.leaf.set(number(m.ix.IsLeaf(q)))
		m.setInqueue(g, m.ix.Inqueue.Row(q))
		if m.proportion {
			m.publishProportion(g, q, jobs[q] > 0)
			continue
		}

		g.shown = lengthen(g.shown, m.ix.Dims())
		for d := range m.cards.Quotas(q) {
			g.shown.Set(d, 0)
		}

		m.setAccount(g, deserved, m.ix.Deserved.Row(q))
		m.setAccount(g, allocated, m.ix.Allocated(q))
		m.setAccount(g, request, m.ix.Request.Row(q))
		m.setAccount(g, capacity, m.ix.Capability.Row(q))
		m.setAccount(g, realCapacity, m.ix.RealCapability.Row(q))
		g.share.set(m.ix.Share(q))
	}

	m.export()
}

// publishProportion sets the series of upstream's plugin proportion.
func (m *Metrics) publishProportion(g *queueGauges, q index.Queue, hasJobs bool) {
	m.setAccount(g, allocated, m.ix.Allocated(q))
	m.setAccount(g, request, m.ix.Request.Row(q))
	if !hasJobs {
		return
	}

	g.weight.set(float64(m.objects[q].Weight))
	g.share.set(m.ix.Share(q))
	m.setAccount(g, deserved, m.ix.Deserved.Row(q))
}

// PublishAllocated sets the series of q that change when resources are allocated or deallocated. changed has their
// dimensions.
func (m *Metrics) PublishAllocated(q index.Queue, changed fastres.Vector) {
	if m.objects[q] == nil {
		return
	}

	g := m.gauges(q)
	x := m.ix.Allocated(q)
	if !g.accounts[allocated].update(x, changed) {
		m.setAccount(g, allocated, x)
	}
	g.share.set(m.ix.Share(q))
}

// PublishInqueue sets the series of q and its ancestors that change with a reservation. changed has its dimensions.
func (m *Metrics) PublishInqueue(q index.Queue, changed fastres.Vector) {
	for _, p := range m.ix.Path(q) {
		if m.objects[p] == nil {
			continue
		}

		g := m.gauges(p)
		x := m.ix.Inqueue.Row(p)
		if !g.inqueue.update(x, changed) {
			m.setInqueue(g, x)
		}
	}
}

// PublishInner sets the series of inner queues that events have changed. Nearly every event of a session changes
// them, so they are written once, when the session closes.
//
// DIVERGES: upstream writes them when the next session opens.
func (m *Metrics) PublishInner() {
	for q := range index.Queue(m.ix.Len()) {
		if m.ix.IsLeaf(q) || m.objects[q] == nil {
			continue
		}

		g := m.gauges(q)
		m.setAccount(g, allocated, m.ix.Allocated(q))
		g.share.set(m.ix.Share(q))
	}
}

// ObserveAdmission records how long an admitted job of q has waited.
func (m *Metrics) ObserveAdmission(q index.Queue, waited time.Duration) {
	if m.objects[q] == nil {
		return
	}

	g := m.gauges(q)
	if g.admission == nil {
		g.admission = admissionVec.WithLabelValues(g.name)
	}
	g.admission.Observe(waited.Seconds())
}

// SetOverused sets whether a queue is overused.
func (m *Metrics) SetOverused(q index.Queue, overused bool) {
	g := m.gauges(q)
	g.overused.set(number(overused))
}

// SetProblems sets the number of problems of a queue's card annotations.
func (m *Metrics) SetProblems(queue string, n int) {
	problemsVec.WithLabelValues(queue).Set(float64(n))
}

// SetWindows sets the number of windows of a queue that are in force.
func (m *Metrics) SetWindows(queue string, n int) { windowsVec.WithLabelValues(queue).Set(float64(n)) }

// ForgetWindows deletes the series of a queue without windows.
func (m *Metrics) ForgetWindows(queue string) { windowsVec.DeleteLabelValues(queue) }

// CountExhausted counts a refused job of q: the search for an assignment of cards used up its budget.
func (m *Metrics) CountExhausted(q index.Queue) { exhaustedVec.WithLabelValues(m.ix.Name(q)).Inc() }

// CountTimeout counts a job of q that lost its reservation because it was Inqueue for too long.
func (m *Metrics) CountTimeout(q index.Queue) { timeoutsVec.WithLabelValues(m.ix.Name(q)).Inc() }

// number returns 1 for true.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// setParent sets the label with the parent of a queue, "" for none.
func (m *Metrics) setParent(g *queueGauges, q index.Queue) {
	name := ""
	if p := m.ix.Parent(q); p != index.None {
		name = m.ix.Name(p)
	}

	if g.parent == nil || g.parent.GetValue() != name {
		m.mu.Lock()
		g.parent = label("parent", name)
		m.mu.Unlock()
	}
}

// setAccount publishes an account, like metrics.UpdateQueueAllocated.
func (m *Metrics) setAccount(g *queueGauges, a account, x fastres.Vector) {
	g.shown = lengthen(g.shown, x.Len())
	for d := range x.Scalars() {
		if !m.names.IsCard(d) || a <= request && x.Get(d) != 0 {
			g.shown.Set(d, 0)
		}
	}

	m.set(&g.accounts[a], x, g.shown)
}

// setInqueue publishes reservations. Scalars that no other account has only get series here.
func (m *Metrics) setInqueue(g *queueGauges, x fastres.Vector) {
	g.inqueueShown = lengthen(g.inqueueShown, x.Len())
	for d := range x.Scalars() {
		if x.Get(d) != 0 {
			g.inqueueShown.Set(d, 0)
		}
	}

	m.set(&g.inqueue, x, g.inqueueShown)
}

// ForgetQueues deletes the series of queues that are not in a new tree.
func (m *Metrics) ForgetQueues(tree *index.Tree) {
	for name := range m.queues {
		if tree.Lookup(name) != index.None {
			continue
		}

		m.mu.Lock()
		delete(m.queues, name)
		m.mu.Unlock()

		queue := prometheus.Labels{queueLabel: name}
		problemsVec.Delete(queue)
		windowsVec.Delete(queue)
		admissionVec.Delete(queue)
		exhaustedVec.Delete(queue)
		timeoutsVec.Delete(queue)
		forgetUsage(queue)
		exchangesVec.DeletePartialMatch(queue)
		exchangesVec.DeletePartialMatch(prometheus.Labels{"other": name})
	}
}

// RenewNames deletes the series of scalars when names get new dimensions. The series that are still in use are made
// again when they are set.
func (m *Metrics) RenewNames() {
	m.mu.Lock()
	defer m.mu.Unlock()

	for _, g := range m.queues {
		g.shown = fixedShown(g.shown)
		g.inqueueShown = fastres.Vector{}
		g.inqueue.forgetFrom(fastres.Pods)
		for a := range g.accounts {
			g.accounts[a].forgetFrom(fastres.FirstFree)
		}
	}

	m.cluster.forgetFrom(fastres.FirstFree)
	m.clusterShown = fixedShown(m.clusterShown)
	m.resources = nil
}

// fixedShown returns the part of shown with fixed dimensions: pods.
func fixedShown(shown fastres.Vector) fastres.Vector {
	fixed := fastres.NewVector(int(fastres.FirstFree))
	if shown.Len() > 0 && shown.Has(fastres.Pods) {
		fixed.Set(fastres.Pods, 0)
	}
	return fixed
}
