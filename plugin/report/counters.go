package report

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/metrics"
)

// exhaustedVec has a series for each queue that ever had such a job.
var exhaustedVec = queueCounterVec("card_search_exhausted_total",
	"Number of refusals of jobs of one queue because the search for an assignment of cards used up its budget")

// queueCounterVec registers the series of a name with the label queue_name.
func queueCounterVec(name, help string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: metrics.VolcanoSubSystemName, Name: "queue_" + name, Help: help,
	}, []string{queueLabel})
	err := prometheus.Register(vec)
	var registered prometheus.AlreadyRegisteredError
	if errors.As(err, &registered) {
		if existing, ok := registered.ExistingCollector.(*prometheus.CounterVec); ok {
			return existing
		}
	}
	if err != nil {
		klog.Errorf("metric %s is not exported: %v", name, err)
	}
	return vec
}

// CountExhausted counts a job of a queue that is refused because the search for an
// assignment of cards used up its budget.
func (m *Metrics) CountExhausted(queue string) { exhaustedVec.WithLabelValues(queue).Inc() }

// AddedCounters returns the counters, none of which Volcano has.
func AddedCounters() []*prometheus.CounterVec { return []*prometheus.CounterVec{exhaustedVec} }
