package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The gate measures in two minutes the figures that a change must not increase: exact allocations, and
// ratios to the floor, or to no plugin if there is no floor. Times of a busy machine go up
// and down, so the limits come from calibration runs on such a machine. Their raw output
// is kept.
const (
	calibrations = results + "/gate/%02d.txt"
	gated        = "bin/bench-gate.txt"
	calibrating  = 10  // runs
	margin       = 1.5 // on the worst ratio of the calibration runs
	attempts     = 2   // a row fails if it fails in each
)

const implsOfGate = "/^impl=(none|floor|ours)$"

var gatePlan = plan{target: "bench-gate", rounds: 2, busy: true, processes: slices.Concat(
	processesOf("50ms", nil,
		"^Benchmark(SessionOpen|PrePredicate|Allocatable|JobEnqueueable|Preemptive|QueueOrder|Event)$/^shape=L$"+
			implsOfGate+
			"|^Benchmark(Simulate|Reclaimable)$/^shape=L$/^(removed=8|candidates=100)$"+implsOfGate,
		"^Benchmark(PrePredicate|Simulate|Allocatable|JobEnqueueable|Preemptive|Predicate|NodeOrder|Event)Cards$/"+
			"^shape=L$/^request=one$"+implsOfGate+
			"|^BenchmarkReclaimableCards$/^candidates=100$/^shape=L$/^request=one$"+implsOfGate),
	// In 50 ms a busy machine opens one session or two, and their allocations vary by some.
	processesOf("10x", nil, "^BenchmarkSessionOpenCards$/^shape=L$"+implsOfGate),
)}

// cost holds the time of an operation of ours as a multiple of its base, and its allocations.
type cost struct{ ratio, allocations float64 }

// costs returns the costs of all operations that have a base. The fastest round of each counts, since other rounds
// were disturbed.
func (s *set) costs() map[string]cost {
	all := map[string]cost{}
	for _, r := range s.rows {
		ours := s.values[r.name+oursOf]
		base := s.values[r.name+floors]
		if base == nil {
			// The operation has no floor.
			base = s.values[r.name+nones]
		}
		if ours != nil && len(base[timeUnit]) > 0 {
			all[r.name] = cost{slices.Min(ours[timeUnit]) / slices.Min(base[timeUnit]), slices.Min(ours[allocsUnit])}
		}
	}
	return all
}

// limits returns the worst costs of the calibration runs, with the margin.
func limits() (map[string]cost, error) {
	paths, err := filepath.Glob(strings.Replace(calibrations, "%02d", "*", 1))
	if err != nil {
		return nil, err
	}

	worst := map[string]cost{}
	for _, path := range paths {
		s, err := readFile(path)
		if err != nil {
			return nil, err
		}

		for row, c := range s.costs() {
			w := worst[row]
			worst[row] = cost{max(w.ratio, c.ratio*margin), max(w.allocations, c.allocations)}
		}
	}
	return worst, nil
}

// calibrate writes the raw output that limits reads.
func calibrate(volcano string) error {
	if err := os.RemoveAll(filepath.Dir(calibrations)); err != nil {
		return err
	}

	for i := range calibrating {
		if err := gatePlan.measure(fmt.Sprintf(calibrations, i+1), volcano); err != nil {
			return err
		}
	}
	return nil
}

// exceeded prints all costs, and returns the operations that exceed their limits or were not
// measured.
func exceeded(w io.Writer, costs, bounds map[string]cost) (failed []string) {
	for _, row := range slices.Sorted(maps.Keys(bounds)) {
		c, measured := costs[row]
		limit := bounds[row]

		word := "ok"
		if !measured || c.ratio > limit.ratio || c.allocations > limit.allocations {
			word = "FAILED"
			failed = append(failed, row)
		}

		fmt.Fprintf(w, "%-6s  %s: %s of its base (at most %s), %s allocations (at most %s)\n",
			word, row, times(c.ratio), times(limit.ratio), number(c.allocations), number(limit.allocations))
	}
	return failed
}

// gate fails if an operation exceeds its limit.
func gate(volcano string) error {
	bounds, err := limits()
	if err != nil {
		return err
	}

	failed := slices.Sorted(maps.Keys(bounds))
	for range attempts {
		if err := gatePlan.measure(gated, volcano); err != nil {
			return err
		}

		s, err := readFile(gated)
		if err != nil {
			return err
		}

		// A row fails only if it exceeds its limit in each attempt.
		now := exceeded(os.Stdout, s.costs(), bounds)
		failed = slices.DeleteFunc(failed, func(row string) bool { return !slices.Contains(now, row) })
		if len(failed) == 0 {
			return nil
		}
	}
	return fmt.Errorf("%d of %d operations exceed their limits: %s",
		len(failed), len(bounds), strings.Join(failed, ", "))
}
