package report

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/metrics"
)

// Family has the gauges of one name. They are not kept as series: what sessions set is numbers, and becomes series
// when somebody scrapes.
type Family struct {
	desc *prometheus.Desc
	// volcano has the series that Volcano registers for its own plugins, nil for a name that it does not have. They are
	// exported where one of these plugins takes the place of ours without a restart.
	volcano *prometheus.GaugeVec
	write   func(*Metrics, func(value float64, labels []*dto.LabelPair))
}

// current has the numbers that are exported, nil before the first session.
var current atomic.Pointer[Metrics]

// export makes Metrics those that are exported.
func (m *Metrics) export() {
	for _, f := range replacing {
		f.volcano.Reset() // one of Volcano's plugins ran before
	}
	current.Store(m)
}

// replacing are the families that take the place of Volcano's.
var replacing []*Family

// newFamily returns the gauges of a name and registers them, in place of Volcano's of this name. labels are sorted, and
// write calls its argument for each series, with the values of the labels.
func newFamily(name, help string, labels []string, write func(*Metrics, func(float64, []*dto.LabelPair))) *Family {
	f := &Family{desc: prometheus.NewDesc(prometheus.BuildFQName("", metrics.VolcanoSubSystemName, name), help, labels, nil), write: write}
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Subsystem: metrics.VolcanoSubSystemName, Name: name, Help: help}, labels)
	f.volcano = registered(vec)
	if f.volcano != nil {
		prometheus.Unregister(f.volcano)
		replacing = append(replacing, f)
	}
	if err := prometheus.Register(f); err != nil {
		klog.Errorf("metric %s is not exported: %v", name, err)
	}
	all = append(all, f)
	return f
}

// Describe implements prometheus.Collector.
func (f *Family) Describe(to chan<- *prometheus.Desc) { to <- f.desc }

// Collect implements prometheus.Collector.
func (f *Family) Collect(to chan<- prometheus.Metric) {
	if !volcanosRuns() {
		f.CollectOurs(to)
	} else if f.volcano != nil {
		f.volcano.Collect(to)
	}
}

// volcanosRuns reports whether the last session was one of Volcano's own plugins: each sets what all queues have, and
// our sessions reset that.
func volcanosRuns() bool {
	vec, found := families[allocated].cpu.volcano, make(chan prometheus.Metric)
	if vec == nil {
		return false // Volcano has no such series any more
	}
	go func() {
		vec.Collect(found)
		close(found)
	}()
	runs := false
	for range found {
		runs = true
	}
	return runs
}

// CollectOurs sends what the last session of our plugins has set. A session does not wait for the one who reads.
func (f *Family) CollectOurs(to chan<- prometheus.Metric) {
	m := current.Load()
	if m == nil {
		return
	}
	var samples []sample
	m.mu.RLock()
	f.write(m, func(value float64, labels []*dto.LabelPair) { samples = append(samples, sample{f.desc, value, labels}) })
	m.mu.RUnlock()
	for i := range samples {
		to <- &samples[i]
	}
}

// Volcano returns the series that Volcano's own plugins set, nil for a name that Volcano does not have.
func (f *Family) Volcano() *prometheus.GaugeVec { return f.volcano }

// Reset deletes the series of all families: they are those of one session.
func (f *Family) Reset() {
	current.Store(nil)
	if f.volcano != nil {
		f.volcano.Reset()
	}
}

// sample is one series at one time.
type sample struct {
	desc   *prometheus.Desc
	value  float64
	labels []*dto.LabelPair // sorted by name
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(to *dto.Metric) error {
	to.Label, to.Gauge = s.labels, &dto.Gauge{Value: &s.value}
	return nil
}

// label returns the value of a label.
func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// accountFamilies are the gauges of one account: one for cpu, one for memory, and one for each scalar and each card.
// Units are those of the vectors: thousandths of cores, bytes, thousandths of anything else.
type accountFamilies struct{ cpu, memory, scalar, card *Family }

func (a accountFamilies) all() []*Family {
	if a.card == a.scalar {
		return []*Family{a.cpu, a.memory, a.scalar}
	}
	return []*Family{a.cpu, a.memory, a.scalar, a.card}
}

// texts are the help texts of an account: of cpu, memory, and scalars.
type texts [3]string

// textsOf returns the texts that Volcano gives its accounts.
func textsOf(word string) texts {
	return texts{word + " CPU count for one queue", word + " memory for one queue", word + " scalar resources for one queue"}
}

// queueAccount returns the families of an account of queues. Cards appear as scalars there, as dashboards for upstream
// expect.
func queueAccount(name string, help texts, of func(*queueGauges) *accountGauges) accountFamilies {
	family := func(suffix, help string, kinds kind, labels ...string) *Family {
		return newFamily("queue_"+name+suffix, help, append([]string{queueLabel}, labels...),
			func(m *Metrics, emit func(float64, []*dto.LabelPair)) {
				for _, g := range m.queues {
					of(g).emit(emit, kinds, g.labels...)
				}
			})
	}
	scalar := family("_scalar_resources", help[2], scalarKind|cardKind, "resource")
	return accountFamilies{cpu: family("_milli_cpu", help[0], cpuKind), memory: family("_memory_bytes", help[1], memoryKind),
		scalar: scalar, card: scalar}
}

// clusterAccount returns the families of the account of the cluster.
func clusterAccount() accountFamilies {
	family := func(name, help string, kinds kind, labels ...string) *Family {
		return newFamily("cluster_"+name, help, labels, func(m *Metrics, emit func(float64, []*dto.LabelPair)) { m.cluster.emit(emit, kinds) })
	}
	return accountFamilies{
		cpu:    family("milli_cpu", "CPU count of the cluster", cpuKind),
		memory: family("memory_bytes", "Memory of the cluster", memoryKind),
		scalar: family("scalar_resources", "Scalar resources of the cluster", scalarKind, "resource"),
		card:   family("cards", "Cards of the cluster", cardKind, "resource"),
	}
}

// queueFamily returns the gauges of one number of each queue.
func queueFamily(name, help string, of func(*queueGauges) *gauge) *Family {
	return newFamily("queue_"+name, help, []string{queueLabel}, func(m *Metrics, emit func(float64, []*dto.LabelPair)) {
		for _, g := range m.queues {
			if value, set := of(g).get(); set {
				emit(value, g.labels)
			}
		}
	})
}
