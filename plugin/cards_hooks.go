package plugin

import (
	"context"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/quota"
)

// registerCards hands the hooks to Volcano that only cards need.
func (o *session) registerCards() {
	o.ssn.AddPredicateFn(o.name, o.predicate)
	o.ssn.AddSimulatePredicateFn(o.name, o.simulatePredicate)
	o.ssn.AddNodeOrderFn(o.name, o.nodeOrder)
	o.ssn.AddPreemptableFn(o.name, o.preemptable)
}

// demandOf returns what a task of q says about cards: nothing where cards do not
// count. It is safe for many goroutines.
func (o *session) demandOf(q index.Queue, pod *v1.Pod) *demand {
	if o.cards == nil || q == index.None || !o.cards.counts[q] {
		return nothing
	}
	d, _ := o.cards.demand(pod)
	return d
}

// wanted returns the queue of a task and what it wants of cards. It is safe for
// many goroutines, and quick for the task that a predicate was prepared for.
func (o *session) wanted(task *api.TaskInfo) (index.Queue, *demand) {
	if w := o.current.Load(); w != nil && w.task == task {
		return w.queue, w.demand
	}
	q := o.queueOf(task)
	return q, o.demandOf(q, task.Pod)
}

// setTask makes x what a task of q requests, but for its cards, and reports
// whether the vectors have all of it.
func (o *session) setTask(x fastres.Vector, q index.Queue, task *api.TaskInfo) (*demand, bool) {
	complete := o.set(x, task.Resreq)
	d := o.demandOf(q, task.Pod)
	if o.unlimitedCPUMemory && len(d.wants) > 0 && o.cards.uses(d) {
		x.Set(fastres.CPU, 0)
		x.Set(fastres.Memory, 0)
	}
	return d, complete
}

// setPlaced is setTask with the cards that the task has on its node.
func (o *session) setPlaced(x fastres.Vector, q index.Queue, task *api.TaskInfo, node string) (complete bool) {
	d, complete := o.setTask(x, q, task)
	if len(d.wants) > 0 {
		o.cards.add(x, d, node)
	}
	return complete
}

// allowed is what is asked of a task's cards before any quota.
func (o *session) allowed(q index.Queue, p part) quota.Verdict {
	switch {
	case p.named && p.mixed:
		return quota.Verdict{Reason: quota.MixedResources, Queue: q}
	case p.named && p.want.resource != unsaid && !p.takes(p.want.resource):
		return quota.Verdict{Reason: quota.ResourceMismatch, Queue: q}
	case !p.named && o.untyped == reject:
		return quota.Verdict{Reason: quota.UntypedPod, Queue: q}
	}
	return quota.Verdict{Queue: q}
}

// cardsFit asks a rule about each part of a demand: is there a card for it?
func (o *session) cardsFit(q index.Queue, d *demand, rule func(card fastres.Dim, milli float64) quota.Verdict) (quota.Verdict, part) {
	for p := range o.cards.parts(d) {
		v := o.allowed(q, p)
		if v.OK() {
			v = quota.AnyCard(q, p.dims, func(card fastres.Dim) quota.Verdict { return rule(card, p.milli) })
		}
		if !v.OK() {
			return v, p
		}
	}
	return quota.Verdict{Queue: q}, part{}
}

// predicate admits the nodes whose cards the task may take: each is one that it
// names, and its queue and all ancestors have quota left for it.
func (o *session) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	return o.fitError(o.ix, task, node)
}

func (o *session) simulatePredicate(_ context.Context, state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo) error {
	w, err := o.whatIf(state)
	if err != nil {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return o.fitError(w, task, node)
}

func (o *session) fitError(a quota.Accounts, task *api.TaskInfo, node *api.NodeInfo) error {
	code, why := o.fitsNode(a, task, node.Name)
	if code == api.Success {
		return nil
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: why.String(), Plugin: o.name})
}

// fitsNode answers whether a task can have its cards on a node: Success, or why
// not. Only where evicting other tasks may help is the code Unschedulable.
func (o *session) fitsNode(a quota.Accounts, task *api.TaskInfo, node string) (code int, why *Reason) {
	q, d := o.wanted(task)
	if len(d.wants) == 0 {
		return api.Success, nil
	}
	n := o.cards.nodes[node]
	for p := range o.cards.parts(d) {
		if v := o.allowed(q, p); !v.OK() {
			return api.UnschedulableAndUnresolvable, o.explain(refusal{Verdict: v, part: p})
		}
		if n == nil {
			return api.UnschedulableAndUnresolvable, o.noCard(p)
		}
		nc, ok := n.of(p.want.resource)
		switch {
		case !ok && n.lacks(p.want.resource) != "":
			return api.UnschedulableAndUnresolvable, &Reason{Rule: CardUnlabeled,
				Resource: string(o.cards.resourceName(p.want.resource)), Label: n.lacks(p.want.resource)}
		case !ok || !slices.Contains(p.dims, nc.dim):
			return api.UnschedulableAndUnresolvable, o.noCard(p)
		}
		p.milli = o.cards.takes(d, n, nc.dim)
		if v := quota.CardFits(a, o.limit, q, nc.dim, p.milli); !v.OK() {
			code = api.Unschedulable
			if another := quota.AnyCard(q, p.dims, func(card fastres.Dim) quota.Verdict {
				return quota.CardFits(a, o.limit, q, card, p.milli)
			}); another.OK() {
				code = api.UnschedulableAndUnresolvable // another card is to be had without evicting anybody
			}
			return code, o.explain(refusal{Verdict: v, part: o.only(nc.dim, p)})
		}
	}
	return api.Success, nil
}

// takes is how much a demand takes of one card of a node: nearly always one part,
// but two resources of a node may be of one name.
func (c *cards) takes(d *demand, n *nodeCards, dim fastres.Dim) (milli float64) {
	for p := range c.parts(d) {
		if nc, ok := n.of(p.want.resource); ok && nc.dim == dim {
			milli += p.milli
		}
	}
	return milli
}

// only is a part of which one card is meant.
func (o *session) only(d fastres.Dim, p part) part {
	return part{&choice{names: card.List{o.names.Name(d)}, named: true, dims: []fastres.Dim{d}}, p.want}
}

func (o *session) noCard(p part) *Reason {
	return &Reason{Rule: NoSuchCard, Cards: o.cardsOf(p), Requested: p.milli / 1000, named: p.named}
}

// nodeOrder prefers nodes whose card comes first in the list that a task names.
func (o *session) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	_, d := o.wanted(task)
	n := o.cards.nodes[node.Name]
	if d.choice == nil || n == nil {
		return 0, nil
	}
	for p := range o.cards.parts(d) {
		nc, _ := n.of(p.want.resource)
		if i := slices.Index(p.dims, nc.dim); i >= 0 {
			return 100 * math.Pow(0.5, float64(p.rank[i])) * o.nodeOrderWeight, nil
		}
	}
	return 0, nil
}

// mayFree reports whether a victim leaves a card that the reclaimer of queue to
// could take in its place.
func (o *session) mayFree(to index.Queue, wanted *demand, from index.Queue, victim *api.TaskInfo) bool {
	n := o.cards.nodes[victim.NodeName]
	if n == nil {
		return false
	}
	given := o.demandOf(from, victim.Pod)
	for p := range o.cards.parts(wanted) {
		nc, ok := n.of(p.want.resource)
		if !ok || !slices.Contains(p.dims, nc.dim) || !o.allowed(to, p).OK() {
			continue
		}
		for g := range o.cards.parts(given) {
			if g.want.resource == p.want.resource && (from == to || quota.FreesCard(o.ix, from, to, nc.dim, p.milli)) {
				return true
			}
		}
	}
	return false
}

// keepsCards reports whether a victim's queue is at or under what it deserves of
// a card that the victim has.
func (o *session) keepsCards(q index.Queue, victim *api.TaskInfo) bool {
	for p := range o.cards.parts(o.demandOf(q, victim.Pod)) {
		if d, ok := o.cards.cardOn(victim.NodeName, p); ok && o.victims.KeepsCard(q, d) {
			return true
		}
	}
	return false
}

// preemptable leaves of the victims that all other plugins agree on those that
// free a card, for a preemptor that wants one. It asks the others itself:
// Volcano takes the word of the first tier that names victims, so an opinion of
// our own, given in a tier where nobody else has one, would overrule them.
func (o *session) preemptable(preemptor *api.TaskInfo, preemptees []*api.TaskInfo) ([]*api.TaskInfo, int) {
	q := o.queueOf(preemptor)
	wanted := o.demandOf(q, preemptor.Pod)
	if _, inner := o.asking.Load(preemptor); inner || len(wanted.wants) == 0 || !o.cards.uses(wanted) {
		return nil, util.Abstain
	}
	var useful []*api.TaskInfo
	for _, task := range preemptees {
		if from := o.queueOf(task); from != index.None && o.mayFree(q, wanted, from, task) {
			useful = append(useful, task)
		}
	}
	if len(useful) == 0 {
		return nil, util.Reject
	}
	question := *preemptor
	o.asking.Store(&question, true)
	defer o.asking.Delete(&question)
	return o.ssn.Preemptable(&question, useful), util.Permit
}

// refuseEvent keeps a task out of the accounts that was just placed where it may
// not have its cards, and reports whether it did: its allocation fails, and
// Volcano takes it back. Actions that evict place tasks without asking a
// predicate about what is left after the evictions, so this is the last word.
// What Volcano brings back, a task that was to be evicted and is not, is never
// refused.
func (o *session) refuseEvent(event *framework.Event) bool {
	task := event.Task
	if o.cards == nil || task.Status != api.Allocated && task.Status != api.Pipelined {
		return false
	}
	code, why := o.fitsNode(o.ix, task, task.NodeName)
	if code == api.Success {
		return false
	}
	event.Err = fmt.Errorf("task %s/%s on node %s: %s", task.Namespace, task.Name, task.NodeName, why)
	o.missed[task.UID] = true
	return true
}

// wasRefused reports whether a task that is taken away was kept out of the
// accounts when it was placed.
func (o *session) wasRefused(task *api.TaskInfo) bool {
	if !o.missed[task.UID] {
		return false
	}
	delete(o.missed, task.UID)
	return true
}
