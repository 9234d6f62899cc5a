// Package chart draws measurements as SVG, all in one look.
package chart

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

const width, height, margin = 480, 300, 8 // points

// A colour for each implementation.
var colours = map[string]color.Color{
	"upstream": color.RGBA{0xc0, 0x39, 0x2b, 0xff},
	"ours":     color.RGBA{0x24, 0x71, 0xa3, 0xff},
	"none":     color.RGBA{0x7f, 0x8c, 0x8d, 0xff},
	"floor":    color.RGBA{0x1e, 0x84, 0x49, 0xff},

	// Other schedulers.
	"kueue":    color.RGBA{0xc0, 0x39, 0x2b, 0xff},
	"kai":      color.RGBA{0x1e, 0x84, 0x49, 0xff},
	"yunikorn": color.RGBA{0xb9, 0x77, 0x0e, 0xff},

	// Ours by the name of the plugin.
	"capacity":      color.RGBA{0x24, 0x71, 0xa3, 0xff},
	"capacity-card": color.RGBA{0x1e, 0x84, 0x49, 0xff},
}

// Chart is a title, two axes and the lines between them.
type Chart struct {
	Title string
	X, Y  Axis
	Lines []Line
}

// Axis is one direction of a chart.
type Axis struct {
	Label  string
	Log    bool                 // logarithmic, in whole powers of ten; all values are above 0
	Unit   string               // after the values at the grid
	Format func(float64) string // of these values, if it is not plain
}

// Line is a measurement of an implementation. Its name must have a colour. Lines
// of one name have one entry in the legend.
type Line struct {
	Name   string
	Points plotter.XYs
	Dots   bool // mark the points
}

// SVG draws the chart. Equal charts are equal to the byte.
func (c Chart) SVG() (string, error) {
	p := newPlot(c.Title)
	p.X.Label.Text = c.X.Label
	p.Y.Label.Text = c.Y.Label

	named := map[string]bool{}
	for _, l := range c.Lines {
		line, dots, err := plotter.NewLinePoints(l.Points)
		if err != nil {
			return "", fmt.Errorf("drawing %q: %w", c.Title, err)
		}
		line.Color = colours[l.Name]
		line.Width = vg.Points(2)
		p.Add(line)

		if l.Dots {
			dots.GlyphStyle = draw.GlyphStyle{Color: colours[l.Name], Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
			p.Add(dots)
		}

		if !named[l.Name] {
			p.Legend.Add(l.Name, line)
		}
		named[l.Name] = true
	}

	c.X.scale(&p.X)
	c.Y.scale(&p.Y)
	return svg(p)
}

// dark has the colours for readers who prefer dark pages. It overrides the styles of the elements.
const dark = `<style>
@media (prefers-color-scheme:dark){
text{fill:#e6edf3}
[style*="fill:#FFFFFF"]{fill:#0d1117!important}
[style*="stroke:#000000"]{stroke:#9198a1!important}
[style*="stroke:#DDDDDD"]{stroke:#3d444d!important}
[style*="stroke:#2471A3"]{stroke:#5dade2!important}[style*="fill:#2471A3"]{fill:#5dade2!important}
[style*="stroke:#C0392B"]{stroke:#ec7063!important}[style*="fill:#C0392B"]{fill:#ec7063!important}
[style*="stroke:#1E8449"]{stroke:#58d68d!important}[style*="fill:#1E8449"]{fill:#58d68d!important}
[style*="stroke:#B9770E"]{stroke:#f0b35a!important}[style*="fill:#B9770E"]{fill:#f0b35a!important}
[style*="stroke:#7F8C8D"]{stroke:#9198a1!important}[style*="fill:#7F8C8D"]{fill:#9198a1!important}}
</style>
`

// newPlot returns a plot with a title, in the look of all charts.
func newPlot(title string) *plot.Plot {
	p := plot.New()
	sans := func(size font.Length) font.Font {
		return font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	}

	p.Title.Text = title
	p.Title.TextStyle.Font = sans(13)
	p.Title.Padding = 6
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.TextStyle.Font = sans(11)
		axis.Tick.Label.Font = sans(10)
	}

	p.Legend.TextStyle.Font = sans(11)
	p.Legend.Top = true
	p.Legend.Left = true

	grid := plotter.NewGrid()
	grid.Horizontal.Color = color.Gray{0xdd}
	grid.Vertical.Color = color.Gray{0xdd}
	p.Add(grid)
	return p
}

func svg(p *plot.Plot) (string, error) {
	canvas := vgsvg.New(width, height)
	// The last label of X sticks out.
	p.Draw(draw.Crop(draw.New(canvas), margin, -2*margin, margin, -margin))

	var b strings.Builder
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("drawing %q: %w", p.Title.Text, err)
	}

	// Without the font, a reader uses a font of the same widths.
	text := strings.ReplaceAll(b.String(), "Liberation Sans", "Liberation Sans,Arial,sans-serif")
	return strings.Replace(text, "<g ", dark+"<g ", 1), nil
}

// scale sets the range and the labels of an axis of a plot.
func (a Axis) scale(axis *plot.Axis) {
	var ticker plot.Ticker = plot.DefaultTicks{}
	if a.Log {
		const inexact = 1e-9 // the logarithm of 1,000 is a little less than 3
		ticker = plot.LogTicks{}
		axis.Scale = plot.LogScale{}
		axis.Min = math.Pow(10, math.Floor(math.Log10(axis.Min)+inexact))
		axis.Max = math.Pow(10, math.Ceil(math.Log10(axis.Max)-inexact))
	} else {
		axis.Min = 0
	}

	if a.Format == nil {
		a.Format = func(x float64) string { return fmt.Sprintf("%g%s", x, a.Unit) }
	}

	axis.Tick.Marker = plot.TickerFunc(func(low, high float64) []plot.Tick {
		ticks := ticker.Ticks(low, high)
		for i, t := range ticks {
			if !t.IsMinor() {
				ticks[i].Label = a.Format(t.Value)
			}
		}
		return ticks
	})
}
