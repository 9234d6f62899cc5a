package reclaim

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// ledger answers what a plan asks, with the accounts, constraints and policies of the session (plan.Accounts). Its
// accounts are a draft: those of the session do not change.
type ledger struct {
	*Session
	claimant *claimant
	field    *field
	jobs     []*losingJob // by job of the problem

	request fastres.Vector // that of the claimant, with the cards that are certain
	most    fastres.Vector // the most that it takes of each card
	scratch fastres.Vector
	spots   map[spotKey]*spot
	charges [][]fastres.Vector // the different charges of each kind

	marks  []ledgerMark
	lost   []loss
	placed []*spot
}

var _ plan.Accounts = (*ledger)(nil)

// ledgerMark is a state that Undo returns to.
type ledgerMark struct{ queues, holders, lost, placed int }

// loss is a pod that the plan evicts.
type loss struct {
	task   *api.TaskInfo
	queue  index.Queue
	charge fastres.Vector
}

// spotKey is a kind of pods on a node.
type spotKey struct{ kind, node int }

// spot is a node for a kind of pods, with what one of them is charged there.
type spot struct {
	evictor
	usable     bool
	charged    int
	preference int
}

// openLedger begins a plan for a claimant. What earlier claimants wait for is theirs.
func (s *Session) openLedger(c *claimant, f *field, jobs []*losingJob) *ledger {
	length := s.Intake.Dims.Length()
	l := &ledger{Session: s, claimant: c, field: f, jobs: jobs, request: fastres.NewVector(length), most: fastres.NewVector(length),
		scratch: fastres.NewVector(length), spots: map[spotKey]*spot{}, charges: make([][]fastres.Vector, c.kinds)}
	for _, task := range c.tasks {
		l.addRequest(task)
	}

	s.beginVictims()
	for _, h := range s.holds {
		s.ChargeAll(&s.memory.draft.Books, h.ask)
	}
	return l
}

// addRequest adds what a pod of the claimant requests. Of a list, each card counts as little as possible: the node
// decides.
func (l *ledger) addRequest(task *api.TaskInfo) {
	pod := l.Cards.PodRequest(l.claimant.queue, task.Pod)
	l.Intake.Dims.Set(l.scratch, task.InitResreq)
	if pod.None() {
		l.request.Add(l.scratch)
		return
	}

	if l.settings.Damping > 0 && l.settings.Cards.UnlimitedCPUMemory {
		l.scratch.Set(fastres.CPU, 0)
		l.scratch.Set(fastres.Memory, 0)
	}
	l.request.Add(l.scratch)
	for r := range l.Cards.Requests(pod) {
		for _, d := range r.Selector.Dims {
			milli := 1.0
			if len(r.Selector.Dims) == 1 {
				milli = float64(r.Of(d))
			}
			l.Names.AddCard(l.request, d, milli)
			l.most.Increase(d, float64(r.Of(d)))
		}
	}
}

// Mark returns the present state.
func (l *ledger) Mark() int {
	queues, holders := l.memory.draft.Mark()
	l.marks = append(l.marks, ledgerMark{queues: queues, holders: holders, lost: len(l.lost), placed: len(l.placed)})
	return len(l.marks) - 1
}

// Undo returns to a state.
func (l *ledger) Undo(mark int) {
	m := l.marks[mark]
	l.marks = l.marks[:mark]
	l.memory.draft.Undo(m.queues, m.holders)
	for _, of := range l.lost[m.lost:] {
		l.CountVictim(of.queue, l.claimant.queue, -1)
	}
	l.lost, l.placed = l.lost[:m.lost], l.placed[:m.placed]
}

// Evict evicts pods of a job together. The rules of reclaim must hold for one of them, which goes first. The others do
// no work without it, so only the guarantees of the queues protect them.
func (l *ledger) Evict(job int, pods []int) plan.Spared {
	of := l.jobs[job]
	mark := l.Mark()
	first, by := l.evictFirst(of, pods)
	for _, pod := range pods {
		if by == plan.Taken && pod != first {
			by = l.evictPod(of, pod, quota.ByGuarantee)
		}
	}
	if by != plan.Taken {
		l.Undo(mark)
	}
	return by
}

// evictFirst evicts the first of some pods for which the rules hold. If some have cards, it is one of these: a launcher
// without cards gives no cards away that its queue deserves.
func (l *ledger) evictFirst(of *losingJob, pods []int) (first int, by plan.Spared) {
	withCards := slices.ContainsFunc(pods, func(pod int) bool { return l.occupies(of, pod) })
	for _, pod := range pods {
		if withCards && !l.occupies(of, pod) {
			continue
		}
		by = l.evictPod(of, pod, quota.ByDeserved)
		if by == plan.Taken {
			return pod, by
		}
	}
	return plan.None, by
}

// occupies reports whether a pod has cards.
func (l *ledger) occupies(of *losingJob, pod int) bool {
	return of.pods[pod] != nil && l.Cards.Occupies(of.pods[pod])
}

// evictPod evicts one pod, with the least protection that it has.
func (l *ledger) evictPod(of *losingJob, pod int, least quota.Protection) plan.Spared {
	task := of.tasks[pod]
	q := of.queue
	to := l.claimant.queue
	if by := l.policy(of, task); by != plan.Taken {
		return by
	}
	charge := fastres.NewVector(l.scratch.Len())
	l.Intake.SetCharge(charge, q, task, task.NodeName)

	switch {
	case l.claimant.within:
		quota.Refund(l.memory.draft.Queues, q, charge, l.scratch)
	case !l.keepsUntilDue(q, charge):
		return plan.ByGuarantee
	case !l.takes(q, charge, task, least):
		if l.memory.victims.AboveDeserved(q, charge) {
			return plan.ByGuarantee
		}
		return plan.ByDeserved
	}
	l.memory.draft.RemoveBeside(q, task, charge)
	l.CountVictim(q, to, 1)
	l.lost = append(l.lost, loss{task: task, queue: q, charge: charge})
	return plan.Taken
}

// keepsUntilDue reports whether the queues of a pod keep their guarantees without it, as long as notices hold: until
// then, the claimants of announced plans have nothing.
func (l *ledger) keepsUntilDue(q index.Queue, charge fastres.Vector) bool {
	if len(l.notices.marks) == 0 {
		return true
	}
	mark := l.Mark()
	for _, marks := range l.notices.marks {
		for _, m := range marks {
			quota.Refund(l.memory.draft.Queues, m.Queue, m.Charge, l.scratch)
		}
	}
	keeps := l.memory.victims.TakeForGang(q, charge, l.claimant.queue, quota.ByGuarantee)
	l.Undo(mark)
	return keeps
}

// policy returns which policy spares a pod: a fence, a class, a minimum run time, a budget of evictions, or another
// plugin.
func (l *ledger) policy(of *losingJob, task *api.TaskInfo) plan.Spared {
	switch {
	case l.claimant.within && l.Spares(task):
		return plan.ByPolicy
	case l.claimant.within:
	case l.Protection(l.claimant.reclaimer(), of.queue, task) == quota.Spared:
		return plan.ByPolicy
	case !l.AllowsVictim(of.queue, l.claimant.queue):
		return plan.ByBudget
	}
	if !l.agrees(l.claimant, task) {
		return plan.ByOthers
	}
	return plan.Taken
}

// takes applies the rules of reclaim to a pod of q, and counts it as gone.
func (l *ledger) takes(q index.Queue, charge fastres.Vector, task *api.TaskInfo, least quota.Protection) bool {
	if least == quota.ByGuarantee {
		return l.memory.victims.TakeForGang(q, charge, l.claimant.queue, quota.ByGuarantee)
	}
	protection := l.Protection(l.claimant.reclaimer(), q, task)
	if protection == quota.ByDeserved && l.keeps(q, charge) || !l.lends(q, charge) {
		return false
	}
	return l.take(q, charge, l.claimant.queue, l.request, l.request, protection)
}

// lends decides about a pod of q for a claimant with a queue that deserves no more of its cards: it gets these from
// queues that borrow enough.
func (l *ledger) lends(q index.Queue, charge fastres.Vector) bool {
	if !l.HasLoans() {
		return true
	}
	victims := &l.memory.victims
	for d := range charge.Requested() {
		gained := l.most.Get(d)
		for _, at := range l.placed {
			gained -= at.charge.Get(d)
		}
		if gained <= 0 || !l.Names.IsCard(d) || l.Names.IsGroup(d) || l.deservesOf(victims, d, gained).OK() {
			continue
		}
		if !l.AllowsLoan(victims, constraint.Loan{To: l.claimant.queue, From: q, Card: d, Gained: gained, Lost: charge.Get(d)}) {
			return false
		}
	}
	return true
}

// deservesOf decides whether the claimant's queue deserves a quantity of a card more than it has by some accounts.
func (l *ledger) deservesOf(a quota.View, d fastres.Dim, milli float64) quota.Verdict {
	q := l.claimant.queue
	v := quota.PreemptiveCard(l.Index, a, l.Limit, q, d, milli, l.settings.Levels)
	for _, share := range l.Names.Groups(d) {
		if v.OK() && l.Index.Deserved.Row(q).Has(share.Group) {
			v = quota.PreemptiveCard(l.Index, a, l.Limit, q, share.Group, share.Of(milli), l.settings.Levels)
		}
	}
	return v
}

// Place charges a pod of the claimant on a node, if all bounds admit it there.
func (l *ledger) Place(pod, node int) quota.Verdict {
	at := l.spotOf(pod, node)
	a := l.ask(pod, at)
	v := l.Fits(&l.memory.draft.Books, &a)
	if v.OK() && at.node != nil {
		v = l.FitsNodeRules(&l.memory.draft.Books, &a, at.node.Name)
	}
	if v.OK() {
		l.ChargeAll(&l.memory.draft.Books, a)
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

// MayTake reports whether the claimant's queue deserves what a pod requests on a node, or may take it as a loan.
func (l *ledger) MayTake(pod, node int) bool {
	at := l.spotOf(pod, node)
	if l.claimant.within {
		return true
	}
	victims := &l.memory.victims
	if !at.hasCards {
		return quota.Preemptive(l.Index, victims, l.LimitOf(l.claimant.queue), l.claimant.queue, at.charge, l.settings.Levels).OK()
	}
	for d := range at.charge.Requested() {
		milli := at.charge.Get(d)
		if !l.Names.IsCard(d) || l.Names.IsGroup(d) || l.deservesOf(victims, d, milli).OK() {
			continue
		}
		if !l.FindsLoan(victims, l.claimant.queue, d, milli) {
			return false
		}
	}
	return true
}

// Relieves reports whether the eviction of a pod makes room under a bound that refuses a pod of the claimant on a node.
// Pods with cards are evicted for cards alone.
func (l *ledger) Relieves(pod, node, job, victim int) bool {
	of, at := l.jobs[job], l.spotOf(pod, node)
	task := of.tasks[victim]
	a := l.ask(pod, at)
	l.Intake.SetCharge(l.scratch, of.queue, task, task.NodeName)
	ofCards := l.occupies(of, victim)

	for d := range l.scratch.Requested() {
		milli := at.charge.Get(d)
		if milli == 0 || ofCards && !l.Names.IsCard(d) {
			continue
		}
		if l.Lacks(&l.memory.draft.Books, &a, of.queue, task, d, milli) {
			return true
		}
	}
	return false
}

// CanRun asks the other plugins whether a node suits a pod, apart from what evictions free.
func (l *ledger) CanRun(pod, node int) bool {
	task, kind := l.claimant.tasks[pod], l.claimant.kindOf[pod]
	if !l.claimant.prepare(l.Session, task, kind) || !l.claimant.suits[kind][l.field.nodes[node].Name] {
		return false
	}
	return l.Volcano.PredicateForPreemptAction(task, l.field.nodes[node]) == nil
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
	length := l.scratch.Len()
	at := &spot{evictor: l.evictorOf(l.claimant.tasks[pod], fastres.NewVector(length), fastres.Vector{})}
	name := l.field.nodes[node].Name
	at.usable = l.place(&at.evictor, name)
	if at.usable {
		at.charged = l.number(key.kind, at.charge)
		at.preference = l.preferenceOf(at)
	}
	if l.HasNodeRules() {
		at.charged = node // they decide by node
	}
	at.node = l.field.nodes[node]
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

// preferenceOf returns the place of the card in the list of the pod. Nodes of other shards come last.
func (l *ledger) preferenceOf(at *spot) (place int) {
	if !at.hasCards {
		return 0
	}
	for r := range l.Cards.Requests(at.pod) {
		if i := slices.IndexFunc(r.Selector.Dims, func(d fastres.Dim) bool { return at.charge.Get(d) > 0 }); i > 0 {
			place += i
		}
	}
	return place
}

// Settled decides whether the claimant's queue deserves all cards that are taken for it, together with those that are
// idle. What it takes as a loan was decided with each victim.
func (l *ledger) Settled() quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: l.claimant.queue}
	if l.claimant.within || l.HasLoans() {
		return v
	}
	for _, of := range l.lost {
		for d := range of.charge.Requested() {
			if v.OK() && l.request.Get(d) > 0 && l.Names.IsCard(d) && !l.Names.IsGroup(d) {
				v = l.deservesOf(&l.memory.victims, d, 0)
			}
		}
	}
	return v
}
