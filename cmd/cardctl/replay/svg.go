package replay

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/plugin/offline/replay"
	"github.com/capacity-card/capacity-card/plugin/offline/replay/measure"
)

// The sizes of a panel and its margins, in pixels.
const (
	plotWidth, plotHeight = 360, 90
	left, right           = 46, 26
	above, below          = 26, 22
	panelWidth            = left + plotWidth + right
	panelHeight           = above + plotHeight + below
	legendRow             = 18

	mostPanels = 60
)

// colours are the colours of the configurations.
var colours = []string{"#2471a3", "#c0392b"}

// grey is the colour of deserved amounts.
const grey = "#7f8c8d"

// dark has the colours for readers who prefer dark pages.
const dark = `<style>@media (prefers-color-scheme:dark){text{fill:#e6edf3}[fill="#fff"]{fill:#0d1117}` +
	`[stroke="#333"]{stroke:#9198a1}[stroke="#ddd"]{stroke:#3d444d}` +
	`[stroke="#2471a3"]{stroke:#5dade2}` +
	`[stroke="#c0392b"]{stroke:#ec7063}[stroke="#7f8c8d"]{stroke:#9198a1}}</style>` + "\n"

// panel shows a card of a queue in all runs.
type panel struct {
	card, queue string
	queueCards  []*measure.QueueCard // by run, nil for none
}

// SVG draws each card of each queue over time: a line for each configuration, and a dashed one for the deserved amount.
// Equal results give the same bytes.
func SVG(in *Input, results []*replay.Result) string {
	panels := panelsOf(results)
	shown := panels[:min(len(panels), mostPanels)]
	end := time.Second
	for _, r := range results {
		end = max(end, r.End)
	}

	legend := legendRow*(len(results)+1) + 6
	width := 2 * panelWidth
	height := legend + (len(shown)+1)/2*panelHeight

	b := &strings.Builder{}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="Liberation Sans,Arial,sans-serif" font-size="11">`+"\n", width, height, width, height)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	b.WriteString(dark)
	drawLegend(b, in, results, len(panels)-len(shown))
	for i, p := range shown {
		p.draw(b, i%2*panelWidth+left, legend+i/2*panelHeight+above, end)
	}
	b.WriteString("</svg>\n")

	return b.String()
}

// panelsOf returns the cards that queues have, want or deserve, in the order of cards and queues.
func panelsOf(results []*replay.Result) (all []*panel) {
	type key struct{ card, queue string }
	byKey := map[key]*panel{}
	for i, r := range results {
		for _, c := range r.QueueCards {
			if c.Allocated.Most() == 0 && c.Due == 0 {
				continue
			}

			k := key{c.Card, c.Queue}
			if byKey[k] == nil {
				byKey[k] = &panel{c.Card, c.Queue, make([]*measure.QueueCard, len(results))}
				all = append(all, byKey[k])
			}
			byKey[k].queueCards[i] = c
		}
	}

	return all
}

func drawLegend(b *strings.Builder, in *Input, results []*replay.Result, omitted int) {
	y := 0
	entry := func(colour, dash, text string) {
		y += legendRow
		fmt.Fprintf(b, `<path d="M%d %dh24" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n",
			left, y-4, colour, dash, left+30, y, html.EscapeString(text))
	}

	for i, r := range results {
		name := in.Configurations[i].Name
		if r.Partial {
			name += " (partial)"
		}
		entry(colours[i], "", fmt.Sprintf("%s: Jain index of use %s, longest lock-out %s",
			name, Index(number(r.JainOfUse)), Longest(lockOut(r.Totals.LockOut))))
	}

	deserved := "deserved"
	if omitted > 0 {
		deserved += fmt.Sprintf(" (%d more cards of queues are not drawn)", omitted)
	}
	entry(grey, ` stroke-dasharray="5 3"`, deserved)
}

// draw draws a panel. The corner of its plot is at x and y.
func (p *panel) draw(b *strings.Builder, x, y int, end time.Duration) {
	most := 0.0
	for _, c := range p.queueCards {
		if c != nil {
			most = max(most, c.Allocated.Most(), c.Deserved.Most())
		}
	}

	fmt.Fprintf(b, `<g transform="translate(%d %d)"><text y="-8" font-weight="bold">%s: %s</text>`+"\n",
		x, y, html.EscapeString(p.queue), html.EscapeString(p.card))
	fmt.Fprintf(b, `<path d="M0 0V%d H%d" fill="none" stroke="#333"/><path d="M0 0H%d" stroke="#ddd"/>`,
		plotHeight, plotWidth, plotWidth)
	fmt.Fprintf(b, `<text x="-6" y="4" text-anchor="end">%g</text><text x="-6" y="%d" text-anchor="end">0</text>`+"\n",
		most, plotHeight+4)

	step, unit, name := axis(end)
	for at := time.Duration(0); at <= end; at += step {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%d%s</text>`,
			plotWidth*at.Seconds()/end.Seconds(), plotHeight+15, at/unit, name)
	}
	b.WriteString("\n")

	for i, c := range p.queueCards {
		if c == nil {
			continue
		}
		// All runs have the same deserved amount. The first one draws it.
		if i == 0 || p.queueCards[0] == nil {
			fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" stroke-dasharray="5 3"/>`+"\n",
				path(c.Deserved, end, most), grey)
		}
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5" stroke-opacity=".85"/>`+"\n",
			path(c.Allocated, end, most), colours[i])
	}
	b.WriteString("</g>\n")
}

// axisUnits are the units of the axis of time up to a day, with the steps between two labels.
var axisUnits = []struct {
	unit  time.Duration
	name  string
	steps []time.Duration
}{
	{time.Second, "s", []time.Duration{1, 5, 10, 30}},
	{time.Minute, "min", []time.Duration{1, 5, 10, 30}},
	{time.Hour, "h", []time.Duration{1, 2, 4, 12}},
}

// axis returns the step between two labels of the axis of time, and the unit of the labels. There are at most seven
// labels.
func axis(end time.Duration) (step, unit time.Duration, name string) {
	const day, most = 24 * time.Hour, 6
	for _, u := range axisUnits {
		for _, n := range u.steps {
			if end/(n*u.unit) <= most {
				return n * u.unit, u.unit, u.name
			}
		}
	}

	for step = day; ; step *= 10 {
		for _, n := range []time.Duration{1, 2, 5} {
			if end/(n*step) <= most {
				return n * step, day, "d"
			}
		}
	}
}

// path draws an amount over time. Each pixel shows the mean of its time.
func path(s measure.Series, end time.Duration, most float64) string {
	b := &strings.Builder{}
	last := math.NaN()
	for x, mean := range means(s, end, plotWidth) {
		y := plotHeight * (1 - mean/max(most, 1))
		switch {
		case x == 0:
			fmt.Fprintf(b, "M0 %.1f", y)
		// A level line needs no points between its ends.
		case math.Abs(y-last) >= 0.05 || x == plotWidth-1:
			fmt.Fprintf(b, "H%dL%d %.1f", x, x+1, y)
		}
		last = y
	}

	return b.String()
}

// means divides the time until the end into equal parts, and returns the mean amount of each part.
func means(s measure.Series, end time.Duration, parts int) []float64 {
	all := make([]float64, parts)
	part := end.Seconds() / float64(parts)
	for i, point := range s {
		from := point.At.Seconds()
		to := end.Seconds()
		if i+1 < len(s) {
			to = s[i+1].At.Seconds()
		}

		for n := int(from / part); n < parts && float64(n)*part < to; n++ {
			overlap := min(to, float64(n+1)*part) - max(from, float64(n)*part)
			all[n] += point.Amount * max(0, overlap) / part
		}
	}

	return all
}
