package bench

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/capacity-card/capacity-card/bench/workload"
)

// BenchmarkScrape reads all metrics of the process as Prometheus does, after a session with 5,000 queues.
func BenchmarkScrape(b *testing.B) {
	b.Run("queues=5000", func(b *testing.B) {
		shape := workload.Shape{Nodes: 1000, Fanout: workload.TwoLevels(5000), Jobs: 10000, TasksPerJob: 2}
		c := withCardsOf(b, shape, asks{cards: 1})
		measure(b, c, scrape, implementations[0], implementation{"ours", newCards})
	})
}

func scrape(b *testing.B, s *bed) func() bool {
	s.open(b)
	handler := promhttp.Handler()
	request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	request.Header.Set("Accept-Encoding", "gzip")

	size := 0
	call := func() bool {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		size = answer.Body.Len()
		return answer.Code == http.StatusOK && size > 100_000
	}
	b.Cleanup(func() { b.Logf("%d bytes", size) })
	return call
}
