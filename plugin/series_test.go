package plugin

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capacity-card/capacity-card/plugin/report"
)

// queueSeries returns the series volcano_queue_<name>.
func queueSeries(name string) *prometheus.GaugeVec {
	for _, vec := range slices.Concat(report.UpstreamSeries(), report.AddedSeries()) {
		descriptions := make(chan *prometheus.Desc, 1)
		vec.Describe(descriptions)
		if strings.Contains((<-descriptions).String(), `fqName: "volcano_queue_`+name+`"`) {
			return vec
		}
	}
	panic("no series volcano_queue_" + name)
}

// registryOf returns a registry of some series alone.
func registryOf(series []*prometheus.GaugeVec) *prometheus.Registry {
	r := prometheus.NewRegistry()
	for _, vec := range series {
		r.MustRegister(vec)
	}
	return r
}

func reset(series []*prometheus.GaugeVec) {
	for _, vec := range series {
		vec.Reset()
	}
}
