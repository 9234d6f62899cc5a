package chart

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

func TestSVG(t *testing.T) {
	points := plotter.XYs{{X: 10, Y: 0.001}, {X: 1000, Y: 0.5}}
	c := Chart{
		Title: "Time of a cycle",
		X:     Axis{Label: "queues", Log: true},
		Y:     Axis{Log: true, Unit: " s"},
		Lines: []Line{{Name: "ours", Points: points, Dots: true}, {Name: "ours", Points: points}, {Name: "none", Points: points}},
	}

	first, err := c.SVG()
	require.NoError(t, err)
	again, err := c.SVG()
	require.NoError(t, err)
	assert.Equal(t, first, again)

	assert.Contains(t, first, "Time of a cycle")
	assert.Contains(t, first, "Liberation Sans,Arial,sans-serif")
	assert.Equal(t, 1, strings.Count(first, ">ours<"), "lines of one name have one entry in the legend")
	assert.Equal(t, 1, strings.Count(first, ">none<"))
}

// TestDark has another colour on dark pages for each colour.
func TestDark(t *testing.T) {
	for name := range colours {
		drawn, err := Chart{Title: name, Lines: []Line{{Name: name, Points: plotter.XYs{{X: 1, Y: 1}, {X: 2, Y: 2}}, Dots: true}}}.SVG()
		require.NoError(t, err)
		style, elements, found := strings.Cut(drawn, "</style>")
		require.True(t, found, name)
		for _, colour := range regexp.MustCompile("(?:fill|stroke):#[0-9A-F]{6}").FindAllString(elements, -1) {
			assert.Contains(t, style, `[style*="`+colour+`"]`, name)
		}
	}
}

func TestSVGWithoutNumber(t *testing.T) {
	_, err := Chart{Title: "broken", Lines: []Line{{Name: "ours", Points: plotter.XYs{{X: 1, Y: math.NaN()}}}}}.SVG()
	assert.ErrorContains(t, err, `drawing "broken"`)
}

func TestBars(t *testing.T) {
	b := Bars{
		Title:      "By release",
		Categories: []string{"v1", "v2"},
		Series:     []Series{{Name: "none", Values: []float64{1, 2}}, {Name: "ours", Values: []float64{1.5, 2.5}}},
	}
	svg, err := b.SVG()
	require.NoError(t, err)
	for _, text := range []string{"By release", ">v1<", ">v2<", ">none<", ">ours<"} {
		assert.Contains(t, svg, text)
	}
}

// TestScale has axes that end at whole powers of ten, or begin at 0.
func TestScale(t *testing.T) {
	for _, c := range []struct {
		name                string
		axis                Axis
		least, most         float64
		wantLeast, wantMost float64
		value               float64
		label               string
	}{
		{"logarithmic", Axis{Log: true}, 20, 1000, 10, 1000, 100, "100"},
		{"above a power", Axis{Log: true}, 10, 1001, 10, 10000, 100, "100"},
		{"linear", Axis{Unit: " s"}, 3, 8, 0, 8, 4, "4 s"},
		{"format", Axis{Format: func(float64) string { return "?" }}, 3, 8, 0, 8, 4, "?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			axis := plot.Axis{Min: c.least, Max: c.most}
			c.axis.scale(&axis)
			assert.InDelta(t, c.wantLeast, axis.Min, 1e-9)
			assert.InDelta(t, c.wantMost, axis.Max, 1e-6)

			labels := map[float64]string{}
			for _, tick := range axis.Tick.Marker.Ticks(axis.Min, axis.Max) {
				if !tick.IsMinor() {
					labels[math.Round(tick.Value)] = tick.Label
				}
			}
			assert.Equal(t, c.label, labels[c.value])
		})
	}
}
