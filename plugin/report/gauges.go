package report

import (
	"errors"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// accountVecs are the series of one account: one for cpu, one for memory, and one
// for each scalar and each card. Units are those of the vectors: thousandths of
// cores, bytes, thousandths of anything else.
type accountVecs struct{ cpu, memory, scalar, card *prometheus.GaugeVec }

// texts are the help texts of an account: of cpu, memory, and scalars.
type texts [3]string

// textsOf returns the texts that Volcano gives its accounts.
func textsOf(word string) texts {
	return texts{word + " CPU count for one queue", word + " memory for one queue", word + " scalar resources for one queue"}
}

// queueAccountVecs returns the series of an account of queues. Cards appear as
// scalars there, as dashboards for upstream expect.
func queueAccountVecs(name string, help texts) accountVecs {
	scalar := queueVec(name+"_scalar_resources", help[2], "resource")
	return accountVecs{
		cpu:    queueVec(name+"_milli_cpu", help[0]),
		memory: queueVec(name+"_memory_bytes", help[1]),
		scalar: scalar, card: scalar,
	}
}

// queueVec returns the series of a name with the label queue_name.
func queueVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return gaugeVec("queue_"+name, help, append([]string{queueLabel}, labels...)...)
}

const queueLabel = "queue_name"

// gaugeVec returns the gauges of a name.
func gaugeVec(name, help string, labels ...string) *prometheus.GaugeVec {
	return register(name, prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: metrics.VolcanoSubSystemName, Name: name, Help: help,
	}, labels))
}

// counterVec returns the counters of a name.
func counterVec(name, help string, labels ...string) *prometheus.CounterVec {
	return register(name, prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: metrics.VolcanoSubSystemName, Name: name, Help: help,
	}, labels))
}

// histogramVec returns the histograms of a name.
func histogramVec(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return register(name, prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: metrics.VolcanoSubSystemName, Name: name, Help: help, Buckets: buckets,
	}, labels))
}

// series are series that can be deleted.
type series interface {
	prometheus.Collector
	Reset()
}

// all are the series of this package.
var all []series

// DeleteMetrics deletes the series of all queues and of the cluster. A program that opens
// sessions on different clusters, and exports no metrics, calls it after each: nothing else
// deletes series of a cluster that no session has any more.
func DeleteMetrics() {
	for _, each := range all {
		each.Reset()
	}
}

// register returns the series of a name, Volcano's own where Volcano has
// registered them: registering equal ones again returns the registered ones.
func register[V series](name string, vec V) V {
	err := prometheus.Register(vec)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(V); ok {
			vec, err = existing, nil
		}
	}
	if err != nil {
		klog.Errorf("metric %s is not exported: %v", name, err)
	}
	all = append(all, vec)
	return vec
}

// gauge is a series and its value, which is not written again while it stays the
// same: values are close together in memory, series are not.
type gauge struct {
	series prometheus.Gauge // nil until it is first set
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

// update sets a gauge that was set before.
func (g *gauge) update(value float64) {
	if g.value != value {
		g.value = value
		g.series.Set(value)
	}
}

// accountGauges are the gauges of one account. They take memory for the dimensions
// that are shown: a cluster can have thousands of card models, and a queue uses a
// few.
//
// Invariant: position[d] is 1 + the position of d's gauge, 0 for none.
type accountGauges struct {
	labels   []string // of all gauges: the queue, or none
	position []int32  // by dimension
	gauges   []gauge
}

// at returns the gauge of d, nil where d was never set.
func (a *accountGauges) at(d fastres.Dim) *gauge {
	if int(d) >= len(a.position) || a.position[d] == 0 {
		return nil
	}
	return &a.gauges[a.position[d]-1]
}

// setDim sets the gauge of d, and creates it the first time.
func (a *accountGauges) setDim(d fastres.Dim, value float64, vec *prometheus.GaugeVec, labels ...string) {
	if g := a.at(d); g != nil {
		g.update(value)
		return
	}
	if n := int(d) + 1 - len(a.position); n > 0 {
		a.position = append(a.position, make([]int32, n)...)
	}
	a.gauges = append(a.gauges, gauge{})
	a.position[d] = int32(len(a.gauges))
	a.gauges[len(a.gauges)-1].set(value, vec, labels...)
}

// set publishes x: cpu, memory, and the scalars that are present in shown. A card or device
// without a bound is +Inf.
func (a *accountGauges) set(x, shown fastres.Vector, names *index.Names, vecs *accountVecs) {
	a.setDim(fastres.CPU, x.Get(fastres.CPU), vecs.cpu, a.labels...)
	a.setDim(fastres.Memory, x.Get(fastres.Memory), vecs.memory, a.labels...)
	for d := range shown.Scalars() {
		if int(d) >= names.Len() || int(d) >= x.Len() {
			break // dimensions to spare
		}
		g, quantity := a.at(d), x.Get(d)
		_, device := names.Class(d)
		if quantity == fastres.MaxQuantity && (device || names.IsCard(d)) {
			quantity = math.Inf(1)
		}
		if g != nil {
			g.update(quantity)
			continue
		}
		if device && !x.Has(d) {
			continue // a queue that does not name a class has no bound of its devices
		}
		vec := vecs.scalar
		if names.IsCard(d) {
			vec = vecs.card
		}
		a.setDim(d, quantity, vec, append(slices.Clip(a.labels), names.Name(d))...)
	}
}

// update publishes the dimensions of x that are present in changed. It reports
// false, and may have set some, where one has no series yet.
func (a *accountGauges) update(x, changed fastres.Vector) bool {
	for d := range changed.Present() {
		g := a.at(d)
		if g == nil {
			return false
		}
		g.update(x.Get(d))
	}
	return true
}

// forgetFrom drops the gauges of dimension d and above; their series are deleted.
func (a *accountGauges) forgetFrom(d fastres.Dim) {
	kept := accountGauges{labels: a.labels}
	for before := range min(d, fastres.Dim(len(a.position))) {
		if g := a.at(before); g != nil {
			kept.gauges = append(kept.gauges, *g)
			kept.position = append(kept.position, make([]int32, int(before)+1-len(kept.position))...)
			kept.position[before] = int32(len(kept.gauges))
		}
	}
	*a = kept
}

// lengthen returns x with at least n dimensions. What is present stays present;
// quantities are 0.
func lengthen(x fastres.Vector, n int) fastres.Vector {
	if x.Len() >= n {
		return x
	}
	longer := fastres.NewVector(n)
	longer.Join(x)
	return longer
}
