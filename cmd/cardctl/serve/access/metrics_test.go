package access

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestMetricsAccess lets those read the metrics who may get the URL /metrics, whatever else they
// may see.
func TestMetricsAccess(t *testing.T) {
	s := newSite(t, time.Hour)
	s.handler = s.gate.ProtectMetrics(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a 1\n")) }))
	for name, c := range map[string]struct {
		headers []string
		status  int
	}{
		"may":             {bearer("cleo"), http.StatusOK},
		"may not":         {bearer("ann"), http.StatusForbidden},
		"no token":        {nil, http.StatusUnauthorized},
		"no token, page":  {[]string{"Accept", asBrowser}, http.StatusUnauthorized},
		"invalid token":   {bearer("dora"), http.StatusUnauthorized},
		"another's claim": {[]string{"X-Remote-User", "cleo"}, http.StatusUnauthorized},
	} {
		assert.Equal(t, c.status, s.send(http.MethodGet, "/metrics", "", c.headers...).StatusCode, name)
	}
	asked := s.api.requests()
	s.send(http.MethodGet, "/metrics", "")
	assert.Equal(t, asked, s.api.requests(), "there is no review of an empty token")
	s.api.change(func() { s.api.down = http.StatusInternalServerError })
	assert.Equal(t, http.StatusServiceUnavailable, s.send(http.MethodGet, "/metrics", "", bearer("ben")...).StatusCode)
}
