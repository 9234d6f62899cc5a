package main

import "fmt"

// Cycles returns the table of whole cycles, by the number of queues.
func (c contents) Cycles() string {
	t := newTable("queues", "none", "upstream", "ours", "upstream ÷ ours", "allocated: upstream", "ours")
	for _, queues := range []string{"10", "100", "1000", "5000"} {
		name := "Cycle/session=first/queues=" + queues
		upstream := name + upstreams
		ours := name + oursOf

		t.row(queues, c.cell(name+nones, timeUnit), c.cell(upstream, timeUnit), c.cell(ours, timeUnit),
			c.times(upstream, ours, timeUnit), c.cell(upstream, bytesUnit), c.cell(ours, bytesUnit))
	}
	return t.String()
}

// rowsShown are the operations of the page, with the names of their benchmarks.
var rowsShown = []struct{ words, name string }{
	{"a session opens", "SessionOpen/shape=L"},
	{"a snapshot for a pending pod", "PrePredicate/shape=L"},
	{"may a pod start", "Allocatable/shape=L"},
	{"the same, with a card", "AllocatableCards/shape=L/request=one"},
	{"may a job be admitted", "JobEnqueueable/shape=L"},
	{"which queue is first", "QueueOrder/shape=L"},
	{"which of 100 pods may be reclaimed", "Reclaimable/shape=L/candidates=100"},
	{"does a pod fit without eight others", "Simulate/shape=L/removed=8"},
	{"a pod starts and ends", "Event/shape=L"},
	{"the action reclaim, 1,000 queues", "Reclaim/queues=1000"},
}

// Operations returns the table of the operations.
func (c contents) Operations() string {
	t := newTable("operation", "upstream", "ours", "upstream ÷ ours", "floor", "allocations: upstream", "ours")
	for _, o := range rowsShown {
		upstream := o.name + upstreams
		ours := o.name + oursOf

		t.row(o.words, c.cell(upstream, timeUnit), c.cell(ours, timeUnit), c.times(upstream, ours, timeUnit),
			c.cell(o.name+floors, timeUnit), c.cell(upstream, allocsUnit), c.cell(ours, allocsUnit))
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
		words = append(words, quantity(m.Center, timeUnit))
	}
	return fmt.Sprintf("With 1,000 queues and 25,000 jobs, Kueue v0.15.0 opens in %s, KAI Scheduler v0.12.0 in %s, "+
		"and ours in %s: [Peers](docs/dev/PEERS.md).\n\n", words...)
}

// Met returns how many goals are met, as a sentence.
func (c contents) Met() string {
	met := 0
	for _, g := range goals {
		if g.outcome(c.set).met {
			met++
		}
	}
	return fmt.Sprintf("%d of %d goals against the floor or against none are met.", met, len(goals))
}
