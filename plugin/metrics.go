package plugin

import (
	"errors"

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

// vecOf returns the series of a name that Volcano has registered. Registering an
// equal one again is how to get at it.
func vecOf(name, help string, labels ...string) *prometheus.GaugeVec {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: metrics.VolcanoSubSystemName, Name: "queue_" + name, Help: help,
	}, append([]string{"queue_name"}, labels...))
	err := prometheus.Register(vec)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if volcanos, ok := registered.ExistingCollector.(*prometheus.GaugeVec); ok {
			return volcanos
		}
	}
	if err != nil {
		klog.Errorf("metric %s will not be seen: %v", "queue_"+name, err)
	}
	return vec
}

// queueGauges are the gauges of one queue, looked up once and kept across
// sessions. A gauge is made when it is first set, as series that nobody sets do
// not exist.
type queueGauges struct {
	name string
	uid  types.UID // of the Queue object; Volcano drops the series when it goes

	accounts [accounts]struct {
		cpu, memory prometheus.Gauge
		scalar      []prometheus.Gauge // by dimension
	}
	// known: a scalar that some account of the queue ever had. All accounts show
	// it from then on, with 0 where they have none.
	known                   fastres.Vector
	share, weight, overused prometheus.Gauge
}

// gaugesOf returns the gauges of q.
func (o *session) gaugesOf(q index.Queue) *queueGauges {
	name := o.ix.Name(q)
	var uid types.UID
	if queue := o.queues[q]; queue != nil {
		uid = queue.Queue.UID
	}
	g := o.gauges[name]
	if g == nil || g.uid != uid {
		g = &queueGauges{name: name, uid: uid}
		o.gauges[name] = g
	}
	return g
}

func set(vec *prometheus.GaugeVec, gauge *prometheus.Gauge, queue string, value float64) {
	if *gauge == nil {
		*gauge = vec.WithLabelValues(queue)
	}
	(*gauge).Set(value)
}

func (g *queueGauges) setShare(share float64)   { set(shareVec, &g.share, g.name, share) }
func (g *queueGauges) setWeight(weight float64) { set(weightVec, &g.weight, g.name, weight) }

func (g *queueGauges) setOverused(overused bool) {
	value := 0.0
	if overused {
		value = 1
	}
	set(overusedVec, &g.overused, g.name, value)
}

// setAccount publishes an account, as metrics.UpdateQueueAllocated and its
// sisters do.
func (g *queueGauges) setAccount(a account, x fastres.Vector, names *index.Names) {
	to := &g.accounts[a]
	set(vecs[a].cpu, &to.cpu, g.name, x.Get(fastres.CPU))
	set(vecs[a].memory, &to.memory, g.name, x.Get(fastres.Memory))
	if g.known.Len() < x.Len() {
		longer := fastres.NewVector(x.Len())
		for d := range g.known.Scalars() {
			longer.Set(d, 0)
		}
		g.known = longer
	}
	if n := x.Len() - len(to.scalar); n > 0 {
		to.scalar = append(to.scalar, make([]prometheus.Gauge, n)...)
	}
	g.known.Join(x)
	for d := range g.known.Scalars() {
		gauge := &to.scalar[d]
		if *gauge == nil {
			*gauge = vecs[a].scalar.WithLabelValues(g.name, names.Name(d))
		}
		(*gauge).Set(x.Get(d))
	}
}

// publish sets all series of all queues, at the opening of a session.
func (o *session) publish() {
	for q := range index.Queue(o.ix.Len()) {
		queue, i := o.queues[q], int(q)
		if queue == nil {
			continue // a root that is made up
		}
		g := o.gaugesOf(q)
		if o.weighted {
			o.publishWeighted(g, q)
			continue
		}
		g.setAccount(deservedAccount, o.ix.Deserved.Row(i), &o.names)
		g.setAccount(allocatedAccount, o.ix.Allocated(q), &o.names)
		g.setAccount(requestAccount, o.ix.Request.Row(i), &o.names)
		g.setAccount(capacityAccount, o.ix.Capability.Row(i), &o.names)
		g.setAccount(realCapacityAccount, o.ix.RealCapability.Row(i), &o.names)
		g.setShare(o.ix.Share(q))
	}
}

// publishWeighted sets the series that proportion has.
func (o *session) publishWeighted(g *queueGauges, q index.Queue) {
	g.setAccount(allocatedAccount, o.ix.Allocated(q), &o.names)
	g.setAccount(requestAccount, o.ix.Request.Row(int(q)), &o.names)
	if !o.hasJobs[q] {
		return
	}
	g.setWeight(float64(o.queues[q].Weight))
	g.setShare(o.ix.Share(q))
	g.setAccount(deservedAccount, o.ix.Deserved.Row(int(q)), &o.names)
}

// publishAllocated sets the series that change with what is allocated to q.
func (o *session) publishAllocated(q index.Queue) {
	for _, p := range o.ix.Path(q) {
		if o.queues[p] == nil {
			continue
		}
		g := o.gaugesOf(p)
		g.setAccount(allocatedAccount, o.ix.Allocated(p), &o.names)
		g.setShare(o.ix.Share(p))
	}
}
