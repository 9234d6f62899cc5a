package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// The benchmarks of kube-scheduler. They need the program etcd.
const (
	schedulerPerf     = "k8s.io/kubernetes/test/integration/scheduler_perf/misc"
	schedulerPerfTest = "bin/load/scheduler_perf"
	schedulerPerfEtcd = "bin/tools"
	schedulerPerfCase = "PerfScheduling/^SchedulingBasic$/^5000Nodes$"
)

// basicStep is the step of SchedulingBasic that is measured, as results name it.
const basicStep = "measured"

// throughput is the mean of pods a second in the output of scheduler_perf.
var throughput = regexp.MustCompile(`(\S+) SchedulingThroughput/Average`)

// basic measures SchedulingBasic of scheduler_perf. kube-scheduler runs it by Kubernetes' own benchmark.
func (o choices) basic() peer {
	w := workload.Basic{}
	return peer{
		name:    kubeScheduler,
		cluster: w.Cluster(),
		pods:    len(w.Measured()),
		limit:   stepLimit,
		plugin:  capacity,
		own:     kubeScheduler,
		measure: func(ctx context.Context, s scheduler) (load.Result, error) {
			if s.name == kubeScheduler {
				return runSchedulerPerf(ctx, len(w.Measured()))
			}
			return runBasic(ctx, w, s)
		},
	}
}

// runBasic measures one scheduler on a control plane of its own.
func runBasic(ctx context.Context, w workload.Basic, s scheduler) (load.Result, error) {
	r := load.Result{Scheduler: s.name}
	ctx, cancel := context.WithTimeout(ctx, furnishing+2*stepLimit)
	defer cancel()

	err := onBed(ctx, w.Cluster(), s, controlplane.Options{}, func(ctx context.Context, b bed) error {
		took, err := b.startAll(ctx, w.First(), &r)
		if err == nil && math.IsInf(took, 1) {
			err = fmt.Errorf("the first pods do not run after %s", stepLimit)
		}
		if err != nil {
			return err
		}

		took, err = b.startAll(ctx, w.Measured(), &r)
		r.Reach(basicStep, took)
		return err
	})
	return r, err
}

// runSchedulerPerf runs the benchmark of kube-scheduler in its directory, which has its configuration.
func runSchedulerPerf(ctx context.Context, pods int) (load.Result, error) {
	r := load.Result{Scheduler: kubeScheduler}
	dir, err := exec.CommandContext(ctx, "go", "list", "-f", "{{.Dir}}", schedulerPerf).Output()
	if err != nil {
		return r, fmt.Errorf("finding %s: %w", schedulerPerf, err)
	}
	program, err := filepath.Abs(schedulerPerfTest)
	if err != nil {
		return r, err
	}
	tools, err := filepath.Abs(schedulerPerfEtcd)
	if err != nil {
		return r, err
	}
	items, err := os.MkdirTemp("", "scheduler_perf-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(items)

	command := exec.CommandContext(ctx, program, "-test.run", "^$", "-test.bench", schedulerPerfCase,
		"-test.benchtime", "1x", "-data-items-dir", items)
	command.Dir = strings.TrimSpace(string(dir))
	command.Env = append(os.Environ(), "PATH="+tools+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := command.Output()
	if err != nil {
		return r, fmt.Errorf("%s: %w\n%s", schedulerPerfTest, err, out)
	}

	found := throughput.FindSubmatch(out)
	if found == nil {
		return r, fmt.Errorf("%s has no throughput in its output:\n%s", schedulerPerfTest, out)
	}
	rate, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		return r, fmt.Errorf("the throughput of %s: %w", schedulerPerfTest, err)
	}
	r.Reach(basicStep, float64(pods)/rate)
	return r, nil
}

// basicRows has the number of pods a second.
func basicRows(setting load.Setting) []row[load.Result] {
	return []row[load.Result]{
		{"pods that get a node", "per second",
			func(r load.Result) float64 { return perSecond(setting.Pods, r.Step(basicStep)) }},
	}
}
