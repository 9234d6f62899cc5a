package reclaim

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
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
func (l *ledger) Place(pod, node int) quota.Verdict {
	at := l.spotOf(pod, node)
	a := l.ask(pod, at)
	v := l.Fits(l.books(), &a)
	if v.OK() && at.node != nil {
		v = l.FitsNodeRules(l.books(), &a, at.node.Name)
	}

	if v.OK() {
		l.ChargeAll(l.books(), a)
		l.placed = append(l.placed, at)
	}
	return v
}

// ask returns the question about a pod of the claimant at a spot.
func (l *ledger) ask(pod int, at *spot) constraint.Ask {
	task := *l.claimant.tasks[pod]
	if at.node != nil {
		task.NodeName = at.node.Name
	}
	return constraint.Ask{Task: &task, Queue: l.claimant.queue, Pod: at.pod, Request: at.charge, Complete: true}
}

// MayTake reports whether the claimant's queue deserves the charge of a pod on a node, or may take it as a loan.
func (l *ledger) MayTake(pod, node int) bool {
	at := l.spotOf(pod, node)
	if l.claimant.within {
		return true
	}

	q, left := l.claimant.queue, l.memory.draft.Queues
	if !at.hasCards {
		p := quota.Preemption{Index: l.Index, Allocated: left, Bound: l.LimitOf(q), Levels: l.settings.Levels}
		return p.Preemptive(q, at.charge).OK()
	}

	for d := range at.charge.Requested() {
		milli := at.charge.Get(d)
		if l.isModel(d) && !l.deservesMore(d, milli).OK() && !l.FindsLoan(left, q, d, milli) {
			return false
		}
	}
	return true
}

// Relieves reports whether the eviction of a pod makes room under a bound that refuses a pod of the claimant on a node.
// Pods with cards are evicted for cards alone.
func (l *ledger) Relieves(pod, node, job, victim int) bool {
	at := l.spotOf(pod, node)
	a := l.ask(pod, at)

	loser := l.jobs[job]
	task := loser.tasks[victim]
	hasCards := l.occupies(loser, victim)
	l.Intake.SetCharge(l.scratch, loser.queue, task, task.NodeName)

	for d := range l.scratch.Requested() {
		milli := at.charge.Get(d)
		if milli == 0 || hasCards && !l.Names.IsCard(d) {
			continue
		}
		if l.Lacks(l.books(), &a, loser.queue, task, d, milli) {
			return true
		}
	}
	return false
}

// CanRun asks the other plugins whether a node suits a pod. Evictions can free the resources that the pod lacks there.
func (l *ledger) CanRun(pod, node int) bool {
	task, kind := l.claimant.tasks[pod], l.claimant.kindOf[pod]
	on := l.snapshot.nodes[node]
	if !l.claimant.prepare(l.Rules, task, kind) || !l.claimant.suits[kind].Has(on.Name) {
		return false
	}
	return l.Volcano.PredicateForPreemptAction(task, on) == nil
}

// Preference is the place of the node's card in the list of the pod.
func (l *ledger) Preference(pod, node int) int { return l.spotOf(pod, node).preference }

// Charged numbers the charge of a pod on a node, plan.None where the pod cannot have its cards there.
func (l *ledger) Charged(pod, node int) int {
	at := l.spotOf(pod, node)
	if !at.usable {
		return plan.None
	}
	return at.charged
}

// spotOf returns the spot of a pod on a node.
func (l *ledger) spotOf(pod, node int) *spot {
	key := spotKey{l.claimant.kindOf[pod], node}
	if known := l.spots[key]; known != nil {
		return known
	}

	on := l.snapshot.nodes[node]
	charge := fastres.NewVector(l.scratch.Len())
	at := &spot{evictor: l.evictorOf(l.claimant.tasks[pod], charge, fastres.Vector{})}
	at.usable = l.place(&at.evictor, on.Name)
	at.node = on // also without cards: the rules of nodes ask for it
	if at.usable {
		at.charged = l.number(key.kind, at.charge)
		at.preference = l.preferenceOf(at)
	}
	if l.HasNodeRules() {
		at.charged = node // they decide by node
	}

	l.spots[key] = at
	return at
}

// number numbers the different charges of a kind.
func (l *ledger) number(kind int, charge fastres.Vector) int {
	at := slices.IndexFunc(l.charges[kind], charge.Equal)
	if at < 0 {
		at = len(l.charges[kind])
		l.charges[kind] = append(l.charges[kind], charge)
	}
	return at
}

// preferenceOf returns the place of the card in the list of the pod.
func (l *ledger) preferenceOf(at *spot) (place int) {
	if !at.hasCards {
		return 0
	}

	for r := range l.Cards.Requests(at.pod) {
		i := slices.IndexFunc(r.Selector.Dims, func(d fastres.Dim) bool { return at.charge.Get(d) > 0 })
		place += max(0, i)
	}
	return place
}
