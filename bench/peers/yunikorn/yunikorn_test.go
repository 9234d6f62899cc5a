// Package yunikorn measures the queues of Apache YuniKorn's core, through the packages that it
// exports. YuniKorn keeps its tree between scheduling cycles, so that nothing is opened.
package yunikorn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/apache/yunikorn-core/pkg/common/configs"
	"github.com/apache/yunikorn-core/pkg/common/resources"
	"github.com/apache/yunikorn-core/pkg/common/security"
	"github.com/apache/yunikorn-core/pkg/log"
	"github.com/apache/yunikorn-core/pkg/scheduler/objects"
	"github.com/apache/yunikorn-scheduler-interface/lib/go/si"

	"github.com/capacity-card/capacity-card/bench/peers/question"
)

const (
	vcore  = "vcore" // in thousandths
	memory = "memory"
)

func BenchmarkPeers(b *testing.B) { question.Measure(b, "yunikorn", prepare) }

// card is the resource of the cards of a model. YuniKorn has no flavors of a resource.
func card(model string) string { return "example.com/" + strings.ToLower(model) }

func request(j question.Job) *resources.Resource {
	return resources.NewResourceFromMap(map[string]resources.Quantity{
		vcore:         resources.Quantity(j.Cards * question.CPU),
		memory:        resources.Quantity(j.Cards * question.Memory),
		card(j.Model): resources.Quantity(j.Cards),
	})
}

// message is a pod as the scheduler interface describes it.
func message(j question.Job) *si.Allocation {
	return &si.Allocation{
		AllocationKey: j.Name, ApplicationID: j.Name, PartitionName: "default", NodeID: j.Node,
		ResourcePerAlloc: request(j).ToProto(), PreemptionPolicy: &si.PreemptionPolicy{AllowPreemptSelf: true, AllowPreemptOther: true},
	}
}

func allocation(j question.Job) *objects.Allocation { return objects.NewAllocationFromSI(message(j)) }

type described struct {
	*question.World
	requests map[string]*resources.Resource // of running and waiting jobs, by name
	running  []*objects.Allocation
	waiting  []*objects.Allocation // as asks
	placed   []*objects.Allocation // the same on a node
	paths    map[string]string     // of queues, with those above them; of the scheduler alone
}

func prepare(w *question.World) (func() *question.Engine, error) {
	log.UpdateLoggingConfig(map[string]string{"log.level": "ERROR"}) // a refusal is a warning otherwise
	d := &described{World: w, requests: map[string]*resources.Resource{}}
	for _, j := range w.Running {
		d.running = append(d.running, allocation(j))
		d.requests[j.Name] = request(j)
	}
	for _, j := range w.Waiting {
		d.waiting = append(d.waiting, allocation(j))
		placed := j
		placed.Name, placed.Node = "placed-"+j.Name, w.Nodes[0].Name
		d.placed = append(d.placed, allocation(placed))
		d.requests[j.Name] = request(j)
	}
	return d.make, nil
}

// amounts is a bound of all models as the configuration has it.
func (d *described) amounts(cards int64) map[string]string {
	n := cards * int64(len(d.Models))
	a := map[string]string{vcore: fmt.Sprintf("%dm", n*question.CPU), memory: fmt.Sprint(n * question.Memory)}
	for _, m := range d.Models {
		a[card(m)] = fmt.Sprint(cards)
	}
	return a
}

type engine struct {
	*described
	queues    map[string]*objects.Queue
	apps      []*objects.Application                      // of the waiting jobs
	snapshots map[string]*objects.QueuePreemptionSnapshot // of the queues of the reclaims
}

func (d *described) make() *question.Engine {
	e := &engine{described: d, queues: map[string]*objects.Queue{}}
	for _, q := range d.Queues {
		e.add(q)
	}
	for i, j := range d.Running {
		app := e.application(j)
		app.AddAllocation(d.running[i])
		e.queues[j.Queue].IncAllocatedResource(d.running[i].GetAllocatedResource())
	}
	for i, j := range d.Waiting {
		app := e.application(j)
		must(app.AddAllocationAsk(d.waiting[i]))
		e.apps = append(e.apps, app)
	}
	e.snapshots = e.candidates(0)
	return &question.Engine{
		Event: e.event, Fits: e.fits, Charge: e.charge, Refund: e.refund, First: e.first, Victims: e.victims, WhatIf: e.whatIf,
	}
}

// configured is the configuration of a queue without those below it. Preemption stays below the
// parent of the queue that asks.
func (d *described) configured(q question.Queue) configs.QueueConfig {
	c := configs.QueueConfig{
		Name: q.Name, Parent: !q.Leaf, Resources: configs.Resources{Guaranteed: d.amounts(q.Deserved), Max: d.amounts(q.Quota)},
		Properties: map[string]string{configs.ApplicationSortPolicy: "fair"},
	}
	if !q.Leaf {
		c.Properties[configs.PreemptionPolicy] = "fence"
	}
	if q.Parent == "" {
		c.Resources = configs.Resources{} // the nodes bound the root
	}
	return c
}

// add makes a queue.
func (e *engine) add(q question.Queue) {
	queue, err := objects.NewConfiguredQueue(e.configured(q), e.queues[q.Parent])
	must(err)
	if q.Parent == "" {
		most, err := resources.NewResourceFromConf(e.amounts(q.Quota))
		must(err)
		queue.SetMaxResource(most)
	}
	e.queues[q.Name] = queue
}

func (e *engine) application(j question.Job) *objects.Application {
	queue := e.queues[j.Queue]
	user := security.UserGroup{User: "user", Groups: []string{"group"}}
	app := objects.NewApplication(&si.AddApplicationRequest{ApplicationID: j.Name, QueueName: queue.QueuePath, PartitionName: "default"}, user, nil, "rm")
	app.SetQueue(queue)
	queue.AddApplication(app)
	return app
}

// event charges the application and its queues for a pod, and refunds it, as a partition does.
func (e *engine) event(i int) {
	alloc, queue := e.placed[i], e.queues[e.Waiting[i].Queue]
	queue.IncAllocatedResource(alloc.GetAllocatedResource())
	e.apps[i].AddAllocation(alloc)
	e.apps[i].RemoveAllocation(alloc.GetAllocationKey(), si.TerminationType_STOPPED_BY_RM)
	must(queue.DecAllocatedResource(alloc.GetAllocatedResource()))
}

// fits charges the job if it fits, and takes it back: YuniKorn exports no question without a charge.
func (e *engine) fits(i int) bool {
	j := e.Waiting[i]
	if e.queues[j.Queue].TryIncAllocatedResource(e.requests[j.Name]) != nil {
		return false
	}
	e.refund(i)
	return true
}

func (e *engine) charge(i int) {
	must(e.queues[e.Waiting[i].Queue].TryIncAllocatedResource(e.requests[e.Waiting[i].Name]))
}

func (e *engine) refund(i int) {
	must(e.queues[e.Waiting[i].Queue].DecAllocatedResource(e.requests[e.Waiting[i].Name]))
}

// first compares two queues by the exported function that sorts them.
func (e *engine) first(i int) bool {
	l, r := e.queues[e.Pairs[i][0]], e.queues[e.Pairs[i][1]]
	return resources.CompUsageRatioSeparately(l.GetAllocatedResource(), l.GetGuaranteedResource(), l.GetFairMaxResource(),
		r.GetAllocatedResource(), r.GetGuaranteedResource(), r.GetFairMaxResource()) < 0
}

// candidates are the queues with pods that may be preempted for a reclaim.
func (e *engine) candidates(i int) map[string]*objects.QueuePreemptionSnapshot {
	j := e.Waiting[i] // the first jobs are the jobs of the reclaims
	queue := e.queues[j.Queue]
	return queue.FindEligiblePreemptionVictims(queue.QueuePath, e.waiting[i])
}

func (e *engine) victims(i int) []string {
	var queues []string
	for path, s := range e.candidates(i) {
		for range s.PotentialVictims {
			queues = append(queues, path[strings.LastIndexByte(path, '.')+1:])
		}
	}
	return queues
}

// whatIf works on copies of the snapshots that a preemption attempt takes.
func (e *engine) whatIf(i int) bool {
	r := e.Reclaims[i]
	copies := map[string]*objects.QueuePreemptionSnapshot{}
	asks := e.snapshots[e.queues[e.Waiting[i].Queue].QueuePath].Duplicate(copies)
	from := e.snapshots[e.queues[r.From].QueuePath].Duplicate(copies)
	for _, name := range r.Gone {
		from.RemoveAllocation(e.requests[name])
	}
	for s := asks; s != nil; s = s.Parent {
		if !s.MaxResource.FitInMaxUndef(resources.Add(s.AllocatedResource, e.requests[r.Job])) {
			return false
		}
	}
	return true
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
