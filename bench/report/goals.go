package main

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// goal bounds the ratio of an operation of ours to a base. The base is the floor, or Volcano without a quota
// plugin. Exactly one bound is set: most bounds the ratio of ours to the base from above, least bounds the ratio of the
// base to ours from below. The page also shows the ratio of upstream to ours, which has no bound.
type goal struct {
	title, shape string
	base, ours   string // names of benchmarks
	upstream     string // "" where upstream has no such operation
	unit         string
	least, most  float64
	bound        string // least or most in words
	allocations  *allocations
}

// allocations bounds the allocations of an operation of ours. The allocations of a benchmark
// without a plugin can be subtracted.
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

// floored is a goal against the floor.
func floored(title, shape, bench string, most float64, a *allocations) goal {
	return goal{
		title:       title,
		shape:       shape,
		base:        bench + floors,
		ours:        bench + oursOf,
		upstream:    bench + upstreams,
		unit:        timeUnit,
		most:        most,
		bound:       "≤ " + times(most) + " of the floor",
		allocations: a,
	}
}

var nothing = &allocations{words: "0"}

// goals are in the order of the page.
var goals = []goal{
	floored("session open, warm", "L", "SessionOpen/shape=L", 1.5, constant("SessionOpen/shape=%s"+oursOf)),
	floored("session open, cold", "L", "SessionOpenCold/shape=L", 1.5, nil),
	floored("session open, flat", "L", "SessionOpen/shape=L-flat", 1.5, nil),
	floored("session open, cards, warm", "L", "SessionOpenCards/shape=L", 1.3,
		constant("SessionOpenCards/shape=%s"+oursOf)),
	floored("session open, cards, cold", "L", "SessionOpenCold/shape=L/cards=with", 1.3, nil),
	floored("session open, cards, flat", "L", "SessionOpenCards/shape=L-flat", 1.3, nil),
	{
		title:       "PrePredicate",
		shape:       "L",
		base:        "PrePredicate/shape=L" + nones,
		ours:        "PrePredicate/shape=L" + oursOf,
		upstream:    "PrePredicate/shape=L" + upstreams,
		unit:        timeUnit,
		most:        1.1,
		bound:       "≤ 1.1× of none",
		allocations: &allocations{most: 1, less: "PrePredicate/shape=L" + nones, words: "≤ 1 beside Volcano's own"},
	},
	floored("simulate: remove 8, check, on one clone", "L", "Simulate/shape=L/removed=8", 2.5, &allocations{
		most:  16,
		words: "the same for 100 and 1,000 queues",
		same: []string{
			"Growth/of=Simulate/axis=queues/n=100" + oursOf,
			"Growth/of=Simulate/axis=queues/n=1000" + oursOf,
		},
	}),
	floored("simulate, cards", "L", "SimulateCards/shape=L/request=one", 2.5, nil),
	floored("Allocatable", "L", "Allocatable/shape=L", 2.5, nothing),
	floored("Allocatable, one card", "L", "AllocatableCards/shape=L/request=one", 2.5, nothing),
	floored("Allocatable, one of three cards", "L", "AllocatableCards/shape=L/request=list", 2.5, nothing),
	floored("JobEnqueueable", "L", "JobEnqueueable/shape=L", 2.5, nothing),
	floored("JobEnqueueable, one card", "L", "JobEnqueueableCards/shape=L/request=one", 2.5, nothing),
	floored("JobEnqueueable, one of three cards", "L", "JobEnqueueableCards/shape=L/request=list", 2.5, nothing),
	floored("Preemptive", "L", "Preemptive/shape=L", 2.5, nothing),
	floored("Preemptive, one card", "L", "PreemptiveCards/shape=L/request=one", 2.5, nothing),
	floored("QueueOrder", "L", "QueueOrder/shape=L", 2.5, nothing),
	floored("Predicate, one card", "L", "PredicateCards/shape=L/request=one", 2.5, nothing),
	floored("Predicate, one of three cards", "L", "PredicateCards/shape=L/request=list", 2.5, nothing),
	floored("NodeOrder, one of three cards", "L", "NodeOrderCards/shape=L/request=list", 2.5, nothing),
	reclaiming("Reclaimable, 100 candidates", "Reclaimable/shape=L/candidates=100"),
	reclaiming("Reclaimable, cards, 100 candidates", "ReclaimableCards/candidates=100/shape=L/request=one"),
	reclaiming("Reclaimable, cards, 1,000 candidates", "ReclaimableCards/candidates=1000/shape=L/request=one"),
	floored("Preemptable, cards, 100 candidates", "L", "PreemptableCards/candidates=100/shape=L/request=one", 2.5,
		&allocations{most: 2, words: "≤ 2"}),
	floored("Deallocate and Allocate event, with metrics", "L", "Event/shape=L", 2.5, nothing),
	floored("Deallocate and Allocate event, cards", "L", "EventCards/shape=L/request=one", 2.5, nothing),
	overhead("whole cycle, first session", "Cycle/session=first/queues=1000"),
	overhead("whole cycle, later session", "Cycle/session=later/queues=1000"),
	overhead("whole cycle, one card", "CycleCards/queues=1000/request=one"),
	overhead("whole cycle, one of three cards", "CycleCards/queues=1000/request=list"),
	overhead("whole cycle, cards, pods that name none", "CycleCards/queues=1000/request=untyped"),
	{
		title: "memory kept by an open snapshot",
		shape: "L",
		base:  "Kept/shape=L/tasks=100" + upstreams,
		ours:  "Kept/shape=L/tasks=100" + oursOf,
		unit:  keptUnit,
		least: 1000,
		bound: "≥ 1,000× less than upstream",
	},
}

// reclaiming is the goal of a choice of victims for reclaim. The floor allocates their list, and from v1.15 on the
// order in which Volcano evicts them.
func reclaiming(title, bench string) goal {
	return floored(title, "L", bench, 2.5,
		&allocations{most: 1, less: bench + floors, words: "≤ 1 more than the floor"})
}

// constant bounds allocations that do not grow with the cluster.
func constant(bench string) *allocations {
	return &allocations{
		most: 64, words: "the same for every shape, ≤ 64",
		same: []string{fmt.Sprintf(bench, "S"), fmt.Sprintf(bench, "XL")},
	}
}

// overhead bounds a whole cycle against a cycle without a quota plugin.
func overhead(title, bench string) goal {
	return goal{
		title:    title,
		shape:    "1,000 queues",
		base:     bench + nones,
		ours:     bench + oursOf,
		upstream: bench + upstreams,
		unit:     timeUnit,
		most:     1.03,
		bound:    "≤ 3 % more than without a quota plugin",
	}
}

// outcome is the result of a goal, with its figures.
type outcome struct {
	met                  bool
	measured, upstream   string
	beyond               string // the time of ours beyond the base
	allocs, allocsWanted string
}

func (o outcome) word() string {
	if o.met {
		return "met"
	}
	return "MISSED"
}

// ratio returns how many times less than the base ours takes. For a goal with most it is how many times more.
func (g goal) ratio(s *set) (m benchmath.Summary, ok bool) {
	if g.most > 0 {
		return s.ratio(g.ours, g.base, g.unit)
	}
	return s.ratio(g.base, g.ours, g.unit)
}

// cells returns the figures of a goal for a table.
func (g goal) cells(o outcome) []string {
	return []string{g.title, g.shape, g.bound, o.measured, o.beyond, o.allocsWanted, o.allocs}
}

func (g goal) outcome(s *set) outcome {
	o := outcome{measured: "not measured", beyond: "–", upstream: "–", allocs: "–", allocsWanted: "–"}
	if m, ok := g.ratio(s); ok {
		o.measured = ratioWords(m)
		o.met = m.Center >= g.least
		if g.most > 0 {
			o.met = m.Center <= g.most
		}
	}

	base, known := s.median(g.base, g.unit)
	if ours, ok := s.median(g.ours, g.unit); ok && known && g.most > 0 {
		o.beyond = quantity(max(0, ours.Center-base.Center), g.unit)
	}
	if m, ok := s.ratio(g.upstream, g.ours, g.unit); ok {
		o.upstream = ratioWords(m)
	}

	if g.allocations != nil {
		var met bool
		o.allocsWanted = g.allocations.words
		o.allocs, met = g.allocations.outcome(s, g.ours)
		o.met = o.met && met
	}
	return o
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

	words = number(n)
	met = n <= a.most
	for _, other := range a.same {
		if m, ok := s.median(other, allocsUnit); ok {
			words += fmt.Sprintf(", %s: %s", shortName(other), number(m.Center))
			met = met && m.Center == n
		}
	}
	return words, met
}

// shortName returns the key that sets a benchmark apart from similar ones.
func shortName(name string) string {
	parts := strings.Split(name, "/")
	for _, p := range slices.Backward(parts) {
		if !strings.HasPrefix(p, "impl=") && !strings.HasPrefix(p, "cards=") {
			return p
		}
	}
	return name
}
