package main

import (
	"context"
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin/release"
)

const (
	// podsThatWait is the number of pods of a job that waits, and its minimum. It is the quota of a full queue, so that the first job runs.
	podsThatWait = 5
	// jobsPerFull is the number of jobs of a full queue.
	jobsPerFull = 100
)

// blocked measures the burst while jobs wait for quota, with Volcano's cache of unschedulable jobs and without it where Volcano has one.
func (o choices) blocked(ctx context.Context) error {
	c := workload.Shape{
		Nodes: o.nodes, Fanout: workload.TwoLevels(o.queues),
		Jobs: max(1, o.pods/podsPerJob), TasksPerJob: podsPerJob, Phases: []workload.Phase{workload.Pending},
	}.Make(1)
	others := fullQueues(&c, o.waiting)
	report := report{&load.Report{Setting: o.setting(fmt.Sprintf("make load SCENARIO=blocked WAITING=%d", o.waiting), len(c.Jobs)*podsPerJob)}}
	report.Waiting = len(others)
	schedulers := []scheduler{{"upstream", o.upstream, capacity.configuration(), nil, nil}, {"ours", o.ours, capacity.configuration(), nil, nil}}
	if release.KnowsUnschedulableCache() {
		flags := []string{"--feature-gates=UnschedulableJobCache=true"}
		schedulers = append(schedulers, scheduler{"upstream, cache", o.upstream, capacity.configuration(), flags, nil},
			scheduler{"ours, cache", o.ours, capacity.configuration(), flags, nil})
	}
	err := inTurn(o.rounds, schedulers, func(round int, s scheduler) error {
		bounded, cancel := context.WithTimeout(ctx, furnishing+o.limit)
		defer cancel()
		result, err := run(bounded, c, others, s)
		result.Round = round
		report.Runs = append(report.Runs, result)
		return err
	})
	if err != nil {
		return err
	}
	var names []string
	for _, s := range schedulers {
		names = append(names, s.name)
	}
	path := blockedResults
	if report.Volcano != load.MainRelease {
		path = fmt.Sprintf(blockedOthers, report.Volcano)
	}
	return write(path, report.Report, table(names, rows, report.Values))
}

// fullQueues adds queues to a cluster, and returns the jobs that fill them: all but the first of each wait.
func fullQueues(c *workload.Cluster, jobs int) (others []workload.Job) {
	leaf := c.Queues[len(c.Queues)-1]
	for i := range jobs {
		name := fmt.Sprintf("full-%03d", i/jobsPerFull)
		if i%jobsPerFull == 0 {
			full := leaf
			full.Name, full.Parent, full.Capability = name, "", maps.Clone(leaf.Capability)
			full.Capability[gpu] = podsThatWait
			c.Queues = append(c.Queues, full)
		}
		j := c.Jobs[0]
		j.Name, j.Queue, j.MinMember = fmt.Sprintf("waits-%05d", i), name, podsThatWait
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
