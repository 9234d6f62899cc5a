package serve

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/felixge/httpsnoop"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metricsPath is the path of the metrics.
const metricsPath = "/metrics"

// measures are the metrics of a server. Their registry is not the default registry, which has the
// metrics of the linked packages of the scheduler. docs/operations.md lists them.
type measures struct {
	registry  *prometheus.Registry
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
	readings  *prometheus.CounterVec
	reading   prometheus.Histogram
	last      prometheus.Gauge
}

// The results of a reading.
const (
	resultOK    = "ok"
	resultError = "error"
)

func newMeasures(events *broadcaster) *measures {
	m := &measures{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardctl_http_requests_total",
			Help: "Requests by page, method and status. Streams of events count when they end.",
		}, []string{"page", "method", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "cardctl_http_request_duration_seconds",
			Help:    "Time until a page is written, without streams of events.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"page"}),
		readings: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "cardctl_cluster_readings_total",
			Help: "Readings of the cluster by result: ok or error.",
		}, []string{"result"}),
		reading: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "cardctl_cluster_reading_duration_seconds",
			Help:    "Time of a reading of the cluster, with the model made of it.",
			Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "cardctl_cluster_last_reading_timestamp_seconds",
			Help: "Time of the last reading without an error, 0 before the first. " +
				"The cluster is read after it changes.",
		}),
	}

	streams := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cardctl_event_streams",
		Help: "Open streams of events, one for each open page.",
	}, func() float64 { return float64(events.open()) })

	m.registry.MustRegister(m.requests, m.durations, m.readings, m.reading, m.last, streams,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	for _, result := range []string{resultOK, resultError} {
		// A rate needs the 0 before the first reading.
		m.readings.WithLabelValues(result)
	}
	return m
}

// read counts a reading that began at a time.
func (m *measures) read(begun time.Time, err error) {
	m.reading.Observe(time.Since(begun).Seconds())
	if err != nil {
		m.readings.WithLabelValues(resultError).Inc()
		return
	}
	m.readings.WithLabelValues(resultOK).Inc()
	m.last.SetToCurrentTime()
}

// handler answers with the metrics.
func (m *measures) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// count counts the requests that next answers, by the patterns of pages: paths that
// clients make up have one series together.
func (m *measures) count(next http.Handler, pages ...*http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		page := pageOf(r, pages)

		done := httpsnoop.CaptureMetrics(next, w, r)
		m.requests.WithLabelValues(page, methodOf(r), strconv.Itoa(done.Code)).Inc()
		if page != eventsPath {
			m.durations.WithLabelValues(page).Observe(done.Duration.Seconds())
		}
	})
}

// otherPage stands for all paths without a page.
const otherPage = "other"

// pageOf returns the pattern of the page that a request names, without its method.
func pageOf(r *http.Request, pages []*http.ServeMux) string {
	for _, mux := range pages {
		_, pattern := mux.Handler(r)
		if _, path, found := strings.Cut(pattern, " "); found {
			pattern = path
		}
		if pattern != "" && pattern != "/" {
			return pattern
		}
	}
	return otherPage
}

// methodOf returns the method of a request. Names that clients make up have one series together.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost:
		return r.Method
	}
	return otherPage
}
