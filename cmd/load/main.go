// Command load puts Volcano jobs on a real control plane and measures how fast schedulers get them to run, one after
// the other: ours and the one that it replaces. The jobs are there all at once, or arrive in waves and end again. The
// schedulers are processes of their own, with the flags and the configuration of a deployment; everything else (API
// server, controllers, kubelet, and what measures) is in this process and shares the machine with them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/tuning"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/cmd/internal/version"
)

// The files of the results, relative to the root of the module.
const (
	results        = "bench/results/load.txt"
	others         = "bench/results/load-%s.txt"          // with another release of Volcano
	sized          = "bench/results/load-%s-%d-nodes.txt" // of a release, with another number of nodes than mainNodes
	wavesResults   = "bench/results/load-waves.txt"
	tunedResults   = "bench/results/load-tuned.txt"
	blockedResults = "bench/results/load-blocked-%s-%s.txt" // of a number of waiting jobs, with a release of Volcano
	peerResults    = "bench/results/load-%s-%s.txt"         // of the workload of a peer, with a release of Volcano
	page           = "docs/load.md"
	chartFile      = "docs/load.svg"
	workloadsPage  = "docs/dev/WORKLOADS.md"
)

// mainNodes is the number of nodes of the bursts that the page is about.
const mainNodes = 1000

// podsPerJob is the number of pods of a job; half of them are its minimum.
const podsPerJob = 10

// The scenarios.
const (
	burst = "burst" // all jobs are there at once, and never end
	waves = "waves" // jobs arrive over time, and end
	tuned = "tuned" // as burst, with cards: Volcano's defaults, and the settings of docs/tuning.md
	// blocked is burst, while other jobs wait for quotas that are used up.
	blocked = "blocked"
	kueue   = "kueue"   // the workload of Kueue's performance runner
	kai     = "kai"     // the workload of KAI's scale tests
	backlog = "backlog" // the workload of Volcano's cache of unschedulable jobs
	churn   = "churn"   // a profile of our scheduler in waves, while other pods run
	// kubeScheduler is a workload of Kubernetes' scheduler_perf, and the scheduler that it measures.
	kubeScheduler = "kube-scheduler"
)

// choices are the flags.
type choices struct {
	scenario            string
	nodes, pods, queues int
	waiting, running    int
	part                int
	rounds              int
	ours, upstream      string
	limit               time.Duration
	duration            time.Duration
}

func main() {
	var o choices
	flag.StringVar(&o.scenario, "scenario", burst, "burst: all jobs at once; waves: jobs arrive over time, and end; "+
		"tuned: settings of Volcano; blocked: burst, while other jobs wait; kueue: the workload of Kueue's runner; "+
		"kai: the workload of KAI's scale tests; backlog: the workload of Volcano's cache; "+
		"kube-scheduler: a workload of Kubernetes' scheduler_perf; "+
		"churn: a profile of ours in waves, while other pods run")
	flag.IntVar(&o.nodes, "nodes", mainNodes, "nodes of 8 GPUs")
	flag.IntVar(&o.pods, "pods", 2000, "pods, in jobs of 10")
	flag.IntVar(&o.queues, "queues", 500, "queues, in two levels below the root")
	flag.IntVar(&o.waiting, "waiting", 5000, "blocked: jobs that wait")
	flag.IntVar(&o.running, "running", 20000, "churn: pods that run from the start")
	flag.IntVar(&o.part, "part", 1, "kueue, kai and backlog: measure one of so many jobs, and keep no result of a part")
	flag.IntVar(&o.rounds, "rounds", 3,
		"how often each scheduler is measured; 0 writes the page of the results that are there")
	flag.StringVar(&o.ours, "ours", "bin/load/ours", "our scheduler")
	flag.StringVar(&o.upstream, "upstream", "bin/load/upstream", "Volcano's own scheduler")
	flag.DurationVar(&o.limit, "limit", 5*time.Minute, "burst, tuned and blocked: how long a scheduler may take; "+
		"with blocked, pods that do not run by then are left")
	flag.DurationVar(&o.duration, "duration", 10*time.Minute, "waves and churn: how long jobs arrive")
	flag.Parse()

	version.Of().SetUserAgent()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	exit(o.run(ctx))
}

func (o choices) run(ctx context.Context) error {
	switch {
	case o.rounds == 0:
		return rewrite()
	case o.scenario == burst:
		return o.burst(ctx)
	case o.scenario == waves:
		return o.waves(ctx)
	case o.scenario == tuned:
		return o.tuned(ctx)
	case o.scenario == blocked:
		return o.blocked(ctx)
	case o.scenario == kueue:
		return o.peer(ctx, o.kueueRunner())
	case o.scenario == kai:
		return o.peer(ctx, o.kaiScale())
	case o.scenario == backlog:
		return o.peer(ctx, o.volcanoBacklog())
	case o.scenario == kubeScheduler:
		return o.peer(ctx, o.basic())
	case o.scenario == churn:
		return o.churn(ctx)
	}
	return fmt.Errorf("there is no scenario %q", o.scenario)
}

func (o choices) burst(ctx context.Context) error {
	c := o.cluster()
	report := report{&load.Report{Setting: o.setting("make load", len(c.Jobs)*podsPerJob)}}

	if err := o.measure(ctx, report, c, nil, o.burstSchedulers()); err != nil {
		return err
	}

	path := results
	switch {
	case o.nodes != mainNodes:
		path = fmt.Sprintf(sized, report.Volcano, o.nodes)
	case report.Volcano != load.MainRelease:
		path = fmt.Sprintf(others, report.Volcano)
	}
	return write(path, report.Report, report.Table())
}

// burstSchedulers are Volcano's scheduler and ours, with the plugin capacity.
func (o choices) burstSchedulers() []scheduler {
	configuration := configuration(capacity)
	return []scheduler{
		{"upstream", o.upstream, configuration, nil, nil},
		{"ours", o.ours, configuration, nil, nil},
	}
}

// tuned measures our scheduler with settings of Volcano.
func (o choices) tuned(ctx context.Context) error {
	pools := workload.Pools{Nodes: o.nodes, Queues: o.queues, Jobs: max(1, o.pods/workload.PodsOfPools)}
	report := report{&load.Report{Setting: o.setting("make load SCENARIO=tuned", pools.Jobs*workload.PodsOfPools)}}

	var schedulers []scheduler
	for _, s := range tuning.Whole {
		schedulers = append(schedulers, scheduler{s.Name, o.ours, s.Configuration(), s.Flags(), s.Environment()})
	}

	if err := o.measure(ctx, report, pools.Make(1), nil, schedulers); err != nil {
		return err
	}
	return write(tunedResults, report.Report, table(tuning.Names(), rows, report.Values))
}

// cluster returns the cluster of a burst.
func (o choices) cluster() workload.Cluster {
	return workload.Shape{
		Nodes: o.nodes, Fanout: workload.TwoLevels(o.queues),
		Jobs: max(1, o.pods/podsPerJob), TasksPerJob: podsPerJob, Phases: []workload.Phase{workload.Pending},
	}.Make(1)
}

// measure adds a run of each scheduler for each round, while the jobs in others wait. Without others, it fails if pods
// do not run in time.
func (o choices) measure(
	ctx context.Context, r report, c workload.Cluster, others []workload.Job, schedulers []scheduler,
) error {
	return inTurn(o.rounds, schedulers, func(round int, s scheduler) error {
		bounded, cancel := context.WithTimeout(ctx, furnishing+o.limit)
		defer cancel()

		result, err := run(bounded, c, others, s, o.limit)
		result.Round = round
		r.Runs = append(r.Runs, result)

		if err == nil && result.Left > 0 && len(others) == 0 {
			err = fmt.Errorf("%d pods do not run after %s", result.Left, o.limit)
		}
		return err
	})
}

func (o choices) waves(ctx context.Context) error {
	w := workload.Waves{Nodes: o.nodes, Queues: o.queues, Pods: o.pods, PodsPerJob: podsPerJob, Duration: o.duration}
	report := wavesReport{&load.Waves{Setting: o.setting("make load SCENARIO=waves", o.pods/podsPerJob*podsPerJob)}}
	report.Duration = o.duration.Seconds()
	report.Grace = grace(o.duration).Seconds()

	cluster, _ := w.Make(1)
	for _, n := range cluster.Nodes {
		report.Cards += int(n.Allocatable[gpu])
	}

	schedulers := []scheduler{
		{"upstream", o.upstream, configuration(capacity), nil, nil},
		{"capacity", o.ours, configuration(capacity), nil, nil},
		{capacityCard, o.ours, configuration(capacityCard), nil, nil},
	}

	err := inTurn(o.rounds, schedulers, func(round int, s scheduler) error {
		result, err := runWaves(ctx, w, s)
		result.Round = round
		report.Runs = append(report.Runs, *result)
		return err
	})
	if err != nil {
		return err
	}
	return write(wavesResults, report.Waves, report.Table())
}

// setting describes the measurement of a command of make, and the machine.
func (o choices) setting(command string, pods int) load.Setting {
	if _, ofPeer := peerRows[o.scenario]; !ofPeer {
		command += fmt.Sprintf(" NODES=%d PODS=%d QUEUES=%d", o.nodes, o.pods, o.queues)
	}
	if o.scenario == waves || o.scenario == churn {
		command += " DURATION=" + strings.Replace(o.duration.String(), "m0s", "m", 1)
	}
	if o.scenario != churn {
		command += fmt.Sprintf(" ROUNDS=%d", o.rounds)
	}

	volcano := version.Of().Volcano
	switch {
	case !strings.HasPrefix(volcano, "v"): // it is built with a directory
		volcano = "checkout"
		command += " VOLCANO_SRC=../volcano"
	case volcano != load.MainRelease:
		command += " VOLCANO=" + strings.TrimPrefix(volcano, "v")
	}

	average, _ := load.Average() // 0 if the kernel does not report it
	setting := load.Setting{
		Command: command, Volcano: volcano, Nodes: o.nodes, Pods: pods, Queues: o.queues, Rounds: o.rounds,
		Go: runtime.Version(), CPUs: runtime.NumCPU(), CPU: processor(), Load: average,
	}
	if o.scenario != waves {
		setting.Limit = o.limit.Seconds()
	}
	return setting
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// inTurn measures the schedulers in turn, and begins each round with another one.
func inTurn(rounds int, schedulers []scheduler, measure func(round int, s scheduler) error) error {
	for round := range rounds {
		for i := range schedulers {
			s := schedulers[(i+round)%len(schedulers)]
			fmt.Printf("round %d of %d, %s\n", round+1, rounds, s.name)

			if err := measure(round+1, s); err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, s.name, err)
			}
		}
	}
	return nil
}

// processor returns the CPU model, or the architecture if the kernel does not name the model.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return runtime.GOARCH
}

// write writes the raw results, makes the page and the charts again, and prints a table.
func write(path string, measured any, table string) error {
	raw, err := json.Marshal(measured)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
		return err
	}

	fmt.Print("\n" + table)
	return rewrite()
}
