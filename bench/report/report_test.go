package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/capacity-card/capacity-card/bench/binary"
	"github.com/capacity-card/capacity-card/bench/load"
)

var update = flag.Bool("update", false, "write the golden files")

const sample = "testdata/sample.txt"

// rendered is the page, with the page of goals behind it.
func rendered(t *testing.T, raw []byte) string {
	t.Helper()
	s, err := read(bytes.NewReader(raw), sample)
	require.NoError(t, err)
	other, err := read(io.MultiReader(strings.NewReader("volcano: v1.15.1\n"), bytes.NewReader(raw)), sample)
	require.NoError(t, err)
	files, err := render(s, nil, other)
	require.NoError(t, err)
	return files[page] + files[goalsPage]
}

// TestPage holds the page of a small run against a golden file.
func TestPage(t *testing.T) {
	raw, err := os.ReadFile(sample)
	require.NoError(t, err)
	got := rendered(t, raw)
	golden := filepath.Join("testdata", "page.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
	for range 20 {
		require.Equal(t, got, rendered(t, raw), "equal results make equal pages")
	}
	slower := strings.ReplaceAll(string(raw), "impl=none-2\t1\t1", "impl=none-2\t1\t9")
	assert.NotEqual(t, string(want), rendered(t, []byte(slower)), "other results make another page")
}

// TestPagesAreOfTheResults holds BENCHMARKS.md, the picture of the README and the
// sentences below it against the raw results.
func TestPagesAreOfTheResults(t *testing.T) {
	t.Chdir("../..")
	if *update {
		require.NoError(t, write())
	}
	files, err := pages()
	require.NoError(t, err)
	for _, path := range []string{page, goalsPage, readme, picture, scalePage, tuningPage, results + "/" + historyChart, results + "/scale-capacity.svg"} {
		assert.Contains(t, files, path)
	}
	for path, want := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, string(text), want, "%s: run go run ./bench/report", path)
	}
	_, err = into("a page without the part", "")
	assert.ErrorContains(t, err, "the page has no part")

	set, err := readFile(latest)
	require.NoError(t, err)
	_, err = newScale(set, &load.Report{})
	assert.ErrorContains(t, err, "the results lack")
}

// TestScaleAxis has at most six steps, up to the largest value.
func TestScaleAxis(t *testing.T) {
	for largest, want := range map[float64][2]float64{12: {12, 2}, 12.1: {15, 5}, 4.8: {5, 1}, 0.31: {0.4, 0.1}, 80: {80, 20}, 1: {1, 0.2}} {
		p := panel{unit: timeUnit, per: 1, curve: curve{lines: []line{{points: []point{{10, largest / 2}, {100, largest}}}}}}
		p.scaleAxis()
		assert.InDelta(t, want[0], p.most, 1e-9, largest)
		assert.InDelta(t, want[1], p.step, 1e-9, largest)
	}
}

// rounds makes the raw output of six rounds of two benchmarks.
func rounds(base, ours string, ratio float64, allocs int) *set {
	var raw strings.Builder
	for i := range 6 {
		ns := 100 + float64(i)
		fmt.Fprintf(&raw, "Benchmark%s-2 1 %f ns/op 1 B/op 999 allocs/op\n", base, ns*ratio)
		fmt.Fprintf(&raw, "Benchmark%s-2 1 %f ns/op 1 B/op %d allocs/op\n", ours, ns, allocs)
	}
	s, err := read(strings.NewReader(raw.String()), "rounds")
	if err != nil {
		panic(err)
	}
	return s
}

// TestGoals has every goal just met, and just missed in each way.
func TestGoals(t *testing.T) {
	for _, g := range goals {
		if g.unit != timeUnit {
			continue
		}
		just, allowed := g.least, 0
		if g.most > 0 {
			just = 1 / g.most
		}
		if a := g.allocations; a != nil {
			if allowed = int(a.most); a.less != "" {
				continue // see TestOwnAllocations
			}
		}
		assert.True(t, g.outcome(rounds(g.base, g.ours, just*1.001, allowed)).met, g.title)
		assert.False(t, g.outcome(rounds(g.base, g.ours, just*0.999, allowed)).met, "%s: too slow", g.title)
		assert.False(t, g.outcome(rounds(g.base, "Other", just*2, allowed)).met, "%s: not measured", g.title)
		if g.allocations != nil {
			assert.False(t, g.outcome(rounds(g.base, g.ours, just*1.001, allowed+1)).met, "%s: too many allocations", g.title)
		}
	}
}

// TestOwnAllocations leaves out what a benchmark without a plugin allocates, and
// expects the same of other inputs.
func TestOwnAllocations(t *testing.T) {
	own := &allocations{most: 1, less: "None"}
	words, met := own.outcome(rounds("None", "Ours", 1, 1000), "Ours")
	assert.True(t, met)
	assert.Equal(t, "1", words)
	_, met = own.outcome(rounds("None", "Ours", 1, 1001), "Ours")
	assert.False(t, met)

	same := &allocations{most: 2000, same: []string{"Ours/shape=S", "Ours/shape=XL"}}
	words, met = same.outcome(rounds("Ours/shape=S", "Ours", 1, 999), "Ours")
	assert.True(t, met)
	assert.Equal(t, "999, shape=S: 999", words)
	_, met = same.outcome(rounds("Ours/shape=S", "Ours", 1, 1000), "Ours")
	assert.False(t, met)
}

// TestCheck fails where goals are missed, as many are that the sample has not.
func TestCheck(t *testing.T) {
	assert.ErrorContains(t, check(sample), "goals are missed")
	assert.ErrorContains(t, check("testdata/page.golden"), "no results")
}

// TestRatio pairs results of one round, and gives no interval for few rounds.
func TestRatio(t *testing.T) {
	m, ok := rounds("Base", "Ours", 3, 0).ratio("Base", "Ours", timeUnit)
	require.True(t, ok)
	assert.InDelta(t, 3, m.Center, 1e-9)
	assert.InDelta(t, 3, m.Lo, 1e-9, "noise that both have is no noise")
	assert.InDelta(t, 3, m.Hi, 1e-9)
	few, ok := summarize([]float64{1, 2, 3})
	require.True(t, ok)
	assert.Equal(t, "2× (too few rounds)", ratioWords(few))
	_, ok = summarize(nil)
	assert.False(t, ok)
}

// TestCurvesAreInOrder draws a line from left to right, in whatever order its sizes were measured.
func TestCurvesAreInOrder(t *testing.T) {
	var c curve
	for _, n := range []float64{10, 1000, 300, 5000, 1} {
		c.add("ours", point{n, 2 * n})
	}
	assert.Equal(t, []point{{1, 2}, {10, 20}, {300, 600}, {1000, 2000}, {5000, 10000}}, c.line("ours").points)
}

// TestExponent fits powers.
func TestExponent(t *testing.T) {
	for _, want := range []float64{0, 0.5, 1, 2} {
		var l line
		for _, n := range []float64{1, 7, 30, 1000} {
			l.points = append(l.points, point{n, 3 * math.Pow(n, want)})
		}
		got, ok := l.exponent()
		require.True(t, ok)
		assert.InDelta(t, want, got, 1e-9)
	}
	_, ok := line{points: []point{{1, 1}}}.exponent()
	assert.False(t, ok)
}

// TestWords are numbers as the page has them.
func TestWords(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 3: "3", 2.345: "2.35", 0.0391: "0.039", 21.04: "21.0", 412.6: "413", 31234.5: "31,234", 1e6: "1,000,000", -1234: "-1,234",
	} {
		assert.Equal(t, want, number(x))
	}
	assert.Equal(t, "8.10 ms", quantity(0.0081, timeUnit))
	assert.Equal(t, "1.50 KiB", quantity(1536, bytesUnit))
	assert.Equal(t, "37", quantity(37, allocsUnit))
}

// TestCommands are typed as they are run.
func TestCommands(t *testing.T) {
	p := process{"^BenchmarkX$", "1x", []string{"-log", "3"}}
	assert.Equal(t, "bin/bench.test -test.run '^$' -test.bench '^BenchmarkX$' -test.benchtime 1x -log 3", binary.Line(p.command()))
}

// TestReasonsAreOfGoals finds reasons for goals that do not exist, and that name missing profiles.
func TestReasonsAreOfGoals(t *testing.T) {
	require.Len(t, reasons.Templates(), 20, "reasons, and their file")
	for _, reason := range reasons.Templates() {
		title, why := reason.Name(), reason.Root.String()
		if title == "reasons.tmpl" {
			continue
		}
		assert.True(t, slices.ContainsFunc(goals, func(g goal) bool { return g.title == title }), title)
		for _, file := range regexp.MustCompile(`profiles/[a-z0-9A-Z-]+\.txt`).FindAllString(why, -1) {
			assert.FileExists(t, "../../"+file, title)
		}
	}
}
