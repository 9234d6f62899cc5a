package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"

	"github.com/capacity-card/capacity-card/bench/load"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/cmd/internal/families"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// pause is the time between two looks at the scheduler's metrics and at what runs.
const pause = 500 * time.Millisecond

// run measures one scheduler on a control plane of its own.
func run(ctx context.Context, c workload.Cluster, s scheduler) (r load.Result, err error) {
	cp, err := controlplane.Start(ctx, controlplane.Options{})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, cp.Stop()) }()
	// The watches have to hang up before the control plane stops.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	directory, err := os.MkdirTemp("", "load-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(directory)
	process, err := start(cp, s.program, directory)
	if err != nil {
		return r, err
	}
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
		return r, err
	}
	seen := &sightings{submitted: map[string]time.Time{}, bound: map[types.UID]time.Time{}, running: map[types.UID]sighting{}}
	if err := seen.watch(ctx, cp); err != nil {
		return r, err
	}
	before, err := read(ctx, process)
	if err != nil {
		return r, fmt.Errorf("reading the scheduler's metrics: %w", err)
	}
	began := time.Now()
	submit := func(ctx context.Context, j workload.Job) error {
		seen.submit(j.Name)
		_, err := cp.Volcano.BatchV1alpha1().Jobs(metav1.NamespaceDefault).Create(ctx, job(j), metav1.CreateOptions{})
		return err
	}
	if err := each(ctx, c.Jobs, submit); err != nil {
		return r, fmt.Errorf("submitting jobs: %w", err)
	}
	after, err := follow(ctx, process, seen, began, len(c.Jobs)*podsPerJob, &r)
	if err != nil {
		return r, err
	}
	r.Scheduler = s.name
	r.CPU = after.cpu - before.cpu
	r.Cycles, r.Cycling = after.cycles-before.cycles, after.cycleTime-before.cycleTime
	seen.report(began, &r)
	return r, process.Stop()
}

// follow waits until all pods run. It reports how many run, and records the memory of the scheduler in the meantime.
func follow(ctx context.Context, process *controlplane.Process, seen *sightings, began time.Time, pods int, r *load.Result) (figures, error) {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return figures{}, fmt.Errorf("%d of %d pods run: %w", seen.count(), pods, ctx.Err())
		case <-tick.C:
		}
		now, err := read(ctx, process)
		if err != nil {
			return now, fmt.Errorf("reading the scheduler's metrics: %w", err)
		}
		r.Memory = max(r.Memory, now.memory)
		n := seen.count()
		fmt.Printf("  %5.1fs  %d of %d pods run\n", time.Since(began).Seconds(), n, pods)
		if n >= pods {
			return now, nil
		}
	}
}

// figures are the metrics of a scheduler.
type figures struct {
	cpu, memory       float64 // seconds so far, bytes
	cycles, cycleTime float64 // so far, in seconds
}

func read(ctx context.Context, process *controlplane.Process) (f figures, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, process.Metrics, nil)
	if err != nil {
		return f, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return f, err
	}
	defer response.Body.Close()
	read, err := families.Read(response.Body)
	if err != nil {
		return f, err
	}
	first := func(name string) *dto.Metric {
		if family := read[name]; family != nil && len(family.Metric) > 0 {
			return family.Metric[0]
		}
		return &dto.Metric{}
	}
	cycle := first("volcano_e2e_scheduling_latency_milliseconds").GetHistogram()
	return figures{
		cpu:    first("process_cpu_seconds_total").GetCounter().GetValue(),
		memory: first("process_resident_memory_bytes").GetGauge().GetValue(),
		cycles: float64(cycle.GetSampleCount()), cycleTime: cycle.GetSampleSum() / 1000,
	}, nil
}

// sightings are when what was first seen.
type sightings struct {
	mu        sync.Mutex
	submitted map[string]time.Time // by job
	bound     map[types.UID]time.Time
	running   map[types.UID]sighting
}

// sighting is that of a pod of a job.
type sighting struct {
	at  time.Time
	job string
}

func (s *sightings) submit(job string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.submitted[job] = time.Now()
}

func (s *sightings) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running)
}

func (s *sightings) watch(ctx context.Context, cp *controlplane.ControlPlane) error {
	factory := informers.NewSharedInformerFactory(cp.Kube, 0)
	_, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { s.see(object.(*corev1.Pod)) },
		UpdateFunc: func(_, object any) { s.see(object.(*corev1.Pod)) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return ctx.Err()
}

func (s *sightings) see(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.bound[pod.UID]; !known && pod.Spec.NodeName != "" {
		s.bound[pod.UID] = time.Now()
	}
	if _, known := s.running[pod.UID]; !known && pod.Status.Phase == corev1.PodRunning {
		s.running[pod.UID] = sighting{time.Now(), pod.Labels[batch.JobNameKey]}
	}
}

func (s *sightings) report(began time.Time, r *load.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.bound {
		r.Bound = append(r.Bound, milliseconds(at.Sub(began)))
	}
	for _, seen := range s.running {
		r.Running = append(r.Running, milliseconds(seen.at.Sub(s.submitted[seen.job])))
	}
	slices.Sort(r.Bound)
	slices.Sort(r.Running)
	r.Total = r.Bound[len(r.Bound)-1]
}

// milliseconds is a time in seconds, no more exact than it was measured.
func milliseconds(d time.Duration) float64 { return d.Round(time.Millisecond).Seconds() }
