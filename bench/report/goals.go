package main

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// goal is what an operation of ours has to reach. At least so many times faster
// than the base, or at most so many times slower; exactly one of them is set.
type goal struct {
	title, shape string
	base, ours   string // names of benchmarks
	unit         string
	least, most  float64
	bound        string // least or most in words
	allocations  *allocations
	why          string // what is known of it where it is missed
}

// allocations is a bound on what an operation of ours allocates, less what a
// benchmark without a plugin does.
type allocations struct {
	most  float64 // 0 is none
	same  []string
	less  string
	words string
}

const (
	upstreams = "/impl=upstream"
	oursOf    = "/impl=ours"
	nones     = "/impl=none"
	floors    = "/impl=floor"
)

// faster is a goal against upstream.
func faster(title, shape, bench string, least float64, a *allocations) goal {
	return goal{
		title: title, shape: shape, base: bench + upstreams, ours: bench + oursOf, unit: timeUnit,
		least: least, bound: "≥ " + times(least), allocations: a,
	}
}

// because adds what is known of a goal.
func (g goal) because(why string) goal {
	g.why = why
	return g
}

var nothing = &allocations{words: "0"}

// goals are in the order of the page.
var goals = []goal{
	faster("session open, hierarchy", "L", "SessionOpen/shape=L", 50, &allocations{
		most: 64, words: "the same for every shape, ≤ 64",
		same: []string{"SessionOpen/shape=S" + oursOf, "SessionOpen/shape=XL" + oursOf},
	}).because("Every job is looked at once, and Volcano lays jobs out anew in every session, so the opening waits for memory " +
		"(profiles/open-L-ours-cpu.txt): it is the first touch of the maps in a job that takes the time."),
	{
		title: "session open, cards", shape: "L", unit: timeUnit,
		base: "SessionOpenCards/shape=L/cards=without", ours: "SessionOpenCards/shape=L/cards=with",
		most: 3, bound: "≤ 3× of ours without cards",
		allocations: &allocations{
			most: 64, words: "the same for every shape, ≤ 64",
			same: []string{"SessionOpenCards/shape=S/cards=with", "SessionOpenCards/shape=XL/cards=with"},
		},
		why: "With cards every task is looked at, its pod is looked up, and the node it runs on: 100,000 places in memory, where " +
			"without cards the sums of 5,000 jobs will do.",
	},
	faster("PrePredicate", "L", "PrePredicate/shape=L", 10000, &allocations{
		most: 1, less: "PrePredicate/shape=L" + nones, words: "≤ 1 beside Volcano's own",
	}),
	faster("simulate: remove 8, check, on one clone", "L", "Simulate/shape=L/removed=8", 1000, &allocations{
		most: 16, words: "the same for 100 and 1,000 queues",
		same: []string{"Growth/of=Simulate/axis=queues/n=100" + oursOf, "Growth/of=Simulate/axis=queues/n=1000" + oursOf},
	}),
	faster("Allocatable, depth 3", "L", "Allocatable/shape=L", 20, nothing).because("Half of the time is the rule itself, at four levels, a quarter " +
		"reading the task's request out of its map, and a sixth Volcano's own way to the plugin (profiles/ask-L-ours-cpu.txt)."),
	faster("JobEnqueueable, admitted", "L", "JobEnqueueable/shape=L", 50, nothing),
	faster("Preemptive", "L", "Preemptive/shape=L", 20, nothing).because("A fifth of the time is Volcano's own way to the plugin " +
		"(none in the table), and half of the rest goes into reading the task's request out of its map (profiles/ask-L-ours-cpu.txt)."),
	faster("QueueOrder", "L", "QueueOrder/shape=L", 2, nothing),
	faster("Reclaimable, 100 candidates", "L", "Reclaimable/shape=L/candidates=100", 20, &allocations{most: 2, words: "≤ 2"}),
	faster("Deallocate and Allocate event, with metrics", "L", "Event/shape=L", 5, nothing),
	overhead("first"), overhead("later"),
	faster("whole cycle, first session", "1,000 queues", "Cycle/session=first/queues=1000", 8, nil).
		because("Ours takes what Volcano takes without a quota plugin, so the ratio is how much upstream adds to that on this machine."),
	faster("whole cycle, later session", "1,000 queues", "Cycle/session=later/queues=1000", 4, nil),
	memory(1000),
}

// overhead is a whole cycle against one without a quota plugin.
func overhead(session string) goal {
	bench := "Cycle/session=" + session + "/queues=1000"
	return goal{
		title: "whole cycle, " + session + " session, over none", shape: "1,000 queues", unit: timeUnit,
		base: bench + nones, ours: bench + oursOf, most: 1.03, bound: "≤ 3 % more than without a quota plugin",
	}
}

// memory is what open snapshots keep. The number of tasks is that of the run.
func memory(least float64) goal {
	return goal{
		title: "memory kept by an open snapshot", shape: "L", unit: keptUnit,
		base: "Kept/shape=L/tasks=*" + upstreams, ours: "Kept/shape=L/tasks=*" + oursOf,
		least: least, bound: "≥ " + times(least) + " less",
	}
}

// outcome is what became of a goal.
type outcome struct {
	met                            bool
	measured, allocs, allocsWanted string
}

func (o outcome) word() string {
	if o.met {
		return "met"
	}
	return "MISSED"
}

// ratio divides the time of the base by ours, or ours by the base where the goal is an upper
// bound.
func (g goal) ratio(s *set) (m benchmath.Summary, ok bool) {
	base, ours := g.base, g.ours
	if g.most > 0 {
		base, ours = ours, base
	}
	return s.ratio(s.find(base), s.find(ours), g.unit)
}

func (g goal) outcome(s *set) outcome {
	o := outcome{measured: "not measured", allocs: "–", allocsWanted: "–"}
	if m, ok := g.ratio(s); ok {
		o.measured = ratioWords(m)
		o.met = m.Center >= g.least
		if g.most > 0 {
			o.met = m.Center <= g.most
		}
	}
	if g.allocations != nil {
		var met bool
		o.allocsWanted = g.allocations.words
		o.allocs, met = g.allocations.outcome(s, g.ours)
		o.met = o.met && met
	}
	return o
}

// find completes a name that ends in, or holds, a number that is not known.
func (s *set) find(name string) string {
	before, after, ok := strings.Cut(name, "*")
	if !ok {
		return name
	}
	i := slices.IndexFunc(s.names, func(n string) bool { return strings.HasPrefix(n, before) && strings.HasSuffix(n, after) })
	if i < 0 {
		return name
	}
	return s.names[i]
}

func (a *allocations) outcome(s *set, ours string) (words string, met bool) {
	m, ok := s.median(ours, allocsUnit)
	if !ok {
		return "not measured", false
	}
	n := m.Center
	if a.less != "" {
		less, ok := s.median(a.less, allocsUnit)
		if !ok {
			return "not measured", false
		}
		n -= less.Center
	}
	words, met = number(n), n <= a.most
	for _, other := range a.same {
		if m, ok := s.median(other, allocsUnit); ok {
			words += fmt.Sprintf(", %s: %s", shortName(other), number(m.Center))
			met = met && m.Center == n
		}
	}
	return words, met
}

// shortName is the key that sets a benchmark apart from its like.
func shortName(name string) string {
	parts := strings.Split(name, "/")
	for _, p := range slices.Backward(parts) {
		if !strings.HasPrefix(p, "impl=") && !strings.HasPrefix(p, "cards=") {
			return p
		}
	}
	return name
}
