package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

const (
	// pause is the time between two looks at the pods.
	pause = 500 * time.Millisecond
	// looksPerReading is the number of looks for each reading of the scheduler's metrics.
	looksPerReading = 10
)

// bed is a control plane with nodes, queues and a scheduler.
type bed struct {
	cp      *controlplane.ControlPlane
	process *controlplane.Process
	seen    *sightings
}

// onBed starts a control plane with a scheduler, calls measure on it, and stops it.
func onBed(
	ctx context.Context, c workload.Cluster, s scheduler, options controlplane.Options,
	measure func(context.Context, bed) error,
) (err error) {
	cp, err := controlplane.Start(ctx, options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()

	// The watches have to hang up before the control plane stops.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	directory, err := os.MkdirTemp("", "load-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)

	process, err := s.start(cp, directory)
	if err != nil {
		return err
	}

	// An early end of the scheduler ends the measurement.
	go func() {
		<-process.Exited()
		cancel(fmt.Errorf("the scheduler ended with status %d", process.Status()))
	}()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}()

	fmt.Printf("  creating %d nodes and %d queues\n", len(c.Nodes), len(c.Queues))
	if err := furnish(ctx, cp, c); err != nil {
		return err
	}

	b := bed{cp, process, newSightings()}
	if err := b.seen.watch(ctx, cp); err != nil {
		return err
	}

	if err := measure(ctx, b); err != nil {
		return err
	}
	return process.Stop()
}

// submit creates a job. Its pods run for a time, or forever if it is 0.
func (b bed) submit(ctx context.Context, j workload.Job, runs time.Duration) error {
	b.seen.submit(j.Name)
	jobs := b.cp.Volcano.BatchV1alpha1().Jobs(metav1.NamespaceDefault)
	_, err := jobs.Create(ctx, job(j, runs), metav1.CreateOptions{})
	return err
}

// submitAll submits jobs with pods that run forever.
func (b bed) submitAll(ctx context.Context, jobs []workload.Job) error {
	return each(ctx, jobs, func(ctx context.Context, j workload.Job) error { return b.submit(ctx, j, 0) })
}

// run measures one scheduler on a control plane of its own, for limit at most. All jobs are submitted at once. The
// other jobs are submitted before, and all except the first one of each queue wait.
func run(
	ctx context.Context, c workload.Cluster, others []workload.Job, s scheduler, limit time.Duration,
) (load.Result, error) {
	r := load.Result{Scheduler: s.name}
	options := controlplane.Options{Environment: s.environment}
	err := onBed(ctx, c, s, options, func(ctx context.Context, b bed) error {
		if err := b.block(ctx, others); err != nil {
			return fmt.Errorf("submitting jobs that wait: %w", err)
		}

		before, err := read(ctx, b.process)
		if err != nil {
			return err
		}

		// The pods of the other jobs that run already count, too.
		pods := b.seen.counts().ran
		for _, j := range c.Jobs {
			pods += len(j.Tasks)
		}

		began := time.Now()
		if err := b.submitAll(ctx, c.Jobs); err != nil {
			return fmt.Errorf("submitting jobs: %w", err)
		}

		after, err := b.followPods(ctx, began, limit, pods, &r)
		if err != nil {
			return err
		}
		spend(&r, before, after)

		b.seen.summarize(began, &r)
		r.Total = limit.Seconds()
		if r.Left == 0 {
			r.Total = r.Bound[len(r.Bound)-1]
		}

		p := c.Place(b.seen.nodes())
		r.Opened = p.Opened
		r.Listed = p.Listed
		r.First = p.First
		return nil
	})
	return r, err
}

// follow calls look until it is done. It records the peak memory of the scheduler, and returns its last metrics.
func (b bed) follow(
	ctx context.Context, r *load.Result, look func() (done bool, err error),
) (last figures, err error) {
	looks := 0
	err = wait.PollUntilContextCancel(ctx, pause, false, func(ctx context.Context) (bool, error) {
		done, err := look()
		if err != nil {
			return false, err
		}

		// The scheduler has series for each job, so a reading takes processor time.
		if done || looks%looksPerReading == 0 {
			last, err = read(ctx, b.process)
			r.Memory = max(r.Memory, last.memory)
		}
		looks++
		return done, err
	})
	return last, err
}

// followPods waits until all pods run, or the limit is over. It prints the number of running pods, and records the
// number of pods that are left.
func (b bed) followPods(
	ctx context.Context, began time.Time, limit time.Duration, pods int, r *load.Result,
) (figures, error) {
	last, err := b.follow(ctx, r, func() (bool, error) {
		n := b.seen.counts().ran
		took := time.Since(began)
		fmt.Printf("  %5.1fs  %d of %d pods run\n", took.Seconds(), n, pods)

		r.Left = max(0, pods-n)
		return r.Left == 0 || took > limit, nil
	})
	if err != nil {
		return last, fmt.Errorf("%d of %d pods run: %w", b.seen.counts().ran, pods, err)
	}
	return last, nil
}

// spend records the processor time and the cycles of the scheduler between two readings of its metrics.
func spend(r *load.Result, before, after figures) {
	r.CPU = after.cpu - before.cpu
	r.Cycles = after.cycles.count - before.cycles.count
	r.Cycling = after.cycles.time - before.cycles.time
}

// summarize records the times at which pods were bound, and the latencies from submission to running.
func (s *sightings) summarize(began time.Time, r *load.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, pod := range s.pods {
		// The pod is of a job that was submitted before.
		if pod.created.Before(began) {
			continue
		}

		if !pod.bound.IsZero() {
			r.Bound = append(r.Bound, milliseconds(pod.bound.Sub(began)))
		}
		if !pod.running.IsZero() {
			r.Running = append(r.Running, milliseconds(pod.running.Sub(s.submitted[pod.job])))
		}
	}

	slices.Sort(r.Bound)
	slices.Sort(r.Running)
}

// nodes returns the nodes of the pods of each job.
func (s *sightings) nodes() map[string][]string {
	s.mu.Lock()
	defer s.mu.Unlock()

	nodes := map[string][]string{}
	for _, pod := range s.pods {
		if pod.node != "" {
			nodes[pod.job] = append(nodes[pod.job], pod.node)
		}
	}
	return nodes
}

// milliseconds returns a time in seconds, rounded to the precision of the measurement.
func milliseconds(d time.Duration) float64 { return thousandths(d.Seconds()) }
