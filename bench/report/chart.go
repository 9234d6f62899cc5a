package main

import (
	"fmt"

	"gonum.org/v1/plot/plotter"

	"github.com/capacity-card/capacity-card/bench/chart"
)

// seconds formats the values of a vertical axis.
func seconds(x float64) string { return quantity(x, timeUnit) }

// chart draws a curve as SVG, both axes logarithmic.
func (c curve) chart() (string, error) {
	drawn := chart.Chart{
		Title: fmt.Sprintf("%s: time against %s", c.title, c.axis),
		X:     chart.Axis{Label: c.axis, Log: true, Format: number},
		Y:     chart.Axis{Log: true, Format: seconds},
	}

	for _, l := range c.lines {
		var points plotter.XYs
		for _, p := range l.points {
			points = append(points, plotter.XY{X: p.n, Y: p.value})
		}
		drawn.Lines = append(drawn.Lines, chart.Line{Name: l.name, Points: points, Dots: true})
	}
	return drawn.SVG()
}

// bars draws the times of all implementations in each category.
func bars(title string, categories []string, values map[string][]float64) (string, error) {
	drawn := chart.Bars{Title: title, Y: chart.Axis{Format: seconds}, Categories: categories}
	for _, impl := range implementations {
		drawn.Series = append(drawn.Series, chart.Series{Name: impl, Values: values[impl]})
	}
	return drawn.SVG()
}
