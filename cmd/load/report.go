package main

import (
	"fmt"
	"math"
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

var rows = []row[load.Result]{
	{"pods bound", "per second", load.Result.Throughput},
	{"submit to running, half of the pods", "s", func(r load.Result) float64 { return r.Latency(0.5) }},
	{"99 %", "s", func(r load.Result) float64 { return r.Latency(0.99) }},
	{"cpu of the scheduler", "s", func(r load.Result) float64 { return r.CPU }},
	{"peak memory of the scheduler", "MiB", func(r load.Result) float64 { return r.Memory / (1 << 20) }},
}

// Table has the figures of the schedulers.
func (r report) Table() string { return table(load.Schedulers, rows, r.Values) }

// table has the medians of the rounds of each scheduler, and their range. values returns the sorted values of a figure.
func table[Run any](
	schedulers []string, rows []row[Run], values func(scheduler string, figure func(Run) float64) []float64,
) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | | %s |\n", strings.Join(schedulers, " | "))
	fmt.Fprintf(&b, "|---|---|%s\n", strings.Repeat("---|", len(schedulers)))

	for _, row := range rows {
		fmt.Fprintf(&b, "| %s | %s |", row.title, row.unit)
		for _, name := range schedulers {
			sorted := values(name, row.figure)
			fmt.Fprintf(&b, " %s", digits(load.Percentile(sorted, 0.5)))

			least := digits(load.Percentile(sorted, 0))
			most := digits(load.Percentile(sorted, 1))
			if least != most {
				fmt.Fprintf(&b, " (%s–%s)", least, most)
			}
			b.WriteString(" |")
		}
		b.WriteString("\n")
	}
	return b.String()
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
