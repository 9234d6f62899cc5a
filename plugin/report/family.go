package report

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/metrics"
)

// Family holds the gauges with one name. They are not kept as series: sessions set numbers, which become series in a
// scrape.
type Family struct {
	desc *prometheus.Desc
	// volcano has the series that Volcano registers for its own plugins, nil for a name that it does not have. They are
	// exported if one of these plugins replaces ours without a restart.
	volcano *prometheus.GaugeVec
	write   func(*Metrics, func(value float64, labels []*dto.LabelPair))
}

// current has the numbers that are exported, nil before the first session.
var current atomic.Pointer[Metrics]

// export makes these numbers the exported ones.
func (m *Metrics) export() {
	for _, f := range replacing {
		f.volcano.Reset() // a plugin of Volcano may have run before
	}
	current.Store(m)
}

// replacing has the families that replace series of Volcano.
var replacing []*Family

// newFamily returns the gauges with a name and registers them. They replace Volcano's series with this name. labels are
// sorted, and write calls its argument for each series with the values of the labels.
func newFamily(name, help string, labels []string, write func(*Metrics, func(float64, []*dto.LabelPair))) *Family {
	full := prometheus.BuildFQName("", metrics.VolcanoSubSystemName, name)
	f := &Family{desc: prometheus.NewDesc(full, help, labels, nil), write: write}

	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Subsystem: metrics.VolcanoSubSystemName, Name: name, Help: help,
	}, labels)
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

// volcanosRuns reports whether a plugin of Volcano ran in the last session. Each of them sets the series of allocated
// resources, and our sessions reset them.
func volcanosRuns() bool {
	vec := families[allocated].cpu.volcano
	if vec == nil {
		return false // Volcano has no such series any more
	}

	found := make(chan prometheus.Metric)
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

// CollectOurs sends the numbers of the last session of our plugins.
func (f *Family) CollectOurs(to chan<- prometheus.Metric) {
	m := current.Load()
	if m == nil {
		return
	}

	// The samples are collected first, so that a session does not wait for the reader.
	var samples []sample
	m.mu.RLock()
	f.write(m, func(value float64, labels []*dto.LabelPair) {
		samples = append(samples, sample{f.desc, value, labels})
	})
	m.mu.RUnlock()

	for i := range samples {
		to <- &samples[i]
	}
}

// Volcano returns the series that plugins of Volcano set, nil for a name that Volcano does not have.
func (f *Family) Volcano() *prometheus.GaugeVec { return f.volcano }

// Reset deletes the series of all families, because one session has set all of them.
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
	to.Label = s.labels
	to.Gauge = &dto.Gauge{Value: &s.value}
	return nil
}

// label returns a label with a value.
func label(name, value string) *dto.LabelPair { return &dto.LabelPair{Name: &name, Value: &value} }

// accountFamilies holds the gauges of one account: for cpu, memory, scalars and cards. They have the units of vectors:
// thousandths of cores, bytes, and thousandths of anything else.
type accountFamilies struct{ cpu, memory, scalar, card *Family }

func (a accountFamilies) all() []*Family {
	if a.card == a.scalar {
		return []*Family{a.cpu, a.memory, a.scalar}
	}
	return []*Family{a.cpu, a.memory, a.scalar, a.card}
}

// texts holds the help texts of an account: for cpu, memory, and scalars.
type texts [3]string

// textsOf returns the help texts that Volcano gives to an account.
func textsOf(word string) texts {
	return texts{
		word + " CPU count for one queue",
		word + " memory for one queue",
		word + " scalar resources for one queue",
	}
}

// queueAccount returns the families of an account of queues. Cards are scalars there, as dashboards for upstream
// expect.
func queueAccount(name string, help texts, accountIn func(*queueGauges) *accountGauges) accountFamilies {
	family := func(suffix, help string, kinds kind, labels ...string) *Family {
		write := func(m *Metrics, emit func(float64, []*dto.LabelPair)) {
			for _, g := range m.queues {
				accountIn(g).emit(emit, kinds, g.labels...)
			}
		}
		return newFamily("queue_"+name+suffix, help, append([]string{queueLabel}, labels...), write)
	}

	scalar := family("_scalar_resources", help[2], scalarKind|cardKind, "resource")
	return accountFamilies{
		cpu:    family("_milli_cpu", help[0], cpuKind),
		memory: family("_memory_bytes", help[1], memoryKind),
		scalar: scalar,
		card:   scalar,
	}
}

// clusterAccount returns the families of the account of the cluster.
func clusterAccount() accountFamilies {
	family := func(name, help string, kinds kind, labels ...string) *Family {
		write := func(m *Metrics, emit func(float64, []*dto.LabelPair)) { m.cluster.emit(emit, kinds) }
		return newFamily("cluster_"+name, help, labels, write)
	}

	return accountFamilies{
		cpu:    family("milli_cpu", "CPU count of the cluster", cpuKind),
		memory: family("memory_bytes", "Memory of the cluster", memoryKind),
		scalar: family("scalar_resources", "Scalar resources of the cluster", scalarKind, "resource"),
		card:   family("cards", "Cards of the cluster", cardKind, "resource"),
	}
}

// queueFamily returns the gauges of one number of each queue.
func queueFamily(name, help string, gaugeIn func(*queueGauges) *gauge) *Family {
	write := func(m *Metrics, emit func(float64, []*dto.LabelPair)) {
		for _, g := range m.queues {
			if value, set := gaugeIn(g).get(); set {
				emit(value, g.labels)
			}
		}
	}
	return newFamily("queue_"+name, help, []string{queueLabel}, write)
}
