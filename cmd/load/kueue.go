package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// kueueLimit bounds the time for all jobs of Kueue's runner.
const kueueLimit = 15 * time.Minute

// kueueRunner measures the workload of Kueue's performance runner.
func (o choices) kueueRunner() peer {
	cluster, arrivals := workload.KueueRunner{Part: o.part}.Make()
	return peer{
		name:    kueue,
		cluster: cluster,
		pods:    len(arrivals),
		limit:   kueueLimit,
		plugin:  capacityCard,
		preempt: true,
		measure: func(ctx context.Context, s scheduler) (load.Result, error) {
			return runKueue(ctx, cluster, arrivals, s)
		},
	}
}

// runKueue measures one scheduler on a control plane of its own, until all jobs have ended.
func runKueue(
	ctx context.Context, c workload.Cluster, arrivals []workload.Arrival, s scheduler,
) (load.Result, error) {
	r := load.Result{Scheduler: s.name}
	ctx, cancel := context.WithTimeout(ctx, furnishing+kueueLimit)
	defer cancel()

	err := onBed(ctx, c, s, controlplane.Options{}, func(ctx context.Context, b bed) error {
		if err := createPriorities(ctx, b.cp.Kube); err != nil {
			return err
		}
		ends := newEnder(ctx, b.cp.Kube, arrivals)
		if err := ends.watch(); err != nil {
			return err
		}

		before, err := read(ctx, b.process)
		if err != nil {
			return err
		}

		began := time.Now()
		both, ctx := errgroup.WithContext(ctx)
		both.Go(func() error { return (&wave{bed: b, arrivals: arrivals, began: began}).submitAll(ctx) })

		var after figures
		both.Go(func() error {
			after, err = b.followEnds(ctx, ends, began, &r)
			return err
		})
		if err := both.Wait(); err != nil {
			return err
		}

		spend(&r, before, after)
		b.seen.summarize(began, &r)
		r.Waits = b.seen.waits()
		return nil
	})
	return r, err
}

// followEnds waits until all jobs have ended, or the limit is over.
func (b bed) followEnds(ctx context.Context, ends *ender, began time.Time, r *load.Result) (figures, error) {
	return b.follow(ctx, r, func() (bool, error) {
		select {
		case err := <-ends.failed:
			return false, err
		default:
		}

		ended, last := ends.count()
		took := time.Since(began)
		fmt.Printf("  %5.1fs  %d of %d jobs ended\n", took.Seconds(), ended, len(ends.runs))

		r.Left = len(ends.runs) - ended
		r.Total = milliseconds(last.Sub(began))
		return r.Left <= 0 || took > kueueLimit, nil
	})
}

// createPriorities creates a priority class for each size of jobs.
func createPriorities(ctx context.Context, kube kubernetes.Interface) error {
	for _, class := range workload.KueueClasses {
		object := &schedulingv1.PriorityClass{
			ObjectMeta: metav1.ObjectMeta{Name: priorityClass(class.Priority)},
			Value:      class.Priority,
		}
		_, err := kube.SchedulingV1().PriorityClasses().Create(ctx, object, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating priority class %s: %w", object.Name, err)
		}
	}
	return nil
}

// ender ends pods after the time that their jobs run, as Kueue's runner ends workloads: fractions of a second, which
// commands of pods do not have.
type ender struct {
	ctx    context.Context
	kube   kubernetes.Interface
	runs   map[string]time.Duration // by job
	failed chan error

	mu      sync.Mutex
	running map[types.UID]bool
	ended   map[string]bool // by job
	last    time.Time
}

func newEnder(ctx context.Context, kube kubernetes.Interface, arrivals []workload.Arrival) *ender {
	e := &ender{
		ctx:     ctx,
		kube:    kube,
		runs:    map[string]time.Duration{},
		failed:  make(chan error, len(arrivals)),
		running: map[types.UID]bool{},
		ended:   map[string]bool{},
	}
	for _, a := range arrivals {
		e.runs[a.Job.Name] = a.Runs
	}
	return e
}

func (e *ender) watch() error {
	return watchPods(e.ctx, e.kube, func(pod *corev1.Pod, deleted bool) {
		if !deleted {
			e.see(pod)
		}
	})
}

// see plans the end of a pod that runs, and counts a job with a pod that succeeded.
func (e *ender) see(pod *corev1.Pod) {
	job := pod.Labels[batch.JobNameKey]
	e.mu.Lock()
	defer e.mu.Unlock()

	switch pod.Status.Phase {
	case corev1.PodRunning:
		if !e.running[pod.UID] && pod.DeletionTimestamp == nil {
			e.running[pod.UID] = true
			time.AfterFunc(e.runs[job], func() { e.end(pod) })
		}
	case corev1.PodSucceeded:
		if !e.ended[job] {
			e.ended[job] = true
			e.last = time.Now()
		}
	}
}

// end lets a pod succeed, unless it was evicted.
func (e *ender) end(pod *corev1.Pod) {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"status":{"phase":"Succeeded"}}`, pod.UID)
	_, err := e.kube.CoreV1().Pods(pod.Namespace).Patch(
		e.ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	gone := apierrors.IsNotFound(err) || apierrors.IsConflict(err)
	if err != nil && !gone && e.ctx.Err() == nil {
		e.failed <- fmt.Errorf("ending pod %s: %w", pod.Name, err)
	}
}

func (e *ender) count() (ended int, last time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.ended), e.last
}

// waits returns the mean time from the submission of a job until its first pod ran, by size.
func (s *sightings) waits() map[string]float64 {
	s.mu.Lock()
	defer s.mu.Unlock()

	first := map[string]time.Time{}
	for _, pod := range s.pods {
		at := first[pod.job]
		if !pod.running.IsZero() && (at.IsZero() || pod.running.Before(at)) {
			first[pod.job] = pod.running
		}
	}

	sums := map[string][]float64{}
	for job, at := range first {
		size, _, _ := strings.Cut(job, "-")
		sums[size] = append(sums[size], at.Sub(s.submitted[job]).Seconds())
	}

	means := map[string]float64{}
	for size, all := range sums {
		means[size] = thousandths(sum(slices.Values(all)) / float64(len(all)))
	}
	return means
}

// kueueRows has the times of the jobs.
func kueueRows(setting load.Setting) []row[load.Result] {
	wait := func(size string) func(load.Result) float64 {
		return func(run load.Result) float64 { return run.Waits[size] }
	}
	all := func(run load.Result) float64 {
		if run.Left > 0 {
			return math.Inf(1)
		}
		return run.Total
	}
	ended := func(run load.Result) float64 {
		return float64(setting.Pods-run.Left) / min(all(run), setting.Limit)
	}
	return append([]row[load.Result]{
		{"all jobs", "s", all},
		{"jobs", "per second", ended},
		{"submit to running, mean of large jobs", "s", wait("large")},
		{"medium", "s", wait("medium")},
		{"small", "s", wait("small")},
		{"jobs that had not ended", "", func(r load.Result) float64 { return float64(r.Left) }},
	}, usage...)
}
