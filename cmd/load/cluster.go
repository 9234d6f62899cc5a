package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/e2e/controlplane"
	"github.com/capacity-card/capacity-card/index"
)

// scheduler is a program to measure, with its configuration, and with flags and environment variables if it needs them.
type scheduler struct {
	name, program, configuration string
	flags, environment           []string
}

// The quota plugins that are compared. Cards alone are short with capacity-card, as GPUs alone are with capacity.
const (
	capacity     = "capacity"
	capacityCard = "capacity-card"
)

// configuration returns the volcano-scheduler.conf of all schedulers, with a quota plugin.
func configuration(plugin string) string {
	return fmt.Sprintf(`
actions: "enqueue, allocate, reclaim, backfill"
tiers:
- plugins:
  - name: priority
  - name: gang
    enablePreemptable: false
  - name: conformance
  - name: %s
    enableHierarchy: true
- plugins:
  - name: predicates
  - name: nodeorder
  - name: binpack
`, plugin)
}

// start runs a scheduler as a deployment does: with Volcano's defaults, and with almost no throttling. It writes the
// configuration to the directory, where it has to stay.
func (s scheduler) start(cp *controlplane.ControlPlane, directory string) (*controlplane.Process, error) {
	path := filepath.Join(directory, "volcano-scheduler.conf")
	if err := os.WriteFile(path, []byte(s.configuration), 0o600); err != nil {
		return nil, err
	}

	flags := []string{
		"--scheduler-conf=" + path, "--schedule-period=1s", "--leader-elect=false", "--enable-metrics=true",
		"--kube-api-qps=2000", "--kube-api-burst=2000", "--node-worker-threads=20",
	}
	return cp.StartProcess(s.program, append(flags, s.flags...)...)
}

// furnish creates the nodes and the queues.
func furnish(ctx context.Context, cp *controlplane.ControlPlane, c workload.Cluster) error {
	nodes := func(ctx context.Context, n workload.Node) error {
		_, err := cp.Kube.CoreV1().Nodes().Create(ctx, cluster.Node(n), metav1.CreateOptions{})
		return err
	}

	queues := func(ctx context.Context, q workload.Queue) error {
		if q.Name == index.RootName { // the scheduler creates it
			return nil
		}
		_, err := cp.Volcano.SchedulingV1beta1().Queues().Create(ctx, queue(q), metav1.CreateOptions{})
		return err
	}

	if err := each(ctx, c.Nodes, nodes); err != nil {
		return fmt.Errorf("creating nodes: %w", err)
	}
	if err := each(ctx, c.Queues, queues); err != nil {
		return fmt.Errorf("creating queues: %w", err)
	}

	// The measurement begins once all queues are open.
	open := func(ctx context.Context) (bool, error) {
		list, err := cp.Volcano.SchedulingV1beta1().Queues().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}

		n := 0
		for i := range list.Items {
			if list.Items[i].Status.State == scheduling.QueueStateOpen {
				n++
			}
		}
		return n >= len(c.Queues), nil
	}
	return wait.PollUntilContextCancel(ctx, pause, true, open)
}

// each calls do for all items of a list, eight at a time.
func each[T any](ctx context.Context, list []T, do func(context.Context, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)

	for _, one := range list {
		group.Go(func() error { return do(ctx, one) })
	}
	return group.Wait()
}

func queue(q workload.Queue) *scheduling.Queue {
	return &scheduling.Queue{
		ObjectMeta: metav1.ObjectMeta{Name: q.Name, Annotations: q.Annotations},
		Spec: scheduling.QueueSpec{
			Parent: q.Parent, Weight: q.Weight,
			Capability: cluster.List(q.Capability), Deserved: cluster.List(q.Deserved),
			Guarantee: scheduling.Guarantee{Resource: cluster.List(q.Guarantee)},
		},
	}
}

// job makes a Volcano job with the pods of a description. The pods run for a time, or forever if it is 0.
func job(j workload.Job, runs time.Duration) *batch.Job {
	task := j.Tasks[0]
	resources := cluster.List(task.Request)

	var command []string
	if runs > 0 {
		command = []string{"sleep", strconv.Itoa(int(runs.Seconds()))}
	}

	priority := ""
	if j.Priority > 0 {
		priority = priorityClass(j.Priority)
	}

	return &batch.Job{
		ObjectMeta: metav1.ObjectMeta{Name: j.Name, Annotations: j.Annotations},
		Spec: batch.JobSpec{
			SchedulerName: "volcano", Queue: j.Queue, MinAvailable: j.MinMember, PriorityClassName: priority,
			Tasks: []batch.TaskSpec{{
				Name: "worker", Replicas: int32(len(j.Tasks)),
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Annotations: task.Annotations},
					Spec: corev1.PodSpec{
						PriorityClassName: priority,
						RestartPolicy:     corev1.RestartPolicyNever,
						Affinity:          cluster.Pod(j.Name, task).Spec.Affinity,
						Containers: []corev1.Container{{
							Name: "main", Image: "none", Command: command, // no node runs it
							Resources: corev1.ResourceRequirements{Requests: resources, Limits: resources},
						}},
					},
				},
			}},
		},
	}
}

// priorityClass is the name of the class with a priority.
func priorityClass(priority int32) string { return fmt.Sprintf("priority-%d", priority) }
