package report

import (
	"errors"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// openMetrics opens Metrics on the session of a fixture, with a Queue object of
// each queue but the root, and publishes all series.
func openMetrics(f *fixture, m *Metrics) {
	objects := make([]*api.QueueInfo, f.Index.Len())
	for q := range objects {
		if name := f.Index.Name(index.Queue(q)); name != "root" {
			objects[q] = api.NewQueueInfo(cluster.Queue(workload.Queue{Name: name}, ""))
		}
	}
	m.Open(f.Index, f.Names, nil, objects, false)
	total := fastres.NewVector(f.Names.Len())
	total.Set(fastres.CPU, 64000)
	total.Set(f.h200, 8000)
	m.Publish(total, make([]int, f.Index.Len()))
}

// resetSeries deletes all series before and after a test.
func resetSeries(t *testing.T) {
	reset := func() {
		for _, vec := range UpstreamSeries() {
			vec.Reset()
		}
		for _, vec := range AddedSeries() {
			vec.Reset()
		}
	}
	reset()
	t.Cleanup(reset)
}

// TestMetricsPublish writes cards as scalars of their queue. A card without a bound
// is +Inf, and a queue without a Queue object has no series.
func TestMetricsPublish(t *testing.T) {
	resetSeries(t)
	f, m := newFixture(t), NewMetrics()
	f.Index.RealCapability.Row(f.Index.Lookup("team")).Set(f.nic, fastres.MaxQuantity)
	openMetrics(f, m)
	assert.Equal(t, 2000.0, value(t, families[allocated].scalar, "research", h200))
	assert.Equal(t, 3000.0, value(t, families[realCapacity].scalar, "research", h200))
	assert.Equal(t, 1500.0, value(t, families[realCapacity].cpu, "research"))
	assert.True(t, math.IsInf(value(t, families[realCapacity].scalar, "team", h200), 1), "a card without a bound")
	assert.Equal(t, fastres.MaxQuantity, value(t, families[realCapacity].cpu, "team"), "cpu is not a card")
	assert.Equal(t, fastres.MaxQuantity, value(t, families[realCapacity].scalar, "team", "example.com/nic"), "not a card")
	assert.Equal(t, []float64{1, 0}, []float64{value(t, leafFamily, "team", "research"), value(t, leafFamily, "root", "team")})
	assert.Equal(t, 8000.0, value(t, clusterFamilies.card, h200))
	assert.Zero(t, count(families[allocated].cpu, "root"))
	assert.Equal(t, 3, m.Len())
}

// TestMetricsFollowEvents writes the series of a leaf at each event, and the series of inner queues when the session
// closes.
func TestMetricsFollowEvents(t *testing.T) {
	resetSeries(t)
	f, m := newFixture(t), NewMetrics()
	f.Index.Inqueue.Row(f.q).Set(f.h200, 0)
	openMetrics(f, m)
	of := func(queue string) float64 { return value(t, families[allocated].scalar, queue, h200) }
	changed := fastres.NewVector(f.Names.Len())
	changed.Set(f.h200, 1000)
	f.allocate(f.h200, 1000)
	m.PublishAllocated(f.q, changed)
	assert.Equal(t, []float64{3000, 2000}, []float64{of("research"), of("team")})
	m.PublishInner()
	assert.Equal(t, []float64{3000, 3000}, []float64{of("research"), of("team")})

	for _, p := range f.Index.Path(f.q) {
		f.Index.Inqueue.Row(p).Set(f.h200, 1000)
	}
	assert.Zero(t, count(inqueueFamilies.scalar, "research"), "nothing was reserved so far")
	m.PublishInqueue(f.q, changed)
	assert.Equal(t, 1000.0, value(t, inqueueFamilies.scalar, "research", h200))
	assert.Equal(t, 1000.0, value(t, inqueueFamilies.scalar, "team", h200))
}

// TestMetricsForgetQueues deletes the series that Volcano does not delete with a
// queue.
func TestMetricsForgetQueues(t *testing.T) {
	resetSeries(t)
	f, m := newFixture(t), NewMetrics()
	openMetrics(f, m)
	m.SetProblems("research", 2)
	assert.Equal(t, 2.0, value(t, problemsVec, "research"))
	m.ForgetQueues(index.BuildTree([]index.Node{{Name: "root"}, {Name: "team"}}, index.RootName))
	assert.Zero(t, count(problemsVec, "research"))
	assert.Zero(t, count(leafFamily, "research"))
	assert.Zero(t, count(inqueueFamilies.cpu, "research"))
	assert.Equal(t, 1, count(leafFamily, "team"))
	assert.Equal(t, 1, m.Len())
}

// TestMetricsRenewNames deletes the series of scalars, and makes those that are
// still in use again.
func TestMetricsRenewNames(t *testing.T) {
	resetSeries(t)
	f, m := newFixture(t), NewMetrics()
	openMetrics(f, m)
	assert.Equal(t, 2, count(families[allocated].scalar, "research"))
	m.RenewNames()
	assert.Zero(t, count(families[allocated].scalar, "research"))
	openMetrics(f, m)
	assert.Equal(t, 2, count(families[allocated].scalar, "research"))
	assert.Equal(t, 2000.0, value(t, families[allocated].scalar, "research", h200))
}

// TestSeriesAreExported finds each series in the registry that Volcano serves. A name that Volcano
// registers with another text would be refused there.
func TestSeriesAreExported(t *testing.T) {
	for _, vec := range all {
		err := prometheus.Register(vec)
		var registered prometheus.AlreadyRegisteredError
		require.ErrorAs(t, err, &registered)
		assert.Same(t, registered.ExistingCollector, vec)
	}
}

// TestVolcanosSeriesAreExported has one of Volcano's own plugins take the place of ours, and the reverse.
func TestVolcanosSeriesAreExported(t *testing.T) {
	resetSeries(t)
	f, m := newFixture(t), NewMetrics()
	openMetrics(f, m)
	assert.Equal(t, 1, count(shareFamily, "research"))
	metrics.UpdateQueueAllocated("theirs", 1000, 0, nil)
	assert.Equal(t, 1000.0, value(t, families[allocated].cpu, "theirs"))
	for _, family := range []*Family{families[allocated].cpu, shareFamily, leafFamily} {
		assert.Zero(t, count(family, "research"), "of our last session")
	}
	openMetrics(f, m)
	assert.Zero(t, count(families[allocated].cpu, "theirs"))
	assert.Equal(t, 1, count(shareFamily, "research"))
}

// TestScrapesBesideSessions scrapes while queues and names come and go. Faults are found by the race detector and by
// the registry, which refuses equal series.
func TestScrapesBesideSessions(t *testing.T) {
	resetSeries(t)
	registry := prometheus.NewRegistry()
	for _, family := range UpstreamSeries() {
		registry.MustRegister(family)
	}
	f, m := newFixture(t), NewMetrics()
	changed := fastres.NewVector(f.Names.Len())
	changed.Set(f.h200, 1000)
	done := make(chan error)
	go func() {
		var errs error
		for range 200 {
			_, err := registry.Gather()
			errs = errors.Join(errs, err)
		}
		done <- errs
	}()
	for {
		openMetrics(f, m)
		m.PublishAllocated(f.q, changed)
		m.ForgetQueues(index.BuildTree([]index.Node{{Name: "root"}}, index.RootName))
		m.RenewNames()
		select {
		case err := <-done:
			require.NoError(t, err)
			return
		default:
		}
	}
}
