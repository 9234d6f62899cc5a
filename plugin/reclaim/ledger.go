package reclaim

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// ledger answers the questions of a plan with the accounts, constraints and policies of the session (plan.Accounts).
// Its accounts are a draft: the accounts of the session do not change.
type ledger struct {
	*Rules
	claimant *claimant
	snapshot *snapshot
	jobs     []*losingJob // by job of the problem

	request fastres.Vector // of the claimant, with the cards that are certain
	most    fastres.Vector // the most that it takes of each card
	scratch fastres.Vector
	spots   map[spotKey]*spot
	charges [][]fastres.Vector // the different charges of each kind

	marks  []ledgerMark
	lost   []loss
	placed []*spot
}

var _ plan.Accounts = (*ledger)(nil)

// ledgerMark is a state that Undo returns to, with the lengths of lost and placed.
type ledgerMark struct {
	draft        quota.DraftMark
	lost, placed int
}

// loss is a pod that the plan evicts.
type loss struct {
	task   *api.TaskInfo
	queue  index.Queue
	charge fastres.Vector
}

// openLedger begins a plan for a claimant. Earlier claimants have the room that they wait for.
func (p *planner) openLedger(c *claimant, snap *snapshot, jobs []*losingJob) *ledger {
	length := p.Intake.Dims.Length()
	l := &ledger{
		Rules:    p.Rules,
		claimant: c,
		snapshot: snap,
		jobs:     jobs,
		request:  fastres.NewVector(length),
		most:     fastres.NewVector(length),
		scratch:  fastres.NewVector(length),
		spots:    map[spotKey]*spot{},
		charges:  make([][]fastres.Vector, c.kinds),
	}
	for _, task := range c.tasks {
		l.addRequest(task)
	}

	p.beginVictims()
	for _, h := range p.holds {
		l.ChargeAll(l.books(), h.ask)
	}
	return l
}

// books are the accounts of the draft.
func (l *ledger) books() *quota.Books { return &l.memory.draft.Books }

// addRequest adds the request of a pod of the claimant. Of a list, each card counts as little as possible: the node
// decides.
func (l *ledger) addRequest(task *api.TaskInfo) {
	pod := l.Cards.PodRequest(l.claimant.queue, task.Pod)
	l.Intake.Dims.Set(l.scratch, task.InitResreq)
	if pod.None() {
		l.request.Add(l.scratch)
		return
	}

	// With damping, the queue need not deserve cpu and memory that pods with cards are exempt from.
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
	l.marks = append(l.marks, ledgerMark{draft: l.memory.draft.Mark(), lost: len(l.lost), placed: len(l.placed)})
	return len(l.marks) - 1
}

// Undo returns to a state.
func (l *ledger) Undo(mark int) {
	m := l.marks[mark]
	l.marks = l.marks[:mark]
	l.memory.draft.Undo(m.draft)

	for _, undone := range l.lost[m.lost:] {
		l.CountVictim(undone.queue, l.claimant.queue, -1)
	}
	l.lost = l.lost[:m.lost]
	l.placed = l.placed[:m.placed]
}

// Settled decides whether the claimant's queue deserves all cards that are taken for it, together with the idle ones.
// Loans were decided with each victim.
func (l *ledger) Settled() quota.Verdict {
	v := constraint.Admitted(l.claimant.queue)
	if l.claimant.within || l.HasLoans() {
		return v
	}

	for _, loss := range l.lost {
		for d := range loss.charge.Requested() {
			if v.OK() && l.request.Get(d) > 0 && l.isModel(d) {
				v = l.deservesMore(d, 0)
			}
		}
	}
	return v
}

// deservesMore decides whether the claimant's queue deserves a quantity of a card more than it has in the draft.
func (l *ledger) deservesMore(d fastres.Dim, milli float64) quota.Verdict {
	return l.deserves(l.memory.draft.Queues, l.claimant.queue, d, milli, fastres.Vector{})
}
