package serve

import (
	"compress/gzip"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/internal/families"
)

// TestMetrics counts requests by page, the readings, and the open streams.
func TestMetrics(t *testing.T) {
	cluster := newSource(t, examples)
	server := newServer(t, cluster, nil)
	h := server.Handler()
	for _, path := range []string{"/queues", "/queues.json", "/job/default/llm", "/job/default/nothing", "/a", "/b"} {
		get(h, path)
	}
	do(h, httptest.NewRequest("MADEUP", "/queues", nil))
	_, err := server.events.subscribe("one", 0)
	require.NoError(t, err)
	cluster.fail(errors.New("away"))
	server.keeper.read(t.Context(), true)

	answer := get(h, "/metrics")
	require.Equal(t, http.StatusOK, answer.Code)
	text := answer.Body.String()
	for _, line := range []string{
		`cardctl_http_requests_total{code="200",method="GET",page="/queues"} 1`,
		`cardctl_http_requests_total{code="200",method="GET",page="/queues.json"} 1`,
		`cardctl_http_requests_total{code="200",method="GET",page="/job/{namespace}/{name}"} 1`,
		`cardctl_http_requests_total{code="404",method="GET",page="/job/{namespace}/{name}"} 1`,
		`cardctl_http_requests_total{code="404",method="GET",page="other"} 2`,
		`cardctl_http_request_duration_seconds_count{page="other"} 3`,
		`cardctl_cluster_readings_total{result="ok"} 1`,
		`cardctl_cluster_readings_total{result="error"} 1`,
		`cardctl_cluster_reading_duration_seconds_count 2`,
		`cardctl_event_streams 1`,
	} {
		assert.Contains(t, text, line+"\n")
	}
	assert.Regexp(t, `(?m)^cardctl_cluster_last_reading_timestamp_seconds 1\.\d+e\+09$`, text)
	assert.NotContains(t, text, "MADEUP")
	assert.NotContains(t, text, "volcano_", "those are the scheduler's")
}

// TestMetricsAreDocumented expects docs/operations.md to have a row for each metric of the
// server, and for no other.
func TestMetricsAreDocumented(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	get(server.Handler(), "/queues")
	read, err := families.Read(get(server.Handler(), "/metrics").Body)
	require.NoError(t, err)
	var has, documented []string
	for name := range read {
		if strings.HasPrefix(name, "cardctl_") {
			has = append(has, name)
		}
	}
	page, err := os.ReadFile("../../../docs/operations.md")
	require.NoError(t, err)
	for _, row := range regexp.MustCompile("(?m)^\\| `(cardctl_\\w+)` \\|").FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, row[1])
	}
	slices.Sort(has)
	slices.Sort(documented)
	assert.Equal(t, has, documented)
}

// TestMetricsNeedAccess has no metrics where requests are authenticated and nothing says who may
// read the metrics.
func TestMetricsNeedAccess(t *testing.T) {
	assert.Equal(t, http.StatusMisdirectedRequest, func() int {
		r := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Host = "example.com"
		w := httptest.NewRecorder()
		newServer(t, newSource(t, examples), nil).Handler().ServeHTTP(w, r)
		return w.Code
	}())
	protected := newServer(t, newSource(t, examples), as(nobody)).Handler()
	assert.Equal(t, http.StatusNotFound, get(protected, "/metrics").Code)
}

// TestCompression compresses pages, JSON and assets for clients that accept it, and no streams.
func TestCompression(t *testing.T) {
	server := newServer(t, newSource(t, examples), nil)
	asset := regexp.MustCompile(`/assets/\w+/style\.css`).FindString(get(server.Handler(), "/queues").Body.String())
	require.NotEmpty(t, asset)
	for _, path := range []string{"/queues", "/queues.json", asset} {
		plain := get(server.Handler(), path)
		assert.Empty(t, plain.Header().Get("Content-Encoding"), path)
		assert.Contains(t, plain.Header().Values("Vary"), "Accept-Encoding", path)
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept-Encoding", "br, gzip")
		small := do(server.Handler(), r)
		require.Equal(t, "gzip", small.Header().Get("Content-Encoding"), path)
		assert.Less(t, small.Body.Len(), plain.Body.Len(), path)
		reader, err := gzip.NewReader(small.Body)
		require.NoError(t, err)
		text, err := io.ReadAll(reader)
		require.NoError(t, err)
		assert.NotEmpty(t, text)
	}
	real := httptest.NewServer(server.Handler())
	defer real.Close()
	request, err := http.NewRequest(http.MethodGet, real.URL+"/events", nil)
	require.NoError(t, err)
	request.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	first := make([]byte, len("retry: 2000\n"))
	_, err = io.ReadFull(answer.Body, first)
	require.NoError(t, err)
	assert.Equal(t, "retry: 2000\n", string(first))
	assert.Empty(t, answer.Header.Get("Content-Encoding"))
}

// TestStrictTransport has browsers keep to HTTPS for the name of a server with a certificate, and
// not for this machine, where other servers listen.
func TestStrictTransport(t *testing.T) {
	h := newServer(t, newSource(t, examples), as(everyone)).Handler()
	for host, want := range map[string]string{"pages.example.com": strictTransport, "localhost:8443": "", "127.0.0.1:8443": ""} {
		for _, connection := range []*tls.ConnectionState{nil, {}} {
			r := httptest.NewRequest(http.MethodGet, "/queues", nil)
			r.Host, r.TLS = host, connection
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if connection == nil {
				assert.Empty(t, w.Header().Get("Strict-Transport-Security"), host)
			} else {
				assert.Equal(t, want, w.Header().Get("Strict-Transport-Security"), host)
			}
		}
	}
}
