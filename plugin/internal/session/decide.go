package session

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Decide answers whether a task may have a node. Allocation, the predicate, the event, the simulation and the
// inspection all ask it.
//
// DIVERGES: upstream asks no plugin about the queue of a pod without requests. If cards count, a queue that is not open
// starts none.
func (s *Session) Decide(q constraint.Question) (a constraint.Answer) {
	a.Task = q.Task
	a.Queue = q.Queue
	a.Request = q.Request
	a.Whole = q.Node == nil

	v := s.eligible(q)
	if !v.OK() {
		a.Refuse(cards.PodRefused, v)
		return a
	}

	a.Books = q.As
	if a.Books == nil {
		if q.Node == nil {
			s.PrepareQueue(q.Queue) // before the accounts are taken: it may change them
		}
		a.Books = s.Reclaim.BooksFor(q.Task)
	}

	if q.Node != nil {
		s.decideNode(&a, q)
	} else {
		s.decideAnywhere(&a, q)
	}

	return a
}

// eligible decides whether the queue of a question takes tasks.
//
// DIVERGES: upstream's simulation does not ask whether the queue is open, and evicts pods for a task that its
// allocatable refuses. Here only a simulation where cards count nowhere does not ask.
func (s *Session) eligible(q constraint.Question) quota.Verdict {
	if q.As != nil && s.Cards == nil {
		return quota.Eligible(s.Index.Tree, q.Queue)
	}
	return s.Intake.Eligible(q.Queue)
}

// decideAnywhere applies the rules of allocation to a task without a node. Where pods are evicted for the task, it also
// has to fit on their node: Volcano evicts more as long as it does not. A simulation asks about the node by itself.
func (s *Session) decideAnywhere(a *constraint.Answer, q constraint.Question) {
	v := s.AllocationOf(a.Books, q.Queue, q.Task, q.Request, &a.Fit.Request)
	if !v.OK() {
		a.Refuse(cards.PodRefused, v)
		return
	}
	if q.As != nil {
		return
	}

	if node := s.Reclaim.EvictedFor(q.Task); node != nil {
		fit := s.fitOn(a.Books, s.askOf(q.Task), node, false)
		if !fit.Verdict.OK() { // the predicates say the rest
			a.Refuse(cards.PodRefused, fit.Verdict)
			a.Fit.Request = fit.Request
		}
	}
}

// decideNode applies the rules to a task on a node. PrePredicate has prepared its queue.
//
// An allocated task has passed the rules for any node, so only its cards are left to check. A task that waits for
// others to end may have passed no rule: if a node has room, the action reclaim asks no plugin.
//
// DIVERGES: upstream lets a task without cards wait for more than the quotas admit.
func (s *Session) decideNode(a *constraint.Answer, q constraint.Question) {
	a.Ask = s.askOf(q.Task)
	a.Fit = s.fitOn(a.Books, a.Ask, q.Node, q.Placed)
	if !a.OK() || !q.Placed || q.Task.Status != api.Pipelined {
		return
	}

	a.Ask = s.AskOn(a.Queue, q.Task, q.Node.Name, q.Request)
	v := s.Fits(a.Books, &a.Ask)
	if !v.OK() {
		a.Whole = true
		a.Refuse(cards.PodRefused, v)
	}
}

// fitOn decides whether a node has room for a task that is not earmarked for others, and cards for it. placed: the node
// counts the task already. No room is earmarked on a node that the session does not have.
func (s *Session) fitOn(b *quota.Books, a constraint.Ask, node *api.NodeInfo, placed bool) (fit cards.NodeFit) {
	if node.Node != nil && !s.Books.LeavesRoom(a.Task, node, placed) {
		fit.Reason = cards.RoomEarmarked
		fit.Verdict = quota.Verdict{Reason: quota.Earmarked, Queue: a.Queue}
		return fit
	}

	if s.Cards == nil {
		return fit
	}

	return s.FitsNode(b, &a, node.Name)
}
