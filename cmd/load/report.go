package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// report is all that was measured, and on what.
type report struct {
	Command string   `json:"command"`
	Nodes   int      `json:"nodes"`
	Pods    int      `json:"pods"`
	Queues  int      `json:"queues"`
	Rounds  int      `json:"rounds"`
	Go      string   `json:"go"`
	CPU     string   `json:"cpu"`
	CPUs    int      `json:"cpus"`
	Load    float64  `json:"load"` // the machine's load average of a minute when it began, 0 if it is unknown
	Runs    []result `json:"runs"`
}

// names are the schedulers in the order of the table.
var names = []string{"upstream", "ours"}

// of returns the runs of a scheduler.
func (r *report) of(name string) []result {
	return slices.DeleteFunc(slices.Clone(r.Runs), func(run result) bool { return run.Scheduler != name })
}

// percentile returns the smallest of sorted values that a share of them does not exceed.
func percentile(sorted []float64, share float64) float64 {
	return sorted[max(0, int(math.Ceil(share*float64(len(sorted))))-1)]
}

// rows are the figures of a run, in the order of the table.
var rows = []struct {
	title, unit string
	of          func(result) float64
}{
	{"pods bound", "per second", func(r result) float64 { return float64(len(r.Bound)) / r.Total }},
	{"submit to running, half of the pods", "s", func(r result) float64 { return percentile(r.Running, 0.5) }},
	{"90 %", "s", func(r result) float64 { return percentile(r.Running, 0.9) }},
	{"99 %", "s", func(r result) float64 { return percentile(r.Running, 0.99) }},
	{"scheduling cycles", "", func(r result) float64 { return r.Cycles }},
	{"mean of a cycle", "s", func(r result) float64 { return r.Cycling / max(1, r.Cycles) }},
	{"cpu of the scheduler", "s", func(r result) float64 { return r.CPU }},
	{"peak memory of the scheduler", "MiB", func(r result) float64 { return r.Memory / (1 << 20) }},
}

// table has the medians of the rounds, and their range.
func (r *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | | %s |\n|---|---|%s\n", strings.Join(names, " | "), strings.Repeat("---|", len(names)))
	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |", row.title, row.unit)
		for _, name := range names {
			var values []float64
			for _, run := range r.of(name) {
				values = append(values, row.of(run))
			}
			slices.Sort(values)
			fmt.Fprintf(&b, " %s", digits(percentile(values, 0.5)))
			if len(values) > 1 {
				fmt.Fprintf(&b, " (%s–%s)", digits(values[0]), digits(values[len(values)-1]))
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// digits formats a number with three significant digits.
func digits(x float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(max(x, 1e-3))))), x)
}

// page is docs/load.md.
func (r *report) page() string {
	return fmt.Sprintf(`# Under load

This test submits %d pods at once, in Volcano jobs of %d pods of which half are the
minimum, to a cluster of %d nodes and %d queues in two levels. The plugin is capacity
with hierarchy. Everything else is Volcano's default. This command writes the page:

    %s

A real API server, Volcano's controllers and a simulated kubelet for all nodes run in
one process, and each scheduler in another. They share the machine:
%d × %s, %s.
Where pods wait for the API server, both schedulers look alike. The plugin changes the
scheduler's own cpu and memory.

The load average was %.1f at the start. If it is much above 0, other work used the
machine, and cpu and memory are more reliable than times. Each value is the median of
%d rounds, with minimum and maximum in brackets. Raw results: [bench/results/load.txt](../bench/results/load.txt).

%s
![Pods bound over time](load.svg)
`, r.Pods, podsPerJob, r.Nodes, r.Queues, r.Command, r.CPUs, r.CPU, r.Go, r.Load, r.Rounds, r.table())
}
