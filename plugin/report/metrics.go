package report

import (
	"slices"
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

// account is a vector of a queue that Volcano has series for.
type account int

const (
	// Cards that are not 0 in these have series.
	deserved account = iota
	allocated
	request
	// Cards have series here only where a queue has a quota of its own: bounds are
	// inherited, and 0 for each card that the quota of a leaf does not name.
	capacity
	realCapacity
	accounts // how many there are
)

var (
	// The series that Volcano registered for its own plugins (metrics/queue.go).
	families = [accounts]accountFamilies{
		deserved:     queueAccount("deserved", textsOf("Deserved"), accountOf(deserved)),
		allocated:    queueAccount("allocated", textsOf("Allocated"), accountOf(allocated)),
		request:      queueAccount("request", textsOf("Request"), accountOf(request)),
		capacity:     queueAccount("capacity", textsOf("Capacity"), accountOf(capacity)),
		realCapacity: queueAccount("real_capacity", textsOf("Capacity"), accountOf(realCapacity)),
	}
	shareFamily    = queueFamily("share", "Share for one queue", func(g *queueGauges) *gauge { return &g.share })
	weightFamily   = queueFamily("weight", "Weight for one queue", func(g *queueGauges) *gauge { return &g.weight })
	overusedFamily = queueFamily("overused", "If one queue is overused", func(g *queueGauges) *gauge { return &g.overused })

	// The series that Volcano has from v1.16 on, with its texts: a name has one text in a process.
	inqueueFamilies = queueAccount("inqueue", texts{"Inqueue CPU" + inqueueHelp, "Inqueue memory" + inqueueHelp,
		"Inqueue scalar resources" + inqueueHelp},
		func(g *queueGauges) *accountGauges { return &g.inqueue })

	// The series that Volcano does not have.
	leafFamily = newFamily("queue_leaf", "1 if a queue takes jobs, 0 if it has child queues, by its parent", []string{"parent", queueLabel},
		func(m *Metrics, emit func(float64, []*dto.LabelPair)) {
			for _, g := range m.queues {
				if value, set := g.leaf.get(); set {
					emit(value, []*dto.LabelPair{g.parent, g.labels[0]})
				}
			}
		})
	windowsVec  = queueVec("windows_in_force", "Number of windows of one queue that hold now")
	problemsVec = queueVec("card_annotation_problems", "Number of problems of the card annotations of one queue")
	waitingVec  = queueVec("waiting_jobs", "Number of jobs of one queue that wait, by the rule that refuses them, "+
		"the queue that breaks it (level), and the resource that is short", "rule", "level", "resource")
	admissionVec = histogramVec("queue_admission_wait_seconds", "Time that jobs of one queue waited until they were admitted",
		[]float64{1, 10, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}, queueLabel)
	exhaustedVec = counterVec("queue_card_search_exhausted_total", "Number of times that jobs of one queue were refused "+
		"because the search for an assignment of cards used up its budget", queueLabel)
	timeoutsVec = counterVec("queue_inqueue_timeouts_total", "Number of times that a job of one queue was Inqueue for so long "+
		"that its minimum is not reserved any more", queueLabel)
	exchangesVec = counterVec("queue_exchanges_total", "Number of times that a job of one queue lost a place to another queue "+
		"which it had taken again, after the first few", queueLabel, "other")
	clusterFamilies = clusterAccount()
)

const inqueueHelp = " for admitted but not yet running jobs in one queue"

// accountOf returns the function that returns an account of a queue.
func accountOf(a account) func(*queueGauges) *accountGauges {
	return func(g *queueGauges) *accountGauges { return &g.accounts[a] }
}

// Metrics holds the gauges of all queues across sessions. Open binds it to a session, whose goroutine sets them, and
// Publish exports them.
type Metrics struct {
	mu           sync.RWMutex // for which gauges there are: scrapes read them
	queues       map[string]*queueGauges
	cluster      accountGauges
	clusterShown fastres.Vector // scalars that the cluster ever had; a lost one is 0

	resources []*dto.LabelPair // by dimension, nil where nothing has it

	ix         *index.Index
	names      *index.Names
	cards      *cards.Session
	objects    []*api.QueueInfo // by queue; nil for a root without a Queue object
	byQueue    []*queueGauges   // by queue, from its first use in the session on
	proportion bool
	budgets    bool // some series of a budget is set
	notices    bool // some queue has the series of pods with notice
	evictions  bool // some queue has the series of a budget of evictions
}

// NewMetrics returns Metrics without gauges.
func NewMetrics() *Metrics { return &Metrics{queues: map[string]*queueGauges{}} }

// Len is the number of queues that have gauges.
func (m *Metrics) Len() int { return len(m.queues) }

// queueGauges are the gauges of one queue. A gauge is made when it is first set:
// series that nobody sets do not exist.
type queueGauges struct {
	name     string
	uid      types.UID // of the Queue object: another one of the same name has series of its own
	labels   []*dto.LabelPair
	parent   *dto.LabelPair // nil before the first session
	accounts [accounts]accountGauges
	inqueue  accountGauges
	// shown are the scalars that any account of the queue ever had, and the cards
	// that it ever used, requested, deserved, or had a quota of: all accounts show
	// them from then on. inqueueShown is the same for inqueue alone.
	shown, inqueueShown           fastres.Vector
	share, weight, overused, leaf gauge
	admission                     prometheus.Observer // nil until a job is admitted
}

func newQueueGauges(name string, uid types.UID) *queueGauges {
	return &queueGauges{name: name, uid: uid, labels: []*dto.LabelPair{label(queueLabel, name)}, share: unset, weight: unset,
		overused: unset, leaf: unset}
}

// Open binds the metrics to a session.
func (m *Metrics) Open(ix *index.Index, names *index.Names, c *cards.Session, objects []*api.QueueInfo, proportion bool) {
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

// Publish sets all series, at the opening of a session. jobs is the number of jobs
// by queue.
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

// publishProportion sets the series that upstream's proportion has.
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

// PublishAllocated sets the series of q that change when changed is allocated to
// it or taken from it.
func (m *Metrics) PublishAllocated(q index.Queue, changed fastres.Vector) {
	if m.objects[q] == nil {
		return
	}
	g, x := m.gauges(q), m.ix.Allocated(q)
	if !g.accounts[allocated].update(x, changed) {
		m.setAccount(g, allocated, x)
	}
	g.share.set(m.ix.Share(q))
}

// PublishInqueue sets the series of q and its ancestors that change when changed
// is reserved.
func (m *Metrics) PublishInqueue(q index.Queue, changed fastres.Vector) {
	for _, p := range m.ix.Path(q) {
		if m.objects[p] == nil {
			continue
		}
		if g, x := m.gauges(p), m.ix.Inqueue.Row(p); !g.inqueue.update(x, changed) {
			m.setInqueue(g, x)
		}
	}
}

// PublishInner sets the series of inner queues that events changed. Nearly every
// event of a session changes them, so they are written once, when it closes.
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

// ObserveAdmission counts a job of q that is admitted, by how long it waited.
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

// SetWindows sets the number of windows of a queue that hold. ForgetWindows is for a queue that has none any more.
func (m *Metrics) SetWindows(queue string, n int) { windowsVec.WithLabelValues(queue).Set(float64(n)) }

func (m *Metrics) ForgetWindows(queue string) { windowsVec.DeleteLabelValues(queue) }

// CountExhausted counts a job of q that is refused because the search for an assignment of
// cards used up its budget.
func (m *Metrics) CountExhausted(q index.Queue) { exhaustedVec.WithLabelValues(m.ix.Name(q)).Inc() }

// CountTimeout counts a job of q that is Inqueue for so long that nothing is reserved for it any
// more.
func (m *Metrics) CountTimeout(q index.Queue) { timeoutsVec.WithLabelValues(m.ix.Name(q)).Inc() }

// number is 1 for true.
func number(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// setParent sets the label of the queue above a queue, "" for none.
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

// setAccount publishes an account, as metrics.UpdateQueueAllocated and its like do.
func (m *Metrics) setAccount(g *queueGauges, a account, x fastres.Vector) {
	g.shown = lengthen(g.shown, x.Len())
	for d := range x.Scalars() {
		if !m.names.IsCard(d) || a <= request && x.Get(d) != 0 {
			g.shown.Set(d, 0)
		}
	}
	m.set(&g.accounts[a], x, g.shown)
}

// setInqueue publishes what is reserved. Scalars that no other account has get
// series here alone.
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
		of := prometheus.Labels{queueLabel: name}
		problemsVec.Delete(of)
		windowsVec.Delete(of)
		admissionVec.Delete(of)
		exhaustedVec.Delete(of)
		timeoutsVec.Delete(of)
		forgetUsage(of)
		exchangesVec.DeletePartialMatch(of)
		exchangesVec.DeletePartialMatch(prometheus.Labels{"other": name})
	}
}

// RenewNames deletes the series of scalars whose names get other dimensions.
// Those that a queue or the cluster still has are made again when they are set.
func (m *Metrics) RenewNames() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.queues {
		g.shown, g.inqueueShown = fixedShown(g.shown), fastres.Vector{}
		g.inqueue.forgetFrom(fastres.Pods)
		for a := range g.accounts {
			g.accounts[a].forgetFrom(fastres.FirstFree)
		}
	}
	m.cluster.forgetFrom(fastres.FirstFree)
	m.clusterShown = fixedShown(m.clusterShown)
	m.resources = nil
}

// fixedShown returns the part of shown whose dimensions never change: pods.
func fixedShown(shown fastres.Vector) fastres.Vector {
	fixed := fastres.NewVector(int(fastres.FirstFree))
	if shown.Len() > 0 && shown.Has(fastres.Pods) {
		fixed.Set(fastres.Pods, 0)
	}
	return fixed
}

// UpstreamSeries returns the series of Volcano that Metrics writes.
func UpstreamSeries() []*Family {
	all := []*Family{shareFamily, weightFamily, overusedFamily}
	for _, v := range families {
		all = append(all, v.all()...)
	}
	return all
}

// Series are the series of a name.
type Series interface {
	prometheus.Collector
	Reset()
}

// AddedSeries returns the series that Volcano does not have.
func AddedSeries() []Series {
	added := []Series{leafFamily, windowsVec, problemsVec, waitingVec, admissionVec, exhaustedVec, timeoutsVec, exchangesVec, usageVec,
		levelVec, savedGauge}
	for _, f := range slices.Concat(inqueueFamilies.all(), clusterFamilies.all()) {
		added = append(added, f)
	}
	return added
}
