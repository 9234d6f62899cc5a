package plugin

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capacity-card/capacity-card/plugin/report"
)

// queueSeries returns the series volcano_queue_<name> of Volcano.
func queueSeries(name string) *prometheus.GaugeVec {
	for _, vec := range report.UpstreamSeries() {
		descriptions := make(chan *prometheus.Desc, 1)
		vec.Describe(descriptions)
		if strings.Contains((<-descriptions).String(), `fqName: "volcano_queue_`+name+`"`) {
			return vec
		}
	}
	panic("no series volcano_queue_" + name)
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
