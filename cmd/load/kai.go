package main

import (
	"context"
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// The steps of KAI's scale tests, as results name them.
const (
	filled      = "fill"
	gangStarted = "gang"
	manyStarted = "many"
)

// kaiScale measures KAI's scale tests.
func (o choices) kaiScale() peer {
	scale := workload.KAIScale{Nodes: workload.KAINodes / o.part}
	return peer{
		name:    kai,
		cluster: scale.Cluster(),
		pods:    len(scale.Fill()) + len(scale.Gang().Tasks) + len(scale.Many()),
		limit:   stepLimit,
		plugin:  capacity,
		measure: func(ctx context.Context, s scheduler) (load.Result, error) { return runKAI(ctx, scale, s) },
	}
}

// runKAI measures one scheduler on a control plane of its own. The second and the third step begin with nodes
// that the jobs of the first fill.
func runKAI(ctx context.Context, scale workload.KAIScale, s scheduler) (load.Result, error) {
	r := load.Result{Scheduler: s.name}
	fill := scale.Fill()
	gang := scale.Gang()

	steps := []struct {
		name string
		jobs []workload.Job
	}{
		{filled, fill},
		{gangStarted, []workload.Job{gang}},
		{manyStarted, scale.Many()},
	}

	ctx, cancel := context.WithTimeout(ctx, furnishing+time.Duration(len(steps)+1)*stepLimit)
	defer cancel()

	err := onBed(ctx, scale.Cluster(), s, controlplane.Options{}, func(ctx context.Context, b bed) error {
		before, err := read(ctx, b.process)
		if err != nil {
			return err
		}

		for _, step := range steps {
			took, err := b.startAll(ctx, step.jobs, &r)
			if err != nil {
				return fmt.Errorf("step %s: %w", step.name, err)
			}
			r.Reach(step.name, took)

			if step.name == gangStarted {
				if err := b.giveBack(ctx, gang, fill, &r); err != nil {
					return err
				}
			}
		}

		after, err := read(ctx, b.process)
		spend(&r, before, after)
		return err
	})
	return r, err
}

// startAll submits jobs, and returns the time from the first submission until each of their pods has a node, in
// seconds. It is infinite if it exceeds the limit.
func (b bed) startAll(ctx context.Context, jobs []workload.Job, r *load.Result) (float64, error) {
	began := time.Now()
	if err := b.submitAll(ctx, jobs); err != nil {
		return 0, fmt.Errorf("submitting jobs: %w", err)
	}
	return b.placeAll(ctx, jobs, began, r)
}

// placeAll waits until each pod of jobs has a node, and returns the time from began until then, in seconds. It is
// infinite if it exceeds the limit.
func (b bed) placeAll(
	ctx context.Context, jobs []workload.Job, began time.Time, r *load.Result,
) (took float64, err error) {
	pods := 0
	names := map[string]bool{}
	for _, j := range jobs {
		pods += len(j.Tasks)
		names[j.Name] = true
	}

	_, err = b.follow(ctx, r, func() (bool, error) {
		placed, last := b.seen.placed(names)
		passed := time.Since(began)
		fmt.Printf("  %5.1fs  %d of %d pods have a node\n", passed.Seconds(), placed, pods)

		took = math.Inf(1)
		if placed >= pods {
			took = milliseconds(last.Sub(began))
		}
		return placed >= pods || passed > stepLimit, nil
	})
	return took, err
}

// giveBack deletes a gang with its pods, and waits until the jobs that it evicted have its nodes again.
func (b bed) giveBack(ctx context.Context, gang workload.Job, evicted []workload.Job, r *load.Result) error {
	options := metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)}
	err := b.cp.Volcano.BatchV1alpha1().Jobs(metav1.NamespaceDefault).Delete(ctx, gang.Name, options)
	if err != nil {
		return err
	}
	_, err = b.placeAll(ctx, evicted, time.Now(), r)
	return err
}

// placed counts the pods of jobs that have a node and have not ended, and returns when the last of them got it.
func (s *sightings) placed(jobs map[string]bool) (pods int, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()

	for _, pod := range s.pods {
		if !jobs[pod.job] || pod.bound.IsZero() || !pod.ended.IsZero() {
			continue
		}
		pods++
		if pod.bound.After(last) {
			last = pod.bound
		}
	}
	return pods, last
}

// kaiRows has the time of each step.
func kaiRows(load.Setting) []row[load.Result] {
	step := func(name string) func(load.Result) float64 {
		return func(r load.Result) float64 { return r.Step(name) }
	}
	return append([]row[load.Result]{
		{"jobs of a GPU fill the nodes", "s", step(filled)},
		{"a gang takes half of the nodes back", "s", step(gangStarted)},
		{"jobs of a GPU take all nodes back", "s", step(manyStarted)},
	}, usage...)
}
