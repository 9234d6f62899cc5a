package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/samples"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/cmd/internal/families"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
)

// churnProfile is the path of the profile of scenario churn, and of its table, without extensions.
const churnProfile = "profiles/churn-cpu"

// leastPart is the smallest own part of a package in the table.
const leastPart = 0.005

// churn takes a profile of the processor time of our scheduler while jobs arrive and end, and many others run.
func (o choices) churn(ctx context.Context) error {
	w := workload.Waves{
		Nodes: o.nodes, Queues: o.queues, Pods: o.pods, PodsPerJob: podsPerJob, Duration: o.duration,
		Cards: true, Running: o.running,
	}
	c, arrivals := w.Make(1)
	s := scheduler{capacityCard, o.ours, configuration(capacityCard), []string{"--enable-pprof"}, nil}

	from := time.Duration(steadyFrom * float64(o.duration))
	length := time.Duration((steadyUntil - steadyFrom) * float64(o.duration)).Truncate(time.Second)
	var taken *profile.Profile
	var counted []string

	ctx, cancel := context.WithTimeout(ctx, furnishing+o.duration+grace(o.duration))
	defer cancel()
	err := onBed(ctx, c, s, controlplane.Options{Commands: true}, func(ctx context.Context, b bed) error {
		if err := b.place(ctx, c.Jobs); err != nil {
			return fmt.Errorf("creating pods that run: %w", err)
		}

		both, ctx := errgroup.WithContext(ctx)
		both.Go(func() error {
			return (&wave{bed: b, arrivals: arrivals, began: time.Now()}).submitAll(ctx)
		})
		both.Go(func() (err error) {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(from):
			}

			before, err := b.count(ctx)
			if err != nil {
				return err
			}
			taken, err = takeProfile(ctx, b.process, length)
			if err != nil {
				return err
			}
			after, err := b.count(ctx)
			counted = []string{before, after}
			return err
		})
		return both.Wait()
	})
	if err != nil {
		return err
	}

	command := o.setting("make load SCENARIO=churn", o.pods).Command
	head := fmt.Sprintf("%s RUNNING=%d\n\nFor %s:\n%s\n", command, o.running, length, strings.Join(counted, "\n"))
	return keepProfile(taken, head)
}

// place creates jobs with pods that have a node already, and returns when the pods run.
func (b bed) place(ctx context.Context, jobs []workload.Job) error {
	err := each(ctx, jobs, func(ctx context.Context, j workload.Job) error {
		group := &scheduling.PodGroup{
			ObjectMeta: metav1.ObjectMeta{Name: j.Name, Annotations: j.Annotations},
			Spec:       scheduling.PodGroupSpec{Queue: j.Queue, MinMember: j.MinMember},
		}
		groups := b.cp.Volcano.SchedulingV1beta1().PodGroups(metav1.NamespaceDefault)
		if _, err := groups.Create(ctx, group, metav1.CreateOptions{}); err != nil {
			return err
		}

		for _, task := range j.Tasks {
			pod := cluster.Pod(j.Name, task)
			pod.Spec.SchedulerName = "volcano"
			pod.Spec.Containers[0].Image = "none" // no node runs it
			pod.Spec.Containers[0].Resources.Limits = pod.Spec.Containers[0].Resources.Requests
			pods := b.cp.Kube.CoreV1().Pods(metav1.NamespaceDefault)
			if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}

	pods := 0
	for _, j := range jobs {
		pods += len(j.Tasks)
	}
	return b.await(ctx, len(jobs), pods)
}

// count says how much the scheduler has done so far, and how many pods run.
func (b bed) count(ctx context.Context) (string, error) {
	now, err := read(ctx, b.process)
	seen := b.seen.counts()
	return fmt.Sprintf("%d pods run, %d were bound so far, %.0f cycles, %.1f s of processor time",
		seen.running, seen.bound, now.cycles.count, now.cpu), err
}

// takeProfile returns a profile of the processor time of a scheduler with --enable-pprof.
func takeProfile(
	ctx context.Context, process *controlplane.Process, length time.Duration,
) (*profile.Profile, error) {
	server := strings.TrimSuffix(process.Metrics, "/metrics")
	url := fmt.Sprintf("%s/debug/pprof/profile?seconds=%.0f", server, length.Seconds())
	raw, err := families.Open(ctx, url)
	if err != nil {
		return nil, fmt.Errorf("the scheduler gives no profile: %w", err)
	}
	defer raw.Close()
	return profile.Parse(raw)
}

// keepProfile writes a profile, and the table of its packages below a head.
func keepProfile(p *profile.Profile, head string) error {
	samples.Anonymize(p)
	file, err := os.Create(churnProfile + ".pb.gz")
	if err != nil {
		return err
	}
	if err := errors.Join(p.Compact().Write(file), file.Close()); err != nil {
		return err
	}

	text := head + "\n" + samples.Table(samples.Packages(p), leastPart)
	fmt.Print("\n" + text)
	return os.WriteFile(churnProfile+".txt", []byte(text), 0o644)
}
