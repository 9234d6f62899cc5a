package main

import (
	"embed"
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

// reasons has, by the title of a goal, why ours misses it. The page prints one only where the goal is missed.
var reasons = template.Must(template.ParseFS(reasonsSource, "reasons.tmpl"))

//go:embed reasons.tmpl
var reasonsSource embed.FS

// contents holds the results that the page shows.
type contents struct {
	*set
	curves []curve
	// Others are the results with other releases of Volcano.
	Others []contents
	// beside are the results of peers, nil where they were not measured.
	beside *set
}

// render makes the page and the charts, by their names. Equal results make equal
// pages.
func render(s, beside *set, others ...*set) (text string, charts map[string]string, err error) {
	c := contents{set: s, beside: beside, curves: append(s.curves(growth, "n", timeUnit), s.curves("Cycle", "queues", timeUnit)...)}
	for _, other := range others {
		c.Others = append(c.Others, contents{set: other})
	}
	charts = map[string]string{}
	for _, curve := range c.curves {
		charts[curve.file()], err = curve.chart()
		if err != nil {
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

// Command made the raw output.
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

// Goals is the table of goals.
func (c contents) Goals() string {
	t := table{"operation", "shape", "goal", "measured", "beyond", "allocations: goal", "measured", "", "upstream ÷ ours"}.head()
	for _, g := range goals {
		o := g.outcome(c.set)
		t.row(g.title, g.shape, g.bound, o.measured, o.beyond, o.allocsWanted, o.allocs, o.word(), o.upstream)
	}
	return t.String()
}

// Missed is the table of the goals that are missed, with the reasons.
func (c contents) Missed() string {
	t := table{"operation", "shape", "goal", "measured", "beyond", "allocations: goal", "measured", "why"}.head()
	for _, g := range goals {
		o := g.outcome(c.set)
		if o.met {
			continue
		}
		why := "–"
		if reason := reasons.Lookup(g.title); reason != nil {
			why = strings.Join(strings.Fields(reason.Root.String()), " ")
		}
		t.row(g.title, g.shape, g.bound, o.measured, o.beyond, o.allocsWanted, o.allocs, why)
	}
	return t.String()
}

// Lost says where ours is slower than upstream, or allocates more.
func (c contents) Lost() string {
	var b strings.Builder
	for _, r := range c.compared() {
		for _, unit := range []string{timeUnit, bytesUnit, allocsUnit, keptUnit} {
			m, ok := c.ratio(r.name+upstreams, r.name+oursOf, unit)
			if !ok || m.Center >= 1 {
				continue
			}
			certain := ""
			if m.Hi >= 1 {
				certain = ", which may be noise"
			}
			x, _ := c.median(r.name+upstreams, unit)
			y, _ := c.median(r.name+oursOf, unit)
			fmt.Fprintf(&b, "- `%s`: %s, upstream %s%s.\n", r.name, quantity(y.Center, unit), quantity(x.Center, unit), certain)
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
	for _, r := range c.compared() {
		t.row("`"+r.name+"`", c.cell(r.name+nones, r.unit), c.cell(r.name+upstreams, r.unit), c.cell(r.name+oursOf, r.unit),
			c.times(r.name+upstreams, r.name+oursOf, r.unit))
	}
	return t.String()
}

// compared are the benchmarks that ours and upstream have.
func (c contents) compared() []row {
	return slices.DeleteFunc(slices.Clone(c.rows), func(r row) bool {
		return c.values[r.name+oursOf] == nil || c.values[r.name+upstreams] == nil
	})
}

const growth = "Growth" // has a section of its own

// Growth is the figures of growth.
func (c contents) Growth() string { return c.table(growth) }

// Tables are the figures of all operations, by their titles.
func (c contents) Tables() (all [][2]string) {
	for _, r := range c.rows {
		if r.title != growth && !slices.ContainsFunc(all, func(t [2]string) bool { return t[0] == r.title }) {
			all = append(all, [2]string{r.title, c.table(r.title)})
		}
	}
	return all
}

// table is the figures of one operation. Operations that have a floor have it in two columns more.
func (c contents) table(title string) string {
	floored := slices.ContainsFunc(c.rows, func(r row) bool { return r.title == title && c.values[r.name+floors] != nil })
	columns := table{"", "none", "upstream", "ours", "upstream ÷ ours", "allocs: upstream", "ours", "bytes: upstream", "ours"}
	if floored {
		columns = slices.Insert(columns, 5, "floor", "ours ÷ floor")
	}
	t := columns.head()
	for _, r := range c.rows {
		if r.title != title {
			continue
		}
		none := r.name + nones
		upstream := r.name + upstreams
		ours := r.name + oursOf
		floor := r.name + floors
		if c.values[r.name] != nil { // it has no implementations
			ours = r.name
		}
		cells := []string{r.keys, c.cell(none, r.unit), c.cell(upstream, r.unit), c.cell(ours, r.unit), c.times(upstream, ours, r.unit)}
		if floored {
			cells = append(cells, c.cell(floor, r.unit), c.times(ours, floor, r.unit))
		}
		t.row(append(cells, c.cell(upstream, allocsUnit), c.cell(ours, allocsUnit), c.cell(upstream, bytesUnit), c.cell(ours, bytesUnit))...)
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

type lines struct{ strings.Builder }

func (t table) head() *lines {
	var l lines
	l.row(t...)
	l.WriteString("|" + strings.Repeat("---|", len(t)) + "\n")
	return &l
}

func (l *lines) row(cells ...string) { l.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
