package vitals

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/cmd/cardctl/serve/model"
)

const text = `# TYPE volcano_e2e_scheduling_latency_milliseconds histogram
volcano_e2e_scheduling_latency_milliseconds_bucket{le="5"} 0
volcano_e2e_scheduling_latency_milliseconds_bucket{le="10"} 80
volcano_e2e_scheduling_latency_milliseconds_bucket{le="20"} 98
volcano_e2e_scheduling_latency_milliseconds_bucket{le="+Inf"} 100
volcano_e2e_scheduling_latency_milliseconds_sum 900
volcano_e2e_scheduling_latency_milliseconds_count 100
# TYPE volcano_plugin_scheduling_latency_milliseconds histogram
volcano_plugin_scheduling_latency_milliseconds_bucket{plugin="capacity-card",OnSession="OnSessionOpen",le="4"} 10
volcano_plugin_scheduling_latency_milliseconds_bucket{plugin="capacity-card",OnSession="OnSessionOpen",le="+Inf"} 10
volcano_plugin_scheduling_latency_milliseconds_count{plugin="capacity-card",OnSession="OnSessionOpen"} 10
volcano_plugin_scheduling_latency_milliseconds_bucket{plugin="gang",OnSession="OnSessionOpen",le="4"} 10
volcano_plugin_scheduling_latency_milliseconds_bucket{plugin="gang",OnSession="OnSessionOpen",le="+Inf"} 10
volcano_plugin_scheduling_latency_milliseconds_count{plugin="gang",OnSession="OnSessionOpen"} 10
`

func TestRead(t *testing.T) {
	status, body := http.StatusOK, text
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	timings, err := Read(t.Context(), server.URL)
	require.NoError(t, err)
	assert.Equal(t, []model.Timing{{Name: "cycle", P50: 8.125, P99: 20, N: 100}, {Name: "session open, plugin capacity-card", P50: 2, P99: 3.96, N: 10}}, timings)

	body = "no metrics"
	_, err = Read(t.Context(), server.URL)
	require.Error(t, err)
	status = http.StatusForbidden
	_, err = Read(t.Context(), server.URL)
	require.ErrorContains(t, err, "403")
	server.Close()
	_, err = Read(t.Context(), server.URL)
	require.Error(t, err)
}
