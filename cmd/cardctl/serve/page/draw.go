package page

import (
	"fmt"
	"html/template"
	"math"
	"strings"
	"time"
)

// Bar is a bar of a resource of a queue, in percent of its scale.
type Bar struct {
	Resource string
	Text     string // the quantities in short
	Label    string // all quantities
	Own      float64
	Borrowed float64
	Over     float64 // beyond the quota
	Reserved float64
	Ticks    []Tick
}

// Tick marks a bound of a bar.
type Tick struct {
	Name string // guarantee, deserved or quota
	At   float64
}

// BorrowedAt is where the borrowed part begins.
func (b Bar) BorrowedAt() float64 { return b.Own }

// OverAt is where the part beyond the quota begins.
func (b Bar) OverAt() float64 { return b.Own + b.Borrowed }

// ReservedAt is where the reserved part begins.
func (b Bar) ReservedAt() float64 { return b.Own + b.Borrowed + b.Over }

// Palette is the number of colours for queues.
const Palette = 16

// Colour is the colour of a queue.
type Colour struct {
	Class string
	Queue string
	Cards float64
}

// Class is the class of a colour of the palette, from 1.
func Class(colour int) string { return fmt.Sprintf("q%d", colour) }

// Other is the class of queues without a colour of their own.
const Other = "other"

// Cells are cards of a node that one job has, or that are free.
type Cells struct {
	Class                 string // of the colour, or free, unusable, other, noqueue
	Queue                 string
	Namespace, Owner, Job string // "" for none, and where the viewer may not see the job
	Amount                float64
	Count                 int // whole cards that are drawn
	Part                  int // of one more card that is drawn, in eighths
}

// eighths is the number of parts into which the drawing divides a card.
const eighths = 8

// Draws returns the cells with an amount of cards. It draws at most the given number of cards, and a fraction as the
// next eighth of a card. An amount that is too small to be shown, such as the rest of several fractions, is nothing.
func (c Cells) Draws(amount float64, most int) Cells {
	const least = 0.0005

	c.Amount = amount
	if amount < least || most <= 0 {
		c.Amount = 0
		return c
	}

	parts := min(int(math.Ceil((amount-least)*eighths)), most*eighths)
	c.Count = parts / eighths
	c.Part = parts % eighths
	return c
}

// Drawing returns one element for each cell. Templates would take long for the thousands of cells of a page. No name
// of the cluster is in it.
func (c Cells) Drawing() template.HTML {
	drawing := strings.Repeat(`<span class="cell `+c.Class+`"></span>`, c.Count)
	if c.Part > 0 {
		drawing += fmt.Sprintf(`<span class="cell %s part%d"></span>`, c.Class, c.Part)
	}
	return template.HTML(drawing)
}

// Try is a change to simulate: a setting of a queue, or the removal of an object.
type Try struct{ Setting, Remove string }

// Pages are the pages of a list.
type Pages struct {
	Page, Last int // from 0
	From, To   int // of the list
	All        int
}

// PagesOf returns the place of a page in a list.
func PagesOf(all, size, page int) Pages {
	last := max(0, (all-1)/size)
	page = min(page, last)
	return Pages{Page: page, Last: last, From: min(all, page*size), To: min(all, (page+1)*size), All: all}
}

// Previous and Next are the numbers of other pages for a query.
func (p Pages) Previous() string { return fmt.Sprint(p.Page - 1) }

// Next is the number of the page after this one.
func (p Pages) Next() string { return fmt.Sprint(p.Page + 1) }

// Layer is the values of one queue over time. A layer without a name sums up the others.
type Layer struct {
	Name   string
	More   int // queues that a layer without a name sums up
	Values []float64
	Class  string // of its colour
	Path   string
	Last   float64
	Opens  bool // it has queues below it
}

// The size of a chart in its own units.
const (
	chartWidth  = 1000
	chartHeight = 240
)

// Chart is stacked areas over time. No library for Go draws SVG without inline styles, which
// the content security policy forbids, and in the colours of the page.
type Chart struct {
	Layers   []Layer
	Lines    []Line
	From, To time.Time
	Most     float64
	// Bound is the path of the line that bounds the sum of the layers, "" for none, and LastBound its last value.
	Bound     string
	LastBound float64
}

// Line is a line of the scale.
type Line struct {
	At   float64
	Text string
}

// NewChart stacks layers, the first one at the bottom, below a bound. The bound is nil, or 0 where there is none.
func NewChart(layers []Layer, bound []float64) *Chart {
	c := &Chart{Layers: layers}
	points := len(layers[0].Values)

	sums := make([]float64, points)
	for _, l := range layers {
		for i, v := range l.Values {
			sums[i] += v
		}
	}
	for _, s := range append(sums, bound...) {
		c.Most = max(c.Most, s)
	}

	step := niceStep(c.Most)
	c.Most = max(step, step*math.Ceil(c.Most/step))

	for v := 0.0; v <= c.Most; v += step {
		c.Lines = append(c.Lines, Line{At: c.y(v), Text: number(v)})
	}

	below := make([]float64, points)
	for i := range c.Layers {
		l := &c.Layers[i]

		above := make([]float64, points)
		for j := range above {
			above[j] = below[j] + l.Values[j]
		}
		l.Path = c.area(below, above)
		l.Last = l.Values[points-1]
		below = above
	}

	if len(bound) > 0 {
		c.Bound = c.line(bound)
		c.LastBound = bound[len(bound)-1]
	}
	return c
}

// x returns the place of a point of a curve.
func x(i, points int) float64 {
	if points == 1 {
		return 0
	}
	return chartWidth * float64(i) / float64(points-1)
}

// turns reports whether a curve needs a point: most of a day is flat, and paths are most of a page.
func turns(values []float64, i int) bool {
	return i == 0 || i == len(values)-1 || values[i] != values[i-1] || values[i] != values[i+1]
}

// line returns the path along the values that are not 0.
func (c *Chart) line(values []float64) string {
	var path strings.Builder
	letter := "M"
	for i, v := range values {
		if v == 0 {
			letter = "M"
			continue
		}

		fmt.Fprintf(&path, "%s%.5g %.5g", letter, x(i, len(values)), c.y(v))
		letter = "L"

		// A single value is a line through the whole chart.
		if len(values) == 1 {
			fmt.Fprintf(&path, "L%d %.5g", chartWidth, c.y(v))
		}
	}
	return path.String()
}

// niceStep divides a scale into at most five steps of 1, 2 or 5 times a power of ten.
func niceStep(most float64) float64 {
	if most <= 0 {
		return 1
	}

	power := math.Pow(10, math.Floor(math.Log10(most/5)))
	for _, factor := range []float64{1, 2, 5} {
		if most/(factor*power) <= 5 {
			return max(1, factor*power)
		}
	}
	return max(1, 10*power)
}

func (c *Chart) y(value float64) float64 { return chartHeight * (1 - value/c.Most) }

// area returns the path around the points between two curves.
func (c *Chart) area(below, above []float64) string {
	var path strings.Builder
	letter := "M"
	put := func(x, value float64) {
		fmt.Fprintf(&path, "%s%.5g %.5g", letter, x, c.y(value))
		letter = "L"
	}

	for i, v := range above {
		if turns(above, i) {
			put(x(i, len(above)), v)
		}
	}

	// A single value is an area through the whole chart.
	if len(above) == 1 {
		put(chartWidth, above[0])
		put(chartWidth, below[0])
	}

	for i := len(below) - 1; i >= 0; i-- {
		if turns(below, i) {
			put(x(i, len(below)), below[i])
		}
	}
	return path.String() + "Z"
}
