// Package kueue measures the quota engine of Kueue: its scheduler's cache, snapshots of it, and the
// search for preemption targets, through the packages that Kueue exports.
package kueue

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	api "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	"sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/scheduler/flavorassigner"
	"sigs.k8s.io/kueue/pkg/scheduler/preemption"
	"sigs.k8s.io/kueue/pkg/util/expectations"
	fake "sigs.k8s.io/kueue/pkg/util/testing"
	build "sigs.k8s.io/kueue/pkg/util/testing/v1beta2"
	"sigs.k8s.io/kueue/pkg/workload"

	"github.com/capacity-card/capacity-card/bench/peers/question"
)

const (
	gpu       = corev1.ResourceName("nvidia.com/gpu")
	node      = "node" // the flavor of CPU and memory
	namespace = "default"
)

func BenchmarkPeers(b *testing.B) { question.Measure(b, "kueue", prepare) }

// withoutTopologies turns topologies off: nothing here has one.
func withoutTopologies() error {
	return utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{string(features.TopologyAwareScheduling): false})
}

// objects returns the objects of the API server that Kueue reads.
type objects struct {
	world   *question.World
	flavors []*api.ResourceFlavor
	cohorts []*api.Cohort
	queues  []*api.ClusterQueue
	running []*api.Workload
	waiting []*workload.Info // as Kueue's queue manager keeps them
}

func prepare(w *question.World) (func() *question.Engine, error) {
	if err := withoutTopologies(); err != nil {
		return nil, err
	}
	o := describe(w, api.PreemptionPolicyAny)
	for _, j := range w.Waiting {
		o.waiting = append(o.waiting, workload.NewInfo(admitted(j)))
	}
	reader := fake.NewFakeClient() // has nothing that the cache is not given
	return func() *question.Engine { return o.make(reader) }, nil
}

// describe makes the objects of a world, except the jobs that wait. It sets both policies, because no API server sets
// the default Never. Without a policy, Kueue would look for victims.
func describe(w *question.World, reclaim api.PreemptionPolicy) *objects {
	policy := api.ClusterQueuePreemption{WithinClusterQueue: api.PreemptionPolicyNever, ReclaimWithinCohort: reclaim}
	o := &objects{world: w, flavors: []*api.ResourceFlavor{build.MakeResourceFlavor(node).Obj()}}
	for _, m := range w.Models {
		o.flavors = append(o.flavors, build.MakeResourceFlavor(m).Obj())
	}
	for _, q := range w.Queues {
		if q.Leaf {
			c := build.MakeClusterQueue(q.Name).Cohort(api.CohortReference(q.Parent)).Preemption(policy)
			for _, g := range groups(w.Models, q.Deserved, q.Quota-q.Deserved) {
				c.ResourceGroup(g...)
			}
			o.queues = append(o.queues, c.Obj())
			continue
		}
		c := build.MakeCohort(api.CohortReference(q.Name)).Parent(api.CohortReference(q.Parent))
		if q.Parent != "" {
			for _, g := range groups(w.Models, 0, 0) { // bounded by the sum of the queues below it
				c.ResourceGroup(g...)
			}
		}
		o.cohorts = append(o.cohorts, c.Obj())
	}
	for _, j := range w.Running {
		o.running = append(o.running, admitted(j))
	}
	return o
}

// groups are the quotas of a queue: CPU and memory of all nodes, and cards of each model.
func groups(models []string, nominal, borrowing int64) [][]api.FlavorQuotas {
	n := int64(len(models))
	amount := func(x int64) string { return fmt.Sprint(x) }
	milli := func(x int64) string { return fmt.Sprintf("%dm", x) }
	shared := build.MakeFlavorQuotas(node).
		Resource(corev1.ResourceCPU, milli(n*nominal*question.CPU), milli(n*borrowing*question.CPU)).
		Resource(corev1.ResourceMemory, amount(n*nominal*question.Memory), amount(n*borrowing*question.Memory)).Obj()
	var cards []api.FlavorQuotas
	for _, m := range models {
		cards = append(cards, *build.MakeFlavorQuotas(m).Resource(gpu, amount(nominal), amount(borrowing)).Obj())
	}
	return [][]api.FlavorQuotas{{*shared}, cards}
}

// admitted is a job with the flavors of its resources.
func admitted(j question.Job) *api.Workload {
	cpu, memory, cards := fmt.Sprintf("%dm", j.Cards*question.CPU), fmt.Sprint(j.Cards*question.Memory), fmt.Sprint(j.Cards)
	pods := build.MakePodSetAssignment(api.DefaultPodSetName).
		Assignment(corev1.ResourceCPU, node, cpu).Assignment(corev1.ResourceMemory, node, memory).
		Assignment(gpu, api.ResourceFlavorReference(j.Model), cards).Obj()
	return build.MakeWorkload(j.Name, namespace).Queue(api.LocalQueueName(j.Queue)).
		Request(corev1.ResourceCPU, cpu).Request(corev1.ResourceMemory, memory).Request(gpu, cards).
		ReserveQuotaAt(build.MakeAdmission(j.Queue).PodSets(pods).Obj(), time.Unix(1, 0)).Obj()
}

// fill fills Kueue's cache, which it keeps from then on.
func (o *objects) fill(reader client.Client) *scheduler.Cache {
	ctx, log := context.Background(), logr.Discard()
	cache := scheduler.New(reader)
	for _, f := range o.flavors {
		cache.AddOrUpdateResourceFlavor(log, f)
	}
	for _, c := range o.cohorts {
		must(cache.AddOrUpdateCohort(c))
	}
	for _, q := range o.queues {
		must(cache.AddClusterQueue(ctx, q))
	}
	for _, w := range o.running {
		if !cache.AddOrUpdateWorkload(log, w) {
			panic("not admitted: " + w.Name)
		}
	}
	return cache
}

func (o *objects) make(reader client.Client) *question.Engine {
	e := &engine{
		objects: o, cache: o.fill(reader), log: logr.Discard(), byName: map[string]*workload.Info{},
		usage: make([]workload.Usage, len(o.waiting)),
	}
	e.preemptor = preemption.New(nil, workload.Ordering{}, &record.FakeRecorder{}, nil, false, clock.RealClock{}, nil,
		expectations.NewStore("preemption"), nil)
	for i, info := range o.waiting {
		e.usage[i], e.byName[info.Obj.Name] = info.Usage(), info
	}
	for _, r := range o.world.Reclaims {
		for _, name := range r.Gone {
			if e.byName[name] == nil {
				e.byName[name] = workload.NewInfo(o.find(name))
			}
		}
	}
	return &question.Engine{
		Open: e.open, Event: e.event, Fits: e.fits, Charge: e.charge, Refund: e.refund, First: e.first, Victims: e.victims, WhatIf: e.whatIf,
	}
}

func (o *objects) find(name string) *api.Workload {
	for _, w := range o.running {
		if w.Name == name {
			return w
		}
	}
	panic("no such job: " + name)
}

type engine struct {
	*objects
	cache     *scheduler.Cache
	snapshot  *scheduler.Snapshot
	preemptor *preemption.Preemptor
	log       logr.Logger
	byName    map[string]*workload.Info
	usage     []workload.Usage // of the waiting jobs, which flavor assignment finds once for each attempt
}

func (e *engine) open() {
	var err error
	e.snapshot, err = e.cache.Snapshot(context.Background())
	must(err)
}

// event tells the cache that a job is admitted, and that it ends, as Kueue's controllers do.
func (e *engine) event(i int) {
	job := e.waiting[i].Obj
	e.cache.AddOrUpdateWorkload(e.log, job)
	must(e.cache.DeleteWorkload(e.log, workload.Key(job)))
}

func (e *engine) queue(name string) *scheduler.ClusterQueueSnapshot {
	return e.snapshot.ClusterQueue(api.ClusterQueueReference(name))
}

func (e *engine) fits(i int) bool { return e.queue(e.world.Waiting[i].Queue).Fits(e.usage[i]) }
func (e *engine) charge(i int)    { e.queue(e.world.Waiting[i].Queue).AddUsage(e.usage[i]) }
func (e *engine) refund(i int)    { e.queue(e.world.Waiting[i].Queue).RemoveUsage(e.usage[i]) }

func (e *engine) first(i int) bool {
	p := e.world.Pairs[i]
	return scheduler.CompareDRS(e.queue(p[0]).DominantResourceShare(), e.queue(p[1]).DominantResourceShare()) < 0
}

func (e *engine) victims(i int) []string {
	info := e.byName[e.world.Reclaims[i].Job]
	var queues []string
	for _, target := range e.preemptor.GetTargets(e.log, *info, assignment(info), e.snapshot) {
		queues = append(queues, string(target.WorkloadInfo.ClusterQueue))
	}
	return queues
}

// assignment gives a job the flavors that it names, with too few cards left.
func assignment(info *workload.Info) flavorassigner.Assignment {
	requests := info.TotalRequests[0]
	pods := flavorassigner.PodSetAssignment{Name: requests.Name, Flavors: flavorassigner.ResourceAssignment{}, Count: requests.Count,
		Requests: requests.Requests.ToResourceList()}
	for resource, flavor := range requests.Flavors {
		mode := flavorassigner.Fit
		if resource == gpu {
			mode = flavorassigner.Preempt
		}
		pods.Flavors[resource] = &flavorassigner.FlavorAssignment{Name: flavor, Mode: mode}
	}
	return flavorassigner.Assignment{PodSets: []flavorassigner.PodSetAssignment{pods}, Usage: info.Usage()}
}

func (e *engine) whatIf(i int) bool {
	r := e.world.Reclaims[i]
	gone := make([]*workload.Info, len(r.Gone))
	for n, name := range r.Gone {
		gone[n] = e.byName[name]
	}
	undo := e.snapshot.SimulateWorkloadRemoval(gone)
	info := e.byName[r.Job]
	fits := e.queue(string(info.ClusterQueue)).Fits(info.Usage())
	undo()
	return fits
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
