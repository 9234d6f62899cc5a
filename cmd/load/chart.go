package main

import (
	"fmt"
	"math"
	"strings"
)

// The chart has the size, the margins and the colours of those of the benchmarks.
const (
	chartWidth, chartHeight = 480, 300
	left, right             = 64, 16
	top, bottom             = 32, 40
)

var colours = map[string]string{"upstream": "#c0392b", "ours": "#2471a3"}

// chart draws how many pods have a node over time, a line for each run.
func (r *report) chart() string {
	end := 0.0
	for _, run := range r.Runs {
		end = max(end, run.Total)
	}
	step := nice(end / 5)
	end = math.Ceil(end/step) * step
	x := func(seconds float64) float64 { return left + seconds/end*(chartWidth-right-left) }
	y := func(pods float64) float64 {
		return chartHeight - bottom - pods/float64(r.Pods)*(chartHeight-bottom-top)
	}

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="white"/>`+"\n", chartWidth, chartHeight)
	fmt.Fprintf(&b, `<text x="%d" y="16" font-size="13">Pods bound, of %d</text>`+"\n", left, r.Pods)
	for v := 0.0; v <= end+step/2; v += step {
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%g s</text>`+"\n",
			x(v), top, chartHeight-bottom, x(v), chartHeight-bottom+14, v)
	}
	for i := range 5 {
		v := float64(r.Pods*i) / 4
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.0f</text>`+"\n",
			left, y(v), chartWidth-right, left-4, y(v)+4, v)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">time since the first job was submitted</text>`+"\n", (left+chartWidth-right)/2, chartHeight-8)
	for _, run := range r.Runs {
		var path strings.Builder
		fmt.Fprintf(&path, "M%.1f %.1f", x(0), y(0))
		// A point for every hundredth of the pods is as much as one can see.
		for i := 0; i < len(run.Bound); i += max(1, len(run.Bound)/100) {
			fmt.Fprintf(&path, "L%.1f %.1f", x(run.Bound[i]), y(float64(i+1)))
		}
		fmt.Fprintf(&path, "L%.1f %.1f", x(run.Total), y(float64(len(run.Bound))))
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colours[run.Scheduler])
	}
	for i, name := range names {
		fmt.Fprintf(&b, `<text x="%d" y="16" text-anchor="end" fill="%s">%s</text>`+"\n", chartWidth-right-60*i, colours[name], name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// nice is the next of 1, 2, 5, 10, 20 and so on.
func nice(x float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, factor := range []float64{1, 2, 5} {
		if x <= factor*power {
			return factor * power
		}
	}
	return 10 * power
}
