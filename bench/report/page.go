package main

import (
	"fmt"
	"strings"
)

// Cycles returns the table of whole cycles, by the number of queues. Upstream is measured in the first cycle of a
// process; goals are about later cycles.
func (c contents) Cycles() string {
	t := newTable("queues", "none", "ours", "ours ÷ none", "", "first cycle: upstream", "upstream ÷ ours",
		"with a card: ours ÷ none", "")
	for _, queues := range cycleSizes {
		first := fmt.Sprintf("Cycle/session=first/queues=%d", queues)
		later := capacityCycle(queues)
		cards := cardCycle(queues)
		outcome := later.outcome(c.set)
		outcomeOfCards := cards.outcome(c.set)

		t.exact(cell{words: number(float64(queues))},
			c.cell(later.base, timeUnit), c.cell(later.ours, timeUnit),
			outcome.measured, cell{words: outcome.verdict.String()},
			c.cell(first+upstreams, timeUnit), c.times(first+upstreams, first+oursOf, timeUnit),
			outcomeOfCards.measured, cell{words: outcomeOfCards.verdict.String()})
	}
	return t.String()
}

// rowsShown are the operations of the page, with the names of their benchmarks.
var rowsShown = []struct{ words, name string }{
	{"a session opens", "SessionOpen/shape=L"},
	{"a snapshot for a pending pod", "PrePredicate/shape=L"},
	{"may a pod start", "Allocatable/shape=L"},
	{"may a pod with a card start", "AllocatableCards/shape=L/request=one"},
	{"may a job be admitted", "JobEnqueueable/shape=L"},
	{"which queue is first", "QueueOrder/shape=L"},
	{"which of 100 pods may be reclaimed", "Reclaimable/shape=L/candidates=100"},
	{"does a pod fit without eight others", "Simulate/shape=L/removed=8"},
	{"a pod starts and ends", "Event/shape=L"},
	{"the action reclaim, 1,000 queues", "Reclaim/queues=1000"},
}

// Operations returns the table of the operations.
func (c contents) Operations() string {
	t := newTable("operation", "upstream", "ours", "upstream ÷ ours", "allocations: upstream", "ours")
	for _, o := range rowsShown {
		upstream := o.name + upstreams
		ours := o.name + oursOf

		t.exact(cell{words: o.words}, c.cell(upstream, timeUnit), c.cell(ours, timeUnit),
			c.times(upstream, ours, timeUnit), c.cell(upstream, allocsUnit), c.cell(ours, allocsUnit))
	}
	return t.String()
}

// Rivals compares the opening of a session with the quota engines of other schedulers. It is empty if they were not
// measured.
func (c contents) Rivals() string {
	if c.peers == nil {
		return ""
	}

	var words []any
	for _, key := range []string{"kueue", "kai", "ours"} {
		m, ok := c.peers.median(peersContents{}.name("open", 1000, key), timeUnit)
		if !ok {
			return ""
		}

		version, _, _ := strings.Cut(c.peers.config[key], " ")
		words = append(words, version, quantity(m.Center, timeUnit))
	}
	return fmt.Sprintf("With 1,000 queues and 25,000 jobs, Kueue %s opens in %s, KAI Scheduler %s in %s, "+
		"and ours%s in %s: [Peers](docs/dev/PEERS.md).\n\n", words...)
}

// UserGoals returns the table of the goals that a user feels, without cycles that another table has.
func (c contents) UserGoals() string {
	t := newTable("what", "goal", "measured", "")
	for _, g := range otherUserGoals {
		o := g.outcome(c.set)
		t.row(cell{words: g.title + ", " + g.shape}, cell{words: g.words}, o.measured, cell{words: o.verdict.String()})
	}
	return t.String()
}

// MissedByUsers says why ours misses goals that a user feels, as paragraphs.
func (c contents) MissedByUsers() string {
	var b strings.Builder
	for _, g := range userGoals {
		if g.outcome(c.set).verdict == missed {
			fmt.Fprintf(&b, "\nMissed, %s (%s): %s\n", g.title, g.shape, reasonOf(g))
		}
	}
	return b.String()
}

// Verdicts counts the verdicts on the goals that a user feels, as a sentence.
func (c contents) Verdicts() string {
	counts := map[verdict]int{}
	for _, g := range userGoals {
		counts[g.outcome(c.set).verdict]++
	}
	return fmt.Sprintf("Goals: %d, of which %d met and %d missed.", len(userGoals), counts[met], counts[missed])
}
