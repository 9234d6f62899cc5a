package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/capacity-card/capacity-card/bench/binary"
)

// plan has the processes that each round runs, with their measurements.
type plan struct {
	target    string // of make
	rounds    int
	processes []process
	large     []process // in the first rounds alone, as each takes minutes
}

// largeRounds is the number of rounds that have large clusters.
const largeRounds = 3

// process is one run of the benchmarks.
type process struct {
	bench, benchtime string
	flags            []string
}

// Processes of their own keep the large cluster out of the memory of the others.
// Operations run for half a second or longer. In the first moments of a process every page
// of memory is new, and allocations take twice as long as later.
const (
	operations = "^Benchmark(SessionOpen|SessionOpenCold|SessionOpenChanged|SessionClose|PrePredicate|Simulate|" +
		"SimulateParallel|Kept|Allocatable|JobEnqueueable|Preemptive|QueueOrder|Reclaimable|Event)$"
	// With cards: a process of its own, as it has a large cluster of its own.
	withCards = "^Benchmark(SessionOpen|PrePredicate|Simulate|Allocatable|JobEnqueueable|Preemptive|" +
		"Predicate|NodeOrder|Reclaimable|Preemptable|Event)Cards$"
	actions = "^Benchmark(Reclaim|Preempt|PreemptTopology|ReclaimCards|PreemptCards)$"
	growing = "^BenchmarkGrowth$"
)

var (
	everything = []string{"-full"}

	plans = map[string]plan{
		"quick":  {target: "bench", rounds: 6, processes: quick},
		"full":   {target: "bench MODE=full", rounds: 6, processes: quick, large: large},
		"scale":  {target: "bench MODE=scale", rounds: 3, processes: scaling()},
		"tuning": {target: "bench MODE=tuning", rounds: 3, processes: []process{{"^BenchmarkTuning$", "2x", nil}}},
		"check":  {target: "bench MODE=check", rounds: 4, processes: goalProcesses},
		"other":  {target: "bench", rounds: 6, processes: goalProcesses},
	}

	quick = slices.Concat([]process{
		{operations, "0.5s", nil},
		{withCards, "0.2s", nil},
		{growing, "0.1s", nil},
		{actions, "0.1s", nil},
	}, cycles(nil, 10, 100, 1000), cardCycles(nil, 1000))

	// large are clusters of shape XL, 5,000 queues, the ends of the growth curves, and operations with the log on.
	large = slices.Concat([]process{
		{"^BenchmarkSessionOpen$/^shape=XL$", "0.5s", everything},
		{withCards + "/^shape=XL$", "0.2s", everything},
		{withCards + "/^candidates=/^shape=XL$", "0.2s", everything},
		{growing + "/././^n=(128|2000|5000|16000|128000)$", "0.1s", everything},
		{operations, "0.5s", []string{"-log", "3"}},
		{actions + "/^queues=5000$", "0.1s", everything},
	}, cycles(everything, 300, 5000), cardCycles(everything, 5000))

	// goalProcesses measure the operations with goals.
	goalProcesses = slices.Concat([]process{
		{operations, "0.5s", nil},
		{withCards, "0.2s", nil},
		{growing + "/^of=Simulate$", "0.1s", nil},
	}, cycles(nil, 1000), cardCycles(nil, 1000))
)

// each returns a process for each implementation, in their order.
func each(bench, benchtime string, flags []string, impls ...string) (all []process) {
	for _, impl := range impls {
		all = append(all, process{bench + "/^impl=" + impl + "$", benchtime, flags})
	}
	return all
}

// cycles returns whole cycles. Each is the first cycle of its process. With 1,000 queues there are also later cycles,
// with a process for each implementation, since the memory of one would affect the next. Ours differs from none by
// less than a machine differs from one minute to the next, so these two take turns there.
func cycles(flags []string, queues ...int) (all []process) {
	const bench = "^BenchmarkCycle$/^session=%s$/^queues=%d$"
	for _, n := range queues {
		first := fmt.Sprintf(bench, "first", n)
		all = append(all, each(first, "1x", flags, "upstream", "none", "ours")...)

		if n == 1000 {
			later := fmt.Sprintf(bench, "later", n)
			all = append(all, each(first, "1x", flags, "ours", "none", "none", "ours")...)
			all = append(all, each(later, "2x", flags, "upstream", "none", "ours", "ours", "none")...)
		}
	}
	return all
}

// cardCycles returns later cycles of pods that request cards, with a process for each implementation.
func cardCycles(flags []string, queues ...int) (all []process) {
	for _, n := range queues {
		bench := fmt.Sprintf("^BenchmarkCycleCards$/^queues=%d$/.", n)
		all = append(all, each(bench, "2x", flags, "upstream", "none", "ours")...)
	}
	return all
}

// scaling returns a process for each cluster, as the largest takes most of the memory.
func scaling() (all []process) {
	for _, shape := range []string{"L", "XL", "2XL"} {
		for _, plugin := range []string{"capacity", "capacity-card"} {
			bench := fmt.Sprintf("^BenchmarkScale$/^shape=%s$/^plugin=%s$", shape, plugin)
			all = append(all, process{bench, "0.5s", everything})
		}
	}
	return append(all,
		process{"^BenchmarkCycleScale$", "1x", everything},
		process{"^BenchmarkReclaim$/^queues=5000$", "1x", everything})
}

func (p process) command() *exec.Cmd { return binary.Command(p.bench, p.benchtime, p.flags...) }

// measure runs the plan with a release of Volcano and leaves the raw output in a file.
func (p plan) measure(path, volcano string) error {
	if err := binary.Build(); err != nil {
		return err
	}
	commit, err := head()
	if err != nil {
		return err
	}

	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	raw, err := os.Create(path)
	if err != nil {
		return err
	}
	defer raw.Close()

	fmt.Fprintf(raw, "target: %s\nvolcano: %s\ncommit: %s\ngo: %s\nrounds: %d\n",
		p.target, volcano, commit, runtime.Version(), p.rounds)
	for round := range p.rounds {
		processes := p.processes
		if round < largeRounds {
			processes = slices.Concat(processes, p.large)
		}

		for i, process := range processes {
			fmt.Fprintf(os.Stderr, "round %d of %d, process %d of %d: %s\n",
				round+1, p.rounds, i+1, len(processes), binary.Line(process.command()))
			if err := process.run(raw); err != nil {
				return err
			}
		}
	}
	return raw.Close()
}

func (p process) run(raw io.Writer) error {
	command := p.command()
	fmt.Fprintf(raw, "command: %s\n", binary.Line(command))
	level := ""
	if i := slices.Index(p.flags, "-log"); i >= 0 {
		level = " " + p.flags[i+1]
	}
	// An empty value stays in the output, because nothing deletes the key.
	fmt.Fprintf(raw, "log:%s\n", level)

	command.Stdout = raw
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w", binary.Line(command), err)
	}
	return nil
}

// release returns the version of Volcano that the benchmarks are built with.
func release() (string, error) {
	version, err := exec.Command("go", "list", "-m", "-f", "{{.Version}}", "volcano.sh/volcano").Output()
	if err != nil {
		return "", fmt.Errorf("finding the release of Volcano: %w", err)
	}
	return strings.TrimSpace(string(version)), nil
}

// head returns the commit that is checked out; "-dirty" marks code that is not in it.
func head() (string, error) {
	commit, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("finding the commit: %w", err)
	}

	name := strings.TrimSpace(string(commit))
	if exec.Command("git", "diff", "--quiet", "HEAD", "--", "*.go", "go.mod", "go.sum").Run() != nil {
		name += "-dirty"
	}
	return name, nil
}
