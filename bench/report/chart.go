package main

import (
	"fmt"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/capacity-card/capacity-card/bench/chart"
)

// chart draws a curve as SVG, both axes logarithmic.
func (c curve) chart() (string, error) {
	drawn := chart.Chart{
		Title: fmt.Sprintf("%s: time against %s", c.title, c.axis),
		X:     chart.Axis{Label: c.axis, Log: true, Format: number},
		Y:     chart.Axis{Log: true, Format: func(seconds float64) string { return quantity(seconds, timeUnit) }},
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

// file is the name of the chart.
func (c curve) file() string {
	return strings.ToLower(strings.ReplaceAll(fmt.Sprintf("%s-by-%s.svg", c.title, c.axis), " ", "-"))
}
