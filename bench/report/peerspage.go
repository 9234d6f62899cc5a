package main

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

//go:embed peers.md.tmpl peers.reasons.tmpl
var peersSource embed.FS

var (
	peersTemplate = template.Must(template.ParseFS(peersSource, "peers.md.tmpl"))
	// peersReasons says why a peer is faster, by the key of a question. The page prints it only if a peer is faster.
	peersReasons = template.Must(template.ParseFS(peersSource, "peers.reasons.tmpl"))
)

// The metrics of answers.
const (
	differUnit = "differ"
	askedUnit  = "asked"
)

// asking is a question on the page.
type asking struct{ key, Title, unit string }

var askings = []asking{
	{"open", "Open", timeUnit},
	{"open-anew", "Open, objects read for the first time", timeUnit},
	{"event", "A job starts and ends, between cycles", timeUnit},
	{"fits", "Does this job fit?", timeUnit},
	{"charge", "Charge and refund", timeUnit},
	{"order", "Which queue comes first?", timeUnit},
	{"victims", "Who would be evicted for this job?", timeUnit},
	{"what-if", "What if up to eight jobs were gone? And undo", timeUnit},
	{"keep", "Memory", heapUnit},
}

// peersContents are the results as the page shows them.
type peersContents struct{ contents }

// peersPages adds the page and the pictures of the peers.
func peersPages(s *set, files, charts map[string]string) error {
	c := peersContents{contents{set: s}}
	for key, title := range map[string]string{"open": "Open", "fits": "Does this job fit?"} {
		curve := c.curve(key)
		curve.title = title

		var err error
		charts["peers-"+key+".svg"], err = curve.chart()
		if err != nil {
			return err
		}
	}

	var b strings.Builder
	if err := peersTemplate.Execute(&b, c); err != nil {
		return err
	}
	files[peersPage] = b.String()
	return nil
}

func (c peersContents) name(key string, queues int, impl string) string {
	return fmt.Sprintf("%s%s/queues=%d/impl=%s", peersBase, key, queues, impl)
}

// Versions returns the engines that are not ours.
func (c peersContents) Versions() []peer { return peers[1:] }

// Version returns the version and commit of a peer.
func (c peersContents) Version(p peer) string { return c.Config(p.key) }

// Command returns the command that made the raw output.
func (c peersContents) Command() string { return peersCommand }

// Questions returns the questions with answers.
func (c peersContents) Questions() []asking {
	return slices.DeleteFunc(slices.Clone(askings), func(a asking) bool { return len(c.answering(a.key)) == 0 })
}

// answering returns the engines that answer a question.
func (c peersContents) answering(key string) []peer {
	return slices.DeleteFunc(slices.Clone(peers), func(p peer) bool {
		return c.values[c.name(key, peersQueues[0], p.key)] == nil
	})
}

// names returns the names of engines on the page.
func names(engines []peer) (names []string) {
	for _, p := range engines {
		names = append(names, p.Name)
	}
	return names
}

// Table lists the costs of a question for each engine.
func (c peersContents) Table(a asking) string {
	engines := c.answering(a.key)
	units := []string{a.unit}
	if _, ok := c.median(c.name(a.key, peersQueues[0], engines[0].key), allocsUnit); ok {
		units = append(units, allocsUnit, bytesUnit)
	}

	head := []string{"queues"}
	for _, unit := range units {
		columns := names(engines)
		if unit != a.unit {
			columns[0] = map[string]string{allocsUnit: "allocs: ", bytesUnit: "bytes: "}[unit] + columns[0]
		}
		head = append(head, columns...)
	}

	t := newTable(head...)
	for _, n := range peersQueues {
		row := texts(number(float64(n)))
		for _, unit := range units {
			for _, p := range engines {
				row = append(row, c.cell(c.name(a.key, n, p.key), unit))
			}
		}
		t.exact(row...)
	}
	return t.String()
}

// Answers lists the number of answers that were compared, and how many differ from the quotas.
func (c peersContents) Answers() string {
	head := append([]string{"question", "asked, at each number of queues"}, names(peers)...)

	t := newTable(head...)
	for _, a := range askings {
		var asked []string
		for _, n := range peersQueues {
			if m, ok := c.median(c.name(a.key, n, peers[0].key), askedUnit); ok {
				asked = append(asked, number(m.Center))
			}
		}
		if len(asked) == 0 {
			continue
		}

		row := []string{a.Title, strings.Join(asked, ", ")}
		for _, p := range peers {
			row = append(row, c.differing(a.key, p))
		}
		t.texts(row...)
	}
	return t.String()
}

func (c peersContents) differing(key string, p peer) string {
	total := 0.0
	for _, n := range peersQueues {
		differ := c.values[c.name(key, n, p.key)][differUnit]
		if len(differ) == 0 {
			return "–"
		}
		total += slices.Max(differ)
	}

	if total == 0 {
		return "all the same"
	}
	return number(total) + " differ"
}

// Faster lists the questions for which a peer takes less than ours, and why.
func (c peersContents) Faster() string {
	var b strings.Builder
	for _, a := range askings {
		var by []string
		for _, p := range peers[1:] {
			var where []string
			for _, n := range peersQueues {
				if words := c.faster(a, p, n); words != "" {
					where = append(where, words)
				}
			}
			if where != nil {
				by = append(by, p.Name+": "+strings.Join(where, "; ")+".")
			}
		}
		if by == nil {
			continue
		}

		fmt.Fprintf(&b, "- **%s** %s%s\n", a.sentence(), strings.Join(by, " "), reason(a.key))
	}
	b.WriteString(c.fasterSchedulers())

	if b.Len() == 0 {
		return "Nowhere in this run.\n"
	}
	return b.String()
}

// reason returns why a peer is faster, in one line after a space, "" if it is not known.
func reason(key string) string {
	why := peersReasons.Lookup(key)
	if why == nil {
		return ""
	}
	return " " + strings.Join(strings.Fields(why.Root.String()), " ")
}

// sentence returns the title with a full stop, unless it is a question.
func (a asking) sentence() string {
	if strings.HasSuffix(a.Title, "?") {
		return a.Title
	}
	return a.Title + "."
}

// faster compares the cost of a peer with ours. It is "" if ours costs less.
func (c peersContents) faster(a asking, p peer, queues int) string {
	ours := c.name(a.key, queues, peers[0].key)
	theirs := c.name(a.key, queues, p.key)

	ratio, ok := c.ratio(ours, theirs, a.unit)
	if !ok || ratio.Center <= 1 {
		return ""
	}

	x, _ := c.median(ours, a.unit)
	y, _ := c.median(theirs, a.unit)

	noise := ""
	if !differ(c.values[ours][a.unit], c.values[theirs][a.unit]) {
		noise = ", which may be noise"
	}
	return fmt.Sprintf("%s at %s queues, ours %s%s",
		quantity(y.Center, a.unit), number(float64(queues)), quantity(x.Center, a.unit), noise)
}

// curve returns the costs of a question against the number of queues.
func (c peersContents) curve(key string) curve {
	costs := curve{axis: "queues"}
	for _, p := range peers {
		for _, n := range peersQueues {
			if m, ok := c.median(c.name(key, n, p.key), timeUnit); ok {
				costs.add(p.key, point{float64(n), m.Center})
			}
		}
	}
	return costs
}

// Exponents returns the table of growth.
func (c peersContents) Exponents() string {
	t := newTable(append([]string{"question"}, names(peers)...)...)
	for _, a := range askings {
		if a.unit != timeUnit {
			continue
		}

		row := []string{a.Title}
		costs := c.curve(a.key)
		for _, p := range peers {
			cell := "–"
			if l := costs.line(p.key); l != nil {
				if e, ok := l.exponent(); ok {
					cell = fmt.Sprintf("%.2f", e)
				}
			}
			row = append(row, cell)
		}
		t.texts(row...)
	}
	return t.String()
}

// Kept divides the memory among queues and jobs. The queues keep the memory that 5,000 queues have beyond 10 queues.
// The jobs keep the rest.
func (c peersContents) Kept() string {
	t := newTable("", "per queue", "per job")
	fewest := peersQueues[0]
	most := peersQueues[len(peersQueues)-1]

	for _, p := range peers {
		x, ok := c.median(c.name("keep", fewest, p.key), heapUnit)
		y, also := c.median(c.name("keep", most, p.key), heapUnit)
		if !ok || !also {
			continue
		}

		queue := (y.Center - x.Center) / float64(most-fewest)
		// The jobs keep the rest of the smallest world.
		job := max(0, x.Center-float64(fewest)*queue) / peersJobs
		t.texts(p.Name, quantity(queue, heapUnit), quantity(job, heapUnit))
	}
	return t.String()
}

const peersJobs = 25000 // of each world
