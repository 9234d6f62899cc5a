// Package ours measures this repository's plugin as bench/peers measures the others.
package ours

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"testing"
	"unsafe"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/peers/question"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/offline"
)

const gpu = "nvidia.com/gpu"

func TestMain(m *testing.M) {
	offline.Quiet()
	os.Exit(m.Run())
}

func BenchmarkPeers(b *testing.B) { question.Measure(b, "ours", prepare) }

// objects are the nodes, queues and jobs of a session, as Volcano's cache has them.
type objects struct {
	world *question.World
	*framework.Session
	waiting  []*api.TaskInfo
	victims  [][]*api.TaskInfo // of each reclaim, the running pods of all queues below its parent but its own
	gone     [][]*api.TaskInfo
	reclaims []*api.TaskInfo
}

func prepare(w *question.World) (func() *question.Engine, error) {
	info, err := cluster.Build(describe(w), "/peers")
	if err != nil {
		return nil, err
	}
	o := &objects{world: w, Session: offline.Open(offline.NewCache(info), nil)}
	o.Tiers = offline.Tiers(true, plugin.Name)
	o.NodeMap, o.PodLister = nil, nil // large, and no quota plugin looks at them
	o.find()
	return o.make, nil
}

// find sets the tasks of the questions.
func (o *objects) find() {
	parents := map[string]string{}
	for _, q := range o.world.Queues {
		parents[q.Name] = q.Parent
	}
	o.waiting, o.victims, o.gone, o.reclaims = nil, nil, nil, nil
	for _, j := range o.world.Waiting {
		o.waiting = append(o.waiting, o.task(j.Name))
	}
	for _, r := range o.world.Reclaims {
		own := o.job(r.Job).Queue
		var victims, gone []*api.TaskInfo
		for _, j := range o.world.Running {
			if j.Queue != string(own) && parents[j.Queue] == parents[string(own)] {
				victims = append(victims, o.task(j.Name))
			}
		}
		for _, name := range r.Gone {
			gone = append(gone, o.task(name))
		}
		o.reclaims, o.victims, o.gone = append(o.reclaims, o.task(r.Job)), append(o.victims, victims), append(o.gone, gone)
	}
}

func (o *objects) job(name string) *api.JobInfo { return o.Jobs[api.JobID(cluster.Namespace+"/"+name)] }

func (o *objects) task(job string) *api.TaskInfo {
	for _, t := range o.job(job).Tasks {
		return t
	}
	return nil
}

// describe is the world as our plugin sees it: cards in annotations, CPU and memory in fields.
func describe(w *question.World) workload.Cluster {
	c := workload.Cluster{Hierarchy: true}
	for _, n := range w.Nodes {
		c.Nodes = append(c.Nodes, workload.Node{
			Name: n.Name, Labels: map[string]string{workload.ProductLabel: n.Model, "nvidia.com/gpu.count": fmt.Sprint(n.Cards)},
			Allocatable: workload.Resources{"cpu": n.Cards * 2 * question.CPU, "memory": n.Cards * 2 * question.Memory, gpu: n.Cards, "pods": 110},
		})
	}
	models := int64(len(w.Models))
	all := func(cards int64) workload.Resources {
		return workload.Resources{"cpu": models * cards * question.CPU, "memory": models * cards * question.Memory}
	}
	for _, q := range w.Queues {
		c.Queues = append(c.Queues, workload.Queue{
			Name: q.Name, Parent: q.Parent, Weight: 1, Deserved: all(q.Deserved), Capability: all(q.Quota),
			Annotations: map[string]string{
				"volcano.sh/card.quota": counts(w.Models, q.Quota), "volcano.sh/card.deserved": counts(w.Models, q.Deserved),
				"volcano.sh/card.guarantee": counts(w.Models, 0),
			},
		})
	}
	for _, j := range w.Running {
		c.Jobs = append(c.Jobs, job(j, workload.Running, workload.TaskRunning))
	}
	for _, j := range w.Waiting {
		c.Jobs = append(c.Jobs, job(j, workload.Inqueue, workload.TaskPending))
	}
	return c
}

func job(j question.Job, phase workload.Phase, status workload.Status) workload.Job {
	request := workload.Resources{"cpu": j.Cards * question.CPU, "memory": j.Cards * question.Memory, gpu: j.Cards}
	return workload.Job{
		Name: j.Name, Queue: j.Queue, Phase: phase, MinMember: 1, MinResources: request,
		Tasks: []workload.Task{{
			Name: j.Name + "-0", Request: request, Status: status, Node: j.Node,
			Annotations: map[string]string{"volcano.sh/card.name": j.Model},
		}},
	}
}

func counts(models []string, n int64) string {
	text := "{"
	for i, m := range models {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf("%q:%d", m, n)
	}
	return text + "}"
}

type engine struct {
	*objects
	plugin  framework.Plugin
	handler *framework.EventHandler
	event   framework.Event
}

func (o *objects) make() *question.Engine {
	e := &engine{objects: o}
	return &question.Engine{
		Open: e.open, Renew: e.renew, Fits: e.fits, Charge: e.charge, Refund: e.refund, First: e.first, Victims: e.evicts, WhatIf: e.whatIf,
	}
}

// open closes the session before, if there was one, as each cycle of Volcano's does.
func (e *engine) open() {
	if e.plugin != nil {
		e.plugin.OnSessionClose(e.Session)
	}
	e.plugin = plugin.New(nil)
	e.plugin.OnSessionOpen(e.Session)
	e.handler = lastHandler(e.Session)
}

// renew clones the jobs, as Volcano's cache does for each session.
func (e *engine) renew() {
	for id, job := range e.Jobs {
		e.Jobs[id] = job.Clone()
	}
	e.find()
}

func (e *engine) queue(name string) *api.QueueInfo { return e.Queues[api.QueueID(name)] }

func (e *engine) fits(i int) bool {
	return e.Allocatable(e.queue(e.world.Waiting[i].Queue), e.waiting[i])
}

// charge has the pod on a node of its model, from which the plugin reads the card.
func (e *engine) charge(i int) {
	e.event.Task = e.waiting[i]
	e.event.Task.NodeName = e.nodeOf(e.world.Waiting[i].Model)
	e.handler.AllocateFunc(&e.event)
}

func (e *engine) refund(i int) {
	e.event.Task = e.waiting[i]
	e.handler.DeallocateFunc(&e.event)
	e.event.Task.NodeName = ""
}

// nodeOf is a node of a model: the first nodes are of one model each.
func (e *engine) nodeOf(model string) string {
	for _, n := range e.world.Nodes {
		if n.Model == model {
			return n.Name
		}
	}
	return ""
}

func (e *engine) first(i int) bool {
	p := e.world.Pairs[i]
	return e.QueueOrderFn(e.queue(p[0]), e.queue(p[1]))
}

func (e *engine) evicts(i int) []string {
	victims := e.Reclaimable(e.reclaims[i], e.objects.victims[i])
	queues := make([]string, len(victims))
	for n, v := range victims {
		queues[n] = string(e.Jobs[v.Job].Queue)
	}
	return queues
}

// whatIf takes a snapshot, as each pending pod has one, and asks a clone of it.
func (e *engine) whatIf(i int) bool {
	ctx, task := context.Background(), e.reclaims[i]
	if err := e.PrePredicateFn(task); err != nil {
		panic(err)
	}
	state := e.GetCycleState(task.UID)
	clone := state.Clone()
	for _, t := range e.gone[i] {
		if err := e.SimulateRemoveTaskFn(ctx, clone, task, t, nil); err != nil {
			panic(err)
		}
	}
	fits := e.SimulateAllocatableFn(ctx, clone, e.Queues[e.Jobs[task.Job].Queue], task)
	state.Delete(fwk.StateKey(plugin.Name))
	return fits
}

// lastHandler returns the event handler that was registered last. Volcano calls handlers while it updates jobs and
// nodes, and this update takes longer than the handlers.
func lastHandler(ssn *framework.Session) *framework.EventHandler {
	field := reflect.ValueOf(ssn).Elem().FieldByName("eventHandlers")
	handlers := *(*[]*framework.EventHandler)(unsafe.Pointer(field.UnsafeAddr()))
	return handlers[len(handlers)-1]
}
