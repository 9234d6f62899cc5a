package main

import "fmt"

// shown is a picture of the first screen.
type shown struct{ Words, File string }

// Pictures returns the pictures of the first screen.
func (c contents) Pictures() []shown {
	all := []shown{{"Time of a cycle, and memory, against the number of queues", picture}}
	if c.peers != nil {
		const words = "Opening with other schedulers' quota engines, against the number of queues"
		all = append(all, shown{words, results + "/peers-open.svg"})
	}
	return append(all, shown{"Opening a session of up to 2,000,000 tasks", results + "/scale-capacity-card.svg"},
		shown{"Pods bound over time, on a real API server", "docs/load.svg"})
}

// sentence is a sentence of the first screen. Each verb of it is %s, and stands for a figure. A sentence is left out
// if one of its figures was not measured.
type sentence struct {
	words   string
	figures []figure
}

// figure returns a measured value in words, from our results or the results of peers.
type figure func(c contents) (words string, ok bool)

// median returns the median of a benchmark.
func median(name, unit string) figure {
	return func(c contents) (string, bool) {
		m, ok := c.median(name, unit)
		return quantity(m.Center, unit), ok
	}
}

// ratioOf returns the ratio of the times of base and other, round by round.
func ratioOf(base, other string) figure {
	return func(c contents) (string, bool) {
		m, ok := c.ratio(base, other, timeUnit)
		return ratioWords(m), ok
	}
}

// more returns the time of a benchmark beyond the time of another.
func more(name, than string) figure {
	return func(c contents) (string, bool) {
		x, ok := c.median(name, timeUnit)
		y, measured := c.median(than, timeUnit)
		return quantity(x.Center-y.Center, timeUnit), ok && measured
	}
}

// perOne returns the time of a benchmark divided by n.
func perOne(name string, n float64) figure {
	return func(c contents) (string, bool) {
		m, ok := c.median(name, timeUnit)
		return quantity(m.Center/n, timeUnit), ok
	}
}

// opening returns the time in which a peer opens with 1,000 queues.
func opening(key string) figure {
	return func(c contents) (string, bool) {
		if c.peers == nil {
			return "", false
		}
		m, ok := c.peers.median(peersContents{}.name("open", 1000, key), timeUnit)
		return quantity(m.Center, timeUnit), ok
	}
}

const (
	laterCycle = "Cycle/session=later/queues=1000"
	cardCycle  = "CycleCards/queues=1000/request=one"
	openL      = "SessionOpen/shape=L"
	oneCard    = "AllocatableCards/shape=L/request=one"
)

// sentences are the sentences of the first screen, in their order.
var sentences = []sentence{
	{"A cycle with 1,000 queues and 1,000 pending pods takes %s of the time without a quota plugin. " +
		"With upstream's plugin it takes %s of ours.",
		[]figure{ratioOf(laterCycle+oursOf, laterCycle+nones), ratioOf(laterCycle+upstreams, laterCycle+oursOf)}},
	{"With cards, a cycle takes %s of the time of one without a plugin, " +
		"in which node affinity keeps pods to the same nodes.",
		[]figure{ratioOf(cardCycle+oursOf, cardCycle+nones)}},
	{"A session of 1,020 queues and 100,000 tasks opens in %s with %s allocations; upstream's in %s with %s.",
		[]figure{
			median(openL+oursOf, timeUnit), median(openL+oursOf, allocsUnit),
			median(openL+upstreams, timeUnit), median(openL+upstreams, allocsUnit),
		}},
	{"For each pending pod, upstream copies all queues, which takes %s. Ours notes a version, in %s.",
		[]figure{
			more("PrePredicate/shape=L"+upstreams, "PrePredicate/shape=L"+nones),
			more("PrePredicate/shape=L"+oursOf, "PrePredicate/shape=L"+nones),
		}},
	{"Whether the quotas admit a pod is decided in %s, with a card in %s; " +
		"an allocation or an end is counted in %s.",
		[]figure{
			median("Allocatable/shape=L"+oursOf, timeUnit), median(oneCard+oursOf, timeUnit),
			median("Event/shape=L"+oursOf, timeUnit),
		}},
	{"Which of 100 pods may be reclaimed takes %s; upstream's plugin takes %s.",
		[]figure{
			median("Reclaimable/shape=L/candidates=100"+oursOf, timeUnit),
			median("Reclaimable/shape=L/candidates=100"+upstreams, timeUnit),
		}},
	{"Preempt asks what would be without eight pods: %s; upstream's plugin takes %s.",
		[]figure{
			median("Simulate/shape=L/removed=8"+oursOf, timeUnit),
			median("Simulate/shape=L/removed=8"+upstreams, timeUnit),
		}},
	{"Goals against a floor are about little time: the question about one card is %s beyond its floor. " +
		"A cycle with cards takes %s for each pod.",
		[]figure{more(oneCard+oursOf, oneCard+floors), perOne(cardCycle+oursOf, 200)}},
	{"Other schedulers open with 1,000 queues, 20,000 running and 5,000 waiting jobs in %s " +
		"(Kueue, which keeps its accounts) and %s (KAI); ours in %s. " +
		"These are Kueue v0.15.0 and KAI Scheduler v0.12.0, not the newest ones. " +
		"[Side by side](docs/dev/PEERS.md), with YuniKorn v1.6.0.",
		[]figure{opening("kueue"), opening("kai"), opening("ours")}},
}

// Lines returns the sentences of the first screen.
func (c contents) Lines() (all []string) {
	for _, s := range sentences {
		words := make([]any, len(s.figures))
		measured := true
		for i, f := range s.figures {
			w, ok := f(c)
			words[i] = w
			measured = measured && ok
		}

		if measured {
			all = append(all, fmt.Sprintf(s.words, words...))
		}
	}

	met := 0
	for _, g := range goals {
		if g.outcome(c.set).met {
			met++
		}
	}
	return append(all, fmt.Sprintf(
		"%d of %d goals are met. [What is missed](#what-is-missed) has the others, and why.", met, len(goals)))
}
