package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/capacity-card/capacity-card/bench/chart"
)

// scalePage has the figures of large clusters, which make bench-scale measures.
const scalePage = "docs/dev/SCALE.md"

// tasks are those of the shapes, the axis of the charts.
var tasks = []struct {
	shape string
	n     float64
}{{"L", 100000}, {"XL", 500000}, {"2XL", 2000000}}

// compared are the plugins of a comparison of large clusters, in the order of the page.
var compared = []string{"floor", "upstream", "ours"}

// largeTable is the figures of large clusters.
func (c contents) largeTable() string {
	t := table{"operation", "name", "", "L", "XL", "2XL"}.head()
	for _, of := range []struct{ benchmark, words, unit string }{
		{"SessionOpen", "session open", timeUnit}, {"SessionOpen", "allocated by session open", bytesUnit},
		{"Memory", "kept between sessions", heapUnit},
		{"Allocatable", "Allocatable", timeUnit}, {"PrePredicate", "PrePredicate", timeUnit}, {"PrePredicate", "allocated by PrePredicate", bytesUnit},
	} {
		for _, name := range []string{"capacity", "capacity-card"} {
			for _, impl := range compared {
				row, any := []string{of.words, name, impl}, false
				for _, at := range tasks {
					cell := c.cell("Scale/shape="+at.shape+"/plugin="+name+"/of="+of.benchmark+"/impl="+impl, of.unit)
					row, any = append(row, cell), any || cell != "–"
				}
				if any {
					t.row(row...)
				}
			}
		}
	}
	return t.String()
}

// largeCharts draw the opening of a session against the number of tasks.
func (s *set) largeCharts() (map[string]string, error) {
	charts := map[string]string{}
	for _, name := range []string{"capacity", "capacity-card"} {
		drawn := chart.Chart{
			Title: "Session open, " + name + ": time against tasks",
			X:     chart.Axis{Label: "tasks", Log: true, Format: number},
			Y:     chart.Axis{Log: true, Format: func(seconds float64) string { return quantity(seconds, timeUnit) }},
		}
		for _, impl := range compared {
			var points plotter.XYs
			for _, at := range tasks {
				if m, ok := s.median("Scale/shape="+at.shape+"/plugin="+name+"/of=SessionOpen/impl="+impl, timeUnit); ok {
					points = append(points, plotter.XY{X: at.n, Y: m.Center})
				}
			}
			if len(points) > 0 {
				drawn.Lines = append(drawn.Lines, chart.Line{Name: impl, Points: points, Dots: true})
			}
		}
		svg, err := drawn.SVG()
		if err != nil {
			return nil, err
		}
		charts["scale-"+name+".svg"] = svg
	}
	return charts, nil
}

// writeLarge writes the figures of large clusters into their page, if they were measured.
func writeLarge() error {
	s, err := readFile(grown)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	charts, err := s.largeCharts()
	if err != nil {
		return err
	}
	for name, svg := range charts {
		if err := os.WriteFile(filepath.Join(results, name), []byte(svg), 0o644); err != nil {
			return err
		}
	}
	old, err := os.ReadFile(scalePage)
	if err != nil {
		return err
	}
	text, err := largeInto(s, string(old))
	if err != nil {
		return err
	}
	return os.WriteFile(scalePage, []byte(text), 0o644)
}

// largeInto replaces the part of the page that the results make.
func largeInto(s *set, page string) (string, error) {
	c := contents{set: s}
	var b strings.Builder
	b.WriteString("\nCommit " + c.Config("commit") + ", " + c.Config("go") + ", " + c.Config("cpu") + ", " + c.Config("procs") + " in use; rounds: " + c.Config("rounds") + ".\n\n")
	b.WriteString(c.largeTable() + "\n")
	b.WriteString("A cycle of enqueue and allocate, 2,000 pods that wait beside 18,000 that run:\n\n" + c.table("CycleScale") + "\n")
	b.WriteString("Reclaim for 100 pods on 200 nodes:\n\n" + c.table("Reclaim") + "\n")
	return into(page, b.String())
}
