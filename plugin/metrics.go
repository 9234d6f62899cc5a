package plugin

import (
	"errors"
	"math"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// account is a vector of a queue that has metric series.
type account int

const (
	deservedAccount account = iota
	allocatedAccount
	requestAccount
	capacityAccount
	realCapacityAccount
	accounts // how many there are
)

// accountVecs are the series of one account.
type accountVecs struct{ cpu, memory, scalar *prometheus.GaugeVec }

// The series that Volcano registered for its own plugins (metrics/queue.go).
var (
	vecs = [accounts]accountVecs{
		deservedAccount:     vecsOf("deserved", "Deserved"),
		allocatedAccount:    vecsOf("allocated", "Allocated"),
		requestAccount:      vecsOf("request", "Request"),
		capacityAccount:     vecsOf("capacity", "Capacity"),
		realCapacityAccount: vecsOf("real_capacity", "Capacity"),
	}
	shareVec    = vecOf("share", "Share for one queue")
	weightVec   = vecOf("weight", "Weight for one queue")
	overusedVec = vecOf("overused", "If one queue is overused")
)

func vecsOf(name, word string) accountVecs {
	return accountVecs{
		cpu:    vecOf(name+"_milli_cpu", word+" CPU count for one queue"),
		memory: vecOf(name+"_memory_bytes", word+" memory for one queue"),
		scalar: vecOf(name+"_scalar_resources", word+" scalar resources for one queue", "resource"),
	}
}

// vecOf returns series of queues.
func vecOf(name, help string, labels ...string) *prometheus.GaugeVec {
	return gaugeVec("queue_"+name, help, append([]string{"queue_name"}, labels...)...)
}

// gaugeVec returns the series of a name, those of Volcano if it has registered
// them. Registering an equal one again is how to get at it.
func gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: metrics.VolcanoSubSystemName, Name: name, Help: help,
	}, labels)
	err := prometheus.Register(vec)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if volcanos, ok := registered.ExistingCollector.(*prometheus.GaugeVec); ok {
			return volcanos
		}
	}
	if err != nil {
		klog.Errorf("metric %s will not be seen: %v", name, err)
	}
	return vec
}

// queueGauges are the gauges of one queue, looked up once and kept across
// sessions. A gauge is made when it is first set, as series that nobody sets do
// not exist.
type queueGauges struct {
	name     string
	uid      types.UID // of the Queue object; Volcano drops the series when it goes
	accounts [accounts]accountGauges
	// known: a scalar that some account of the queue ever had. All accounts show
	// it from then on, with 0 where they have none.
	known                         fastres.Vector
	share, weight, overused, leaf gauge
	inqueue                       accountGauges
}

// accountGauges are the gauges of one account, by dimension.
type accountGauges []gauge

// gauge is a series, and its value, which is not written again while it stays:
// the gauges of a cluster lie all over the memory, the values side by side.
type gauge struct {
	series prometheus.Gauge
	value  float64
}

func (g *gauge) set(value float64, vec *prometheus.GaugeVec, labels ...string) {
	if g.series == nil {
		g.series = vec.WithLabelValues(labels...)
		g.series.Set(value)
		g.value = value
		return
	}
	g.update(value)
}

// update is set for a gauge that was set before.
func (g *gauge) update(value float64) {
	if g.value != value {
		g.value = value
		g.series.Set(value)
	}
}

// gaugesOf returns the gauges of q.
func (o *session) gaugesOf(q index.Queue) *queueGauges {
	if g := o.gaugesByQueue[q]; g != nil {
		return g
	}
	name := o.ix.Name(q)
	var uid types.UID
	if queue := o.queues[q]; queue != nil {
		uid = queue.Queue.UID
	}
	g := o.gauges[name]
	if g == nil || g.uid != uid {
		if g != nil {
			g.forgetInqueue() // Volcano has dropped the others
		}
		g = &queueGauges{name: name, uid: uid}
		o.gauges[name] = g
	}
	o.gaugesByQueue[q] = g
	return g
}

func (g *queueGauges) setShare(share float64)   { g.share.set(share, shareVec, g.name) }
func (g *queueGauges) setWeight(weight float64) { g.weight.set(weight, weightVec, g.name) }

func (g *queueGauges) setOverused(overused bool) {
	value := 0.0
	if overused {
		value = 1
	}
	g.overused.set(value, overusedVec, g.name)
}

// setAccount publishes an account, as metrics.UpdateQueueAllocated and its
// sisters do.
func (g *queueGauges) setAccount(a account, x fastres.Vector, names *index.Names) {
	if g.known.Len() < x.Len() {
		longer := fastres.NewVector(x.Len())
		longer.Join(g.known)
		g.known = longer
	}
	to := &g.accounts[a]
	if n := x.Len() - len(*to); n > 0 {
		*to = append(*to, make(accountGauges, n)...)
	}
	g.known.Join(x)
	(*to)[fastres.CPU].set(x.Get(fastres.CPU), vecs[a].cpu, g.name)
	(*to)[fastres.Memory].set(x.Get(fastres.Memory), vecs[a].memory, g.name)
	for d := range g.known.Scalars() {
		if int(d) >= names.Len() {
			break // a bound of everything has room for names to come
		}
		quantity := x.Get(d)
		if quantity == fastres.MaxQuantity && names.IsCard(d) {
			quantity = math.Inf(1)
		}
		(*to)[d].set(quantity, vecs[a].scalar, g.name, names.Name(d))
	}
}

// publish sets all series of all queues, at the opening of a session.
func (o *session) publish() {
	o.publishCluster(o.bounds.total)
	for q := range index.Queue(o.ix.Len()) {
		queue := o.queues[q]
		if queue == nil {
			continue // a root that is made up
		}
		g := o.gaugesOf(q)
		g.setLeaf(o.ix.IsLeaf(q))
		g.setInqueue(o.ix.Inqueue.Row(q), &o.names)
		if o.weighted {
			o.publishWeighted(g, q)
			continue
		}
		g.setAccount(deservedAccount, o.ix.Deserved.Row(q), &o.names)
		g.setAccount(allocatedAccount, o.ix.Allocated(q), &o.names)
		g.setAccount(requestAccount, o.ix.Request.Row(q), &o.names)
		g.setAccount(capacityAccount, o.ix.Capability.Row(q), &o.names)
		g.setAccount(realCapacityAccount, o.ix.RealCapability.Row(q), &o.names)
		g.setShare(o.ix.Share(q))
	}
}

// publishWeighted sets the series that proportion has.
func (o *session) publishWeighted(g *queueGauges, q index.Queue) {
	g.setAccount(allocatedAccount, o.ix.Allocated(q), &o.names)
	g.setAccount(requestAccount, o.ix.Request.Row(q), &o.names)
	if o.jobsOf[q] == 0 {
		return
	}
	g.setWeight(float64(o.queues[q].Weight))
	g.setShare(o.ix.Share(q))
	g.setAccount(deservedAccount, o.ix.Deserved.Row(q), &o.names)
}

// publishAllocated sets the series of q that change when request is allocated to
// it or taken from it.
func (o *session) publishAllocated(q index.Queue, request fastres.Vector) {
	if o.queues[q] == nil {
		return
	}
	g := o.gaugesOf(q)
	g.changeAccount(allocatedAccount, o.ix.Allocated(q), request, &o.names)
	g.setShare(o.ix.Share(q))
}

// publishInner sets what events have changed of inner queues. They change with
// nearly every event of a session, so they are written once, when it ends.
//
// DIVERGES: upstream writes them when the next session begins.
func (o *session) publishInner() {
	for q := range index.Queue(o.ix.Len()) {
		if o.ix.IsLeaf(q) || o.queues[q] == nil {
			continue
		}
		g := o.gaugesOf(q)
		g.setAccount(allocatedAccount, o.ix.Allocated(q), &o.names)
		g.setShare(o.ix.Share(q))
	}
}

// changeAccount is setAccount where only what is present in changed has changed.
func (g *queueGauges) changeAccount(a account, x, changed fastres.Vector, names *index.Names) {
	gauges := g.accounts[a]
	for d := range changed.Present() {
		if int(d) >= len(gauges) || gauges[d].series == nil {
			g.setAccount(a, x, names)
			return
		}
		gauges[d].update(x.Get(d))
	}
}
