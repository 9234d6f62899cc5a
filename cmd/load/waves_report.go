package main

import (
	"fmt"
	"iter"
	"maps"

	"github.com/capacity-card/capacity-card/bench/load"
)

// wavesReport writes the part of the page on jobs that arrive in waves.
type wavesReport struct{ *load.Waves }

// Table has the figures of the steady part.
func (r wavesReport) Table() string {
	return table(load.WavesSchedulers, []row[load.Run]{
		{"submit to running, half of the pods", "s", func(r load.Run) float64 { return r.Latency(0.5) }},
		{"99 %", "s", func(r load.Run) float64 { return r.Latency(0.99) }},
		{"pods that had not run " + words(r.Grace) + " after the last wave", "",
			func(r load.Run) float64 { return float64(r.Left) }},
		{"half of the cycles", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 0.5) }},
		{"longest cycle", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 1) }},
		{"peak memory", "MiB", func(r load.Run) float64 { return r.PeakMemory() / (1 << 20) }},
	}, r.Values)
}

func total(seconds map[string]float64) float64 { return sum(maps.Values(seconds)) }

// Costs has the costs of a bound pod, and the number of pods per second that they allow.
func (r wavesReport) Costs() string {
	perPod := func(seconds func(load.Run) float64) func(load.Run) float64 {
		return func(run load.Run) float64 { return 1000 * seconds(run) / max(1, float64(run.Bound)) }
	}

	server := func(run load.Run) float64 { return run.Processors["kube-apiserver"] + run.Processors["etcd"] }
	used := func(run load.Run) float64 {
		return total(run.Processors) - run.Processors[load.Idle] - run.Processors[load.Others]
	}
	allocate := perPod(func(run load.Run) float64 { return load.Of(run.Actions, "allocate").Time })

	return table(load.WavesSchedulers, []row[load.Run]{
		{"cpu of the scheduler", "ms per pod", perPod(func(run load.Run) float64 { return run.CPU })},
		{"cpu of the API server and etcd", "ms per pod", perPod(server)},
		{"pods for which all processors suffice", "per second",
			func(run load.Run) float64 { return float64(1000*r.CPUs) / perPod(used)(run) }},
		{"pods for which allocate suffices", "per second",
			func(run load.Run) float64 { return 1000 / allocate(run) }},
	}, r.Values)
}

func sum(values iter.Seq[float64]) (sum float64) {
	for value := range values {
		sum += value
	}
	return sum
}

// Share is a share of the time in which jobs arrive, in words.
func (r wavesReport) Share(part float64) string { return words(r.Duration * part) }

// words is a time in words.
func words(seconds float64) string {
	if seconds >= 60 && seconds/60 == float64(int(seconds/60)) {
		if seconds == 60 {
			return "a minute"
		}
		return fmt.Sprintf("%g minutes", seconds/60)
	}
	return fmt.Sprintf("%g s", seconds)
}
