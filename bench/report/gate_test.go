package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// measured makes the costs of one operation.
func measured(t *testing.T, ns float64, allocations int) map[string]cost {
	t.Helper()
	raw := "BenchmarkX/impl=floor-2 1 100 ns/op 0 B/op 0 allocs/op\n" +
		fmt.Sprintf("BenchmarkX/impl=ours-2 1 %f ns/op 0 B/op %d allocs/op\n", ns, allocations) +
		fmt.Sprintf("BenchmarkX/impl=ours-2 1 %f ns/op 0 B/op %d allocs/op\n", 3*ns, allocations) + // a disturbed round
		"BenchmarkY/impl=ours-2 1 1 ns/op 0 B/op 0 allocs/op\n"
	s, err := read(strings.NewReader(raw), "raw")
	require.NoError(t, err)
	return s.costs()
}

// TestGateCosts are of the fastest round, and of operations that have a base.
func TestGateCosts(t *testing.T) {
	assert.Equal(t, map[string]cost{"X": {2, 7}}, measured(t, 200, 7))
}

// TestGateFails where a ratio or the allocations exceed the limit, or a row is missing.
func TestGateFails(t *testing.T) {
	bounds := map[string]cost{"X": {2, 7}}
	for _, c := range []struct {
		name  string
		costs map[string]cost
		want  []string
	}{
		{"at the limit", measured(t, 200, 7), nil},
		{"slower", measured(t, 201, 7), []string{"X"}},
		{"one more allocation", measured(t, 200, 8), []string{"X"}},
		{"not measured", nil, []string{"X"}},
	} {
		var printed strings.Builder
		assert.Equal(t, c.want, exceeded(&printed, c.costs, bounds), c.name)
		assert.Equal(t, c.want != nil, strings.Contains(printed.String(), "FAILED"), c.name)
	}
}

// TestLimitsAreCalibrated has a limit for each operation of the gate, from all calibration runs.
func TestLimitsAreCalibrated(t *testing.T) {
	t.Chdir("../..")
	runs, err := filepath.Glob(strings.Replace(calibrations, "%02d", "*", 1))
	require.NoError(t, err)
	assert.Len(t, runs, calibrating)
	bounds, err := limits()
	require.NoError(t, err)
	assert.Len(t, bounds, 19)
	for row, limit := range bounds {
		assert.Positive(t, limit.ratio, row)
	}
}
