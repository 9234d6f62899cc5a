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

//go:embed goals.md.tmpl
var goalsSource string

var (
	pageTemplate  = template.Must(template.New("page").Parse(pageSource))
	goalsTemplate = template.Must(template.New("goals").Parse(goalsSource))
)

// reasons says why ours misses a goal, by its title. The page of goals prints it only if the goal is missed.
var reasons = template.Must(template.ParseFS(reasonsSource, "reasons.tmpl"))

//go:embed reasons.tmpl
var reasonsSource embed.FS

// contents holds the results that the page shows.
type contents struct {
	*set
	curves []curve
	// Others are the results with other releases of Volcano.
	Others []contents
	// peers holds the results of peers, nil if they were not measured.
	peers *set
}

// render makes the pages, by their paths. Equal results make equal pages.
func render(s, rivals *set, others ...*set) (map[string]string, error) {
	curves := append(s.curves(growth, "n", timeUnit), s.curves("Cycle", "queues", timeUnit)...)
	c := contents{set: s, peers: rivals, curves: curves}
	for _, other := range others {
		c.Others = append(c.Others, contents{set: other})
	}

	files := map[string]string{}
	for path, t := range map[string]*template.Template{page: pageTemplate, goalsPage: goalsTemplate} {
		var b strings.Builder
		err := t.Execute(&b, c)
		if err != nil {
			return nil, err
		}
		files[path] = b.String()
	}
	return files, nil
}

// Config returns the configuration that the raw output states.
func (c contents) Config(key string) string {
	if v := c.config[key]; v != "" {
		return v
	}
	return "unknown"
}

// Command returns the command that made the raw output.
func (c contents) Command() string {
	if volcano := c.config["volcano"]; volcano != "" && volcano != load.MainRelease {
		return "make " + c.Config("target") + " VOLCANO=" + strings.TrimPrefix(volcano, "v")
	}
	return "make " + c.Config("target")
}

// Goals returns the table of goals.
func (c contents) Goals() string {
	t := newTable("operation", "shape", "goal", "measured", "beyond", "allocations: goal", "measured", "",
		"upstream ÷ ours")

	for _, g := range goals {
		o := g.outcome(c.set)
		t.row(append(g.cells(o), o.word(), o.upstream)...)
	}
	return t.String()
}

// Missed returns the table of the goals that are missed, with the reasons.
func (c contents) Missed() string {
	t := newTable("operation", "shape", "goal", "measured", "beyond", "allocations: goal", "measured", "why")
	for _, g := range goals {
		o := g.outcome(c.set)
		if o.met {
			continue
		}

		why := "–"
		if reason := reasons.Lookup(g.title); reason != nil {
			why = strings.Join(strings.Fields(reason.Root.String()), " ")
		}
		t.row(append(g.cells(o), why)...)
	}
	return t.String()
}

// Lost lists the operations for which ours is slower than upstream, or allocates more.
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
			fmt.Fprintf(&b, "- `%s`: %s, upstream %s%s.\n",
				r.name, quantity(y.Center, unit), quantity(x.Center, unit), certain)
		}
	}

	if b.Len() == 0 {
		return "Nowhere in this run.\n"
	}
	return b.String()
}

// compared returns the benchmarks that ours and upstream have.
func (c contents) compared() []row {
	return slices.DeleteFunc(slices.Clone(c.rows), func(r row) bool {
		return c.values[r.name+oursOf] == nil || c.values[r.name+upstreams] == nil
	})
}

const growth = "Growth"

// table returns the figures of one operation. Operations with a floor have two more columns.
func (c contents) table(title string) string {
	floored := slices.ContainsFunc(c.rows, func(r row) bool {
		return r.title == title && c.values[r.name+floors] != nil
	})
	head := []string{"", "none", "upstream", "ours", "upstream ÷ ours"}
	if floored {
		head = append(head, "floor", "ours ÷ floor")
	}
	t := newTable(append(head, "allocs: upstream", "ours", "bytes: upstream", "ours")...)

	for _, r := range c.rows {
		if r.title != title {
			continue
		}

		upstream := r.name + upstreams
		ours := r.name + oursOf
		floor := r.name + floors
		if c.values[r.name] != nil {
			ours = r.name // it has no implementations
		}

		cells := []string{
			r.keys,
			c.cell(r.name+nones, r.unit),
			c.cell(upstream, r.unit),
			c.cell(ours, r.unit),
			c.times(upstream, ours, r.unit),
		}
		if floored {
			cells = append(cells, c.cell(floor, r.unit), c.times(ours, floor, r.unit))
		}
		t.row(append(cells,
			c.cell(upstream, allocsUnit),
			c.cell(ours, allocsUnit),
			c.cell(upstream, bytesUnit),
			c.cell(ours, bytesUnit),
		)...)
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

// spread formats the half-width of the interval of a median.
func spread(m benchmath.Summary) string {
	if words := m.PctRangeString(); words != "0%" && words != "∞" && words != "?" {
		return " ± " + strings.TrimSuffix(words, "%") + " %"
	}
	return ""
}

// Exponents returns the table of growth.
func (c contents) Exponents() string {
	t := newTable("operation", "n", "upstream", "ours")

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

// table writes a table of Markdown.
type table struct{ strings.Builder }

func newTable(head ...string) *table {
	t := &table{}
	t.row(head...)
	t.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	return t
}

func (t *table) row(cells ...string) { t.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
