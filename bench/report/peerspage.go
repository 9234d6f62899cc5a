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
	// peersReasons has, by the key of a question, why a peer is faster. The page prints one only where one is.
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
	for _, key := range []string{"open", "fits"} {
		curve := c.curve(key)
		curve.title = map[string]string{"open": "Open", "fits": "Does this job fit?"}[key]
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

// Versions are the engines that are not ours.
func (c peersContents) Versions() []peer { return peers[1:] }

// Version is the version and commit of a peer.
func (c peersContents) Version(p peer) string { return c.Config(p.key) }

// Command made the raw output.
func (c peersContents) Command() string { return peersCommand }

// Questions are those that somebody answered.
func (c peersContents) Questions() []asking {
	return slices.DeleteFunc(slices.Clone(askings), func(a asking) bool { return len(c.answering(a.key)) == 0 })
}

// answering are the engines that answer a question.
func (c peersContents) answering(key string) []peer {
	return slices.DeleteFunc(slices.Clone(peers), func(p peer) bool { return c.values[c.name(key, peersQueues[0], p.key)] == nil })
}

// Table has what a question costs each engine.
func (c peersContents) Table(a asking) string {
	engines := c.answering(a.key)
	head, units := table{"queues"}, []string{a.unit}
	if _, ok := c.median(c.name(a.key, peersQueues[0], engines[0].key), allocsUnit); ok {
		units = append(units, allocsUnit, bytesUnit)
	}
	for _, unit := range units {
		for i, p := range engines {
			words := p.Name
			if i == 0 && unit != a.unit {
				words = map[string]string{allocsUnit: "allocs: ", bytesUnit: "bytes: "}[unit] + words
			}
			head = append(head, words)
		}
	}
	t := head.head()
	for _, n := range peersQueues {
		row := []string{number(float64(n))}
		for _, unit := range units {
			for _, p := range engines {
				row = append(row, c.cell(c.name(a.key, n, p.key), unit))
			}
		}
		t.row(row...)
	}
	return t.String()
}

// Answers says how many answers were compared, and how many are not those of the quotas.
func (c peersContents) Answers() string {
	head := table{"question", "asked, at each number of queues"}
	for _, p := range peers {
		head = append(head, p.Name)
	}
	t := head.head()
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
		t.row(row...)
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

// Faster lists where a peer takes less than ours, and why.
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

// reason is why a peer is faster, in one line after a space; nothing if none is known.
func reason(key string) string {
	why := peersReasons.Lookup(key)
	if why == nil {
		return ""
	}
	return " " + strings.Join(strings.Fields(why.Root.String()), " ")
}

// sentence is the title with a full stop, unless it is a question.
func (a asking) sentence() string {
	if strings.HasSuffix(a.Title, "?") {
		return a.Title
	}
	return a.Title + "."
}

// faster says how much a peer takes, and ours; nothing if ours takes less.
func (c peersContents) faster(a asking, p peer, queues int) string {
	ours, theirs := c.name(a.key, queues, peers[0].key), c.name(a.key, queues, p.key)
	ratio, ok := c.ratio(ours, theirs, a.unit)
	if !ok || ratio.Center <= 1 {
		return ""
	}
	x, _ := c.median(ours, a.unit)
	y, _ := c.median(theirs, a.unit)
	noise := ""
	if ratio.Lo <= 1 {
		noise = ", which may be noise"
	}
	return fmt.Sprintf("%s at %s queues, ours %s%s", quantity(y.Center, a.unit), number(float64(queues)), quantity(x.Center, a.unit), noise)
}

// curve is a question against the number of queues.
func (c peersContents) curve(key string) curve {
	of := curve{axis: "queues"}
	for _, p := range peers {
		for _, n := range peersQueues {
			if m, ok := c.median(c.name(key, n, p.key), timeUnit); ok {
				of.add(p.key, point{float64(n), m.Center})
			}
		}
	}
	return of
}

// Exponents is the table of growth.
func (c peersContents) Exponents() string {
	head := table{"question"}
	for _, p := range peers {
		head = append(head, p.Name)
	}
	t := head.head()
	for _, a := range askings {
		if a.unit != timeUnit {
			continue
		}
		row, of := []string{a.Title}, c.curve(a.key)
		for _, p := range peers {
			cell := "–"
			if l := of.line(p.key); l != nil {
				if e, ok := l.exponent(); ok {
					cell = fmt.Sprintf("%.2f", e)
				}
			}
			row = append(row, cell)
		}
		t.row(row...)
	}
	return t.String()
}

// Kept divides the memory among queues and jobs: what 5,000 queues keep more than 10 is the queues',
// the rest the jobs'.
func (c peersContents) Kept() string {
	t := table{"", "per queue", "per job"}.head()
	few, many := float64(peersQueues[0]), float64(peersQueues[len(peersQueues)-1])
	for _, p := range peers {
		x, ok := c.median(c.name("keep", peersQueues[0], p.key), heapUnit)
		y, also := c.median(c.name("keep", peersQueues[len(peersQueues)-1], p.key), heapUnit)
		if !ok || !also {
			continue
		}
		queue := (y.Center - x.Center) / (many - few)
		t.row(p.Name, quantity(queue, heapUnit), quantity(max(0, x.Center-few*queue)/peersJobs, heapUnit))
	}
	return t.String()
}

const peersJobs = 25000 // of each world
