package main

import (
	"fmt"
	"slices"
)

// cycleSizes are the numbers of queues for which a whole cycle is measured.
var cycleSizes = []int{10, 100, 1000, 5000}

// userGoals are about costs that a user notices, in the order of the page.
var userGoals = slices.Concat(
	goalsBySize(capacityCycle),
	goalsBySize(cardCycle),
	otherUserGoals,
)

func goalsBySize(bound func(queues int) goal) (all []goal) {
	for _, queues := range cycleSizes {
		all = append(all, bound(queues))
	}
	return all
}

// capacityCycle bounds a cycle of a scheduler that runs for some time.
func capacityCycle(queues int) goal {
	return cycleGoal("capacity", queues, fmt.Sprintf("Cycle/session=later/queues=%d", queues))
}

// cardCycle bounds a cycle in which each pod requests a card.
func cardCycle(queues int) goal {
	return cycleGoal("capacity-card, a card", queues, fmt.Sprintf("CycleCards/queues=%d/request=one", queues))
}

var otherUserGoals = []goal{
	cycleGoal("capacity-card, one of three cards", 1000, "CycleCards/queues=1000/request=list"),
	cycleGoal("capacity-card, any card", 1000, "CycleCards/queues=1000/request=untyped"),
	openingGoal("S: 1,000 pods", "S"),
	openingGoal("L: 100,000 pods", "L"),
	openingGoal("XL: 500,000 pods", "XL"),
	openingGoal("25,000 jobs of a pod", "jobs"),
	{
		title: "reclaim for a gang of 64",
		shape: "5,000 nodes, 1,000 queues, 20,000 candidates",
		ours:  "ReclaimGang/queues=1000" + oursOf,
		base:  "ReclaimGang/queues=1000" + upstreams,
		unit:  timeUnit,
		kind:  share,
		bound: 1,
		words: "≤ 100 % of upstream",
	},
	{
		title: "a scrape of the metrics",
		shape: "5,000 queues",
		ours:  "Scrape/queues=5000" + oursOf,
		unit:  timeUnit,
		kind:  within,
		bound: 0.05,
		words: "≤ 50 ms",
	},
	{
		title: "the same scrape",
		shape: "5,000 queues",
		ours:  "Scrape/queues=5000" + oursOf,
		base:  "Scrape/queues=5000" + upstreams,
		unit:  timeUnit,
		kind:  share,
		bound: 1,
		words: "≤ 100 % of upstream",
	},
	growthGoal("a session opens", "jobs", "SessionOpen/axis=jobs"),
	growthGoal("a session opens", "tasks", "SessionOpen/axis=tasks"),
	growthGoal("a session opens", "queues", "SessionOpen/axis=queues"),
	growthGoal("a session opens", "cards", "SessionOpen/axis=cards"),
	growthGoal("a pod starts and ends", "tree depth", "Event/axis=depth"),
	growthGoal("may a pod start", "tree depth", "Allocatable/axis=depth"),
	growthGoal("which pods may be reclaimed", "candidates", "Reclaimable/axis=candidates"),
}

// cycleGoal bounds a whole cycle against a cycle without a quota plugin.
func cycleGoal(plugin string, queues int, bench string) goal {
	return goal{
		title: "cycle, " + plugin,
		shape: number(float64(queues)) + " queues",
		ours:  bench + oursOf,
		base:  bench + nones,
		unit:  timeUnit,
		kind:  share,
		bound: 1.01,
		words: "≤ 101 % of none",
	}
}

// openingGoal bounds the time that the plugin adds to the opening of a session.
func openingGoal(shape, key string) goal {
	return goal{
		title: "a session opens",
		shape: shape,
		ours:  fmt.Sprintf("Opening/shape=%s%s", key, oursOf),
		base:  fmt.Sprintf("Opening/shape=%s%s", key, nones),
		unit:  timeUnit,
		kind:  share,
		bound: 0.05,
		words: "≤ 5 % of Volcano's own opening",
	}
}

// growthGoal bounds the exponent of an operation while one thing grows. A linear walk that outgrows the caches of a
// processor is a little above 1.
func growthGoal(title, axis, bench string) goal {
	return goal{
		title: title,
		shape: "growth with " + axis,
		ours:  growth + "/of=" + bench,
		unit:  timeUnit,
		kind:  growing,
		bound: 1.1,
		words: "exponent ≤ 1.1",
	}
}
