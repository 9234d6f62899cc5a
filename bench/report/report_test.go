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
	slower := strings.ReplaceAll(string(raw), "impl=upstream-2\t1\t1", "impl=upstream-2\t1\t9")
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

// rounds makes the raw output of rounds of two benchmarks.
func rounds(n int, base, ours string, ratio float64, allocs int) *set {
	var raw strings.Builder
	for i := range n {
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

// TestVerdict expects the verdict of benchstat: p < 0.05, with ten rounds.
func TestVerdict(t *testing.T) {
	ten := []float64{100, 101, 102, 103, 104, 105, 106, 107, 108, 109}
	times := func(x float64) (scaled []float64) {
		for _, v := range ten {
			scaled = append(scaled, v*x)
		}
		return scaled
	}

	for _, c := range []struct {
		name        string
		ours, bound []float64
		want        verdict
	}{
		{"below the bound", ten, times(1.1), met},
		{"above the bound", ten, times(0.9), missed},
		{"the same", ten, ten, unsure},
		{"the difference may be noise", ten, times(1.02), unsure},
		{"nine rounds", ten[:9], times(1.1), unsure},
		{"a bound that is no series", ten, slices.Repeat([]float64{110}, 10), met},
		{"not measured", nil, ten, unsure},
	} {
		assert.Equal(t, c.want, judge(c.ours, c.bound), c.name)
	}

	assert.Equal(t, missed, met.and(missed))
	assert.Equal(t, missed, unsure.and(missed))
	assert.Equal(t, unsure, met.and(unsure))
	assert.Equal(t, met, met.and(met))
	assert.Equal(t, "~ met MISSED", fmt.Sprint(unsure, met, missed))
}

// TestGoals has every goal met, missed in each way, and not decided.
func TestGoals(t *testing.T) {
	for _, g := range slices.Concat(userGoals, goals) {
		if g.unit != timeUnit || g.kind == within || g.kind == growing {
			continue // see TestBoundsWithoutBase
		}
		just, allowed := 1/g.bound, 0
		if a := g.allocations; a != nil {
			if allowed = int(a.most); a.less != "" {
				continue // see TestOwnAllocations
			}
		}
		assert.Equal(t, met, g.outcome(rounds(pairs, g.base, g.ours, just*1.2, allowed)).verdict, g.title)
		assert.Equal(t, unsure, g.outcome(rounds(pairs-1, g.base, g.ours, just*1.2, allowed)).verdict, "%s: too few rounds", g.title)
		assert.Equal(t, unsure, g.outcome(rounds(pairs, g.base, g.ours, just*1.001, allowed)).verdict, "%s: may be noise", g.title)
		assert.Equal(t, missed, g.outcome(rounds(pairs, g.base, g.ours, just*0.8, allowed)).verdict, "%s: too slow", g.title)
		assert.Equal(t, unsure, g.outcome(rounds(pairs, g.base, "Other", just*2, allowed)).verdict, "%s: not measured", g.title)
		if g.allocations != nil {
			assert.Equal(t, missed, g.outcome(rounds(pairs, g.base, g.ours, just*1.2, allowed+1)).verdict, "%s: too many allocations", g.title)
		}
	}
}

// TestBoundsWithoutBase bounds a time itself, and the exponent of a growth.
func TestBoundsWithoutBase(t *testing.T) {
	// Operations of 100 to 109 ns.
	s := rounds(pairs, "Other", "Ours", 1, 0)
	for bound, want := range map[float64]verdict{120e-9: met, 104e-9: unsure, 90e-9: missed} {
		g := goal{ours: "Ours", unit: timeUnit, kind: within, bound: bound}
		assert.Equal(t, want, g.outcome(s).verdict, bound)
	}

	for exponent, want := range map[float64]verdict{0.5: met, 1.5: missed} {
		var raw strings.Builder
		for round := range pairs {
			for _, n := range []float64{10, 100, 1000} {
				noise := 1 + float64(round)/1000*math.Log(n)
				fmt.Fprintf(&raw, "BenchmarkGrowth/of=X/axis=y/n=%.0f/impl=ours-2 1 %f ns/op\n", n, 1e6*noise*math.Pow(n, exponent))
			}
		}
		s, err := read(strings.NewReader(raw.String()), "growth")
		require.NoError(t, err)

		o := growthGoal("x", "y", "X/axis=y").outcome(s)
		assert.Equal(t, want, o.verdict, exponent)
		assert.True(t, strings.HasPrefix(o.measured.words, fmt.Sprintf("%.2f (", exponent)), o.measured.words)
	}
}

// TestNoisyRowsAreLeftOut counts the rows that a table leaves out.
func TestNoisyRowsAreLeftOut(t *testing.T) {
	few := newTable("a", "b")
	few.row(cell{words: "1"}, cell{"kept", widest})
	assert.Equal(t, "| a | b |\n|---|---|\n| 1 | kept |\n", few.String())

	few.row(cell{words: "2"}, cell{"left out", widest + 0.01})
	assert.Equal(t, "| a | b |\n|---|---|\n| 1 | kept |\n\nLeft out: 1 row, interval above 20 %.\n", few.String())

	few.row(cell{"left out", 1}, cell{words: "3"})
	assert.Contains(t, few.String(), "\nLeft out: 2 rows, interval above 20 %.\n")

	exact := newTable("a", "b")
	exact.exact(cell{"1.00 s", widest + 0.01}, cell{words: "3 allocations"})
	assert.Equal(t, "| a | b |\n|---|---|\n| noisy | 3 allocations |\n", exact.String())

	none := newTable("a", "b")
	none.row(cell{"left out", 1})
	assert.Equal(t, "Left out: 1 row, interval above 20 %.\n", none.String(), "no head without rows")
}

// TestOwnAllocations leaves out the allocations of a benchmark without a plugin, and expects the same number with other
// inputs.
func TestOwnAllocations(t *testing.T) {
	own := &allocations{most: 1, less: "None"}
	words, v := own.outcome(rounds(6, "None", "Ours", 1, 1000), "Ours")
	assert.Equal(t, met, v)
	assert.Equal(t, "1", words)
	_, v = own.outcome(rounds(6, "None", "Ours", 1, 1001), "Ours")
	assert.Equal(t, missed, v)

	same := &allocations{most: 2000, same: []string{"Ours/shape=S", "Ours/shape=XL"}}
	words, v = same.outcome(rounds(6, "Ours/shape=S", "Ours", 1, 999), "Ours")
	assert.Equal(t, met, v)
	assert.Equal(t, "999, shape=S: 999", words)
	_, v = same.outcome(rounds(6, "Ours/shape=S", "Ours", 1, 1000), "Ours")
	assert.Equal(t, missed, v)
}

// TestCheck fails where goals are missed or not measured, as most of the sample are not.
func TestCheck(t *testing.T) {
	assert.ErrorContains(t, check(sample), "goals are missed or not measured")
	assert.ErrorContains(t, check("testdata/page.golden"), "no results")
}

// TestMediansOfRounds keeps a value for each round, whether a round measures a benchmark once or several times.
func TestMediansOfRounds(t *testing.T) {
	raw := "rounds: 2\n"
	for _, ns := range []int{7, 1, 3, 40, 60, 50} {
		raw += fmt.Sprintf("BenchmarkSeveral-2 1 %d ns/op\n", ns)
	}
	for _, ns := range []int{5, 6} {
		raw += fmt.Sprintf("BenchmarkOnce-2 1 %d ns/op\n", ns)
	}

	s, err := read(strings.NewReader(raw), "rounds")
	require.NoError(t, err)
	assert.InDeltaSlice(t, []float64{3e-9, 50e-9}, s.values["Several"][timeUnit], 1e-15)
	assert.InDeltaSlice(t, []float64{5e-9, 6e-9}, s.values["Once"][timeUnit], 1e-15)
}

// TestRatio pairs results of one round, and gives no interval for few rounds.
func TestRatio(t *testing.T) {
	m, ok := rounds(6, "Base", "Ours", 3, 0).ratio("Base", "Ours", timeUnit)
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
	p := process{bench: "^BenchmarkX$", benchtime: "1x", flags: []string{"-log", "3"}}
	assert.Equal(t, "bin/bench.test -test.run '^$' -test.bench '^BenchmarkX$' -test.benchtime 1x -log 3", binary.Line(p.command()))
}

// selects reports whether a process measures a benchmark, as go test matches names.
func (p process) selects(name string) bool {
	parts := strings.Split("Benchmark"+name, "/")
	for i, pattern := range strings.Split(p.bench, "/") {
		if i >= len(parts) || !regexp.MustCompile(pattern).MatchString(parts[i]) {
			return false
		}
	}
	return true
}

// TestPlansMeasureTheGoals has a process for both sides of each goal, in each round.
func TestPlansMeasureTheGoals(t *testing.T) {
	all := slices.Concat(userGoals, goals)
	for name, measures := range map[string][]goal{"quick": userGoals, "full": all, "check": all, "other": all} {
		for _, g := range measures {
			names := []string{g.ours, g.base}
			switch g.kind {
			case within:
				names = names[:1]
			case growing:
				names = []string{g.ours + "/n=10" + oursOf}
			}

			for _, bench := range names {
				measured := slices.ContainsFunc(plans[name].processes, func(p process) bool {
					return p.rounds == 0 && p.selects(bench)
				})
				assert.True(t, measured, "%s: %s", name, bench)
			}
		}
		assert.GreaterOrEqual(t, plans[name].rounds, pairs)
	}
}

// TestReasonsAreOfGoals finds reasons for goals that do not exist, and that name missing profiles.
func TestReasonsAreOfGoals(t *testing.T) {
	require.Len(t, reasons.Templates(), 18, "reasons, and their file")
	for _, reason := range reasons.Templates() {
		title, why := reason.Name(), reason.Root.String()
		if title == "reasons.tmpl" {
			continue
		}
		assert.True(t, slices.ContainsFunc(slices.Concat(goals, userGoals), func(g goal) bool { return g.title == title }), title)
		for _, file := range regexp.MustCompile(`profiles/[a-z0-9A-Z-]+\.txt`).FindAllString(why, -1) {
			assert.FileExists(t, "../../"+file, title)
		}
	}
}
