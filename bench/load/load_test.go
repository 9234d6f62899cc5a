package load

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPercentile(t *testing.T) {
	values := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for share, want := range map[float64]float64{0: 1, 0.1: 1, 0.5: 5, 0.9: 9, 0.99: 10, 1: 10} {
		assert.Equal(t, want, Percentile(values, share), share)
	}
}

func TestValues(t *testing.T) {
	r := Report{Runs: []Result{
		{Scheduler: "ours", Total: 2, Bound: make([]float64, 8)},
		{Scheduler: "upstream", Total: 8, Bound: make([]float64, 8)},
		{Scheduler: "ours", Total: 4, Bound: make([]float64, 8)},
	}}
	assert.Equal(t, []float64{2, 4}, r.Values("ours", Result.Throughput))
	assert.Equal(t, []float64{1}, r.Values("upstream", Result.Throughput))
	assert.Empty(t, r.Values("other", Result.Throughput))
}

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load.txt")
	require.NoError(t, os.WriteFile(path, []byte(`{"queues":5,"runs":[{"scheduler":"ours","total":2}]}`), 0o600))
	r, err := Read[Result](path)
	require.NoError(t, err)
	assert.Equal(t, &Report{Setting: Setting{Queues: 5}, Runs: []Result{{Scheduler: "ours", Total: 2}}}, r)
	require.NoError(t, os.WriteFile(path, []byte(`{`), 0o600))
	_, err = Read[Result](path)
	assert.ErrorContains(t, err, path)
}

// TestLeftPods has four pods. One of them did not run.
func TestLeftPods(t *testing.T) {
	r := Result{Running: []float64{1, 2, 4}, Left: 1}
	for share, want := range map[float64]float64{0.25: 1, 0.5: 2, 0.75: 4, 0.9: math.Inf(1)} {
		assert.Equal(t, want, r.Latency(share), share)
	}
	assert.Equal(t, math.Inf(1), Result{Left: 4}.Latency(0.5), "none ran")
}
