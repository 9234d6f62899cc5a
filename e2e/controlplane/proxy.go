package controlplane

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// Interference is the fault that a Proxy injects into one request.
type Interference struct {
	// Delay is the time before the request is forwarded.
	Delay time.Duration
	// Status, if not 0, is the answer in place of the API server's.
	Status int
	// Lost: the API server serves the request, and the client gets an error.
	Lost bool
}

// Proxy is a transparent proxy between a client and the API server. It speaks HTTP, so it can answer instead of the API
// server. Proxies of connections, such as toxiproxy, cannot do that.
type Proxy struct {
	// Kubeconfig is the path of a kubeconfig for the admin, with the address of the proxy.
	Kubeconfig string

	server    *http.Server
	interfere atomic.Pointer[func(*http.Request) Interference]

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// StartProxy starts a proxy, which writes its kubeconfig to a path. Stop of the control plane ends it.
func (cp *ControlPlane) StartProxy(kubeconfig string) (*Proxy, error) {
	authority, err := os.ReadFile(cp.path("apiserver.crt"))
	if err != nil {
		return nil, err
	}

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	certificate, err := tls.LoadX509KeyPair(cp.path("apiserver.crt"), cp.path("apiserver.key"))
	if err != nil {
		return nil, err
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}

	err = cp.WriteKubeconfig(kubeconfig, listener.Addr().String(), cp.RestConfig.BearerToken)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}

	p := &Proxy{Kubeconfig: kubeconfig, conns: map[net.Conn]bool{}}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: cp.Address}) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true},
		FlushInterval: -1, // watches
		ErrorLog:      log.New(io.Discard, "", 0),
		// The client sees a connection that ends, as it would without the proxy.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(forward, w, r) }),
		ConnState:         p.track,
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}},
		ErrorLog:          log.New(io.Discard, "", 0),
	}

	cp.stops = append(cp.stops, p.server.Close)
	go func() {
		_ = p.server.ServeTLS(listener, "", "") // until Close
	}()

	return p, nil
}

func (p *Proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	interfere := p.interfere.Load()
	if interfere == nil {
		forward.ServeHTTP(w, r)
		return
	}

	with := (*interfere)(r)
	select {
	case <-time.After(with.Delay):
	case <-r.Context().Done():
		return // the client is gone
	}

	switch {
	case with.Lost:
		forward.ServeHTTP(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case with.Status != 0:
		if with.Status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, "interference", with.Status)
	default:
		forward.ServeHTTP(w, r)
	}
}

// discard is an http.ResponseWriter that drops the answer.
type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (d discard) Write(text []byte) (int, error) { return len(text), nil }
func (d discard) WriteHeader(int)                {}

// Interfere sets the function that decides the interference with each request. nil ends the interference.
func (p *Proxy) Interfere(with func(*http.Request) Interference) {
	if with == nil {
		p.interfere.Store(nil)
		return
	}
	p.interfere.Store(&with)
}

// Cut ends all connections, and new ones at once, until Mend.
func (p *Proxy) Cut() { p.setCut(true) }

// Mend lets connections live again.
func (p *Proxy) Mend() { p.setCut(false) }

func (p *Proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.cut = cut
	if !cut {
		return
	}

	for conn := range p.conns {
		conn.Close()
	}
}

// track keeps the set of open connections.
func (p *Proxy) track(conn net.Conn, state http.ConnState) {
	p.mu.Lock()
	defer p.mu.Unlock()

	switch state {
	case http.StateNew:
		p.conns[conn] = true
		if p.cut {
			conn.Close()
		}
	case http.StateClosed, http.StateHijacked:
		delete(p.conns, conn)
	}
}
