package main

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/bench/load"
)

// wavesReport writes the part of the page on jobs that arrive in waves.
type wavesReport struct{ *load.Waves }

// Table has the figures of the steady part.
func (r wavesReport) Table() string {
	return table(load.WavesSchedulers, []row[load.Run]{
		{"pods bound", "per second", load.Run.Throughput},
		{"in the busiest 10 s", "per second", func(r load.Run) float64 { return r.Busiest(10) }},
		{"submit to running, half of the pods", "s", func(r load.Run) float64 { return r.Latency(0.5) }},
		{"90 %", "s", func(r load.Run) float64 { return r.Latency(0.9) }},
		{"99 %", "s", func(r load.Run) float64 { return r.Latency(0.99) }},
		{"pods without a node, median", "", func(r load.Run) float64 { return load.Percentile(r.Waiting(), 0.5) }},
		{"at most", "", func(r load.Run) float64 { return load.Percentile(r.Waiting(), 1) }},
		{"whole cards in use, median", "%",
			func(run load.Run) float64 { return 100 * load.Percentile(run.CardsInUse(), 0.5) / float64(r.Cards) }},
		{"all pods have run, after the last wave", "s", r.drained},
		{"pods that had not run then", "", func(r load.Run) float64 { return float64(r.Left) }},
		{"scheduling cycles", "", func(r load.Run) float64 { return float64(len(r.Cycles)) }},
		{"half of the cycles", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 0.5) }},
		{"90 %", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 0.9) }},
		{"longest", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 1) }},
		{"half of the session opens of the quota plugin", "ms",
			func(r load.Run) float64 { return 1000 * load.Percentile(r.Opens, 0.5) }},
		{"90 %", "ms", func(r load.Run) float64 { return 1000 * load.Percentile(r.Opens, 0.9) }},
		{"longest", "ms", func(r load.Run) float64 { return 1000 * load.Percentile(r.Opens, 1) }},
		{"cpu of the scheduler", "s", func(r load.Run) float64 { return r.CPU }},
		{"memory of the scheduler, median", "MiB",
			func(r load.Run) float64 { return load.Percentile(r.Memory(), 0.5) / (1 << 20) }},
		{"peak of the whole run", "MiB", func(r load.Run) float64 { return r.PeakMemory() / (1 << 20) }},
	}, r.Values)
}

// drained returns the time at which the last pod ran, infinite if not all did.
func (r wavesReport) drained(run load.Run) float64 {
	if run.Left > 0 {
		return math.Inf(1)
	}
	return max(0, run.Ended-r.Duration)
}

// Requests has the scheduler's requests, a row for each method of HTTP.
func (r wavesReport) Requests() string {
	var rows []row[load.Run]
	for _, method := range []string{"POST", "PUT", "PATCH", "GET", "DELETE"} {
		count := func(run load.Run) float64 { return load.Of(run.Requests, method).Count }
		mean := func(run load.Run) float64 { return 1000 * load.Of(run.Requests, method).Mean() }
		rows = append(rows, row[load.Run]{method, "requests", count}, row[load.Run]{"mean", "ms", mean})
	}
	return table(load.WavesSchedulers, rows, r.Values)
}

// mostServed is the number of kinds of requests in the table of Served.
const mostServed = 8

// Served has the most frequent requests that the API server serves.
func (r wavesReport) Served() string {
	counts := map[string]float64{}
	for _, run := range r.Runs {
		for _, request := range run.Served {
			counts[request.Name] += request.Count
		}
	}

	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})

	var rows []row[load.Run]
	for _, name := range names[:min(mostServed, len(names))] {
		rate := func(run load.Run) float64 { return load.Of(run.Served, name).Count / (run.Until - run.From) }
		mean := func(run load.Run) float64 { return 1000 * load.Of(run.Served, name).Mean() }
		rows = append(rows, row[load.Run]{"`" + name + "`", "per second", rate}, row[load.Run]{"mean", "ms", mean})
	}
	return table(load.WavesSchedulers, rows, r.Values)
}

// users are the users of the processors, in the order of the table, and their names there.
var users = []struct{ name, title string }{
	{load.Scheduler, "the scheduler"},
	{"kube-apiserver", "API server"},
	{"etcd", "etcd"},
	{"Volcano's controllers", "Volcano's controllers"},
	{"kubelet", "simulated kubelet"},
	{"garbage collector", "garbage collector of Kubernetes"},
	{load.Collector, "freeing memory, of the control plane"},
	{load.Harness, "what measures, and the rest of that process"},
	{load.Others, "other processes"},
	{load.Idle, "idle"},
}

// Processors has the share of the machine's processors that each user has.
func (r wavesReport) Processors() string {
	var rows []row[load.Run]
	for _, user := range users {
		rows = append(rows, row[load.Run]{user.title, "%", func(run load.Run) float64 {
			return 100 * run.Processors[user.name] / total(run.Processors)
		}})
	}
	return table(load.WavesSchedulers, rows, r.Values)
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
		{"cpu of the other parts of the control plane", "ms per pod",
			perPod(func(run load.Run) float64 { return used(run) - run.CPU - server(run) })},
		{"action allocate", "ms per pod", allocate},
		{"pods for which the processors suffice", "per second",
			func(run load.Run) float64 { return float64(1000*r.CPUs) / perPod(used)(run) }},
		{"pods for which the action allocate suffices", "per second",
			func(run load.Run) float64 { return 1000 / allocate(run) }},
	}, r.Values)
}

// Stages has the parts of the time from submission to running.
func (r wavesReport) Stages() string {
	titles := map[string]string{
		load.Created: "submission of the job to creation of the pod",
		load.Bound:   "to its binding",
		load.Started: "to its running",
	}

	var rows []row[load.Run]
	for _, stage := range load.Stages {
		rows = append(rows, row[load.Run]{titles[stage], "s", func(run load.Run) float64 { return run.Stages[stage] }})
	}
	return table(load.WavesSchedulers, rows, r.Values)
}

// Cycles has the parts of the scheduling cycles.
func (r wavesReport) Cycles() string {
	opens := func(run load.Run) float64 { return sum(slices.Values(run.Opens)) }
	cycles := func(run load.Run) float64 { return sum(slices.Values(run.Cycles)) }
	rest := func(run load.Run) float64 {
		rest := cycles(run) - opens(run)
		for _, action := range run.Actions {
			rest -= action.Time
		}
		return max(0, rest)
	}
	between := func(run load.Run) float64 { return max(0, run.Until-run.From-cycles(run)) }

	rows := []row[load.Run]{{"session open of the quota plugin", "s", opens}}
	for _, name := range []string{"enqueue", "allocate", "reclaim", "backfill"} {
		took := func(run load.Run) float64 { return load.Of(run.Actions, name).Time }
		rows = append(rows, row[load.Run]{name, "s", took})
	}
	rows = append(rows,
		row[load.Run]{"snapshot, other plugins, session close", "s", rest},
		row[load.Run]{"between cycles, and in those that ended later", "s", between})

	return table(load.WavesSchedulers, rows, r.Values)
}

func sum(values iter.Seq[float64]) (sum float64) {
	for value := range values {
		sum += value
	}
	return sum
}

// Share is a share of the time in which jobs arrive, in words.
func (r wavesReport) Share(part float64) string { return words(r.Duration * part) }

// Disturbance states how much cpu other processes used while each scheduler was measured.
func (r wavesReport) Disturbance() string {
	var shares []string
	for _, name := range load.WavesSchedulers {
		share := r.Values(name, func(run load.Run) float64 {
			return 100 * run.Processors[load.Others] / total(run.Processors)
		})
		shares = append(shares, fmt.Sprintf("%.0f %% (%s)", load.Percentile(share, 0.5), name))
	}
	return strings.Join(shares[:len(shares)-1], ", ") + " and " + shares[len(shares)-1]
}

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
