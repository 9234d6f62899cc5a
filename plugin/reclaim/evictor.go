package reclaim

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// evictor is a pending task that others would be evicted for: a reclaimer or a preemptor.
type evictor struct {
	constraint.Reclaimer
	pod      *cards.PodRequest
	hasCards bool // it requests cards

	request fastres.Vector // with the cards of the node; see setRequest
	charge  fastres.Vector // to its queue, on the node

	// Set by place.
	node  *api.NodeInfo
	cards *cards.Node // of the node
	want  want        // of the card that was asked about last
}

// want is whether an evictor may take a card of its node from other queues, and whether the node
// lacks reports whether the node has less of a resource than the evictor requests. Pods that are being deleted
// count as gone, and pods with earmarks have their places.
type want struct {
	request       cards.Request
	card          fastres.Dim
	mayTake, lack bool
}

// evictorOf returns the evictor for a task, with memory for its charge and its request. Only
// reclaim needs the latter.
func (s *Rules) evictorOf(task *api.TaskInfo, charge, request fastres.Vector) evictor {
	q := s.QueueOf(task)
	pod := s.Cards.PodRequest(q, task.Pod)
	return evictor{
		Reclaimer: constraint.Reclaimer{Queue: q, Task: task},
		pod:       pod,
		hasCards:  !pod.None() && s.Cards.Uses(pod),
		charge:    charge,
		request:   request,
	}
}

// onNode returns the question about the evictor on the node where it was placed.
func (e *evictor) onNode() constraint.Ask {
	return constraint.Ask{Task: e.Task, Queue: e.Queue, Pod: e.pod, Request: e.charge, Complete: true}
}

// place sets the charge of the evictor on a node, and reports whether the evictor can run there. The node
// must have its cards; without cards, the node does not matter. No queue admits a resource that the session
// does not know. Under the name proportion, unknown resources do not matter, as upstream.
func (s *Rules) place(e *evictor, node string) bool {
	if !e.hasCards {
		return e.Queue == index.None || s.Intake.SetCharge(e.charge, e.Queue, e.Task, node) || s.rules.proportion
	}

	e.node = s.Volcano.Nodes[node]
	e.cards = s.Cards.Node(node)
	e.want = want{}
	if e.node == nil || e.cards == nil || !s.Cards.Usable(e.Queue, e.pod, e.cards) {
		return false
	}

	return s.Intake.SetChargeOn(e.charge, e.Queue, e.Task, e.pod, e.cards) || s.rules.proportion
}

// setRequest sets the request of a reclaimer, with the cards that it has on the node where it is placed. With
// damping it need not deserve cpu and memory that it is exempt from.
func (s *Rules) setRequest(e *evictor) {
	s.Intake.Dims.Set(e.request, e.Task.InitResreq)
	if !e.hasCards {
		return
	}

	if s.settings.Damping > 0 && s.settings.Cards.UnlimitedCPUMemory {
		e.request.Set(fastres.CPU, 0)
		e.request.Set(fastres.Memory, 0)
	}

	s.Cards.AddOn(e.request, e.pod, e.cards)
}

// frees reports whether the eviction of a task of q on the evictor's node frees something that the evictor lacks. This
// is a resource of the node, or room in a queue that both are in. charge is the charge of q for the task. pod is the
// statement of the task about cards.
func (s *Rules) frees(e *evictor, q index.Queue, task *api.TaskInfo, pod *cards.PodRequest,
	charge fastres.Vector) bool {
	if !s.Cards.Occupies(pod) {
		return s.freesResource(e, q, task, charge)
	}
	// Cards are not taken for the sake of cpu or memory.
	return s.Cards.Frees(e.pod, pod, e.cards, func(r cards.Request, d fastres.Dim) bool {
		return s.freesCard(e, q, task, charge, r, d)
	})
}

// freesResource is frees for a task without cards.
func (s *Rules) freesResource(e *evictor, q index.Queue, task *api.TaskInfo, charge fastres.Vector) bool {
	for _, name := range task.Resreq.ResourceNames() {
		if task.Resreq.Get(name) > 0 && s.lacks(e, name) {
			return true
		}
	}

	for d := range charge.Requested() {
		if s.lacksQuota(e, q, task, d) {
			return true
		}
	}
	return false
}

// freesCard is frees for a request of the evictor and a card that the task has.
func (s *Rules) freesCard(e *evictor, q index.Queue, task *api.TaskInfo, charge fastres.Vector,
	r cards.Request, d fastres.Dim) bool {
	if e.want.request != r || e.want.card != d {
		e.want = s.wantOf(e, r, d)
	}
	if q != e.Queue && !e.want.mayTake {
		return false
	}

	if e.want.lack || charge.Get(d) > 0 && s.lacksQuota(e, q, task, d) {
		return true
	}
	return slices.ContainsFunc(s.Names.Groups(d), func(share index.Share) bool {
		return charge.Get(share.Group) > 0 && s.lacksQuota(e, q, task, share.Group)
	})
}

// wantOf returns the want for d, the card of the evictor's node for a request.
func (s *Rules) wantOf(e *evictor, r cards.Request, d fastres.Dim) want {
	return want{
		request: r,
		card:    d,
		mayTake: s.mayTakeCard(e.Queue, d, float64(r.Of(d)), e.charge).OK(),
		lack:    s.Cards.UsesAny(r, func(name v1.ResourceName) bool { return s.lacks(e, name) }),
	}
}

// isModel reports whether a dimension is a card of one model, and not a group of cards or another resource.
func (s *Rules) isModel(d fastres.Dim) bool { return s.Names.IsCard(d) && !s.Names.IsGroup(d) }

// mayTakeCard decides whether q may take a quantity of a card from other queues. It may if it deserves the card, or if
// another queue borrows so much that q may take some of it. all is the sum of the requests that are decided together.
// It is empty where the sum is not known.
func (s *Rules) mayTakeCard(q index.Queue, d fastres.Dim, milli float64, all fastres.Vector) quota.Verdict {
	future := s.Books.Future.Queues
	v := s.deserves(future, q, d, milli, all)
	if v.Reason == quota.OverDeserved && s.FindsLoan(future, q, d, milli) {
		v.Reason = quota.Admitted
	}
	return v
}

// takesLoan decides about a victim of q, for an evictor with a queue that may not deserve its cards. Such an
// evictor gets them from queues that borrow enough. charge is the charge of the victim.
func (s *Rules) takesLoan(e *evictor, q index.Queue, charge fastres.Vector) bool {
	for d := range e.charge.Requested() {
		if !s.isModel(d) || s.deserves(s.Books.Future.Queues, e.Queue, d, 0, e.charge).OK() {
			continue
		}
		loan := constraint.Loan{To: e.Queue, From: q, Card: d, Gained: e.charge.Get(d), Lost: charge.Get(d)}
		if !s.AllowsLoan(s.memory.draft.Queues, loan) {
			return false
		}
	}

	return true
}

// deserves decides whether q deserves a quantity of a card beyond its allocated in the accounts a. If all has more of
// the card, that quantity counts. For each group of the card with a deserved of its own, q has to deserve the same
// share of the group, too.
func (s *Rules) deserves(a quota.View, q index.Queue, d fastres.Dim, milli float64,
	all fastres.Vector) quota.Verdict {
	atLeast := func(milli float64, d fastres.Dim) float64 {
		if all.Len() == 0 {
			return milli
		}
		return max(milli, all.Get(d))
	}

	milli = atLeast(milli, d)
	p := quota.Preemption{Index: s.Index, Allocated: a, Bound: s.Limit, Levels: s.settings.Levels}

	v := p.PreemptiveCard(q, d, milli)
	for _, share := range s.Names.Groups(d) {
		if v.OK() && s.Index.Deserved.Row(q).Has(share.Group) {
			ofGroup := atLeast(share.Of(milli), share.Group)
			v = p.PreemptiveCard(q, share.Group, ofGroup)
		}
	}
	return v
}

// lacks reports whether the node has less of a resource than the evictor requests, once the pods
// that are being deleted are gone, and pods with earmarks have their places.
func (s *Rules) lacks(e *evictor, name v1.ResourceName) bool {
	n := e.node
	request := e.Task.InitResreq.Get(name)
	if kept := s.Books.KeptOn(n.Name, e.Task); kept != nil {
		request += kept.Get(name)
	}
	return request > n.Idle.Get(name)+n.Releasing.Get(name)-n.Pipelined.Get(name)
}

// lacksQuota reports whether a bound that a task of q is charged under has too little room for the
// evictor in one dimension.
func (s *Rules) lacksQuota(e *evictor, q index.Queue, task *api.TaskInfo, d fastres.Dim) bool {
	milli := e.charge.Get(d)
	if milli == 0 || e.Queue == index.None {
		return false
	}
	a := e.onNode()
	return s.Lacks(&s.Books.Future, &a, q, task, d, milli)
}
