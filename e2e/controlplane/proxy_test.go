package controlplane

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
)

// TestProxy has a proxy pass requests, answer in the place of the server, lose answers, and cut connections.
func TestProxy(t *testing.T) {
	cp := &ControlPlane{directory: t.TempDir(), RestConfig: &rest.Config{BearerToken: "secret"}}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.ParseIP("127.0.0.1")}, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(cp.path("apiserver.crt"), certificate, 0o600))
	require.NoError(t, os.WriteFile(cp.path("apiserver.key"), key, 0o600))
	var served atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer secret" {
			served.Add(1)
		}
	}))
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	cp.Address = server.Listener.Addr().String()

	p, err := cp.StartProxy(filepath.Join(t.TempDir(), "kubeconfig"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, cp.stops[0]()) })
	config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
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
	interfere := func(with Interference) func(*http.Request) Interference {
		return func(*http.Request) Interference { return with }
	}
	for _, each := range []struct {
		name           string
		prepare        func()
		status, served int
	}{
		{"passes", func() {}, http.StatusOK, 1},
		{"answers", func() { p.Interfere(interfere(Interference{Status: http.StatusInternalServerError})) }, http.StatusInternalServerError, 0},
		{"loses", func() { p.Interfere(interfere(Interference{Lost: true})) }, 0, 1},
		{"cut", func() { p.Interfere(nil); p.Cut() }, 0, 0},
		{"mended", p.Mend, http.StatusOK, 1},
	} {
		each.prepare()
		before := int(served.Load())
		require.Equal(t, each.status, ask(), each.name)
		require.Equal(t, before+each.served, int(served.Load()), each.name)
	}
}
