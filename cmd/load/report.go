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

// percentile is the smallest of sorted values that so much of them do not exceed.
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
	{"scheduling cycles, each with what had come in by then", "", func(r result) float64 { return r.Cycles }},
	{"mean of a cycle", "s", func(r result) float64 { return r.Cycling / max(1, r.Cycles) }},
	{"cpu of the scheduler", "s", func(r result) float64 { return r.CPU }},
	{"memory of the scheduler, most", "MiB", func(r result) float64 { return r.Memory / (1 << 20) }},
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

// digits is a number with three digits that matter.
func digits(x float64) string {
	return fmt.Sprintf("%.*f", max(0, 2-int(math.Floor(math.Log10(max(x, 1e-3))))), x)
}

// page is docs/load.md.
func (r *report) page() string {
	return fmt.Sprintf(`# Under load

%d pods, in Volcano jobs of %d of which half are the minimum, submitted at once to a
cluster of %d nodes and %d queues in two levels; the plugin is capacity, with
hierarchy, and everything else is as Volcano installs it. Written by

    %s

which runs a real API server, Volcano's controllers and a kubelet that plays all
nodes in one process, and each scheduler as another. They share the machine:
%d × %s, %s.
Where pods wait for the API server rather than for the scheduler, the two look alike;
the scheduler's own cpu and memory are what the plugin changes.

The load of the machine was %.1f when it began; much more than 0 means that others
worked on it at the same time, and that the cpu and the memory of the schedulers say
more than the times. The median of the rounds (%d), in brackets the least and the
most. Raw results: [bench/results/load.txt](../bench/results/load.txt).

%s
![Pods bound over time](load.svg)
`, r.Pods, podsPerJob, r.Nodes, r.Queues, r.Command, r.CPUs, r.CPU, r.Go, r.Load, r.Rounds, r.table())
}
