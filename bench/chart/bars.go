package chart

import (
	"fmt"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Bars is a title, a vertical axis, and a bar for each implementation in each category.
type Bars struct {
	Title      string
	Y          Axis
	Categories []string
	Series     []Series
}

// Series is the bars of an implementation, a value for each category.
type Series struct {
	Name   string
	Values []float64
}

const barWidth = vg.Length(26)

// SVG draws the bars. Equal bars are equal to the byte.
func (b Bars) SVG() (string, error) {
	p := newPlot(b.Title)
	p.Y.Label.Text = b.Y.Label

	most := 0.0
	for i, s := range b.Series {
		drawn, err := plotter.NewBarChart(plotter.Values(s.Values), barWidth)
		if err != nil {
			return "", fmt.Errorf("drawing %q: %w", b.Title, err)
		}

		drawn.Color = colours[s.Name]
		drawn.LineStyle.Width = 0
		drawn.Offset = barWidth * vg.Length(float64(i)-float64(len(b.Series)-1)/2)
		p.Add(drawn)
		p.Legend.Add(s.Name, drawn)

		for _, v := range s.Values {
			most = max(most, v)
		}
	}

	p.NominalX(b.Categories...)
	b.Y.scale(&p.Y)
	p.Y.Max = 1.3 * most // room for the legend
	return svg(p)
}
