package reclaim

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// trial has the evictions and placements that a plan tries. It answers the questions of the plan with the constraints
// and policies of the session (plan.Accounts). Its books are a draft: the books of the session do not change.
type trial struct {
	*Rules
	claimant *claimant
	snapshot *snapshot
	jobs     []*losingJob // by job of the problem

	request fastres.Vector // of the claimant, with the cards that are certain
	most    fastres.Vector // the most that it takes of each card
	scratch fastres.Vector
	spots   map[spotKey]*spot
	charges [][]fastres.Vector // the different charges of each kind

	marks   []trialMark
	lost    []loss
	placed  []*spot
	refusal *constraint.Refusal // see Explain; nil where the bounds admit the pod
}

var _ plan.Accounts = (*trial)(nil)

// trialMark is a state that Undo returns to, with the lengths of lost and placed.
type trialMark struct {
	draft        quota.DraftMark
	lost, placed int
}

// loss is a pod that the plan evicts.
type loss struct {
	task   *api.TaskInfo
	queue  index.Queue
	charge fastres.Vector
}

// openTrial begins a plan for a claimant. Earlier claimants have the room that they wait for.
func (p *planner) openTrial(c *claimant, snap *snapshot, jobs []*losingJob) *trial {
	length := p.Intake.Dims.Length()
	t := &trial{
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
		t.addRequest(task)
	}

	p.beginVictims()
	for _, h := range p.holds {
		t.ChargeAll(t.books(), h.ask)
	}
	return t
}

// books returns the draft.
func (t *trial) books() *quota.Books { return &t.memory.draft.Books }

// addRequest adds the request of a pod of the claimant. Of a list, each card counts as little as possible: the node
// decides.
func (t *trial) addRequest(task *api.TaskInfo) {
	pod := t.Cards.PodRequest(t.claimant.queue, task.Pod)
	t.Intake.Dims.Set(t.scratch, task.InitResreq)
	if pod.None() {
		t.request.Add(t.scratch)
		return
	}

	// With damping, the queue need not deserve cpu and memory that pods with cards are exempt from.
	if t.settings.Damping > 0 && t.settings.Cards.UnlimitedCPUMemory {
		t.scratch.Set(fastres.CPU, 0)
		t.scratch.Set(fastres.Memory, 0)
	}
	t.request.Add(t.scratch)

	for r := range t.Cards.Requests(pod) {
		for _, d := range r.Selector.Dims {
			milli := 1.0
			if len(r.Selector.Dims) == 1 {
				milli = float64(r.Of(d))
			}
			t.Names.AddCard(t.request, d, milli)
			t.most.Increase(d, float64(r.Of(d)))
		}
	}
}

// Mark returns the present state.
func (t *trial) Mark() int {
	t.marks = append(t.marks, trialMark{draft: t.memory.draft.Mark(), lost: len(t.lost), placed: len(t.placed)})
	return len(t.marks) - 1
}

// Undo returns to a state.
func (t *trial) Undo(mark int) {
	m := t.marks[mark]
	t.marks = t.marks[:mark]
	t.memory.draft.Undo(m.draft)

	for _, undone := range t.lost[m.lost:] {
		t.CountVictim(undone.queue, t.claimant.queue, -1)
	}
	t.lost = t.lost[:m.lost]
	t.placed = t.placed[:m.placed]
}

// Settled decides whether the claimant's queue deserves all cards that are taken for it, together with the idle ones.
// Loans were decided with each victim.
func (t *trial) Settled() quota.Verdict {
	v := constraint.Admitted(t.claimant.queue)
	if t.claimant.within || t.HasLoans() {
		return v
	}

	for _, loss := range t.lost {
		for d := range loss.charge.Requested() {
			if v.OK() && t.request.Get(d) > 0 && t.isModel(d) {
				v = t.deservesMore(d, 0)
			}
		}
	}
	return v
}

// deservesMore decides whether the claimant's queue deserves a quantity of a card more than it has in the draft.
func (t *trial) deservesMore(d fastres.Dim, milli float64) quota.Verdict {
	return t.deserves(t.memory.draft.Queues, t.claimant.queue, d, milli, fastres.Vector{})
}
