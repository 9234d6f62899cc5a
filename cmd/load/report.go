package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/bench/load"
)

// report writes the page of the results.
type report struct{ *load.Report }

// row is a figure of a run, as a row of a table.
type row[Run any] struct {
	title, unit string
	figure      func(Run) float64
}

// usage has the processor time and the memory of a scheduler.
var usage = []row[load.Result]{
	{"cpu of the scheduler", "s", func(r load.Result) float64 { return r.CPU }},
	{"peak memory of the scheduler", "MiB", func(r load.Result) float64 { return r.Memory / (1 << 20) }},
}

// rows has the figures of a burst.
var rows = append([]row[load.Result]{
	{"pods bound", "per second", load.Result.Throughput},
	{"submit to running, half of the pods", "s", func(r load.Result) float64 { return r.Latency(0.5) }},
	{"99 %", "s", func(r load.Result) float64 { return r.Latency(0.99) }},
}, usage...)

// Table has the figures of the schedulers.
func (r report) Table() string { return table(load.Schedulers, rows, r.Values) }

// table has the medians of the rounds of each scheduler, and their range. values returns the sorted values of a figure.
func table[Run any](
	schedulers []string, rows []row[Run], values func(scheduler string, figure func(Run) float64) []float64,
) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | %s |\n", strings.Join(schedulers, " | "))
	fmt.Fprintf(&b, "|---|%s\n", strings.Repeat("---|", len(schedulers)))

	for _, row := range rows {
		title := row.title
		if row.unit != "" {
			title += ", " + row.unit
		}
		fmt.Fprintf(&b, "| %s |", title)
		for _, name := range schedulers {
			fmt.Fprintf(&b, " %s |", spread(values(name, row.figure)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// narrow is the share by which the maximum of a cell is above the minimum, up to which the cell does not have both.
const narrow = 0.1

// spread has the median of sorted values, and their range if it is wide.
func spread(sorted []float64) string {
	median := load.Percentile(sorted, 0.5)
	least := load.Percentile(sorted, 0)
	most := load.Percentile(sorted, 1)
	if most <= (1+narrow)*least {
		return digits(median)
	}
	return fmt.Sprintf("%s (%s–%s)", digits(median), digits(least), digits(most))
}

// Bursts has a row for each scheduler and burst, with the figures of a burst in columns.
func (c contents) Bursts() string {
	var b strings.Builder
	b.WriteString("| burst | | pods per second | half run after, s | 99 % after, s " +
		"| scheduler's cpu, s | peak memory, MiB |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")

	for _, burst := range c.bursts() {
		title := c.title(burst)
		for _, scheduler := range load.Schedulers {
			fmt.Fprintf(&b, "| %s | %s |", title, scheduler)
			for _, row := range rows {
				fmt.Fprintf(&b, " %s |", spread(burst.Values(scheduler, row.figure)))
			}
			b.WriteString("\n")
			title = ""
		}
	}
	return b.String()
}

// bursts are the bursts of the page.
func (c contents) bursts() []report {
	return slices.Concat([]report{c.report}, c.Others, c.Blocked)
}

// Unfinished reports whether a burst has pods that did not run within the limit.
func (c contents) Unfinished() bool { return slices.ContainsFunc(c.bursts(), report.unfinished) }

// title says how a burst differs from the first.
func (c contents) title(r report) string {
	title := fmt.Sprintf("%d nodes", r.Nodes)
	if r.Volcano != c.Volcano {
		title += ", Volcano " + r.Volcano
	}
	if r.Waiting > 0 {
		title += fmt.Sprintf(", %d jobs wait in full queues", r.Waiting)
	}

	switch r.Rounds {
	case c.Rounds:
		return title
	case 1:
		return title + ", one round"
	}
	return fmt.Sprintf("%s, %d rounds", title, r.Rounds)
}

// digits formats a number with three significant digits. An infinite number is a time that too few pods have reached.
func digits(x float64) string {
	switch {
	case x == 0:
		return "0"
	case math.IsInf(x, 1):
		return "not reached"
	}

	exponent := int(math.Floor(math.Log10(max(x, 1e-3))))
	return fmt.Sprintf("%.*f", max(0, 2-exponent), x)
}
