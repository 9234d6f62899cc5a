package report

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/capacity-card/capacity-card/fastres"
)

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

// all has the series of this package.
var all []Series

// DeleteMetrics deletes the series of all queues and of the cluster. A program that opens sessions on different
// clusters calls it after each of them, because nothing else deletes the series of the last cluster.
func DeleteMetrics() {
	for _, each := range all {
		each.Reset()
	}
}

// register registers the series of a name.
func register[V Series](name string, vec V) V {
	if err := prometheus.Register(vec); err != nil {
		klog.Errorf("metric %s is not exported: %v", name, err)
	}
	all = append(all, vec)
	return vec
}

// registered returns the series that Volcano has registered with the name, text and labels of vec. It returns nil for
// none.
func registered(vec *prometheus.GaugeVec) *prometheus.GaugeVec {
	var already prometheus.AlreadyRegisteredError
	if errors.As(prometheus.Register(vec), &already) {
		existing, _ := already.ExistingCollector.(*prometheus.GaugeVec)
		return existing
	}

	prometheus.Unregister(vec)
	return nil
}

// gauge is a number that a session sets and a scrape reads.
type gauge struct{ bits uint64 }

// unset is a gauge that nobody has set: a NaN that no computation returns.
var unset = gauge{bits: 0x7ff8_0000_0000_c0de}

// set sets the value. It is for one goroutine.
func (g *gauge) set(value float64) {
	if bits := math.Float64bits(value); g.bits != bits {
		atomic.StoreUint64(&g.bits, bits)
	}
}

func (g *gauge) get() (value float64, set bool) {
	bits := atomic.LoadUint64(&g.bits)
	return math.Float64frombits(bits), bits != unset.bits
}

// kind is the family to which a gauge of an account belongs.
type kind uint8

const (
	cpuKind kind = 1 << iota
	memoryKind
	scalarKind
	cardKind
)

// dimGauge is the gauge of one dimension.
type dimGauge struct {
	gauge
	kind     kind
	resource *dto.LabelPair // nil for cpu and memory
}

// accountGauges holds the gauges of one account. It only takes memory for dimensions that are shown: a cluster can have
// thousands of card models, and a queue uses a few.
//
// Invariant: position[d] is 1 + the position of d's gauge, 0 for none.
type accountGauges struct {
	position []int32 // by dimension
	gauges   []dimGauge
}

// at returns the gauge of d, nil where d was never set.
func (a *accountGauges) at(d fastres.Dim) *dimGauge {
	if int(d) >= len(a.position) || a.position[d] == 0 {
		return nil
	}
	return &a.gauges[a.position[d]-1]
}

// emit sends the gauges of some kinds. The label of the resource follows the given labels.
func (a *accountGauges) emit(to func(float64, []*dto.LabelPair), kinds kind, labels ...*dto.LabelPair) {
	for i := range a.gauges {
		g := &a.gauges[i]
		if g.kind&kinds == 0 {
			continue
		}

		value, _ := g.get()
		if g.resource == nil {
			to(value, labels)
		} else {
			to(value, append(slices.Clip(labels), g.resource))
		}
	}
}

// setDim sets the gauge of d, and creates it the first time.
func (m *Metrics) setDim(a *accountGauges, d fastres.Dim, value float64, k kind) {
	if g := a.at(d); g != nil {
		g.set(value)
		return
	}

	var resource *dto.LabelPair
	if k&(scalarKind|cardKind) != 0 {
		resource = m.resource(d)
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	if n := int(d) + 1 - len(a.position); n > 0 {
		a.position = append(a.position, make([]int32, n)...)
	}
	a.gauges = append(a.gauges, dimGauge{gauge{math.Float64bits(value)}, k, resource})
	a.position[d] = int32(len(a.gauges))
}

// resource returns the label of a dimension. All series share it.
func (m *Metrics) resource(d fastres.Dim) *dto.LabelPair {
	for int(d) >= len(m.resources) {
		m.resources = append(m.resources, nil)
	}

	if m.resources[d] == nil {
		m.resources[d] = label("resource", m.names.Name(d))
	}
	return m.resources[d]
}

// set publishes x: cpu, memory, and the scalars that are present in shown.
func (m *Metrics) set(a *accountGauges, x, shown fastres.Vector) {
	m.setDim(a, fastres.CPU, x.Get(fastres.CPU), cpuKind)
	m.setDim(a, fastres.Memory, x.Get(fastres.Memory), memoryKind)

	for d := range shown.Scalars() {
		if int(d) >= m.names.Len() || int(d) >= x.Len() {
			break // spare dimensions
		}

		quantity := x.Get(d)
		_, device := m.names.Class(d)
		if quantity == fastres.MaxQuantity && (device || m.names.IsCard(d)) {
			quantity = math.Inf(1) // no bound
		}
		if g := a.at(d); g != nil {
			g.set(quantity)
			continue
		}
		if device && !x.Has(d) {
			continue // a queue that does not name a class has no bound of its devices
		}

		k := scalarKind
		if m.names.IsCard(d) {
			k = cardKind
		}
		m.setDim(a, d, quantity, k)
	}
}

// update publishes the dimensions of x that are present in changed. It returns false if one of them has no series yet.
// Then it may have set others.
func (a *accountGauges) update(x, changed fastres.Vector) bool {
	for d := range changed.Present() {
		g := a.at(d)
		if g == nil {
			return false
		}

		g.set(x.Get(d))
	}
	return true
}

// forgetFrom drops the gauges of dimension d and above. The caller holds the lock.
func (a *accountGauges) forgetFrom(d fastres.Dim) {
	var kept accountGauges
	for before := range min(d, fastres.Dim(len(a.position))) {
		if g := a.at(before); g != nil {
			kept.gauges = append(kept.gauges, *g)
			kept.position = append(kept.position, make([]int32, int(before)+1-len(kept.position))...)
			kept.position[before] = int32(len(kept.gauges))
		}
	}

	*a = kept
}

// lengthen returns a vector with at least n dimensions and the dimensions that are present in x. The quantities are 0.
func lengthen(x fastres.Vector, n int) fastres.Vector {
	if x.Len() >= n {
		return x
	}

	longer := fastres.NewVector(n)
	longer.Join(x)
	return longer
}
