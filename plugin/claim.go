package plugin

import (
	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// claim is a task that others would be evicted for.
type claim struct {
	task     *api.TaskInfo
	queue    index.Queue
	pod      *cards.PodRequest
	hasCards bool // it requests cards
	most     int  // how many tasks it is asked about
	class    quota.Class
	few      bool // no more victims are named than it needs

	// Set by place.
	node   *api.NodeInfo
	cards  *cards.Node    // those of the node
	charge fastres.Vector // what the queue is charged for the task on the node
	want   want           // of the card that was asked about last
}

// want is whether a claim may take a card of its node from other queues, and whether the node
// lacks it. A claim has it for all pods of the node.
type want struct {
	request       cards.Request
	mayTake, lack bool
}

func (s *session) claimOf(task *api.TaskInfo) claim {
	q := s.queueOf(task)
	pod := s.cards.PodRequest(q, task.Pod)
	return claim{task: task, queue: q, pod: pod, hasCards: !pod.None() && s.cards.Uses(pod), charge: s.memory.vectors.charge}
}

// place sets what the claim is charged on a node, and reports whether it can run there: the
// node has its cards, and it requests nothing that the session does not know, which no queue
// admits. The node does not matter to a claim without cards. Under the name proportion,
// unknown resources do not matter, as upstream.
func (s *session) place(c *claim, node string) bool {
	if c.hasCards {
		c.node, c.cards, c.want = s.ssn.Nodes[node], s.cards.Node(node), want{}
		if c.node == nil || c.cards == nil || !s.cards.Usable(c.queue, c.pod, c.cards) {
			return false
		}
	}
	return c.queue == index.None || s.intake.SetCharge(c.charge, c.queue, c.task, node) || s.variant.proportion
}

// frees reports whether the eviction of a task of q on the claim's node, which q is charged
// for, frees something that the claim lacks: a resource of the node, or room in a queue that
// both are in. A task with cards must free a card that is lacking: cards are not taken for the
// sake of cpu or memory.
func (s *session) frees(c *claim, q index.Queue, task *api.TaskInfo, charge fastres.Vector) bool {
	pod := s.cards.Stated(task.Pod)
	if s.cards.Occupies(pod) {
		return s.cards.Frees(c.pod, pod, c.cards, func(r cards.Request, d fastres.Dim) bool {
			if c.want.request != r {
				c.want = s.wantOf(c, r, d)
			}
			if q != c.queue && !c.want.mayTake {
				return false
			}
			return c.want.lack || charge.Get(d) > 0 && s.lacksQuota(c, q, task, d)
		})
	}
	for _, name := range task.Resreq.ResourceNames() {
		if task.Resreq.Get(name) > 0 && s.lacks(c, name) {
			return true
		}
	}
	for d := range charge.Requested() {
		if s.lacksQuota(c, q, task, d) {
			return true
		}
	}
	return false
}

// wantOf returns the want for d, the card of the claim's node for a request.
func (s *session) wantOf(c *claim, r cards.Request, d fastres.Dim) want {
	return want{
		request: r,
		mayTake: quota.PreemptiveCard(s.ix, s.books.Future.Queues, s.limit, c.queue, d, float64(r.Amount), s.settings.levels).OK(),
		lack:    s.lacks(c, v1.ResourceName(s.cards.ResourceName(r.Resource))),
	}
}

// lacks reports whether the node has less of a resource than the claim requests, once the
// pods that are being deleted are gone, and those have their place that others were evicted for.
func (s *session) lacks(c *claim, name v1.ResourceName) bool {
	n, request := c.node, c.task.InitResreq.Get(name)
	if kept := s.books.KeptOn(n.Name, c.task); kept != nil {
		request += kept.Get(name)
	}
	for _, victim := range s.leftOn(n.Name) {
		request -= victim.Resreq.Get(name)
	}
	return request > n.Idle.Get(name)+n.Releasing.Get(name)-n.Pipelined.Get(name)
}

// lacksQuota reports whether a bound on the quantity of one dimension that a task of q is a part
// of has too little room for the claim: the quota of a queue that both are in, what is
// guaranteed to others there, or the limit of their namespace. These are the bounds of
// allocation.
func (s *session) lacksQuota(c *claim, q index.Queue, task *api.TaskInfo, d fastres.Dim) bool {
	milli := c.charge.Get(d)
	if milli == 0 || c.queue == index.None {
		return false
	}
	return s.lacksRoom(c, q, d) || s.books.Future.Guarantees.Lacks(s.books.Future.Queues, c.queue, q, d, milli) ||
		s.namespaces != nil && s.lacksRoomOfNamespace(c, q, task, d)
}

// lacksRoom reports whether a queue that holds both the claim and q has too little room
// for the claim in one dimension.
func (s *session) lacksRoom(c *claim, q index.Queue, d fastres.Dim) bool {
	for _, p := range quota.Common(s.ix, c.queue, q) {
		if s.books.Future.Queues.Allocated(p).Get(d)+c.charge.Get(d) > s.limit.At(p, d) {
			return true
		}
	}
	return false
}
