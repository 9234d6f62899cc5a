// Command profile writes the profiles below profiles/ again, for ours and for upstream,
// with a page of the hottest functions for each.
//
// A benchmark makes its cluster before it measures. So each profile keeps only the
// samples below the measured call.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/capacity-card/capacity-card/bench/binary"
	"github.com/capacity-card/capacity-card/bench/samples"
)

const folder = "profiles"

// run is one benchmark that is profiled.
type run struct {
	name      string // of the files
	bench     string // without impl
	benchtime string
	full      bool   // needs the flag -full
	below     string // the measured calls, "" for all but the calls that make clusters
	ours      bool   // upstream has no cards, or would take more memory than machines have
}

const (
	opening = `\.OnSessionOpen$|\(\*tally\)\.`
	asking  = `framework\.\(\*Session\)\.[A-Z]|bench\.event\.func`
)

// making matches the calls that make a cluster, and the end of the previous cluster.
var making = regexp.MustCompile(`bench/(cluster|workload)\.|runtime\.GC$`)

var runs = []run{
	{name: "open-L", bench: "^BenchmarkSessionOpen$/^shape=L$", benchtime: "3s", below: opening},
	{name: "open-XL", bench: "^BenchmarkSessionOpen$/^shape=XL$", benchtime: "3s", full: true, below: opening},
	{name: "ask-L", bench: "^Benchmark(Allocatable|JobEnqueueable|Preemptive|QueueOrder|Event)$/^shape=L$",
		benchtime: "1s", below: asking},
	{name: "open-cards-L", bench: "^BenchmarkSessionOpenCards$/^shape=L$",
		benchtime: "3s", below: opening, ours: true},
	{name: "ask-cards-L",
		bench: "^Benchmark(Allocatable|JobEnqueueable|Preemptive|Predicate|NodeOrder|Event)Cards$/" +
			"^shape=L$/^request=one$",
		benchtime: "1s", below: asking, ours: true},
	{name: "reclaim-cards-L", bench: "^BenchmarkReclaimableCards$/^candidates=100$/^shape=L$/^request=one$",
		benchtime: "2s", below: asking, ours: true},
	{name: "cycle-1000-queues", bench: "^BenchmarkCycle$/^session=later$/^queues=1000$", benchtime: "3x"},
	{name: "cycle-5000-queues", bench: "^BenchmarkCycle$/^session=later$/^queues=5000$",
		benchtime: "2x", full: true, ours: true},
	{name: "preempt-1000-queues", bench: "^BenchmarkPreemptTopology$/^queues=1000$", benchtime: "2s"},
	{name: "preempt-5000-queues", bench: "^BenchmarkPreemptTopology$/^queues=5000$", benchtime: "1x", full: true},
}

func main() {
	if err := profiles(); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

func profiles() error {
	if err := binary.Build(); err != nil {
		return err
	}

	for _, r := range runs {
		for _, impl := range []string{"upstream", "ours"} {
			if r.ours && impl != "ours" {
				continue
			}
			if err := r.profile(impl); err != nil {
				return fmt.Errorf("%s of %s: %w", r.name, impl, err)
			}
		}
	}
	return nil
}

// profile runs the benchmark once for its CPU profile and once for its heap profile,
// as each disturbs the other.
func (r run) profile(impl string) error {
	for _, kind := range []string{"cpu", "heap"} {
		path := filepath.Join(folder, fmt.Sprintf("%s-%s-%s", r.name, impl, kind))
		var flags []string
		if r.full {
			flags = append(flags, "-full")
		}

		raw := "bin/profile.pb.gz"
		if kind == "cpu" {
			flags = append(flags, "-test.cpuprofile", raw)
		} else {
			flags = append(flags, "-test.memprofile", raw, "-test.memprofilerate", "16384")
		}

		benchmark := binary.Command(r.bench+"/^impl="+impl+"$", r.benchtime, flags...)
		command := binary.Line(benchmark)
		fmt.Fprintln(os.Stderr, command)
		if err := benchmark.Run(); err != nil {
			return err
		}

		if err := keep(raw, path+".pb.gz", r.below); err != nil {
			return err
		}
		if err := top(path, command); err != nil {
			return err
		}
	}
	return os.Remove("bin/profile.pb.gz")
}

// keep writes the samples of a profile that are below a call.
func keep(from, to, below string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	p, err := profile.ParseData(raw)
	if err != nil {
		return err
	}

	if any, _, _, _ := p.FilterSamplesByName(regexp.MustCompile(below), making, nil, nil); !any {
		return fmt.Errorf("no sample is below %s", below)
	}

	samples.Anonymize(p)
	var kept bytes.Buffer
	if err := p.Compact().Write(&kept); err != nil {
		return err
	}
	return os.WriteFile(to, kept.Bytes(), 0o644)
}

// top writes the page of a profile: the command that made it, and the functions with the largest
// part of it below them.
func top(path, command string) error {
	sample := "cpu"
	if strings.HasSuffix(path, "heap") {
		sample = "alloc_space"
	}

	table, err := exec.Command("go", "tool", "pprof",
		"-top", "-cum", "-nodecount=40", "-sample_index="+sample, path+".pb.gz").Output()
	if err != nil {
		return fmt.Errorf("go tool pprof: %w", err)
	}
	return os.WriteFile(path+".txt", fmt.Appendf(nil, "%s\n\n%s", command, table), 0o644)
}
