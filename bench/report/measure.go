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
	busy      bool // the machine may be busy
}

// largeRounds is the number of rounds that have large clusters with upstream, as each takes minutes.
const largeRounds = 3

// process is one run of the benchmarks.
type process struct {
	bench, benchtime string
	flags            []string
	rounds           int // in the first rounds alone; 0: in each
}

// in returns processes for the first rounds alone.
func in(rounds int, processes ...process) (limited []process) {
	for _, p := range processes {
		p.rounds = rounds
		limited = append(limited, p)
	}
	return limited
}

// Processes of their own keep the large cluster out of the memory of the others.
const (
	operations = "^Benchmark(SessionOpen|SessionOpenCold|SessionOpenChanged|SessionClose|PrePredicate|Simulate|" +
		"SimulateParallel|Kept|Allocatable|JobEnqueueable|Preemptive|QueueOrder|Reclaimable|Event)$"
	// With cards: a process of its own, as it has a large cluster of its own.
	withCards = "^Benchmark(SessionOpen|PrePredicate|Simulate|Allocatable|JobEnqueueable|Preemptive|" +
		"Predicate|NodeOrder|Reclaimable|Preemptable|Event)Cards$"
	actions = "^Benchmark(Reclaim|Preempt|PreemptTopology|ReclaimCards|PreemptCards)$"
	growths = "^BenchmarkGrowth$"
)

var (
	everything = []string{"-full"}
	// several measures each benchmark five times in a round, and the median counts. What takes microseconds differs
	// more from one moment to the next than from round to round.
	several = []string{"-test.count", "5"}

	plans = map[string]plan{
		"quick":  {target: "bench", rounds: pairs, processes: quick},
		"full":   {target: "bench MODE=full", rounds: pairs, processes: full},
		"scale":  {target: "bench MODE=scale", rounds: 3, processes: scaling()},
		"tuning": {target: "bench MODE=tuning", rounds: 3, processes: processesOf("2x", nil, "^BenchmarkTuning$")},
		"check":  {target: "bench MODE=check", rounds: pairs, processes: slices.Concat(ofUsers, ofContributors)},
		"other":  {target: "bench", rounds: pairs, processes: slices.Concat(ofUsers, ofContributors)},
	}

	quick = slices.Concat(ofUsers, withOthers, processesOf("0.05s", several,
		operations+"/^shape=L$", "^BenchmarkAllocatableCards$/^shape=L$/^request=one$"))

	full = slices.Concat(ofUsers, withOthers, ofContributors, large)

	withOthers = append(withUpstream(nil, 10, 100, 1000), processesOf("0.1s", nil, actions)...)

	// ofUsers measure what has a goal that a user feels.
	ofUsers = slices.Concat(
		cycles(),
		openings(),
		processesOf("1x", everything, "^BenchmarkReclaimGang$/^queues=1000$/^impl=(upstream|ours)$"),
		processesOf("0.2s", everything, "^BenchmarkScrape$", growths+"/./././^impl=ours$"),
	)

	// ofContributors measure the operations.
	ofContributors = processesOf("0.1s", nil, operations, withCards)

	// large are clusters of shape XL, 5,000 queues, the ends of the growth curves, and operations with the log on.
	large = in(largeRounds, slices.Concat(
		processesOf("0.5s", everything, "^BenchmarkSessionOpen$/^shape=XL$"),
		processesOf("0.2s", everything, withCards+"/^shape=XL$", withCards+"/^candidates=/^shape=XL$"),
		processesOf("0.1s", everything, growths, actions+"/^queues=5000$"),
		processesOf("0.5s", []string{"-log", "3"}, operations),
		withUpstream(everything, 300, 5000),
	)...)
)

// processesOf returns a process for each pattern of benchmarks.
func processesOf(benchtime string, flags []string, benches ...string) (all []process) {
	for _, bench := range benches {
		all = append(all, process{bench: bench, benchtime: benchtime, flags: flags})
	}
	return all
}

// each returns a process for each implementation, in their order.
func each(bench, benchtime string, flags []string, impls ...string) (all []process) {
	for _, impl := range impls {
		all = append(all, processesOf(benchtime, flags, bench+"/^impl="+impl+"$")...)
	}
	return all
}

// cycles returns whole cycles of ours and none, which have a goal. The memory of one would affect the next, so each
// has a process. Ours differs from none by less than a machine differs from one minute to the next, so they follow each
// other.
func cycles() (all []process) {
	for _, bench := range []string{
		"^BenchmarkCycle$/^session=later$/^queues=10$",
		"^BenchmarkCycle$/^session=later$/^queues=100$",
		"^BenchmarkCycle$/^session=later$/^queues=1000$",
		"^BenchmarkCycle$/^session=later$/^queues=5000$",
		"^BenchmarkCycleCards$/^queues=10$/^request=one$",
		"^BenchmarkCycleCards$/^queues=100$/^request=one$",
		"^BenchmarkCycleCards$/^queues=1000$/.",
		"^BenchmarkCycleCards$/^queues=5000$/^request=one$",
	} {
		all = append(all, each(bench, "1x", everything, "none", "ours")...)
	}
	return all
}

// withUpstream returns the first cycle of a process with each implementation.
func withUpstream(flags []string, queues ...int) (all []process) {
	for _, n := range queues {
		bench := fmt.Sprintf("^BenchmarkCycle$/^session=first$/^queues=%d$", n)
		all = append(all, each(bench, "1x", flags, "upstream", "none", "ours")...)
	}
	return all
}

// openings returns a process for each shape.
func openings() []process {
	return slices.Concat(
		processesOf("100x", nil, "^BenchmarkOpening$/^shape=S$"),
		processesOf("10x", nil, "^BenchmarkOpening$/^shape=L$", "^BenchmarkOpening$/^shape=jobs$"),
		processesOf("2x", everything, "^BenchmarkOpening$/^shape=XL$"),
	)
}

// scaling returns a process for each cluster, as the largest takes most of the memory.
func scaling() (all []process) {
	for _, shape := range []string{"L", "XL", "2XL"} {
		for _, plugin := range []string{"capacity", "capacity-card"} {
			bench := fmt.Sprintf("^BenchmarkScale$/^shape=%s$/^plugin=%s$", shape, plugin)
			all = append(all, processesOf("0.5s", everything, bench)...)
		}
	}
	return append(all, processesOf("1x", everything, "^BenchmarkCycleScale$", "^BenchmarkReclaim$/^queues=5000$")...)
}

func (p process) command() *exec.Cmd { return binary.Command(p.bench, p.benchtime, p.flags...) }

// measure runs the plan with a release of Volcano and leaves the raw output in a file. On a busy or noisy machine, the
// file stays as it is.
func (p plan) measure(path, volcano string) error {
	watch := &quiet{} // finds no round noisy
	if !p.busy {
		var err error
		watch, err = beginQuiet()
		if err != nil {
			return err
		}
	}

	if err := binary.Build(); err != nil {
		return err
	}
	commit, err := head()
	if err != nil {
		return err
	}

	raw, err := watch.rounds(p.rounds, p.round)
	if err != nil {
		return err
	}
	header := fmt.Sprintf("target: %s\nvolcano: %s\ncommit: %s\ngo: %s\nrounds: %d\nspread: %s\n",
		p.target, volcano, commit, runtime.Version(), p.rounds, watch.spread())
	return writeRaw(path, header, raw)
}

// writeRaw writes raw output after its header.
func writeRaw(path, header string, raw []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(header), raw...), 0o644)
}

// round runs the processes of a round.
func (p plan) round(raw io.Writer, round int) error {
	ended := func(process process) bool { return process.rounds > 0 && round >= process.rounds }
	processes := slices.DeleteFunc(slices.Clone(p.processes), ended)

	for i, process := range processes {
		fmt.Fprintf(os.Stderr, "round %d of %d, process %d of %d: %s\n",
			round+1, p.rounds, i+1, len(processes), binary.Line(process.command()))
		if err := process.run(raw); err != nil {
			return err
		}
	}
	return nil
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
