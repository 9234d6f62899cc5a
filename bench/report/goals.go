package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"golang.org/x/perf/benchmath"
)

// goal bounds figures of ours. The page also shows the ratio of upstream to ours, which has no bound.
type goal struct {
	title, shape string
	ours, base   string // names of benchmarks; growing: the name without the size
	upstream     string // "" where upstream has no such operation
	unit         string
	kind         kind
	bound        float64
	words        string // of the bound
	allocations  *allocations
}

// kind is the figure that a goal bounds.
type kind int

const (
	atMost  kind = iota // ours takes at most so many times the base
	share               // the same, in percent
	atLeast             // the base takes at least so many times ours
	within              // ours takes at most so much
	growing             // the exponent of the growth of ours
)

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
		kind:        atMost,
		bound:       most,
		words:       "≤ " + times(most) + " of the floor",
		allocations: a,
	}
}

var nothing = &allocations{words: "0"}

// goals are for contributors, in the order of the page.
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
		kind:        atMost,
		bound:       1.1,
		words:       "≤ 1.1× of none",
		allocations: &allocations{most: 1, less: "PrePredicate/shape=L" + nones, words: "≤ 1 more than Volcano's own"},
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
	{
		title: "memory kept by an open snapshot",
		shape: "L",
		base:  "Kept/shape=L/tasks=100" + upstreams,
		ours:  "Kept/shape=L/tasks=100" + oursOf,
		unit:  keptUnit,
		kind:  atLeast,
		bound: 1000,
		words: "≥ 1,000× less than upstream",
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

// outcome is the result of a goal, with its figures.
type outcome struct {
	verdict
	measured, upstream   cell
	beyond               string // the time of ours beyond the base
	allocs, allocsWanted string
}

// measured returns the figure that a goal bounds.
func (g goal) measured(s *set) (m benchmath.Summary, ok bool) {
	switch g.kind {
	case atLeast:
		return s.ratio(g.base, g.ours, g.unit)
	case within:
		return s.median(g.ours, g.unit)
	case growing:
		return summarize(s.exponents(g.ours, g.unit))
	}
	return s.ratio(g.ours, g.base, g.unit)
}

// format formats the figure that a goal bounds, with its interval.
func (g goal) format(m benchmath.Summary) string {
	switch g.kind {
	case share:
		return percentWords(m)
	case within:
		return quantity(m.Center, g.unit) + spread(m)
	case growing:
		return fmt.Sprintf("%.2f (%.2f–%.2f)", m.Center, m.Lo, m.Hi)
	}
	return ratioWords(m)
}

// width returns the half-width of the interval: of an exponent itself, and of other figures as a share.
func (g goal) width(m benchmath.Summary) float64 {
	if g.kind == growing {
		return halfWidth(m) * math.Abs(m.Center)
	}
	return halfWidth(m)
}

// judge compares ours with the bound.
func (g goal) judge(s *set) verdict {
	ours := s.values[g.ours][g.unit]

	switch g.kind {
	case within:
		return judge(ours, slices.Repeat([]float64{g.bound}, len(ours)))
	case growing:
		exponents := s.exponents(g.ours, g.unit)
		return judge(exponents, slices.Repeat([]float64{g.bound}, len(exponents)))
	}

	bounds := slices.Clone(s.values[g.base][g.unit])
	for i := range bounds {
		if g.kind == atLeast {
			bounds[i] /= g.bound
		} else {
			bounds[i] *= g.bound
		}
	}
	return judge(ours, bounds)
}

// cells returns the figures of a goal for a table.
func (g goal) cells(o outcome) []cell {
	return []cell{
		{words: g.title},
		{words: g.shape},
		{words: g.words},
		o.measured,
		{words: o.beyond},
		{words: o.allocsWanted},
		{words: o.allocs},
	}
}

func (g goal) outcome(s *set) outcome {
	o := outcome{
		verdict:      g.judge(s),
		measured:     cell{words: "not measured"},
		upstream:     s.times(g.upstream, g.ours, g.unit),
		beyond:       "–",
		allocs:       "–",
		allocsWanted: "–",
	}

	if m, ok := g.measured(s); ok {
		o.measured = cell{g.format(m), g.width(m)}
	}

	base, known := s.median(g.base, g.unit)
	if ours, ok := s.median(g.ours, g.unit); ok && known && g.kind == atMost {
		o.beyond = quantity(max(0, ours.Center-base.Center), g.unit)
	}

	if g.allocations != nil {
		o.allocsWanted = g.allocations.words

		var allocated verdict
		o.allocs, allocated = g.allocations.outcome(s, g.ours)
		o.verdict = o.and(allocated)
	}
	return o
}

func (a *allocations) outcome(s *set, ours string) (words string, v verdict) {
	m, ok := s.median(ours, allocsUnit)
	if !ok {
		return "not measured", unsure
	}

	n := m.Center
	if a.less != "" {
		less, ok := s.median(a.less, allocsUnit)
		if !ok {
			return "not measured", unsure
		}
		n -= less.Center
	}

	words = number(n)
	within := n <= a.most
	for _, other := range a.same {
		if m, ok := s.median(other, allocsUnit); ok {
			words += fmt.Sprintf(", %s: %s", shortName(other), number(m.Center))
			within = within && m.Center == n
		}
	}
	return words, exactly(within)
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
