package main

import "fmt"

// scalePage has the figures of large clusters, which make bench MODE=scale measures.
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
		{"Allocatable", "Allocatable", timeUnit},
		{"PrePredicate", "PrePredicate", timeUnit}, {"PrePredicate", "allocated by PrePredicate", bytesUnit},
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

// largeCurves are the opening of a session against the number of tasks, by the files of their charts.
func (s *set) largeCurves() map[string]curve {
	curves := map[string]curve{}
	for _, name := range []string{"capacity", "capacity-card"} {
		c := curve{title: "Session open, " + name, axis: "tasks"}
		for _, impl := range compared {
			for _, at := range tasks {
				if m, ok := s.median("Scale/shape="+at.shape+"/plugin="+name+"/of=SessionOpen/impl="+impl, timeUnit); ok {
					c.add(impl, point{at.n, m.Center})
				}
			}
		}
		curves["scale-"+name+".svg"] = c
	}
	return curves
}

// largeInto replaces the part of the page that the results make.
func (c contents) largeInto(page string) (string, error) {
	return into(page, fmt.Sprintf(`
Commit %s, %s, %s, %s in use; rounds: %s.

%s
A cycle of enqueue and allocate, 2,000 pods that wait beside 18,000 that run:

%s
Reclaim for 100 pods on 200 nodes:

%s
`, c.Config("commit"), c.Config("go"), c.Config("cpu"), c.Config("procs"), c.Config("rounds"),
		c.largeTable(), c.table("CycleScale"), c.table("Reclaim")))
}
