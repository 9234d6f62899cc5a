package session

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/capacity-card/capacity-card/plugin/report"
)

// queueSeries returns the series volcano_queue_<name>.
func queueSeries(name string) *report.Family {
	for _, family := range report.UpstreamSeries() {
		descriptions := make(chan *prometheus.Desc, 1)
		family.Describe(descriptions)
		if strings.Contains((<-descriptions).String(), `fqName: "volcano_queue_`+name+`"`) {
			return family
		}
	}
	panic("no series volcano_queue_" + name)
}

// theirSeries are the series volcano_queue_<name> that Volcano's own plugin has set, and ourSeries those of the last
// session of ours: the values by those of the labels.
func theirSeries(name string) map[string]float64 {
	return collected(queueSeries(name).Volcano().Collect)
}
func ourSeries(name string) map[string]float64 { return collected(queueSeries(name).CollectOurs) }

func collected(collect func(chan<- prometheus.Metric)) map[string]float64 {
	values, sent := map[string]float64{}, make(chan prometheus.Metric, 1<<12)
	collect(sent)
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

// registryOf returns a registry of some series alone.
func registryOf[S report.Series](series []S) *prometheus.Registry {
	r := prometheus.NewRegistry()
	for _, vec := range series {
		r.MustRegister(vec)
	}
	return r
}

func reset[S report.Series](series []S) {
	for _, vec := range series {
		vec.Reset()
	}
}
