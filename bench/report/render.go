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
		return strings.TrimSpace(v)
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
		t.row(append(g.cells(o), cell{words: o.verdict.String()}, o.upstream)...)
	}
	return t.String()
}

// Missed returns the table of the goals that are missed, with the reasons.
func (c contents) Missed() string {
	t := newTable("operation", "shape", "goal", "measured", "beyond", "allocations: goal", "measured", "why")
	for _, g := range goals {
		o := g.outcome(c.set)
		if o.verdict != missed {
			continue
		}

		t.row(append(g.cells(o), cell{words: reasonOf(g)})...)
	}
	return t.String()
}

// reasonOf says why ours misses a goal, "–" where nobody has found out.
func reasonOf(g goal) string {
	reason := reasons.Lookup(g.title)
	if reason == nil {
		return "–"
	}
	return strings.Join(strings.Fields(reason.Root.String()), " ")
}

// Lost lists the operations for which ours is slower than upstream, or allocates more.
func (c contents) Lost() string {
	var b strings.Builder
	for _, r := range c.rows {
		var worse []string
		for _, unit := range []string{timeUnit, bytesUnit, allocsUnit, keptUnit} {
			m, ok := c.ratio(r.name+upstreams, r.name+oursOf, unit)
			if !ok || m.Center >= 1 {
				continue
			}

			certain := ""
			if !differ(c.values[r.name+upstreams][unit], c.values[r.name+oursOf][unit]) {
				certain = ", which may be noise"
			}

			x, _ := c.median(r.name+upstreams, unit)
			y, _ := c.median(r.name+oursOf, unit)
			what := ""
			if unit == allocsUnit {
				what = " allocations"
			}
			worse = append(worse,
				fmt.Sprintf("%s%s (%s%s)", quantity(y.Center, unit), what, quantity(x.Center, unit), certain))
		}
		if len(worse) > 0 {
			fmt.Fprintf(&b, "- `%s`: %s.\n", r.name, strings.Join(worse, ", "))
		}
	}

	if b.Len() == 0 {
		return "Nowhere in this run.\n"
	}
	return b.String()
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

		cells := []cell{
			{words: r.keys},
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

// times returns the ratio of x to y.
func (s *set) times(x, y, unit string) cell {
	if m, ok := s.ratio(x, y, unit); ok {
		return cell{ratioWords(m), halfWidth(m)}
	}
	return cell{words: "–"}
}

// cell returns the median of a series, with the half-width of its interval.
func (c contents) cell(name, unit string) cell {
	m, ok := c.median(name, unit)
	if !ok {
		return cell{words: "–"}
	}
	return cell{quantity(m.Center, unit) + spread(m), halfWidth(m)}
}

// spread formats the half-width of the interval of a median.
func spread(m benchmath.Summary) string {
	if width := halfWidth(m); width >= 0.005 {
		return fmt.Sprintf(" ± %.0f %%", 100*width)
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

		t.texts(curve.title, curve.axis, exponents["upstream"], exponents["ours"])
	}
	return t.String()
}

// cell is a cell of a table. The width belongs to the interval of its figure, as a share of the figure.
type cell struct {
	words string
	width float64
}

// texts are cells without figures.
func texts(words ...string) (cells []cell) {
	for _, w := range words {
		cells = append(cells, cell{words: w})
	}
	return cells
}

// widest is the widest interval of a figure in a table: rows with wider ones say too little.
const widest = 0.20

// headLines are the names of columns, and the line below them.
const headLines = 2

// table is a table of Markdown.
type table struct {
	lines strings.Builder
	noisy int // rows that are left out
}

func newTable(head ...string) *table {
	t := &table{}
	t.texts(head...)
	t.lines.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	return t
}

// texts adds a row without figures.
func (t *table) texts(words ...string) {
	t.lines.WriteString("| " + strings.Join(words, " | ") + " |\n")
}

// row adds a row, unless the interval of a figure is too wide.
func (t *table) row(cells ...cell) {
	var words []string
	for _, c := range cells {
		if c.width > widest {
			t.noisy++
			return
		}

		words = append(words, c.words)
	}
	t.texts(words...)
}

// exact adds a row, and prints noisy for each figure with an interval that is too wide: the row stays, because
// allocations are exact.
func (t *table) exact(cells ...cell) {
	var words []string
	for _, c := range cells {
		if c.width > widest {
			c.words = "noisy"
		}
		words = append(words, c.words)
	}
	t.texts(words...)
}

// String returns the table, and the number of the rows that are left out. A table without rows has no head.
func (t *table) String() string {
	lines := t.lines.String()
	if t.noisy == 0 {
		return lines
	}

	rows := "rows"
	if t.noisy == 1 {
		rows = "row"
	}

	leftOut := fmt.Sprintf("Left out: %d %s, interval above %.0f %%.\n", t.noisy, rows, 100*widest)
	if strings.Count(lines, "\n") == headLines {
		return leftOut
	}
	return lines + "\n" + leftOut
}
