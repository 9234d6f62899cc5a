package main

import "fmt"

// scalePage has the figures of large clusters, which make bench MODE=scale measures.
const scalePage = "docs/dev/SCALE.md"

// tasks are the numbers of tasks of the shapes, the axis of the charts.
var tasks = []struct {
	shape string
	n     float64
}{{"L", 100000}, {"XL", 500000}, {"2XL", 2000000}}

// compared are the plugins of a comparison of large clusters, in the order of the page.
var compared = []string{"floor", "upstream", "ours"}

// largeTable returns the figures of large clusters.
func (c contents) largeTable() string {
	t := newTable("operation", "name", "", "L", "XL", "2XL")

	for _, operation := range []struct{ benchmark, words, unit string }{
		{"SessionOpen", "session open", timeUnit},
		{"SessionOpen", "allocated by session open", bytesUnit},
		{"Memory", "kept between sessions", heapUnit},
		{"Allocatable", "Allocatable", timeUnit},
		{"PrePredicate", "PrePredicate", timeUnit},
		{"PrePredicate", "allocated by PrePredicate", bytesUnit},
	} {
		for _, name := range []string{"capacity", "capacity-card"} {
			for _, impl := range compared {
				row := []string{operation.words, name, impl}
				measured := false
				for _, at := range tasks {
					cell := c.cell(scaleName(at.shape, name, operation.benchmark, impl), operation.unit)
					row = append(row, cell)
					measured = measured || cell != "–"
				}
				if measured {
					t.row(row...)
				}
			}
		}
	}
	return t.String()
}

// scaleName returns the name of a benchmark of large clusters.
func scaleName(shape, plugin, operation, impl string) string {
	return "Scale/shape=" + shape + "/plugin=" + plugin + "/of=" + operation + "/impl=" + impl
}

// largeCurves returns the opening of a session against the number of tasks, by the files of their charts.
func (s *set) largeCurves() map[string]curve {
	curves := map[string]curve{}
	for _, name := range []string{"capacity", "capacity-card"} {
		c := curve{title: "Session open, " + name, axis: "tasks"}
		for _, impl := range compared {
			for _, at := range tasks {
				if m, ok := s.median(scaleName(at.shape, name, "SessionOpen", impl), timeUnit); ok {
					c.add(impl, point{at.n, m.Center})
				}
			}
		}
		curves["scale-"+name+".svg"] = c
	}
	return curves
}

// largeInto replaces the results of the page.
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
