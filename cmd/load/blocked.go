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
)

const (
	// podsThatWait is the number of pods of a job that waits, and its minimum. It is the quota of a full queue, so that
	// the first job runs.
	podsThatWait = 5
	// jobsPerFull is the number of jobs of a full queue.
	jobsPerFull = 100
)

// blocked measures the burst while jobs wait for quota.
func (o choices) blocked(ctx context.Context) error {
	c := o.cluster()
	others := fullQueues(&c, o.waiting)
	command := fmt.Sprintf("make load SCENARIO=blocked WAITING=%d", o.waiting)
	report := report{&load.Report{Setting: o.setting(command, len(c.Jobs)*podsPerJob)}}
	report.Waiting = len(others)

	if err := o.measure(ctx, report, c, others, o.burstSchedulers()); err != nil {
		return err
	}

	path := fmt.Sprintf(blockedResults, strconv.Itoa(report.Waiting), report.Volcano)
	return write(path, report.Report, report.Table())
}

// fullQueues adds queues to a cluster, and returns the jobs that fill them. In each queue, all but one job wait.
func fullQueues(c *workload.Cluster, jobs int) (others []workload.Job) {
	for i := range jobs {
		name := fmt.Sprintf("full-%03d", i/jobsPerFull)
		if i%jobsPerFull == 0 {
			c.Queues = append(c.Queues, workload.Queue{
				Name:       name,
				Parent:     index.RootName,
				Weight:     1,
				Capability: workload.Resources{"cpu": podsThatWait, "memory": podsThatWait << 30, gpu: podsThatWait},
			})
		}

		j := c.Jobs[0]
		j.Name = fmt.Sprintf("waits-%05d", i)
		j.Queue = name
		j.MinMember = podsThatWait
		j.Tasks = nil
		for p := range podsThatWait {
			j.Tasks = append(j.Tasks, workload.Task{
				Name:    fmt.Sprintf("%s-%d", j.Name, p),
				Status:  workload.TaskPending,
				Request: workload.Resources{"cpu": 1, "memory": 1 << 30, gpu: 1},
			})
		}

		others = append(others, j)
	}
	return others
}

// block submits the jobs that wait, and returns when they are there and the first job of each queue runs.
func (b bed) block(ctx context.Context, others []workload.Job) error {
	if err := b.submitAll(ctx, others); err != nil {
		return err
	}

	return b.await(ctx, len(others), (len(others)+jobsPerFull-1)/jobsPerFull*podsThatWait)
}

// await returns when a number of jobs have a PodGroup, and a number of pods run.
func (b bed) await(ctx context.Context, jobs, running int) error {
	return wait.PollUntilContextCancel(ctx, 2*time.Second, true, func(ctx context.Context) (bool, error) {
		fromCache := metav1.ListOptions{ResourceVersion: "0"}
		list, err := b.cp.Volcano.SchedulingV1beta1().PodGroups(metav1.NamespaceDefault).List(ctx, fromCache)
		if err != nil {
			return false, err
		}

		ran := b.seen.counts().ran
		fmt.Printf("  %d of %d jobs are there, %d of %d pods run\n", len(list.Items), jobs, ran, running)
		return len(list.Items) >= jobs && ran >= running, nil
	})
}

// unfinished reports whether some pods did not run within the limit.
func (r report) unfinished() bool {
	return slices.ContainsFunc(r.Runs, func(run load.Result) bool { return run.Left > 0 })
}
