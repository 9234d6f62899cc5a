package main

import (
	"fmt"
	"strings"

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

// cardCycles draws cycles with cards, for the number of queues that all releases measure. ok
// reports whether they were measured.
func (s *set) cardCycles() (svg string, ok bool, err error) {
	values := map[string][]float64{}
	for _, impl := range implementations {
		for _, request := range []string{"one", "list", "untyped"} {
			m, ok := s.median("CycleCards/queues=1000/request="+request+"/impl="+impl, timeUnit)
			if !ok {
				return "", false, nil
			}

			values[impl] = append(values[impl], m.Center)
		}
	}

	svg, err = bars("Scheduling cycle with cards: 1,000 queues, 5,000 nodes, 200 pods",
		[]string{"one card", "one of three", "none by name"}, values)
	return svg, true, err
}

const cardCyclesFile = "cycle-with-cards.svg"

// file returns the name of the chart.
func (c curve) file() string {
	return strings.ToLower(strings.ReplaceAll(fmt.Sprintf("%s-by-%s.svg", c.title, c.axis), " ", "-"))
}
