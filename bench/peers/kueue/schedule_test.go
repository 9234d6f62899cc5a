package kueue

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	api "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/queue"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/expectations"
	build "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/capacity-card/capacity-card/bench/peers/question"
)

// label of a node is the model of its cards.
const label = "example.com/model"

func BenchmarkSchedulers(b *testing.B) { question.Decide(b, "kueue", start) }

// start fills Kueue's cache and its queues. Kueue's scheduler admits jobs and chooses no nodes.
func start(w *question.World) (func(mark func()) []question.Placement, error) {
	if err := withoutTopologies(); err != nil {
		return nil, err
	}
	ctrl.SetLogger(logr.Discard())
	ctx := context.Background()
	s := &server{workloads: map[string]*api.Workload{}}
	o := describe(w, api.PreemptionPolicyNever)
	for i, f := range o.flavors[1:] {
		f.Spec.NodeLabels = map[string]string{label: w.Models[i]}
	}
	accounts := o.fill(s)
	preempted := expectations.NewStore("preemption")
	queues := queue.NewManagerForUnitTests(s, accounts, queue.WithPreemptionExpectations(preempted))
	for _, c := range o.cohorts {
		queues.AddOrUpdateCohort(ctx, c)
	}
	for _, q := range o.queues {
		local := build.MakeLocalQueue(q.Name, namespace).ClusterQueue(q.Name).Obj()
		must(queues.AddClusterQueue(ctx, q))
		must(accounts.AddLocalQueue(local))
		must(queues.AddLocalQueue(ctx, local))
	}
	for i, j := range w.Waiting {
		job := waits(j, time.Unix(int64(i), 0))
		s.workloads[j.Name] = job
		must(queues.AddOrUpdateWorkload(logr.Discard(), job.DeepCopy()))
	}
	return func(mark func()) []question.Placement {
		ctx, stop := context.WithCancel(ctx)
		s.mark = mark
		must(scheduler.New(queues, accounts, s, &record.FakeRecorder{},
			scheduler.WithPreemptionExpectations(preempted)).Start(ctx))
		s.wait(queues)
		stop()
		queues.Broadcast() // the scheduler waits for jobs
		return s.admitted
	}, nil
}

// waits is a job that names the model of its cards as its pods do.
func waits(j question.Job, created time.Time) *api.Workload {
	return build.MakeWorkload(j.Name, namespace).Queue(api.LocalQueueName(j.Queue)).Creation(created).
		NodeSelector(map[string]string{label: j.Model}).
		Request(corev1.ResourceCPU, fmt.Sprintf("%dm", j.Cards*question.CPU)).
		Request(corev1.ResourceMemory, fmt.Sprint(j.Cards*question.Memory)).
		Request(gpu, fmt.Sprint(j.Cards)).Obj()
}

// server serves Kueue's scheduler in place of an API server and its informers, and keeps the status of
// jobs. The fake client of Kueue's tests also encodes and merges objects, which is no work of a scheduler.
type server struct {
	client.Client // any other method panics
	sync.Mutex
	workloads map[string]*api.Workload
	admitted  []question.Placement
	mark      func()
}

func (s *server) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.Lock()
	defer s.Unlock()
	switch o := object.(type) {
	case *corev1.Namespace:
		o.Name = key.Name
	case *api.Workload:
		s.workloads[key.Name].DeepCopyInto(o)
	default:
		panic(fmt.Sprintf("Kueue reads a %T", object))
	}
	return nil
}

// List finds nothing: there are no limits of namespaces, and queues and jobs are added one by one.
func (s *server) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (s *server) Status() client.SubResourceWriter { return status{server: s} }

type status struct {
	client.SubResourceWriter // any other method panics
	server                   *server
}

// Patch takes the status of a job as Kueue applies it.
func (s status) Patch(_ context.Context, object client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	patch := object.(*api.Workload)
	s.server.Lock()
	defer s.server.Unlock()
	kept := s.server.workloads[patch.Name]
	was := workload.HasQuotaReservation(kept)
	patch.Status.DeepCopyInto(&kept.Status)
	if !was && workload.HasQuotaReservation(kept) {
		s.server.admitted = append(s.server.admitted, question.Placement{Job: patch.Name})
	}
	s.server.mark()
	return nil
}

// wait returns when each job is admitted, or inadmissible until something ends. It looks while the
// scheduler is between two cycles, which is up to 100 ms where it has admitted nothing.
func (s *server) wait(queues *queue.Manager) {
	for {
		time.Sleep(200 * time.Millisecond)
		inadmissible := 0
		for _, jobs := range queues.DumpInadmissible() {
			inadmissible += len(jobs)
		}
		s.Lock()
		decided := len(s.admitted) + inadmissible
		s.Unlock()
		if decided == len(s.workloads) {
			return
		}
	}
}
