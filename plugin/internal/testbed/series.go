package testbed

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"volcano.sh/volcano/pkg/scheduler/metrics"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Series holds values of metric series by name and labels.
type Series map[string]float64

var queueMetrics = RegistryOf(report.UpstreamSeries())

// Gather returns the series of the given queues.
func Gather(queues []string) Series {
	families, err := queueMetrics.Gather()
	if err != nil {
		panic(err)
	}

	found := Series{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if slices.ContainsFunc(metric.GetLabel(), func(l *dto.LabelPair) bool {
				return l.GetName() == "queue_name" && slices.Contains(queues, l.GetValue())
			}) {
				found[fmt.Sprint(family.GetName(), metric.GetLabel())] = metric.GetGauge().GetValue()
			}
		}
	}

	return found
}

// DropMetrics deletes all series, as Volcano does when queues are deleted.
func DropMetrics(queues []workload.Queue) {
	for _, q := range queues {
		metrics.DeleteQueueMetrics(q.Name)
	}
	metrics.DeleteQueueMetrics("root")
}

// AddedMetrics returns the series that upstream does not have, by name and the values
// of the labels. A histogram has the number of its observations.
func AddedMetrics(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := RegistryOf(report.AddedSeries()).Gather()
	require.NoError(t, err)

	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.Metric {
			key := family.GetName()[len("volcano_"):]
			for _, pair := range metric.Label {
				key += " " + pair.GetValue()
			}
			got[key] = metric.GetGauge().GetValue()
			if counter := metric.GetCounter(); counter != nil {
				got[key] = counter.GetValue()
			}
			if histogram := metric.GetHistogram(); histogram != nil {
				got[key] = float64(histogram.GetSampleCount())
			}
		}
	}

	return got
}

// QueueSeries returns the series volcano_queue_<name>.
func QueueSeries(name string) *report.Family {
	for _, family := range report.UpstreamSeries() {
		descriptions := make(chan *prometheus.Desc, 1)
		family.Describe(descriptions)
		if strings.Contains((<-descriptions).String(), `fqName: "volcano_queue_`+name+`"`) {
			return family
		}
	}
	panic("no series volcano_queue_" + name)
}

// TheirSeries returns the series volcano_queue_<name> that Volcano's own plugin has set, by the values of the labels.
func TheirSeries(name string) map[string]float64 {
	return collected(QueueSeries(name).Volcano().Collect)
}

// OurSeries returns the series volcano_queue_<name> of the last session of a plugin of this module.
func OurSeries(name string) map[string]float64 { return collected(QueueSeries(name).CollectOurs) }

func collected(collect func(chan<- prometheus.Metric)) map[string]float64 {
	sent := make(chan prometheus.Metric, 1<<12)
	collect(sent)

	values := map[string]float64{}
	for len(sent) > 0 {
		m := read(<-sent)
		var labels []string
		for _, pair := range m.Label {
			labels = append(labels, pair.GetValue())
		}
		values[strings.Join(labels, " ")] = m.GetGauge().GetValue()
	}

	return values
}

func read(metric prometheus.Metric) *dto.Metric {
	var m dto.Metric
	if err := metric.Write(&m); err != nil {
		panic(err)
	}
	return &m
}

// RegistryOf returns a registry of some series alone.
func RegistryOf[S report.Series](series []S) *prometheus.Registry {
	r := prometheus.NewRegistry()
	for _, vec := range series {
		r.MustRegister(vec)
	}
	return r
}

// Reset deletes the values of series.
func Reset[S report.Series](series []S) {
	for _, vec := range series {
		vec.Reset()
	}
}
