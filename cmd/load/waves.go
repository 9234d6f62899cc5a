package main

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

const (
	// second is the time between two samples.
	second = time.Second
	// furnishing bounds the time that a control plane takes to have all nodes and queues.
	furnishing = 10 * time.Minute
)

// The steady part, as shares of the time in which jobs arrive: the first jobs have ended when it begins.
const steadyFrom, steadyUntil = 0.2, 0.9

// grace is the time that a scheduler has after the last wave.
func grace(duration time.Duration) time.Duration { return duration / 5 }

// wave measures one scheduler on a control plane of its own, while jobs arrive.
type wave struct {
	bed      bed
	arrivals []workload.Arrival
	began    time.Time
	from     time.Duration // the steady part
	until    time.Duration
	end      time.Duration // of the run, if not all pods run before
	result   *load.Run

	last   figures          // at the latest sample
	first  figures          // at the first sample of the steady part
	served map[string]tally // by then
	users  *processors      // in the steady part
}

// runWaves measures one scheduler.
func runWaves(ctx context.Context, w workload.Waves, s scheduler) (*load.Run, error) {
	w.Cards = s.name == capacityCard
	c, arrivals := w.Make(1)
	result := &load.Run{Scheduler: s.name}

	ctx, cancel := context.WithTimeout(ctx, furnishing+w.Duration+grace(w.Duration))
	defer cancel()

	return result, onBed(ctx, c, s, controlplane.Options{Commands: true}, func(ctx context.Context, b bed) error {
		share := func(part float64) time.Duration { return time.Duration(part * float64(w.Duration)) }
		v := &wave{
			bed: b, arrivals: arrivals, began: time.Now(), result: result,
			from: share(steadyFrom), until: share(steadyUntil), end: w.Duration + grace(w.Duration),
		}

		both, ctx := errgroup.WithContext(ctx)
		both.Go(func() error { return v.submitAll(ctx) })
		both.Go(func() error { return v.sample(ctx) })
		if err := both.Wait(); err != nil {
			return err
		}

		v.summarize()
		return nil
	})
}

// submitAll submits each job when it is due.
func (v *wave) submitAll(ctx context.Context) error {
	submitting, ctx := errgroup.WithContext(ctx)
	submitting.SetLimit(8)

	for _, a := range v.arrivals {
		select {
		case <-ctx.Done():
			return submitting.Wait()
		case <-time.After(time.Until(v.began.Add(a.At))):
		}

		submitting.Go(func() error {
			if err := v.bed.submit(ctx, a.Job, a.Runs); err != nil {
				return fmt.Errorf("submitting job %s: %w", a.Job.Name, err)
			}
			return nil
		})
	}
	return submitting.Wait()
}

// sample takes a sample once a second, until all pods have run or the run is over.
func (v *wave) sample(ctx context.Context) error {
	tick := time.NewTicker(second)
	defer tick.Stop()

	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}

		now, err := read(ctx, v.bed.process)
		if err != nil {
			return err
		}

		at := time.Since(v.began)
		seen := v.bed.seen.counts()
		submitted := v.bed.seen.jobs() * podsPerJob
		v.result.Samples = append(v.result.Samples, load.Sample{
			At: milliseconds(at), Submitted: submitted, Bound: seen.bound, Running: seen.running, Cards: seen.cards,
			CPU: thousandths(now.cpu), Memory: now.memory,
		})

		if err := v.measure(at, now); err != nil {
			return err
		}
		if n := len(v.result.Samples); n%10 == 0 {
			fmt.Printf("  %5.1fs  %d pods submitted, %d bound, %d run, %.0f cycles, %.0f MiB\n",
				at.Seconds(), submitted, seen.bound, seen.running, now.cycles.count, now.memory/(1<<20))
		}

		if pods := len(v.arrivals) * podsPerJob; seen.ran >= pods && v.result.Until > 0 || at >= v.end {
			v.result.Ended = milliseconds(at)
			v.result.Left = max(0, pods-seen.ran)
			return nil
		}
	}
}

// measure takes the figures of the steady part.
func (v *wave) measure(at time.Duration, now figures) (err error) {
	before := v.last
	v.last = now
	r := v.result
	steady := r.From > 0 && r.Until == 0

	if steady {
		r.Cycles = append(r.Cycles, apart(now.cycles.minus(before.cycles))...)
		r.Opens = append(r.Opens, apart(now.opens.minus(before.opens))...)
	}

	switch {
	case at >= v.from && r.From == 0:
		r.From = milliseconds(at)
		v.first = now
		v.served, err = served()
		if err == nil {
			v.users, err = watchProcessors()
		}

	case at >= v.until && steady:
		r.Until = milliseconds(at)
		r.CPU = thousandths(now.cpu - v.first.cpu)
		for _, name := range slices.Sorted(maps.Keys(now.actions)) {
			took := now.actions[name].minus(v.first.actions[name]).time
			r.Actions = append(r.Actions, load.Request{Name: name, Time: thousandths(took)})
		}

		r.Requests = since(now.requests, v.first.requests)
		r.Processors, err = v.users.end(r.CPU)
		if err != nil {
			return err
		}

		var until map[string]tally
		until, err = served()
		if err == nil {
			r.Served = since(until, v.served)
		}
	}
	return err
}

// apart returns the times of the events between two samples. A cycle begins a second after the last one, so there is
// one event, or two that both get the mean.
func apart(t tally) (times []float64) {
	for range int(t.count) {
		times = append(times, thousandths(t.time/t.count))
	}
	return times
}

// summarize fills in the results of pods with jobs that were submitted in the steady part.
func (v *wave) summarize() {
	r := v.result
	slices.Sort(r.Cycles)
	slices.Sort(r.Opens)

	v.bed.seen.mu.Lock()
	defer v.bed.seen.mu.Unlock()

	within := func(at time.Time) bool {
		since := milliseconds(at.Sub(v.began))
		return !at.IsZero() && r.From <= since && since <= r.Until
	}

	for _, at := range v.bed.seen.submitted {
		if within(at) {
			r.Submitted += podsPerJob
		}
	}

	stages := map[string]time.Duration{}
	for _, pod := range v.bed.seen.pods {
		if within(pod.bound) {
			r.Bound++
		}

		submitted := v.bed.seen.submitted[pod.job]
		if !within(submitted) || pod.running.IsZero() {
			continue
		}

		r.Running = append(r.Running, milliseconds(pod.running.Sub(submitted)))
		stages[load.Created] += pod.created.Sub(submitted)
		stages[load.Bound] += pod.bound.Sub(pod.created)
		stages[load.Started] += pod.running.Sub(pod.bound)
	}

	slices.Sort(r.Running)

	// The means of the stages.
	r.Stages = map[string]float64{}
	for name, took := range stages {
		r.Stages[name] = thousandths(took.Seconds() / float64(len(r.Running)))
	}
}

// thousandths rounds a number to the precision of the measurement.
func thousandths(x float64) float64 { return math.Round(x*1000) / 1000 }
