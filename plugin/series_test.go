package plugin

import (
	"slices"
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

// theirValue returns what Volcano's own plugin has set a series volcano_queue_<name> to, 0 for nothing.
func theirValue(name string, labels ...string) float64 {
	return read(queueSeries(name).Volcano().WithLabelValues(labels...)).GetGauge().GetValue()
}

// ourValue returns what the last session of ours has set it to, 0 for nothing.
func ourValue(name string, labels ...string) (value float64) {
	sent := make(chan prometheus.Metric, 1<<16)
	queueSeries(name).CollectOurs(sent)
	for len(sent) > 0 {
		m := read(<-sent)
		if slices.EqualFunc(m.Label, labels, func(l *dto.LabelPair, value string) bool { return l.GetValue() == value }) {
			value = m.GetGauge().GetValue()
		}
	}
	return value
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
