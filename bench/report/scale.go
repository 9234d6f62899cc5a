package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"text/template"

	"github.com/capacity-card/capacity-card/bench/load"
)

// scale holds the diagrams on the first screen of the README: a cycle of the scheduler
// against the number of queues, and a whole cluster under load.
type scale struct {
	Panels []panel // of the cycle
	Groups []group // of the cluster
	load   *load.Report
	Cores  string // of the machine
}

// implementations are in the order in which they are drawn. The last one is on top.
var implementations = []string{"none", "upstream", "ours"}

// panel is a diagram of lines, with its origin on the page.
type panel struct {
	X            float64
	Title, Below string
	curve        curve
	unit         string
	per          float64 // the size of the unit of the axis, and its name
	name         string
	most, step   float64 // of the vertical axis
}

// The size of a panel's lines, in pixels.
const (
	panelWidth  = 206
	panelHeight = 150
	panelIndent = 48 // before the vertical axis
)

// newScale finds the figures of the diagrams among the results.
func newScale(s *set, r *load.Report) (*scale, error) {
	found := &scale{load: r, Cores: s.config["procs"]}
	for i, p := range []panel{
		{Title: "Scheduling cycle", Below: "queues", unit: timeUnit, per: 1, name: " s"},
		{Title: "Memory allocated in a cycle", Below: "queues", unit: bytesUnit, per: 1 << 30, name: " GiB"},
	} {
		curves := s.curves("Cycle/session=first", "queues", p.unit)
		if len(curves) != 1 || len(curves[0].lines) != len(implementations) || len(r.Runs) == 0 {
			return nil, errors.New("the results lack cycles with several numbers of queues, or a cluster under load")
		}

		p.X = 16 + float64(i)*(panelIndent+panelWidth+34)
		p.curve = curves[0]
		p.scaleAxis()
		found.Panels = append(found.Panels, p)
	}

	memory := func(one load.Result) float64 { return one.Memory }
	bytes := func(x float64) string { return quantity(x, bytesUnit) }
	found.Groups = []group{
		newGroup(r, "Pods bound per second", 128, load.Result.Throughput, number),
		newGroup(r, "Peak memory of the scheduler", 214, memory, bytes),
	}
	return found, nil
}

// scaleAxis chooses a vertical axis of at most six steps.
func (p *panel) scaleAxis() {
	largest := 0.0
	for _, l := range p.curve.lines {
		for _, at := range l.points {
			largest = max(largest, at.value/p.per)
		}
	}

	p.step = math.Pow(10, math.Floor(math.Log10(largest))-1)
	for i := 0; largest > 6*p.step; i++ {
		p.step *= []float64{2, 2.5, 2}[i%3]
	}
	p.most = math.Ceil(largest/p.step) * p.step
}

// tick is a value at an axis.
type tick struct {
	At   float64
	Text string
}

// Rows returns the values of the vertical axis.
func (p panel) Rows() (rows []tick) {
	for value := 0.0; value <= p.most; value += p.step {
		rows = append(rows, tick{panelHeight * (1 - value/p.most), number(value) + p.name})
	}
	return rows
}

// Columns returns the numbers of queues.
func (p panel) Columns() (columns []tick) {
	for _, at := range p.curve.lines[0].points {
		columns = append(columns, tick{p.x(at), number(at.n)})
	}
	return columns
}

// x returns the place of a number of queues, on a logarithmic axis.
func (p panel) x(at point) float64 {
	points := p.curve.lines[0].points
	first := points[0].n
	last := points[len(points)-1].n
	return panelIndent + 12 + (panelWidth-24)*math.Log(at.n/first)/math.Log(last/first)
}

func (p panel) y(at point) float64 { return panelHeight * (1 - at.value/p.per/p.most) }

// stroke is a line as it is drawn, with its last value.
type stroke struct {
	Name, Path, Text string
	Dots             [][2]float64
	X, Y             float64 // of the text
}

// Lines returns the lines in the order in which they are drawn.
func (p panel) Lines() (lines []stroke) {
	for _, name := range implementations {
		drawn := stroke{Name: name}
		points := p.curve.line(name).points
		for i, at := range points {
			drawn.Path += fmt.Sprintf("%c%.1f %.1f", "ML"[min(i, 1)], p.x(at), p.y(at))
			drawn.Dots = append(drawn.Dots, [2]float64{p.x(at), p.y(at)})
		}

		// The line of none is close to the line of ours, which has a text.
		if last := points[len(points)-1]; name != "none" {
			drawn.X = p.x(last)
			drawn.Y = p.y(last) - 10
			drawn.Text = p.at(name, last.n)
		}
		lines = append(lines, drawn)
	}
	return lines
}

// at returns the value of an implementation with a number of queues.
func (p panel) at(name string, queues float64) string {
	for _, point := range p.curve.line(name).points {
		if point.n == queues {
			return quantity(point.value, p.unit)
		}
	}
	return "?"
}

// group is a figure of both schedulers, as bars.
type group struct {
	Title string
	Y     float64
	Bars  []bar
}

// bar is a bar and its value.
type bar struct {
	Name, Label, Text string
	Y, Width          float64
}

func newGroup(
	r *load.Report, title string, y float64, figure func(load.Result) float64, words func(float64) string,
) group {
	g := group{Title: title, Y: y}

	most := 0.0
	values := map[string]float64{}
	for _, name := range load.Schedulers {
		values[name] = load.Percentile(r.Values(name, figure), 0.5)
		most = max(most, values[name])
	}

	for i, name := range []string{"ours", "upstream"} {
		label := map[string]string{"ours": "capacity-card", "upstream": "Volcano"}[name]
		g.Bars = append(g.Bars, bar{name, label, words(values[name]), 10 + 24*float64(i), 108 * values[name] / most})
	}
	return g
}

//go:embed scale.svg.tmpl
var scaleSource string

var scaleTemplate = template.Must(template.New("scale").Parse(scaleSource))

// Cluster describes the cluster under load.
func (s *scale) Cluster() string {
	return fmt.Sprintf("%s queues, %s nodes, %s pods",
		number(float64(s.load.Queues)), number(float64(s.load.Nodes)), number(float64(s.load.Pods)))
}

// svg draws the picture. Equal results make equal pictures.
func (s *scale) svg() (string, error) {
	var b bytes.Buffer
	err := scaleTemplate.Execute(&b, s)
	return b.String(), err
}

// The marks around the results in a page.
const (
	scaleBegin = "<!-- written by go run ./bench/report -->\n"
	scaleEnd   = "<!-- end -->\n"
)

// sentences returns the figures of the picture in words.
func (s *scale) sentences() string {
	cycle := s.Panels[0]
	memory := s.Panels[1]
	bound := s.Groups[0].Bars
	peak := s.Groups[1].Bars // of ours, and of upstream

	return fmt.Sprintf("The first scheduling cycle with 200 nodes and 1,000 pending pods takes %s "+
		`with 10 queues (Volcano's plugin: %s),
%s with 100 (%s) and %s with 1,000 (%s). With 1,000 it allocates %s instead of %s. In a cluster
with %s queues, the scheduler binds %s pods per second instead of %s, with %s of memory instead of %s.
`, cycle.at("ours", 10), cycle.at("upstream", 10), cycle.at("ours", 100), cycle.at("upstream", 100),
		cycle.at("ours", 1000), cycle.at("upstream", 1000), memory.at("ours", 1000), memory.at("upstream", 1000),
		number(float64(s.load.Queues)), bound[0].Text, bound[1].Text, peak[0].Text, peak[1].Text)
}

// into replaces the results in a page.
func into(page, text string) (string, error) {
	before, rest, begins := strings.Cut(page, scaleBegin)
	_, after, ends := strings.Cut(rest, scaleEnd)
	if !begins || !ends {
		return "", fmt.Errorf("the page has no part between %q and %q", scaleBegin, scaleEnd)
	}
	return before + scaleBegin + text + scaleEnd + after, nil
}
