package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capacity-card/capacity-card/index"
)

// The series of the order by usage over time.
var (
	usageVec = queueVec("fair_share_usage",
		"What one queue has had on average, by resource or card, in the units of queue_allocated", "resource")
	levelVec = queueVec("fair_share_level",
		"Usage and allocation of one queue relative to what it deserves or to its weight: "+
			"among queues of one priority that have what they deserve, the smallest goes first")
	budgetVec = queueVec("card_budget_hours",
		"Card-hours that one queue may use of a card in the window of its budget", "resource")
	leftVec = queueVec("evictions_left",
		"Evictions that are left now of a budget of evictions of one queue", "budget")
	noticeVec = queueVec("pods_with_notice",
		"Pods of one queue that have notice before their eviction, and may not be evicted yet")
	spentVec = queueVec("card_budget_used_hours",
		"Card-hours that one queue has used of a card in the window of its budget", "resource")
	savedGauge = gaugeVec("fair_share_saved_timestamp_seconds", "Time of the last save of the usage of queues")
)

// SetLevel sets the level of a queue.
func (m *Metrics) SetLevel(q index.Queue, level float64) {
	levelVec.WithLabelValues(m.ix.Name(q)).Set(level)
}

// SetUsage sets the usage of a resource or card by a queue.
func (m *Metrics) SetUsage(q index.Queue, resource string, usage float64) {
	usageVec.WithLabelValues(m.ix.Name(q), resource).Set(usage)
}

// ForgetLevels deletes the series of SetLevel and SetUsage for all queues.
func (m *Metrics) ForgetLevels() {
	levelVec.Reset()
	usageVec.Reset()
}

// SetBudget sets the budget of a queue for a card, and the used part of it, in card-hours.
func (m *Metrics) SetBudget(q index.Queue, resource string, limit, used float64) {
	budgetVec.WithLabelValues(m.ix.Name(q), resource).Set(limit)
	spentVec.WithLabelValues(m.ix.Name(q), resource).Set(used)
}

// ForgetBudgets deletes the series of all budgets.
func (m *Metrics) ForgetBudgets() {
	budgetVec.Reset()
	spentVec.Reset()
}

// SetEvictionsLeft sets how many evictions are left of a budget of a queue. budget is the name of the annotation
// without its prefix.
func (m *Metrics) SetEvictionsLeft(q index.Queue, budget string, left int) {
	leftVec.WithLabelValues(m.ix.Name(q), budget).Set(float64(left))
}

// ForgetEvictions deletes the series of SetEvictionsLeft for all queues.
func (m *Metrics) ForgetEvictions() { leftVec.Reset() }

// SetNotices sets how many pods of a queue have notice.
func (m *Metrics) SetNotices(q index.Queue, pods int) {
	noticeVec.WithLabelValues(m.ix.Name(q)).Set(float64(pods))
}

// ForgetNotices deletes the series of SetNotices for all queues.
func (m *Metrics) ForgetNotices() { noticeVec.Reset() }

// SetSaved sets when usage was last saved. The zero time means that nothing is saved: it deletes the series.
func (m *Metrics) SetSaved(at time.Time) {
	if at.IsZero() {
		savedGauge.Reset()
		return
	}
	savedGauge.WithLabelValues().Set(float64(at.UnixMilli()) / 1000)
}

// forgetUsage deletes the series of a queue.
func forgetUsage(queue prometheus.Labels) {
	usageVec.DeletePartialMatch(queue)
	levelVec.Delete(queue)
	budgetVec.DeletePartialMatch(queue)
	spentVec.DeletePartialMatch(queue)
	leftVec.DeletePartialMatch(queue)
	noticeVec.Delete(queue)
}
