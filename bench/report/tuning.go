package main

import (
	"fmt"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/tuning"
)

// The page about the settings of Volcano. make bench MODE=tuning measures them in cycles, and make load SCENARIO=tuned
// with a whole scheduler.
const (
	tuningPage = "docs/tuning.md"
	tuningRaw  = results + "/tuning.txt"
	tunedRaw   = results + "/load-tuned.txt"
)

// The metrics of placement.
const (
	openedUnit = "opened"
	firstUnit  = "first-%"
)

// tunedFigures are the rows about a whole scheduler.
var tunedFigures = []struct {
	words string
	value func(load.Result) float64
	unit  string
}{
	{"pods that get a node, per second", load.Result.Throughput, ""},
	{"from submission to running, half of the pods", func(r load.Result) float64 { return r.Latency(0.5) }, timeUnit},
	{"the same, 99 % of the pods", func(r load.Result) float64 { return r.Latency(0.99) }, timeUnit},
	{"processor time of the scheduler, per pod", func(r load.Result) float64 {
		return r.CPU / float64(len(r.Bound))
	}, timeUnit},
	{"peak memory of the scheduler", func(r load.Result) float64 { return r.Memory }, bytesUnit},
	{"nodes opened", func(r load.Result) float64 { return float64(r.Opened) }, ""},
	{"first card, percent", func(r load.Result) float64 {
		return 100 * float64(r.First) / float64(max(1, r.Listed))
	}, ""},
}

// tuningInto replaces the results of the page.
func (c contents) tuningInto(m *load.Report) func(page string) (string, error) {
	cycles := newTable("setting", "time", "allocated", "nodes opened", "first card")
	for _, s := range tuning.Settings {
		name := "Tuning/setting=" + s.Name
		first := c.cell(name, firstUnit)
		first.words += " %"
		cycles.row(cell{words: s.Title}, c.cell(name, timeUnit), c.cell(name, bytesUnit), c.cell(name, openedUnit),
			first)
	}

	head := []string{""}
	for _, s := range tuning.Whole {
		head = append(head, s.Title)
	}
	whole := newTable(head...)
	for _, figure := range tunedFigures {
		row := []string{figure.words}
		for _, s := range tuning.Whole {
			median := load.Percentile(m.Values(s.Name, figure.value), 0.5)
			row = append(row, quantity(median, figure.unit))
		}
		whole.texts(row...)
	}

	return func(page string) (string, error) {
		return into(page, fmt.Sprintf(`
Medians of %s rounds of `+"`make bench MODE=tuning`"+`, commit %s, %s, %s, %s in use:

%s
The whole scheduler on a real API server, which shares the processors with it: `+
			`%d pods at once on %s idle nodes, lower medians of %s
rounds of `+"`%s`"+`:

%s
`, c.Config("rounds"), c.Config("commit"), c.Config("go"), c.Config("cpu"), c.Config("procs"), cycles,
			m.Pods, number(float64(m.Nodes)), number(float64(m.Rounds)), m.Command, whole))
	}
}
