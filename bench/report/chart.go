package main

import (
	"fmt"
	"math"
	"strings"
)

// Where things are in a chart.
const (
	chartWidth, chartHeight = 480, 300
	left, right             = 64, 16
	top, bottom             = 32, 40
)

var colours = map[string]string{"upstream": "#c0392b", "ours": "#2471a3", "none": "#7f8c8d"}

// scale maps values to positions, their logarithms evenly.
type scale struct{ low, high, from, to float64 }

// newScale spans whole powers of ten.
func newScale(low, high, from, to float64) scale {
	const inexact = 1e-9 // the logarithm of 1,000 is a little less than 3
	low, high = math.Floor(math.Log10(low)+inexact), math.Ceil(math.Log10(high)-inexact)
	if low == high {
		high++
	}
	return scale{low, high, from, to}
}

func (s scale) at(v float64) float64 {
	return s.from + (math.Log10(v)-s.low)/(s.high-s.low)*(s.to-s.from)
}

// powers are the values that have a grid line.
func (s scale) powers() []float64 {
	var all []float64
	for e := s.low; e <= s.high; e++ {
		all = append(all, math.Pow(10, e))
	}
	return all
}

// chart draws a curve as SVG, both axes logarithmic.
func (c curve) chart() string {
	lowX, highX, lowY, highY := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, l := range c.lines {
		for _, p := range l.points {
			lowX, highX = min(lowX, p.n), max(highX, p.n)
			lowY, highY = min(lowY, p.seconds), max(highY, p.seconds)
		}
	}
	x := newScale(lowX, highX, left, chartWidth-right)
	y := newScale(lowY, highY, chartHeight-bottom, top)

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<text x="%d" y="16" font-size="13">%s: time against %s</text>`+"\n", left, c.title, c.axis)
	for _, v := range x.powers() {
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x.at(v), top, chartHeight-bottom, x.at(v), chartHeight-bottom+14, number(v))
	}
	for _, v := range y.powers() {
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y.at(v), chartWidth-right, left-4, y.at(v)+4, quantity(v, timeUnit))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+chartWidth-right)/2, chartHeight-8, c.axis)
	for i, l := range c.lines {
		var path strings.Builder
		for j, p := range l.points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(j, 1)], x.at(p.n), y.at(p.seconds))
		}
		colour := colours[l.name]
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colour)
		for _, p := range l.points {
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x.at(p.n), y.at(p.seconds), colour)
		}
		fmt.Fprintf(&b, `<text x="%d" y="16" text-anchor="end" fill="%s">%s</text>`+"\n", chartWidth-right-60*i, colour, l.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// file is the name of the chart.
func (c curve) file() string {
	return strings.ToLower(strings.ReplaceAll(fmt.Sprintf("%s-by-%s.svg", c.title, c.axis), " ", "-"))
}
