package main

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// verdict says whether a goal is met.
type verdict int

const (
	unsure verdict = iota // too few rounds, or the difference may be noise
	met
	missed
)

func (v verdict) String() string { return [...]string{"~", "met", "MISSED"}[v] }

// pairs is the number of rounds that a verdict needs.
const pairs = 10

// judge reports whether values of ours are at most the bounds.
func judge(ours, bounds []float64) verdict {
	if min(len(ours), len(bounds)) < pairs || !differ(ours, bounds) {
		return unsure
	}
	return exactly(center(ours) <= center(bounds))
}

// differ reports whether two series differ significantly, as benchstat compares two columns.
func differ(x, y []float64) bool {
	test := benchmath.AssumeNothing.Compare(sampleOf(x), sampleOf(y))
	return test.P < test.Alpha
}

// and returns the verdict on a goal with two bounds.
func (v verdict) and(other verdict) verdict {
	switch {
	case v == missed || other == missed:
		return missed
	case v == unsure || other == unsure:
		return unsure
	}
	return met
}

// exactly is the verdict on an exact figure.
func exactly(within bool) verdict {
	if within {
		return met
	}
	return missed
}

const confidence = 0.95

func sampleOf(values []float64) *benchmath.Sample {
	return benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
}

func center(values []float64) float64 {
	return benchmath.AssumeNothing.Summary(sampleOf(values), confidence).Center
}

func summarize(values []float64) (m benchmath.Summary, ok bool) {
	if len(values) == 0 {
		return m, false
	}
	return benchmath.AssumeNothing.Summary(sampleOf(values), confidence), true
}

// halfWidth returns the half-width of an interval as a share of its center. It is 0 if there are too few rounds for an
// interval.
func halfWidth(m benchmath.Summary) float64 {
	if math.IsInf(m.Lo, 0) || math.IsInf(m.Hi, 0) || m.Center == 0 {
		return 0
	}
	return max(m.Hi-m.Center, m.Center-m.Lo) / math.Abs(m.Center)
}
