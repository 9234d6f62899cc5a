package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/load"
)

// sample has two rounds of four pods.
var sample = report{&load.Report{Setting: load.Setting{Pods: 4, Rounds: 2}, Runs: []load.Result{
	{
		Scheduler: "upstream", Total: 8, CPU: 5,
		Bound: []float64{1, 2, 4, 8}, Running: []float64{1, 2, 3, 9},
	},
	{
		Scheduler: "ours", Total: 2, CPU: 1, Memory: 100 << 20,
		Bound: []float64{1, 1, 1, 2}, Running: []float64{1, 1, 2, 2},
	},
	{
		Scheduler: "ours", Total: 4, CPU: 0.25, Memory: 120 << 20,
		Bound: []float64{1, 1, 1, 4}, Running: []float64{1, 2, 3, 4},
	},
	{
		Scheduler: "upstream", Total: 4, CPU: 7,
		Bound: []float64{1, 2, 3, 4}, Running: []float64{1, 2, 3, 4},
	},
}}}

func TestTable(t *testing.T) {
	table := sample.Table()
	require.Contains(t, table, "| pods bound, per second | 0.500 (0.500–1.00) | 1.00 (1.00–2.00) |\n")
	require.Contains(t, table, "| 99 %, s | 4.00 (4.00–9.00) | 2.00 (2.00–4.00) |\n")
	require.Contains(t, table, "| cpu of the scheduler, s | 5.00 (5.00–7.00) | 0.250 (0.250–1.00) |\n")
	require.Contains(t, table, "| peak memory of the scheduler, MiB | 0 | 100 (100–120) |\n")
}

// TestSpread has the range of values that are more than a tenth apart.
func TestSpread(t *testing.T) {
	require.Equal(t, "104", spread([]float64{100, 104, 110}))
	require.Equal(t, "104 (100–111)", spread([]float64{100, 104, 111}))
	require.Equal(t, "not reached (2.00–not reached)", spread([]float64{2, math.Inf(1), math.Inf(1)}))
	require.Equal(t, "not reached", spread([]float64{math.Inf(1)}))
	require.Equal(t, "0", spread([]float64{0, 0}))
}

func TestChart(t *testing.T) {
	chart, err := sample.chart()
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(chart, ">Pods bound, of 4</text>"))
	for _, word := range []string{">upstream</text>", ">ours</text>", ">8 s</text>", ">4</text>"} {
		require.Equal(t, 1, strings.Count(chart, word), word)
	}
}

// TestPageIsOfTheResults holds the page and the charts in docs against the raw results that they were made of.
func TestPageIsOfTheResults(t *testing.T) {
	root := filepath.Join("..", "..")
	files, err := pages(root)
	require.NoError(t, err)
	require.Contains(t, files[page], "|---|")
	for path, want := range files {
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err)
		require.Equal(t, want, string(text), path)
	}
}

// TestBursts has the bursts of a page as rows.
func TestBursts(t *testing.T) {
	setting := load.Setting{Nodes: 3, Volcano: "v2", Rounds: 1, Waiting: 7}
	blocked := report{&load.Report{Setting: setting, Runs: sample.Runs[:1]}}
	page := contents{report: sample, Blocked: []report{blocked}}
	require.Contains(t, page.Bursts(), "|  | ours | 1.00 (1.00–2.00) | 1.00 (1.00–2.00) |")
	require.Contains(t, page.Bursts(), "| 3 nodes, Volcano v2, 7 jobs wait in full queues, one round | upstream | 0.500 |")
	require.False(t, page.Unfinished())

	blocked.Runs = []load.Result{{Left: 1}}
	require.True(t, page.Unfinished())
}
