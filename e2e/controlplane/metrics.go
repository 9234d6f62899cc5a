package controlplane

import (
	"net"
	"net/http"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
	"volcano.sh/volcano/pkg/util"
)

// ServeMetrics serves the metrics and the health of the scheduler in this process, at /metrics and /healthz of a free
// address, as the scheduler's program does at the addresses of its flags.
func (cp *ControlPlane) ServeMetrics() (address string, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", util.PromHandler())
	healthz.InstallHandler(mux)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	cp.stops = append(cp.stops, server.Close)
	go server.Serve(listener) //nolint:errcheck // it returns when Stop closes it
	return listener.Addr().String(), nil
}
