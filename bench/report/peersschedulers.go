package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/bench/tuning"
)

// Whole schedulers are measured in the first rounds alone: a process takes minutes instead of
// seconds.
const (
	schedulersRounds = 2
	schedulersBase   = "Schedulers/"
	processorUnit    = "cpu-sec/op" // an operation is a job that is decided
	admittedUnit     = "admitted"
)

// mistakes are the metrics that the audit of bench/peers/question gives.
var mistakes = []string{"exceeded", "left", "overfilled"}

// whole is a scheduler on the page. rival is the most similar scheduler of ours.
type whole struct{ key, Name, rival string }

var wholes = []whole{
	{"ours", "ours", ""},
	{"ours-nodes", "ours, predicates and scores", ""},
	{"kueue", "Kueue", "ours"},
	{"kai", "KAI", "ours-nodes"},
	{"yunikorn", "YuniKorn", "ours"},
}

func (w whole) name(queues int) string {
	return fmt.Sprintf("%squeues=%d/impl=%s", schedulersBase, queues, w.key)
}

// rivalOf returns the scheduler of ours that a peer is compared with.
func rivalOf(w whole) whole {
	return wholes[slices.IndexFunc(wholes, func(o whole) bool { return o.key == cmp.Or(w.rival, w.key) })]
}

// Schedulers reports whether whole schedulers were measured.
func (c peersContents) Schedulers() bool {
	return slices.ContainsFunc(wholes, func(w whole) bool { return c.values[w.name(peersQueues[0])] != nil })
}

// SchedulersRounds returns the number of rounds that have whole schedulers.
func (c peersContents) SchedulersRounds() int {
	return len(c.values[wholes[0].name(peersQueues[0])][timeUnit])
}

// Percentage returns --percentage-nodes-to-find of ours, in percent.
func (c peersContents) Percentage() int { return tuning.Tuned.Percentage }

// Decisions returns the table of whole schedulers.
func (c peersContents) Decisions() string {
	t := newTable("queues", "scheduler", "decided per second", "processor time per job", "admitted of 5,000",
		"allocs per job", "bytes per job", "mistakes")

	for _, n := range peersQueues {
		for _, w := range wholes {
			name := w.name(n)
			m, ok := c.median(name, timeUnit)
			if !ok {
				continue
			}

			t.row(
				cell{words: number(float64(n))},
				cell{words: w.Name},
				cell{number(1/m.Center) + spread(m), halfWidth(m)},
				c.cell(name, processorUnit),
				c.cell(name, admittedUnit),
				c.cell(name, allocsUnit),
				c.cell(name, bytesUnit),
				cell{words: c.mistaken(name)},
			)
		}
	}
	return t.String()
}

// mistaken lists the mistakes that the audit found, at most in one round.
func (c peersContents) mistaken(name string) string {
	var words []string
	for _, unit := range mistakes {
		if found := c.values[name][unit]; len(found) > 0 && slices.Max(found) > 0 {
			words = append(words, number(slices.Max(found))+" "+unit)
		}
	}

	if words == nil {
		return "none"
	}
	return strings.Join(words, ", ")
}

// fasterSchedulers lists the cases in which a peer decides jobs in less time than its rival, or in less processor time.
func (c peersContents) fasterSchedulers() string {
	var b strings.Builder
	for _, w := range wholes {
		var where []string
		for _, n := range peersQueues {
			where = append(where, c.fasterScheduler(w, n)...)
		}
		if where == nil {
			continue
		}

		fmt.Fprintf(&b, "- **Whole schedulers.** %s: %s.%s\n",
			w.Name, strings.Join(where, "; "), reason("schedulers-"+w.key))
	}
	return b.String()
}

func (c peersContents) fasterScheduler(w whole, queues int) (where []string) {
	ours := rivalOf(w)
	for _, unit := range []string{timeUnit, processorUnit} {
		x, ok := c.median(ours.name(queues), unit)
		y, also := c.median(w.name(queues), unit)
		if !ok || !also || y.Center >= x.Center {
			continue
		}

		what := map[string]string{timeUnit: "a job", processorUnit: "of processor time a job"}[unit]
		where = append(where, fmt.Sprintf("%s %s at %s queues, %s %s", quantity(y.Center, timeUnit), what,
			number(float64(queues)), ours.Name, quantity(x.Center, timeUnit)))
	}
	return where
}
