package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/perf/benchmath"

	"github.com/capacity-card/capacity-card/bench/load"
)

//go:embed page.md.tmpl
var pageSource string

var pageTemplate = template.Must(template.New("page").Parse(pageSource))

// contents is what the page is made of.
type contents struct {
	*set
	curves []curve
	// Others are the results with other releases of Volcano.
	Others []contents
}

// render makes the page and the charts, by their names. Equal results make equal
// pages.
func render(s *set, others ...*set) (text string, charts map[string]string, err error) {
	c := contents{set: s, curves: append(s.curves(growth, "n", timeUnit), s.curves("Cycle", "queues", timeUnit)...)}
	for _, other := range others {
		c.Others = append(c.Others, contents{set: other})
	}
	charts = map[string]string{}
	for _, curve := range c.curves {
		if charts[curve.file()], err = curve.chart(); err != nil {
			return "", nil, err
		}
	}
	svg, ok, err := s.cardCycles()
	if err != nil {
		return "", nil, err
	}
	if ok {
		charts[cardCyclesFile] = svg
	}
	var b strings.Builder
	if err := pageTemplate.Execute(&b, c); err != nil {
		return "", nil, err
	}
	return b.String(), charts, nil
}

// Config is the configuration that the raw output states.
func (c contents) Config(key string) string {
	if v := c.config[key]; v != "" {
		return v
	}
	return "unknown"
}

// Command is what made the raw output.
func (c contents) Command() string {
	if volcano := c.config["volcano"]; volcano != "" && volcano != load.MainRelease {
		return "make " + c.Config("target") + " VOLCANO=" + strings.TrimPrefix(volcano, "v")
	}
	return "make " + c.Config("target")
}

// Commands are the processes of a round.
func (c contents) Commands() []string { return c.commands }

// Charts are the files of all charts.
func (c contents) Charts() []string {
	var names []string
	for _, curve := range c.curves {
		names = append(names, curve.file())
	}
	return names
}

// First are the charts at the top of the page.
func (c contents) First() []string {
	files := []string{picture}
	if _, ok, _ := c.cardCycles(); ok {
		files = append(files, results+"/"+cardCyclesFile)
	}
	return files
}

// Goals is the table of goals.
func (c contents) Goals() string {
	t := table{"operation", "shape", "goal", "measured", "allocations: goal", "measured", "", "upstream ÷ ours"}.head()
	for _, g := range goals {
		o := g.outcome(c.set)
		t.row(g.title, g.shape, g.bound, o.measured, o.allocsWanted, o.allocs, o.word(), o.upstream)
	}
	return t.String()
}

// Lost says where ours is slower or a goal is missed.
func (c contents) Lost() string {
	var b strings.Builder
	for _, g := range goals {
		if o := g.outcome(c.set); !o.met {
			fmt.Fprintf(&b, "- %s, %s: the goal is %s; measured: %s.", g.title, g.shape, g.bound, o.measured)
			if g.allocations != nil {
				fmt.Fprintf(&b, " Allocations: the goal is %s; measured: %s.", o.allocsWanted, o.allocs)
			}
			if reasons[g.title] != "" {
				b.WriteString(" " + reasons[g.title])
			}
			b.WriteString("\n")
		}
	}
	for _, r := range c.rows() {
		for _, unit := range []string{timeUnit, bytesUnit, allocsUnit, keptUnit} {
			m, ok := c.ratio(r+upstreams, r+oursOf, unit)
			if !ok || m.Center >= 1 {
				continue
			}
			certain := ""
			if m.Hi >= 1 {
				certain = ", which may be noise"
			}
			x, _ := c.median(r+upstreams, unit)
			y, _ := c.median(r+oursOf, unit)
			fmt.Fprintf(&b, "- `%s`: %s, upstream %s%s.\n", r, quantity(y.Center, unit), quantity(x.Center, unit), certain)
		}
	}
	if b.Len() == 0 {
		return "Nowhere in this run.\n"
	}
	return b.String()
}

// Compared is the table of the operations that ours and upstream have.
func (c contents) Compared() string {
	t := table{"", "none", "upstream", "ours", "upstream ÷ ours"}.head()
	for _, row := range c.rows() {
		unit := timeUnit
		if _, ok := c.values[row+oursOf][keptUnit]; ok {
			unit = keptUnit
		}
		t.row("`"+row+"`", c.cell(row+nones, unit), c.cell(row+upstreams, unit), c.cell(row+oursOf, unit), c.times(row+upstreams, row+oursOf, unit))
	}
	return t.String()
}

// rows are the benchmarks that ours and upstream have, without the implementation.
func (c contents) rows() []string {
	var rows []string
	for _, name := range c.names {
		if row, ok := strings.CutSuffix(name, oursOf); ok && slices.Contains(c.names, row+upstreams) {
			rows = append(rows, row)
		}
	}
	return rows
}

// Table is the figures of one operation.
type Table struct{ Title, Text string }

const growth = "Growth" // has a section of its own

// Growth is the figures of growth.
func (c contents) Growth() string { return c.table(growth) }

// Tables are the figures of all operations.
func (c contents) Tables() []Table {
	var all []Table
	for _, name := range c.names {
		row, _, _ := strings.Cut(name, "/impl=")
		title := operation(row)
		if title != growth && !slices.ContainsFunc(all, func(t Table) bool { return t.Title == title }) {
			all = append(all, Table{title, c.table(title)})
		}
	}
	return all
}

// operation is the name of a benchmark up to its first key; with the log on, it
// says so.
func operation(row string) string {
	if rest, ok := strings.CutPrefix(row, "log="); ok {
		level, rest, _ := strings.Cut(rest, "/")
		return operation(rest) + ", log at -v=" + level
	}
	name, _, _ := strings.Cut(row, "/")
	return name
}

// table is the figures of one operation. Operations that have a floor have it in two columns more.
func (c contents) table(title string) string {
	floored := slices.ContainsFunc(c.names, func(name string) bool { return operation(name) == title && strings.HasSuffix(name, floors) })
	columns := table{"", "none", "upstream", "ours", "upstream ÷ ours", "allocs: upstream", "ours", "bytes: upstream", "ours"}
	if floored {
		columns = slices.Insert(columns, 5, "floor", "ours ÷ floor")
	}
	t := columns.head()
	var done []string
	for _, name := range c.names {
		row, _, _ := strings.Cut(name, "/impl=")
		if operation(row) != title || slices.Contains(done, row) {
			continue
		}
		done = append(done, row)
		_, keys, _ := strings.Cut(strings.TrimPrefix(row, logPrefix(row)), "/")
		unit := timeUnit
		if _, ok := c.values[name][keptUnit]; ok {
			unit = keptUnit
		}
		ours := row + oursOf
		if name == row { // it has no implementations
			ours = row
		}
		cells := []string{keys, c.cell(row+nones, unit), c.cell(row+upstreams, unit), c.cell(ours, unit), c.times(row+upstreams, ours, unit)}
		if floored {
			cells = append(cells, c.cell(row+floors, unit), c.times(ours, row+floors, unit))
		}
		t.row(append(cells, c.cell(row+upstreams, allocsUnit), c.cell(ours, allocsUnit),
			c.cell(row+upstreams, bytesUnit), c.cell(ours, bytesUnit))...)
	}
	return t.String()
}

// times formats the ratio of x to y.
func (c contents) times(x, y, unit string) string {
	if m, ok := c.ratio(x, y, unit); ok {
		return ratioWords(m)
	}
	return "–"
}

func logPrefix(row string) string {
	if strings.HasPrefix(row, "log=") {
		return row[:strings.Index(row, "/")+1]
	}
	return ""
}

func (c contents) cell(name, unit string) string {
	m, ok := c.median(name, unit)
	if !ok {
		return "–"
	}
	return quantity(m.Center, unit) + spread(m)
}

// spread is how far the interval of a median goes to either side.
func spread(m benchmath.Summary) string {
	if words := m.PctRangeString(); words != "0%" && words != "∞" && words != "?" {
		return " ± " + strings.TrimSuffix(words, "%") + " %"
	}
	return ""
}

// Exponents is the table of growth.
func (c contents) Exponents() string {
	t := table{"operation", "n", "upstream", "ours"}.head()
	for _, curve := range c.curves {
		exponents := map[string]string{}
		for _, l := range curve.lines {
			if e, ok := l.exponent(); ok {
				exponents[l.name] = fmt.Sprintf("%.2f", e)
			}
		}
		t.row(curve.title, curve.axis, exponents["upstream"], exponents["ours"])
	}
	return t.String()
}

// table is a table of Markdown in the making.
type table []string

type rows struct{ strings.Builder }

func (t table) head() *rows {
	var r rows
	r.row(t...)
	r.WriteString("|" + strings.Repeat("---|", len(t)) + "\n")
	return &r
}

func (r *rows) row(cells ...string) { r.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
