package torture

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// interference is the fault that a proxy injects into one request.
type interference struct {
	delay  time.Duration // before the request is forwarded
	status int           // if not 0, the answer in place of the API server's
	lost   bool          // the API server serves the request, and the client gets an error
}

// proxy is a transparent proxy between a client and the API server. It speaks HTTP, so it can answer instead of the API
// server. Proxies of connections, such as toxiproxy, cannot do that.
type proxy struct {
	// kubeconfig is the path of a kubeconfig for the admin, with the address of the proxy.
	kubeconfig string

	server *http.Server
	faults atomic.Pointer[func(*http.Request) interference]

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// startProxy starts a proxy of an API server, and writes its kubeconfig to a path.
func startProxy(cp *controlplane.ControlPlane, kubeconfig string) (*proxy, error) {
	certificates, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, err
	}

	own, err := tls.X509KeyPair(certificates, key)
	if err != nil {
		return nil, err
	}

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}

	config := clientcmdapi.NewConfig()
	config.Clusters["proxy"] = &clientcmdapi.Cluster{
		Server:                   "https://" + listener.Addr().String(),
		CertificateAuthorityData: certificates,
	}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: cp.RestConfig.BearerToken}
	config.Contexts["proxy"] = &clientcmdapi.Context{Cluster: "proxy", AuthInfo: "user"}
	config.CurrentContext = "proxy"
	err = clientcmd.WriteToFile(*config, kubeconfig)
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}

	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cp.RestConfig.CAData)
	p := &proxy{kubeconfig: kubeconfig, conns: map[net.Conn]bool{}}
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
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{own}},
		ErrorLog:          log.New(io.Discard, "", 0),
	}

	go func() {
		_ = p.server.ServeTLS(listener, "", "") // until Close
	}()

	return p, nil
}

func (p *proxy) serve(forward http.Handler, w http.ResponseWriter, r *http.Request) {
	faults := p.faults.Load()
	if faults == nil {
		forward.ServeHTTP(w, r)
		return
	}

	with := (*faults)(r)
	select {
	case <-time.After(with.delay):
	case <-r.Context().Done():
		return // the client is gone
	}

	switch {
	case with.lost:
		forward.ServeHTTP(discard{http.Header{}}, r)
		panic(http.ErrAbortHandler)
	case with.status != 0:
		if with.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		http.Error(w, "interference", with.status)
	default:
		forward.ServeHTTP(w, r)
	}
}

// discard is an http.ResponseWriter that drops the answer.
type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (d discard) Write(text []byte) (int, error) { return len(text), nil }
func (d discard) WriteHeader(int)                {}

// interfere sets the function that decides the interference with each request. nil ends the interference.
func (p *proxy) interfere(with func(*http.Request) interference) {
	if with == nil {
		p.faults.Store(nil)
		return
	}
	p.faults.Store(&with)
}

// setCut ends all connections, and new ones at once, or lets connections live again.
func (p *proxy) setCut(cut bool) {
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
func (p *proxy) track(conn net.Conn, state http.ConnState) {
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

// TestProxy has a proxy pass requests, answer in the place of the server, lose answers, and cut connections.
func TestProxy(t *testing.T) {
	var served atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer secret" {
			served.Add(1)
		}
	}))
	t.Cleanup(server.Close)
	authority, err := cert.EncodeCertificates(server.Certificate())
	require.NoError(t, err)
	cp := &controlplane.ControlPlane{
		Address:    server.Listener.Addr().String(),
		RestConfig: &rest.Config{BearerToken: "secret", TLSClientConfig: rest.TLSClientConfig{CAData: authority}},
	}

	p, err := startProxy(cp, filepath.Join(t.TempDir(), "kubeconfig"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.server.Close()) })
	config, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	require.NoError(t, err)
	client, err := rest.HTTPClientFor(config)
	require.NoError(t, err)
	// ask returns the status of the answer, 0 if there is none.
	ask := func() int {
		response, err := client.Get(config.Host)
		if err != nil {
			return 0
		}
		require.NoError(t, response.Body.Close())
		return response.StatusCode
	}
	always := func(with interference) func(*http.Request) interference {
		return func(*http.Request) interference { return with }
	}
	for _, each := range []struct {
		name           string
		prepare        func()
		status, served int
	}{
		{"passes", func() {}, http.StatusOK, 1},
		{"answers", func() { p.interfere(always(interference{status: http.StatusInternalServerError})) }, http.StatusInternalServerError, 0},
		{"loses", func() { p.interfere(always(interference{lost: true})) }, 0, 1},
		{"cut", func() { p.interfere(nil); p.setCut(true) }, 0, 0},
		{"mended", func() { p.setCut(false) }, http.StatusOK, 1},
	} {
		each.prepare()
		before := int(served.Load())
		require.Equal(t, each.status, ask(), each.name)
		require.Equal(t, before+each.served, int(served.Load()), each.name)
	}
}
