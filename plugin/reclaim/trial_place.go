package reclaim

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// spotKey is a kind of pods on a node.
type spotKey struct{ kind, node int }

// spot is a node for a kind of pods, with the charge of one of them there.
type spot struct {
	evictor
	usable     bool
	charged    int
	preference int
}

// Place charges a pod of the claimant on a node, if all bounds admit it there.
func (t *trial) Place(pod, node int) quota.Verdict {
	at := t.spotOf(pod, node)
	a := t.ask(pod, at)
	v := t.Fits(t.books(), &a)
	if v.OK() && at.node != nil {
		v = t.FitsNodeRules(t.books(), &a, at.node.Name)
	}

	if v.OK() {
		t.ChargeAll(t.books(), a)
		t.placed = append(t.placed, at)
	}
	return v
}

// Explain decides as Place does, and keeps the refusal with the comparison by which a bound refuses.
func (t *trial) Explain(pod, node int) quota.Verdict {
	t.refusal = nil
	mark := t.Mark()
	v := t.Place(pod, node)
	t.Undo(mark)

	if !v.OK() {
		a := t.ask(pod, t.spotOf(pod, node))
		t.refusal = t.Refused(constraint.Frame{}, constraint.Refusal{
			Request: a.Request,
			Task:    a.Task,
			Job:     t.claimant.job.UID,
			Queue:   a.Queue,
			Books:   t.books(),
		}, cards.Outcome{Verdict: v})
	}
	return v
}

// ask returns the question about a pod of the claimant at a spot.
func (t *trial) ask(pod int, at *spot) constraint.Ask {
	task := *t.claimant.tasks[pod]
	if at.node != nil {
		task.NodeName = at.node.Name
	}
	return constraint.Ask{Task: &task, Queue: t.claimant.queue, Pod: at.pod, Request: at.charge, Complete: true}
}

// MayTake reports whether the claimant's queue deserves the charge of a pod on a node, or may take it as a loan.
func (t *trial) MayTake(pod, node int) bool {
	at := t.spotOf(pod, node)
	if t.claimant.within {
		return true
	}

	q, left := t.claimant.queue, t.memory.draft.Queues
	if !at.hasCards {
		p := quota.Preemption{Index: t.Index, Allocated: left, Bound: t.LimitOf(q), Levels: t.settings.Levels}
		return p.Preemptive(q, at.charge).OK()
	}

	for d := range at.charge.Requested() {
		milli := at.charge.Get(d)
		if t.isModel(d) && !t.deservesMore(d, milli).OK() && !t.FindsLoan(left, q, d, milli) {
			return false
		}
	}
	return true
}

// Relieves reports whether the eviction of a pod makes room under a bound that refuses a pod of the claimant on a node.
// Pods with cards are evicted for cards alone.
func (t *trial) Relieves(pod, node, job, victim int) bool {
	at := t.spotOf(pod, node)
	a := t.ask(pod, at)

	loser := t.jobs[job]
	task := loser.tasks[victim]
	hasCards := t.occupies(loser, victim)
	t.Intake.SetCharge(t.scratch, loser.queue, task, task.NodeName)

	for d := range t.scratch.Requested() {
		milli := at.charge.Get(d)
		if milli == 0 || hasCards && !t.Names.IsCard(d) {
			continue
		}
		if t.Lacks(t.books(), &a, loser.queue, task, d, milli) {
			return true
		}
	}
	return false
}

// CanRun asks the other plugins whether a node suits a pod. Evictions can free the resources that the pod lacks there.
func (t *trial) CanRun(pod, node int) bool {
	task, kind := t.claimant.tasks[pod], t.claimant.kindOf[pod]
	on := t.snapshot.nodes[node]
	if !t.claimant.prepare(t.Rules, task, kind) || !t.claimant.suits[kind].Has(on.Name) {
		return false
	}
	return t.suits(t.claimant, task, on)
}

// Preference is the place of the node's card in the list of the pod.
func (t *trial) Preference(pod, node int) int { return t.spotOf(pod, node).preference }

// Charged numbers the charge of a pod on a node, plan.None where the pod cannot have its cards there.
func (t *trial) Charged(pod, node int) int {
	at := t.spotOf(pod, node)
	if !at.usable {
		return plan.None
	}
	return at.charged
}

// spotOf returns the spot of a pod on a node.
func (t *trial) spotOf(pod, node int) *spot {
	key := spotKey{t.claimant.kindOf[pod], node}
	if known := t.spots[key]; known != nil {
		return known
	}

	on := t.snapshot.nodes[node]
	charge := fastres.NewVector(t.scratch.Len())
	at := &spot{evictor: t.evictorOf(t.claimant.tasks[pod], charge, fastres.Vector{})}
	at.usable = t.place(&at.evictor, on.Name)
	at.node = on // also without cards: the rules of nodes ask for it
	if at.usable {
		at.charged = t.number(key.kind, at.charge)
		at.preference = t.preferenceOf(at)
	}
	if t.HasNodeRules() {
		at.charged = node // they decide by node
	}

	t.spots[key] = at
	return at
}

// number numbers the different charges of a kind.
func (t *trial) number(kind int, charge fastres.Vector) int {
	at := slices.IndexFunc(t.charges[kind], charge.Equal)
	if at < 0 {
		at = len(t.charges[kind])
		t.charges[kind] = append(t.charges[kind], charge)
	}
	return at
}

// preferenceOf returns the place of the card in the list of the pod.
func (t *trial) preferenceOf(at *spot) (place int) {
	if !at.hasCards {
		return 0
	}

	for r := range t.Cards.Requests(at.pod) {
		i := slices.IndexFunc(r.Selector.Dims, func(d fastres.Dim) bool { return at.charge.Get(d) > 0 })
		place += max(0, i)
	}
	return place
}
