package load

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sampleRun has a steady part from 10 s to 40 s with four pods. Three of them ran.
var sampleRun = Run{
	Scheduler: "capacity", From: 10, Until: 40, Bound: 60, Submitted: 4, Running: []float64{1, 2, 5},
	Samples: []Sample{
		{At: 5, Memory: 900},
		{At: 10, Memory: 300},
		{At: 20, Memory: 500},
	},
}

func TestPeakMemory(t *testing.T) {
	assert.Equal(t, 900.0, sampleRun.PeakMemory(), "of the whole run")
}

// TestLatency counts the pods that did not run.
func TestLatency(t *testing.T) {
	for share, want := range map[float64]float64{0.25: 1, 0.5: 2, 0.75: 5, 0.76: math.Inf(1), 1: math.Inf(1)} {
		assert.Equal(t, want, sampleRun.Latency(share), share)
	}
	assert.Equal(t, math.Inf(1), Run{Submitted: 4}.Latency(0))
}

func TestWavesValues(t *testing.T) {
	w := Waves{Runs: []Run{{Scheduler: "capacity", CPU: 3}, {Scheduler: "upstream", CPU: 9}, {Scheduler: "capacity", CPU: 2}}}
	cpu := func(r Run) float64 { return r.CPU }
	assert.Equal(t, []float64{2, 3}, w.Values("capacity", cpu))
	assert.Empty(t, w.Values("capacity-card", cpu))
}

func TestReadWaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "load-waves.txt")
	require.NoError(t, os.WriteFile(path, []byte(`{"queues":5,"runs":[{"scheduler":"capacity","samples":[{"at":2,"cards":3}]}]}`), 0o600))
	w, err := Read[Run](path)
	require.NoError(t, err)
	assert.Equal(t, &Waves{Setting: Setting{Queues: 5}, Runs: []Run{{Scheduler: "capacity", Samples: []Sample{{At: 2, Cards: 3}}}}}, w)
	require.NoError(t, os.WriteFile(path, []byte(`{`), 0o600))
	_, err = Read[Run](path)
	assert.ErrorContains(t, err, path)
}
