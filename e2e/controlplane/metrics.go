package controlplane

import (
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/apiserver/pkg/server/healthz"
)

// ServeMetrics serves the metrics and the health of the scheduler in this process, at /metrics and /healthz of a free
// address, as the scheduler's program does at the addresses of its flags.
func (cp *ControlPlane) ServeMetrics() (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}

	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(prometheus.GathererFunc(schedulerMetrics), promhttp.HandlerOpts{}))
	healthz.InstallHandler(mux)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	cp.stops = append(cp.stops, server.Close)
	go func() {
		_ = server.Serve(listener) // until Close
	}()

	return listener.Addr().String(), nil
}

// schedulerMetrics returns Volcano's metrics. The other components of this process use the same registry.
func schedulerMetrics() ([]*dto.MetricFamily, error) {
	families, err := prometheus.DefaultGatherer.Gather()

	return slices.DeleteFunc(families, func(family *dto.MetricFamily) bool {
		return !strings.HasPrefix(family.GetName(), "volcano_")
	}), err
}
