package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// volcanoBacklog measures the workload of Volcano's cache of unschedulable jobs.
func (o choices) volcanoBacklog() peer {
	w := workload.Backlog{Part: o.part}
	return peer{
		name:    backlog,
		cluster: w.Cluster(),
		pods:    len(w.Arrivals()),
		limit:   stepLimit,
		plugin:  capacity,
		measure: func(ctx context.Context, s scheduler) (load.Result, error) { return runBacklogs(ctx, w, s) },
	}
}

// runBacklogs measures one scheduler, with each backlog on a control plane of its own.
func runBacklogs(ctx context.Context, w workload.Backlog, s scheduler) (load.Result, error) {
	all := load.Result{Scheduler: s.name}
	for _, waiting := range workload.Backlogs {
		one := load.Result{}
		took, err := runBacklog(ctx, w, waiting, s, &one)
		if err != nil {
			return all, fmt.Errorf("%d jobs wait: %w", waiting, err)
		}

		all.Reach(strconv.Itoa(waiting), took)
		all.CPU += one.CPU
		all.Memory = max(all.Memory, one.Memory)
	}
	return all, nil
}

// runBacklog returns the time from the first job that arrives until each of these jobs has its nodes, in seconds. It is
// infinite if it exceeds the limit.
func runBacklog(
	ctx context.Context, w workload.Backlog, waiting int, s scheduler, r *load.Result,
) (took float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, furnishing+stepLimit)
	defer cancel()

	err = onBed(ctx, w.Cluster(), s, controlplane.Options{}, func(ctx context.Context, b bed) error {
		others := w.Waiting(waiting)
		if err := b.submitAll(ctx, others); err != nil {
			return fmt.Errorf("submitting jobs that wait: %w", err)
		}
		if err := b.await(ctx, len(others), 0); err != nil {
			return err
		}

		before, err := read(ctx, b.process)
		if err != nil {
			return err
		}

		var jobs []workload.Job
		arrivals := w.Arrivals()
		for _, a := range arrivals {
			jobs = append(jobs, a.Job)
		}

		began := time.Now()
		both, within := errgroup.WithContext(ctx)
		both.Go(func() error { return (&wave{bed: b, arrivals: arrivals, began: began}).submitAll(within) })
		both.Go(func() (err error) {
			took, err = b.placeAll(within, jobs, began, r)
			return err
		})
		if err := both.Wait(); err != nil {
			return err
		}

		after, err := read(ctx, b.process)
		spend(r, before, after)
		return err
	})
	return took, err
}

// backlogRows has the number of jobs a second with each backlog.
func backlogRows(setting load.Setting) []row[load.Result] {
	var rows []row[load.Result]
	for _, waiting := range workload.Backlogs {
		rows = append(rows, row[load.Result]{
			fmt.Sprintf("jobs, while %d others wait", waiting), "per second",
			func(r load.Result) float64 { return perSecond(setting.Pods, r.Step(strconv.Itoa(waiting))) },
		})
	}
	return append(rows, usage...)
}
