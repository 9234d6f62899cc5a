package report

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// TestExchanges reports a place from the third exchange on. A place that rests for a few
// sessions, a place on another node, and a place that was not taken again start at zero.
func TestExchanges(t *testing.T) {
	job := api.NewJobInfo("default/job")
	count := func(steps func(e *Exchanges, evict, place func(node string))) float64 {
		e := NewExchanges()
		e.Open()
		exchangesVec.Delete(prometheus.Labels{queueLabel: "lender", "other": "owner"})
		steps(e, func(node string) { e.Evicted(job, node, "lender", "owner") }, func(node string) { e.Placed(job.UID, node) })
		return testutil.ToFloat64(exchangesVec.WithLabelValues("lender", "owner"))
	}
	exchange := func(times, rest int) func(e *Exchanges, evict, place func(string)) {
		return func(e *Exchanges, evict, place func(string)) {
			for range times {
				evict("n")
				for range rest {
					e.Open()
				}
				place("n")
				e.Open()
			}
			evict("n")
		}
	}
	assert.Zero(t, count(exchange(2, 1)))
	assert.Equal(t, 1.0, count(exchange(3, 1)))
	assert.Equal(t, 8.0, count(exchange(10, 1)))
	assert.Equal(t, 8.0, count(exchange(10, exchangeCycles-1)), "a few sessions later")
	assert.Zero(t, count(exchange(10, exchangeCycles+1)), "long ago")
	assert.Zero(t, count(func(e *Exchanges, evict, place func(string)) {
		for range 10 {
			evict("n")
			place("other")
			e.Open()
		}
	}), "the place is on another node")
	e := NewExchanges()
	assert.True(t, e.Empty())
	e.Evicted(job, "n", "lender", "owner")
	assert.False(t, e.Empty())
	for range exchangeCycles + 1 {
		e.Open()
	}
	assert.True(t, e.Empty(), "it is forgotten")
}
