package plugin

import (
	"fmt"

	"k8s.io/klog/v2"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// register hands the session's hooks to Volcano.
func (o *session) register(hierarchy bool) {
	ssn := o.ssn
	ssn.AddQueueOrderFn(o.name, o.queueOrder)
	if hierarchy {
		ssn.AddVictimQueueOrderFn(o.name, o.victimQueueOrder)
	}
	ssn.AddReclaimableFn(o.name, o.reclaimable)
	ssn.AddPreemptiveFn(o.name, o.preemptive)
	if o.weighted {
		ssn.AddOverusedFn(o.name, o.overused)
	}
	ssn.AddAllocatableFn(o.name, o.allocatable)
	ssn.AddJobEnqueueableFn(o.name, o.jobEnqueueable)
	ssn.AddJobEnqueuedFn(o.name, o.jobEnqueued)
	ssn.AddPrePredicateFn(o.name, o.prePredicate)
	ssn.AddSimulateAddTaskFn(o.name, o.simulateAddTask)
	ssn.AddSimulateRemoveTaskFn(o.name, o.simulateRemoveTask)
	ssn.AddSimulateAllocatableFn(o.name, o.simulateAllocatable)
	if o.cards != nil {
		o.registerCards()
	}
	ssn.AddEventHandler(&framework.EventHandler{AllocateFunc: o.onAllocate, DeallocateFunc: o.onDeallocate})
}

// number returns the number of a queue, None for one that the session does not
// have. Volcano looks queues up by the names in jobs and may find nil. It is for
// one goroutine.
func (o *session) number(queue *api.QueueInfo) index.Queue {
	if queue == nil {
		return index.None
	}
	return o.asked.of(queue, o.ix.Tree)
}

// queueOf returns the queue of a task, None if the session does not have its job
// or the job's queue.
func (o *session) queueOf(task *api.TaskInfo) index.Queue {
	job := o.ssn.Jobs[task.Job]
	if job == nil {
		return index.None
	}
	return o.ix.Lookup(string(job.Queue))
}

// eligible is what all admissions ask first.
func (o *session) eligible(queue *api.QueueInfo) quota.Verdict {
	q := o.number(queue)
	if v := quota.Eligible(o.ix.Tree, q); !v.OK() {
		return v
	}
	if queue.Queue.Status.State != scheduling.QueueStateOpen {
		return quota.Verdict{Reason: quota.ClosedQueue, Queue: q}
	}
	return quota.Verdict{Queue: q}
}

func (o *session) queueOrder(l, r any) int {
	lv, rv := l.(*api.QueueInfo), r.(*api.QueueInfo)
	if lp, rp := lv.Queue.Spec.Priority, rv.Queue.Spec.Priority; lp != rp {
		return int(rp) - int(lp)
	}
	lq, rq := o.number(lv), o.number(rv)
	if lq == index.None || rq == index.None {
		return int(lq) - int(rq)
	}
	if o.weighted {
		return quota.OrderByShare(o.ix, lq, rq)
	}
	if o.damped() {
		return quota.OrderDamped(o.ix, &o.least, lq, rq)
	}
	return quota.Order(o.ix, lq, rq)
}

func (o *session) victimQueueOrder(l, r, preemptor any) int {
	lq, rq, pq := o.number(l.(*api.QueueInfo)), o.number(r.(*api.QueueInfo)), o.number(preemptor.(*api.QueueInfo))
	if lq == index.None || rq == index.None || pq == index.None {
		return 0
	}
	return quota.VictimOrder(o.ix, lq, rq, pq)
}

// reclaimable picks the victims among reclaimees. Tasks of nobody, and of
// queues that do not reach the root, are left alone.
func (o *session) reclaimable(reclaimer *api.TaskInfo, reclaimees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	wanted, request := o.scratch[0], o.scratch[1]
	o.set(wanted, reclaimer.InitResreq)
	to := o.queueOf(reclaimer)
	cards := o.demandOf(to, reclaimer.Pod)
	forCards := len(cards.wants) > 0 && o.cards.uses(cards)
	o.victims.Begin()
	var victims []*api.TaskInfo
	for _, task := range reclaimees {
		q := o.queueOf(task)
		if q == index.None || o.ix.Broken(q) != nil || forCards && !o.mayFree(to, cards, q, task) {
			continue
		}
		if forCards { // what it would have on the victim's node
			o.set(wanted, reclaimer.InitResreq)
			if o.damped() && o.unlimitedCPUMemory { // it is not charged for them, so need not deserve them
				wanted.Set(fastres.CPU, 0)
				wanted.Set(fastres.Memory, 0)
			}
			o.cards.add(wanted, cards, task.NodeName)
		}
		o.setPlaced(request, q, task, task.NodeName)
		if o.cards != nil && o.keepsCards(q, task) {
			continue
		}
		if o.take(q, request, to, wanted) {
			if victims == nil {
				victims = make([]*api.TaskInfo, 0, len(reclaimees))
			}
			victims = append(victims, task)
		}
	}
	if klog.V(4).Enabled() {
		klog.Infof("[%s] %d of %d tasks may leave for %s/%s: %v",
			o.name, len(victims), len(reclaimees), reclaimer.Namespace, reclaimer.Name, victims)
	}
	return victims, util.Permit
}

// take asks the rule of reclaim about one victim.
func (o *session) take(q index.Queue, victim fastres.Vector, to index.Queue, wanted fastres.Vector) bool {
	switch {
	case o.weighted:
		return o.victims.TakeOverused(q, victim)
	case o.damped() && to != index.None:
		return o.victims.TakeDamped(q, victim, to, wanted, o.reclaimLevels)
	}
	return o.victims.Take(q, victim, wanted)
}

// preemptive reports whether a queue may take from others for a task.
func (o *session) preemptive(obj, candidate any) bool {
	queue, task := obj.(*api.QueueInfo), candidate.(*api.TaskInfo)
	eligible := o.eligible(queue)
	v, p := o.preemption(eligible, task)
	if !o.weighted && eligible.OK() {
		o.gaugesOf(eligible.Queue).setOverused(!v.OK())
	}
	if !v.OK() && klog.V(3).Enabled() {
		klog.Infof("[%s] nothing is taken from others for %s/%s: %s", o.name, task.Namespace, task.Name, o.words(o.refusalOf(v, p)))
	}
	return v.OK()
}

// preemption asks the rule of preemption about a task of a queue of which v
// holds, and returns what of the task's cards is refused, if it is cards.
func (o *session) preemption(v quota.Verdict, task *api.TaskInfo) (quota.Verdict, part) {
	if !v.OK() {
		return v, part{}
	}
	q, request := v.Queue, o.scratch[0]
	d, known := o.setTask(request, q, task)
	switch {
	case o.weighted:
		return o.fits(o.ix, q, request, known), part{}
	case !known:
		return quota.Verdict{Reason: quota.OverQuota, Queue: q}, part{}
	case len(d.wants) > 0 && o.cards.uses(d):
		return o.preemptiveCards(q, request, d)
	}
	return quota.Preemptive(o.ix, q, request), part{}
}

// preemptiveCards is preemption for a task that wants cards: they are what it
// takes from others, so its queue must have less of one of them than it deserves.
func (o *session) preemptiveCards(q index.Queue, request fastres.Vector, d *demand) (quota.Verdict, part) {
	if !fastres.Fits(o.ix.Allocated(q), request, o.ix.RealCapability.Row(q)) {
		return quota.Verdict{Reason: quota.OverQuota, Queue: q}, part{}
	}
	return o.cardsFit(q, d, func(card fastres.Dim, milli float64) quota.Verdict {
		return quota.PreemptiveCard(o.ix, q, card, milli)
	})
}

// overused reports whether a queue has all it deserves, so takes no more.
func (o *session) overused(obj any) bool {
	queue := obj.(*api.QueueInfo)
	q := o.number(queue)
	if q == index.None {
		return true
	}
	overused := quota.Overused(o.ix, q)
	o.gaugesOf(q).setOverused(overused)
	return overused
}

// allocatable reports whether a task may be placed now.
func (o *session) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	v, p := o.allocation(queue, task)
	if v.OK() {
		return true
	}
	r := o.refusalOf(v, p)
	if job := o.ssn.Jobs[task.Job]; job != nil && job.JobFitErrors == "" {
		o.refuse(job, r)
	}
	if klog.V(3).Enabled() {
		klog.Infof("[%s] task %s/%s waits: %s", o.name, task.Namespace, task.Name, o.words(r))
	}
	return false
}

// allocation asks all that is asked before a task is placed, and returns what of
// its cards is refused, if it is cards.
func (o *session) allocation(queue *api.QueueInfo, task *api.TaskInfo) (quota.Verdict, part) {
	v := o.eligible(queue)
	if !v.OK() {
		return v, part{}
	}
	return o.fitsTask(o.ix, v.Queue, o.scratch[0], task)
}

// fitsTask asks the rule of allocation about a task of q that has no node yet.
// It sets request to what the task requests.
func (o *session) fitsTask(a quota.Accounts, q index.Queue, request fastres.Vector, task *api.TaskInfo) (quota.Verdict, part) {
	d, known := o.setTask(request, q, task)
	v := o.fits(a, q, request, known)
	if !v.OK() || len(d.wants) == 0 {
		return v, part{}
	}
	return o.cardsFit(q, d, func(card fastres.Dim, milli float64) quota.Verdict {
		return quota.CardFits(a, o.limit, q, card, milli)
	})
}

// fits asks the rule of allocation. A request for something that the session
// has never heard of cannot be under any bound.
func (o *session) fits(a quota.Accounts, q index.Queue, request fastres.Vector, known bool) quota.Verdict {
	if !known {
		return quota.Verdict{Reason: quota.OverQuota, Queue: q}
	}
	return quota.Allocatable(a, o.limit, q, request)
}

// jobEnqueueable votes on whether a job may get its pods. It changes nothing.
func (o *session) jobEnqueueable(obj any) int {
	job := obj.(*api.JobInfo)
	r := o.enqueueable(job)
	if r.OK() {
		return util.Permit
	}
	if o.refuse(job, r) {
		o.record(job)
	}
	return util.Reject
}

func (o *session) enqueueable(job *api.JobInfo) refusal {
	r := refusal{request: o.scratch[0], enqueue: true}
	queue := o.ssn.Queues[job.Queue]
	if queue == nil {
		r.Verdict = quota.Verdict{Reason: quota.UnknownQueue, Queue: index.None}
		return r
	}
	if r.Verdict = o.eligible(queue); !r.OK() {
		return r
	}
	carded := o.readCards(r.Queue, job)
	if job.PodGroup != nil && job.PodGroup.Spec.MinResources != nil {
		known := o.setMinimum(r.request, job)
		if carded {
			o.own.capMinimum(o.cards, r.request)
		}
		if r.Verdict = quota.Enqueueable(o.ix, r.Queue, r.request); !known {
			r.Reason = quota.OverQuota
		}
	}
	if r.OK() && carded {
		r = o.enqueueableCards(r)
	}
	return r
}

// setMinimum sets x to the job's minimum, and reports whether the vectors have
// all of it. A minimum may name what no task, queue or node of the session has;
// there is room for a few such names, of which nobody has a quota.
func (o *session) setMinimum(x fastres.Vector, job *api.JobInfo) (complete bool) {
	r := reader{dimensions: o.dimensions}
	r.setMin(x, job)
	if o.intern(r.missing) {
		return true
	}
	again := reader{dimensions: o.dimensions}
	again.setMin(x, job)
	return len(again.missing) == 0
}

// jobEnqueued charges what a job was promised, once the decision stands.
func (o *session) jobEnqueued(obj any) {
	job := obj.(*api.JobInfo)
	q := o.ix.Lookup(string(job.Queue))
	if q == index.None {
		return
	}
	carded := o.readCards(q, job)
	if carded {
		o.promiseCards(q, job)
	}
	if job.PodGroup == nil || job.PodGroup.Spec.MinResources == nil {
		return
	}
	min, allocated, promise, gated := o.scratch[0], o.scratch[1], o.scratch[2], o.scratch[3]
	placed, _ := countTasks(job)
	o.setMinimum(min, job)
	o.set(allocated, job.Allocated)
	(&reader{dimensions: o.dimensions}).setGated(gated, job, placed)
	if carded {
		o.own.capMinimum(o.cards, min)
		o.own.placed.without(allocated)
		o.own.gated.without(gated)
	}
	quota.Reservation(promise, min, allocated, gated)
	o.chargeInqueue(q, promise)
	o.check()
}

// onAllocate charges a task that was placed.
func (o *session) onAllocate(event *framework.Event) {
	if q := o.queueOf(event.Task); q != index.None && !o.refuseEvent(event) {
		o.move(q, event.Task, true)
	}
}

// onDeallocate refunds a task that was taken away.
func (o *session) onDeallocate(event *framework.Event) {
	if q := o.queueOf(event.Task); q != index.None && !o.wasRefused(event.Task) {
		o.move(q, event.Task, false)
	}
}

func (o *session) move(q index.Queue, task *api.TaskInfo, placed bool) {
	request := o.scratch[0]
	if !o.setPlaced(request, q, task, task.NodeName) {
		o.warnOnce(o.name, fmt.Sprintf("task %s/%s requests a resource that none of the session's jobs has",
			task.Namespace, task.Name))
	}
	o.ix.NoteOwnJobs(q)
	if placed {
		quota.Charge(o.ix, q, request)
	} else {
		quota.Refund(o.ix, q, request, o.scratch[1])
	}
	quota.RefreshShare(o.ix, q, o.share)
	o.check()
	o.publishAllocated(q, request)
	if klog.V(4).Enabled() {
		klog.Infof("[%s] task %s/%s placed: %t, queue %s has share %v",
			o.name, task.Namespace, task.Name, placed, o.ix.Name(q), o.ix.Share(q))
	}
}
