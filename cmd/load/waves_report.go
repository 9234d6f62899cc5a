package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"gonum.org/v1/plot/plotter"

	"github.com/capacity-card/capacity-card/bench/chart"
	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
)

// wavesReport writes the part of the page on jobs that arrive in waves.
type wavesReport struct{ *load.Waves }

// table has the figures of the steady part.
func (r wavesReport) table() string {
	return table(load.WavesSchedulers, []row[load.Run]{
		{"pods bound", "per second", load.Run.Throughput},
		{"in the busiest 10 s", "per second", func(r load.Run) float64 { return r.Busiest(10) }},
		{"submit to running, half of the pods", "s", func(r load.Run) float64 { return r.Latency(0.5) }},
		{"90 %", "s", func(r load.Run) float64 { return r.Latency(0.9) }},
		{"99 %", "s", func(r load.Run) float64 { return r.Latency(0.99) }},
		{"pods without a node, median", "", func(r load.Run) float64 { return load.Percentile(r.Waiting(), 0.5) }},
		{"at most", "", func(r load.Run) float64 { return load.Percentile(r.Waiting(), 1) }},
		{"whole cards in use, median", "%", func(run load.Run) float64 { return 100 * load.Percentile(run.CardsInUse(), 0.5) / float64(r.Cards) }},
		{"all pods have run, after the last wave", "s", r.drained},
		{"pods that had not run then", "", func(r load.Run) float64 { return float64(r.Left) }},
		{"scheduling cycles", "", func(r load.Run) float64 { return float64(len(r.Cycles)) }},
		{"half of the cycles", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 0.5) }},
		{"90 %", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 0.9) }},
		{"longest", "s", func(r load.Run) float64 { return load.Percentile(r.Cycles, 1) }},
		{"half of the session opens of the quota plugin", "ms", func(r load.Run) float64 { return 1000 * load.Percentile(r.Opens, 0.5) }},
		{"90 %", "ms", func(r load.Run) float64 { return 1000 * load.Percentile(r.Opens, 0.9) }},
		{"longest", "ms", func(r load.Run) float64 { return 1000 * load.Percentile(r.Opens, 1) }},
		{"cpu of the scheduler", "s", func(r load.Run) float64 { return r.CPU }},
		{"memory of the scheduler, median", "MiB", func(r load.Run) float64 { return load.Percentile(r.Memory(), 0.5) / (1 << 20) }},
		{"peak of the whole run", "MiB", func(r load.Run) float64 { return r.PeakMemory() / (1 << 20) }},
	}, r.Values)
}

// drained is when the last pod ran, infinite if not all did.
func (r wavesReport) drained(run load.Run) float64 {
	if run.Left > 0 {
		return math.Inf(1)
	}
	return max(0, run.Ended-r.Duration)
}

// requests has the scheduler's requests, a row for each method of HTTP.
func (r wavesReport) requests() string {
	var rows []row[load.Run]
	for _, method := range []string{"POST", "PUT", "PATCH", "GET", "DELETE"} {
		rows = append(rows, row[load.Run]{method, "requests", func(run load.Run) float64 { return load.Of(run.Requests, method).Count }})
		rows = append(rows, row[load.Run]{"mean", "ms", func(run load.Run) float64 { return 1000 * load.Of(run.Requests, method).Mean() }})
	}
	return table(load.WavesSchedulers, rows, r.Values)
}

// mostServed is the number of rows of what the API server does.
const mostServed = 8

// served has what the API server does most often.
func (r wavesReport) served() string {
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
		title := "`" + name + "`"
		rows = append(rows, row[load.Run]{title, "per second",
			func(run load.Run) float64 { return load.Of(run.Served, name).Count / (run.Until - run.From) }})
		rows = append(rows, row[load.Run]{"mean", "ms", func(run load.Run) float64 { return 1000 * load.Of(run.Served, name).Mean() }})
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

// processors has the share of the machine's processors that each user has.
func (r wavesReport) processors() string {
	var rows []row[load.Run]
	for _, user := range users {
		rows = append(rows, row[load.Run]{user.title, "%", func(run load.Run) float64 {
			return 100 * run.Processors[user.name] / total(run.Processors)
		}})
	}
	return table(load.WavesSchedulers, rows, r.Values)
}

func total(of map[string]float64) (sum float64) {
	for _, value := range of {
		sum += value
	}
	return sum
}

// costs has what a bound pod costs, and how many pods per second that allows at most.
func (r wavesReport) costs() string {
	perPod := func(seconds func(load.Run) float64) func(load.Run) float64 {
		return func(run load.Run) float64 { return 1000 * seconds(run) / max(1, float64(run.Bound)) }
	}
	server := func(run load.Run) float64 { return run.Processors["kube-apiserver"] + run.Processors["etcd"] }
	used := func(run load.Run) float64 {
		return total(run.Processors) - run.Processors[load.Idle] - run.Processors[load.Others]
	}
	allocate := perPod(func(run load.Run) float64 { return run.Action("allocate") })
	return table(load.WavesSchedulers, []row[load.Run]{
		{"cpu of the scheduler", "ms per pod", perPod(func(run load.Run) float64 { return run.CPU })},
		{"cpu of the API server and etcd", "ms per pod", perPod(server)},
		{"cpu of the other parts of the control plane", "ms per pod", perPod(
			func(run load.Run) float64 { return used(run) - run.CPU - server(run) })},
		{"action allocate", "ms per pod", allocate},
		{"pods for which the processors suffice", "per second", func(run load.Run) float64 { return float64(1000*r.CPUs) / perPod(used)(run) }},
		{"pods for which the action allocate suffices", "per second", func(run load.Run) float64 { return 1000 / allocate(run) }},
	}, r.Values)
}

// stages has the parts of the time from submission to running.
func (r wavesReport) stages() string {
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

// cycles has the parts of the scheduling cycles.
func (r wavesReport) cycles() string {
	rows := []row[load.Run]{{"session open of the quota plugin", "s", func(run load.Run) float64 { return sum(run.Opens) }}}
	for _, name := range []string{"enqueue", "allocate", "reclaim", "backfill"} {
		rows = append(rows, row[load.Run]{name, "s", func(run load.Run) float64 { return run.Action(name) }})
	}
	rows = append(rows, row[load.Run]{"snapshot, other plugins, session close", "s", func(run load.Run) float64 {
		rest := sum(run.Cycles) - sum(run.Opens)
		for _, action := range run.Actions {
			rest -= action.Time
		}
		return max(0, rest)
	}}, row[load.Run]{"between cycles, and in those that ended later", "s", func(run load.Run) float64 { return max(0, run.Until-run.From-sum(run.Cycles)) }})
	return table(load.WavesSchedulers, rows, r.Values)
}

func sum(of []float64) (sum float64) {
	for _, value := range of {
		sum += value
	}
	return sum
}

// wavesChart is a chart of something over time.
type wavesChart struct {
	file, title string
	of          func(load.Sample) float64
}

var wavesCharts = []wavesChart{
	{"docs/load-waiting.svg", "Pods without a node", func(s load.Sample) float64 { return float64(s.Submitted - s.Bound) }},
	{"docs/load-cards.svg", "Whole cards in use", func(s load.Sample) float64 { return float64(s.Cards) }},
}

// chart draws a line for each run.
func (r wavesReport) chart(c wavesChart) (string, error) {
	drawn := chart.Chart{
		Title: c.title,
		X: chart.Axis{
			Label:  "time since the first wave",
			Format: func(minutes float64) string { return fmt.Sprintf("%g min", minutes) },
		},
		Y: chart.Axis{Format: func(n float64) string { return fmt.Sprintf("%g", n) }},
	}
	for _, name := range load.WavesSchedulers {
		for _, run := range r.Runs {
			if run.Scheduler != name {
				continue
			}
			points := plotter.XYs{{}}
			for _, s := range run.Samples {
				points = append(points, plotter.XY{X: s.At / 60, Y: c.of(s)})
			}
			drawn.Lines = append(drawn.Lines, chart.Line{Name: name, Points: points})
		}
	}
	return drawn.SVG()
}

// section is the part of the page.
func (r wavesReport) section() string {
	text := r.scenario() + "\n" + r.table() + fmt.Sprintf(`
Pods that have not run %s after the last wave are not waited for.

`, words(r.Grace))
	for _, c := range wavesCharts {
		text += fmt.Sprintf("![%s over time](%s)\n\n", c.title, path.Base(c.file))
	}
	return text + `### What limits the number of pods

A bound pod costs time of the processors, and of the action allocate, which decides on one
pod after the other. Each alone limits the pods per second. The other time is that of
waiting: for the next cycle, and for a quota.

` + r.costs() + `
Parts of the mean time from submission to running:

` + r.stages() + `
Use of the processors:

` + r.processors() + `
Time of the scheduler:

` + r.cycles() + `
Requests of the scheduler to the API server. POST is above all bindings and events:

` + r.requests() + `
The most frequent requests of all clients, and how long the API server takes for them:

` + r.served()
}

// scenario says what is measured, and where.
func (r wavesReport) scenario() string {
	rounds := "that of one round"
	if r.Rounds > 1 {
		rounds = fmt.Sprintf("the median of %d rounds, with minimum and maximum in brackets", r.Rounds)
	}
	return fmt.Sprintf(`
## Cards, and jobs that end

In this test %[1]d pods arrive over %[2]s, in Volcano jobs of %[3]d pods of which half are
the minimum, and run for %[4]s to %[5]s. There are ten waves: jobs arrive in the first half
of each. The cluster has %[6]d nodes of eight models with %[7]d whole cards, some of them cut
into MIG and MPS slices, and %[8]d queues in two levels. Each job requests one of these: a
card by name, either of two cards, slices, or any card. A pod has 1, 2, 4 or 8 whole cards
or one slice. A queue has a quota of %[9]d whole cards or %[10]d slices, so some jobs wait for
others of their queue.

- upstream is Volcano's plugin capacity, and capacity is this project's plugin of the same
  name. The quotas are those of %[11]snvidia.com/gpu%[11]s and of the resources of the slices. Node
  affinity keeps pods to the nodes of their models.
- capacity-card has the same jobs. They name their cards, and the quotas are per card.

This command measures it and writes the page:

    %[12]s

All but the peak of memory and the end are measured in the steady part, from %[13]s to
%[14]s after the first wave. Each value is %[15]s. The machine has
%[16]d × %[17]s, %[18]s. The load average was %.1[19]f at the start. In the steady
parts, other processes used %[20]s
of the processors. Where that is much, compare what a pod costs, and not times. The
release of Volcano is %[21]s. Raw results: [bench/results/load-waves.txt](../bench/results/load-waves.txt).
`, r.Pods, words(r.Duration), podsPerJob, words(r.Duration/20), words(r.Duration/5), r.Nodes, r.Cards, r.Queues,
		workload.WaveCards, workload.WaveSlices, "`", r.Command, words(r.Duration*steadyFrom), words(r.Duration*steadyUntil),
		rounds, r.CPUs, r.CPU, r.Go, r.Load, r.disturbance(), r.Volcano)
}

// disturbance states the share of the cpu that other processes used while each scheduler was measured.
func (r wavesReport) disturbance() string {
	var shares []string
	for _, name := range load.WavesSchedulers {
		share := r.Values(name, func(run load.Run) float64 { return 100 * run.Processors[load.Others] / total(run.Processors) })
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
