// Command load puts Volcano jobs on a real control plane, all at once, and measures how fast two schedulers get them to
// run, one after the other: ours and the one that it replaces. The schedulers are processes of their own, with the flags
// and the configuration of a deployment; everything else (API server, controllers, kubelet, and what measures) is in this
// process and shares the machine with them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/cmd/internal/version"
)

// Where things go, seen from the root of the module.
const (
	results   = "bench/results/load.txt"
	others    = "bench/results/load-%s.txt" // with another release of Volcano
	page      = "docs/load.md"
	chartFile = "docs/load.svg"
)

// podsPerJob is the number of pods of a job; half of them are its minimum.
const podsPerJob = 10

func main() {
	nodes := flag.Int("nodes", 1000, "nodes of 8 GPUs")
	pods := flag.Int("pods", 2000, "pods, in jobs of 10")
	queues := flag.Int("queues", 500, "queues, in two levels below the root")
	rounds := flag.Int("rounds", 3, "how often each scheduler is measured; 0 writes the page of the results that are there")
	ours := flag.String("ours", "bin/load/ours", "our scheduler")
	upstream := flag.String("upstream", "bin/load/upstream", "Volcano's own scheduler")
	limit := flag.Duration("limit", 10*time.Minute, "how long a scheduler may take")
	showVersion := flag.Bool("version", false, "print the versions of this program, Volcano and Kubernetes")
	flag.Parse()
	if *showVersion {
		fmt.Print(version.Of().Text("load"))
		return
	}
	version.Of().SetUserAgent()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()

	shape := workload.Shape{
		Nodes: *nodes, Fanout: workload.TwoLevels(*queues),
		Jobs: max(1, *pods/podsPerJob), TasksPerJob: podsPerJob, Phases: []workload.Phase{workload.Pending},
	}
	if *rounds == 0 {
		exit(rewrite())
	}
	volcano := version.Of().Volcano
	report := report{&load.Report{
		Command: fmt.Sprintf("make load NODES=%d PODS=%d QUEUES=%d ROUNDS=%d", *nodes, *pods, *queues, *rounds),
		Volcano: volcano, Nodes: *nodes, Pods: shape.Jobs * podsPerJob, Queues: *queues, Rounds: *rounds,
		Go: runtime.Version(), CPUs: runtime.NumCPU(), CPU: processor(), Load: machineLoad(),
	}}
	if volcano != load.MainRelease {
		report.Command += " VOLCANO=" + strings.TrimPrefix(volcano, "v")
	}
	schedulers := []scheduler{{"upstream", *upstream}, {"ours", *ours}}
	err := report.measure(ctx, shape.Make(1), schedulers, *limit)
	if err == nil {
		err = report.write()
	}
	if err == nil {
		fmt.Print("\n" + report.table())
	}
	exit(err)
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// rewrite makes the page and the chart of the raw results anew.
func rewrite() error {
	main, rest, err := readAll("")
	if err != nil {
		return err
	}
	chart, err := main.chart()
	if err != nil {
		return err
	}
	for path, text := range map[string]string{page: main.page(rest), chartFile: chart} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readAll reads the results with the main release, and with the others, below the root of the module.
func readAll(root string) (main report, rest []report, err error) {
	paths, err := filepath.Glob(filepath.Join(root, fmt.Sprintf(others, "*")))
	if err != nil {
		return report{}, nil, err
	}
	for _, path := range append([]string{filepath.Join(root, results)}, paths...) {
		read, err := load.Read(path)
		if err != nil {
			return report{}, nil, err
		}
		rest = append(rest, report{read})
	}
	return rest[0], rest[1:], nil
}

// scheduler is a program to be measured.
type scheduler struct{ name, program string }

// measure runs the schedulers in turn, and every second time in the other order.
func (r report) measure(ctx context.Context, cluster workload.Cluster, schedulers []scheduler, limit time.Duration) error {
	for round := range r.Rounds {
		for i := range schedulers {
			each := schedulers[(i+round)%len(schedulers)]
			fmt.Printf("round %d of %d, %s\n", round+1, r.Rounds, each.name)
			bounded, cancel := context.WithTimeout(ctx, limit)
			result, err := run(bounded, cluster, each)
			cancel()
			if err != nil {
				return fmt.Errorf("round %d, %s: %w", round+1, each.name, err)
			}
			result.Round = round + 1
			r.Runs = append(r.Runs, result)
		}
	}
	return nil
}

// processor returns the CPU model as the kernel names it, "" where it does not.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(strings.TrimSpace(name), ": \t")
		}
	}
	return runtime.GOARCH
}

// machineLoad is the load average of the last minute, where the kernel says.
func machineLoad() (load float64) {
	text, _ := os.ReadFile("/proc/loadavg")
	_, _ = fmt.Sscan(string(text), &load)
	return load
}

// write writes the raw results, and makes the page and the chart anew.
func (r report) write() error {
	raw, err := json.Marshal(r.Report)
	if err != nil {
		return err
	}
	path := results
	if r.Volcano != load.MainRelease {
		path = fmt.Sprintf(others, r.Volcano)
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
		return err
	}
	return rewrite()
}
