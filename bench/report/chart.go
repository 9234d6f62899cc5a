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

// cardCycles draws cycles with cards, for the number of queues that all releases measure. ok: they
// were measured.
func (s *set) cardCycles() (svg string, ok bool, err error) {
	drawn := chart.Bars{
		Title:      "Scheduling cycle with cards: 1,000 queues, 5,000 nodes, 200 pods",
		Y:          chart.Axis{Format: func(seconds float64) string { return quantity(seconds, timeUnit) }},
		Categories: []string{"one card", "one of three", "none by name"},
	}
	for _, impl := range implementations {
		series := chart.Series{Name: impl}
		for _, request := range []string{"one", "list", "untyped"} {
			m, ok := s.median("CycleCards/queues=1000/request="+request+"/impl="+impl, timeUnit)
			if !ok {
				return "", false, nil
			}
			series.Values = append(series.Values, m.Center)
		}
		drawn.Series = append(drawn.Series, series)
	}
	svg, err = drawn.SVG()
	return svg, true, err
}

const cardCyclesFile = "cycle-with-cards.svg"

// file is the name of the chart.
func (c curve) file() string {
	return strings.ToLower(strings.ReplaceAll(fmt.Sprintf("%s-by-%s.svg", c.title, c.axis), " ", "-"))
}
