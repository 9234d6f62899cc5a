package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/release"
)

const (
	// podsThatWait is the number of pods of a job that waits, and its minimum. It is the quota of a full queue, so that
	// the first job runs.
	podsThatWait = 5
	// jobsPerFull is the number of jobs of a full queue.
	jobsPerFull = 100
)

// blocked measures the burst while jobs wait for quota, with Volcano's cache of unschedulable jobs and without it where
// Volcano has one.
func (o choices) blocked(ctx context.Context) error {
	c := o.cluster()
	others := fullQueues(&c, o.waiting)
	report := report{&load.Report{Setting: o.setting(fmt.Sprintf("make load SCENARIO=blocked WAITING=%d", o.waiting), len(c.Jobs)*podsPerJob)}}
	report.Waiting = len(others)
	names, cached := load.BlockedSchedulers, []string{"--feature-gates=UnschedulableJobCache=true"}
	schedulers := []scheduler{
		{names[0], o.upstream, capacity.configuration(), nil, nil}, {names[1], o.ours, capacity.configuration(), nil, nil},
		{names[2], o.upstream, capacity.configuration(), cached, nil}, {names[3], o.ours, capacity.configuration(), cached, nil},
	}
	if !release.KnowsUnschedulableCache() {
		schedulers = schedulers[:2]
	}
	if err := o.measure(ctx, report, c, others, schedulers); err != nil {
		return err
	}
	return write(fmt.Sprintf(blockedResults, strconv.Itoa(report.Waiting), report.Volcano), report.Report, blockedReport{report}.Table())
}

// blockedReport is a report with the schedulers of blocked.
type blockedReport struct{ report }

// Table has the figures of the schedulers that were measured.
func (r blockedReport) Table() string {
	measured := slices.DeleteFunc(slices.Clone(load.BlockedSchedulers), func(name string) bool {
		return len(r.Values(name, load.Result.Throughput)) == 0
	})
	return table(measured, rows, r.Values)
}

// fullQueues adds queues to a cluster, and returns the jobs that fill them: all but the first of each wait.
func fullQueues(c *workload.Cluster, jobs int) (others []workload.Job) {
	for i := range jobs {
		name := fmt.Sprintf("full-%03d", i/jobsPerFull)
		if i%jobsPerFull == 0 {
			c.Queues = append(c.Queues, workload.Queue{Name: name, Parent: index.RootName, Weight: 1,
				Capability: workload.Resources{"cpu": podsThatWait, "memory": podsThatWait << 30, gpu: podsThatWait}})
		}
		j := c.Jobs[0]
		j.Name = fmt.Sprintf("waits-%05d", i)
		j.Queue = name
		j.MinMember = podsThatWait
		j.Tasks = nil
		for p := range podsThatWait {
			j.Tasks = append(j.Tasks, workload.Task{Name: fmt.Sprintf("%s-%d", j.Name, p), Status: workload.TaskPending,
				Request: workload.Resources{"cpu": 1, "memory": 1 << 30, gpu: 1}})
		}
		others = append(others, j)
	}
	return others
}

// block submits the jobs that wait, and returns when all PodGroups are there and the first job of each queue runs.
func (b bed) block(ctx context.Context, others []workload.Job, submit func(context.Context, workload.Job) error) error {
	if err := each(ctx, others, submit); err != nil {
		return err
	}
	running := (len(others) + jobsPerFull - 1) / jobsPerFull * podsThatWait
	return wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		list, err := b.cp.Volcano.SchedulingV1beta1().PodGroups(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, err
		}
		fmt.Printf("  %d of %d jobs are there, %d of %d pods run\n", len(list.Items), len(others), b.seen.counts().ran, running)
		return len(list.Items) >= len(others) && b.seen.counts().ran >= running, nil
	})
}

// Unfinished reports whether some pods did not run within the limit.
func (r blockedReport) Unfinished() bool {
	return slices.ContainsFunc(r.Runs, func(run load.Result) bool { return run.Left > 0 })
}
