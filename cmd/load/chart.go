package main

import (
	"fmt"

	"gonum.org/v1/plot/plotter"

	"github.com/capacity-card/capacity-card/bench/chart"
	"github.com/capacity-card/capacity-card/bench/load"
)

// chart draws the number of pods that have a node over time, with a line for each run.
func (r report) chart() (string, error) {
	drawn := chart.Chart{Title: fmt.Sprintf("Pods bound, of %d", r.Pods)}
	drawn.X = chart.Axis{Label: "time since the first job was submitted", Unit: " s"}

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

// wavesChart is a chart of a figure over time.
type wavesChart struct {
	File, Title string
	figure      func(load.Sample) float64
}

// Charts are the charts of waves.
func (wavesReport) Charts() []wavesChart {
	return []wavesChart{
		{"load-waiting.svg", "Pods without a node",
			func(s load.Sample) float64 { return float64(s.Submitted - s.Bound) }},
		{"load-cards.svg", "Whole cards in use", func(s load.Sample) float64 { return float64(s.Cards) }},
	}
}

// chart draws a line for each run, in the order of the schedulers.
func (r wavesReport) chart(c wavesChart) (string, error) {
	drawn := chart.Chart{Title: c.Title, X: chart.Axis{Label: "time since the first wave", Unit: " min"}}

	for _, name := range load.WavesSchedulers {
		for _, run := range r.Runs {
			if run.Scheduler != name {
				continue
			}

			points := plotter.XYs{{}}
			for _, s := range run.Samples {
				points = append(points, plotter.XY{X: s.At / 60, Y: c.figure(s)})
			}
			drawn.Lines = append(drawn.Lines, chart.Line{Name: name, Points: points})
		}
	}
	return drawn.SVG()
}
