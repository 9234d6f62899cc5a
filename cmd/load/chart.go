package main

import (
	"fmt"

	"gonum.org/v1/plot/plotter"

	"github.com/capacity-card/capacity-card/bench/chart"
)

// chart draws how many pods have a node over time, a line for each run.
func (r report) chart() (string, error) {
	drawn := chart.Chart{
		Title: fmt.Sprintf("Pods bound, of %d", r.Pods),
		X: chart.Axis{
			Label:  "time since the first job was submitted",
			Format: func(seconds float64) string { return fmt.Sprintf("%g s", seconds) },
		},
		Y: chart.Axis{Format: func(pods float64) string { return fmt.Sprintf("%g", pods) }},
	}
	for _, run := range r.Runs {
		points := plotter.XYs{{}}
		// A point for every hundredth of the pods is as much as one can see.
		for i := 0; i < len(run.Bound); i += max(1, len(run.Bound)/100) {
			points = append(points, plotter.XY{X: run.Bound[i], Y: float64(i + 1)})
		}
		points = append(points, plotter.XY{X: run.Total, Y: float64(len(run.Bound))})
		drawn.Lines = append(drawn.Lines, chart.Line{Name: run.Scheduler, Points: points})
	}
	return drawn.SVG()
}
