package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capacity-card/capacity-card/index"
)

// The series of the order by usage over time.
var (
	usageVec = queueVec("fair_share_usage", "What one queue has had on average, by resource or card, in the units of queue_allocated", "resource")
	levelVec = queueVec("fair_share_level", "Usage and allocation of one queue relative to what it deserves or to its weight: "+
		"among queues of one priority that have what they deserve, the smallest goes first")
	savedGauge = gaugeVec("fair_share_saved_timestamp_seconds", "Time of the last save of the usage of queues")
)

// SetLevel sets the level of a queue, and SetUsage its usage of a resource or card.
func (m *Metrics) SetLevel(q index.Queue, level float64) {
	levelVec.WithLabelValues(m.ix.Name(q)).Set(level)
}

func (m *Metrics) SetUsage(q index.Queue, resource string, usage float64) {
	usageVec.WithLabelValues(m.ix.Name(q), resource).Set(usage)
}

// SetSaved sets when usage was saved last. The zero time is never.
func (m *Metrics) SetSaved(at time.Time) {
	if !at.IsZero() {
		savedGauge.WithLabelValues().Set(float64(at.UnixMilli()) / 1000)
	}
}

func forgetUsage(of prometheus.Labels) {
	usageVec.DeletePartialMatch(of)
	levelVec.Delete(of)
}
