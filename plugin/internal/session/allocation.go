package session

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// AllocatableOf reports whether a task may be allocated now.
func (s *Session) AllocatableOf(queue *api.QueueInfo, task *api.TaskInfo) bool {
	frame := s.Frames.Open()
	defer frame.Close()

	s.Reclaim.NoteAllocate()
	q, request := s.number(queue), frame.Vector()
	books, outcome := s.decideTask(q, task, request)

	if outcome.Verdict.OK() {
		if s.Gates != nil {
			s.Gates.Allocatable(s.QueueOf(task), task)
		}
		return true
	}

	refusal := s.RefusedTask(frame, books, constraint.Ask{Task: task, Queue: q, Request: request}, outcome)
	if job := s.Volcano.Jobs[task.Job]; job != nil && job.JobFitErrors == "" {
		s.Memory.journal.Refuse(&s.explain, job, refusal)
	}

	if klog.V(3).Enabled() {
		klog.Infof("[%s] task %s/%s waits: %s", s.Variant.Name, task.Namespace, task.Name, s.explain.Explain(refusal))
	}
	return false
}

// decideTask applies the rules of allocation to a task of q, for the hook and the inspection. It sets request to the
// requests of the task. It returns the accounts that the rules compared with, nil if the queue itself takes no tasks.
func (s *Session) decideTask(
	q index.Queue, task *api.TaskInfo, request fastres.Vector,
) (books *quota.Books, o cards.Outcome) {
	o.Verdict = s.Intake.Eligible(q)
	if !o.Verdict.OK() {
		return nil, o
	}

	s.PrepareQueue(q) // before the accounts are taken: it may change them
	books = s.Reclaim.BooksFor(task)
	o.Verdict = s.AllocationOf(books, q, task, request, &o.Request)

	if node := s.Reclaim.EvictedFor(task); o.Verdict.OK() && node != nil {
		_, fit := s.decideNode(books, task, node)
		if !fit.Verdict.OK() { // the predicates say the rest
			o.Verdict = fit.Verdict
			o.Request = fit.Request
		}
	}
	return books, o
}

// decideNode applies the rules to a task on a node: its queue takes tasks, the node has room that is not earmarked for
// others, and the task can have its cards there. The predicates of allocation and simulation and the inspection call
// it. It is safe for many goroutines.
//
// DIVERGES: upstream asks no plugin about the queue of a pod without requests. If cards count, a queue that is not open
// starts none.
func (s *Session) decideNode(
	b *quota.Books, task *api.TaskInfo, node *api.NodeInfo,
) (a constraint.Ask, fit cards.NodeFit) {
	if s.Cards == nil {
		a.Task = task
		a.Queue = s.QueueOf(task)
	} else {
		a = s.askOf(task)
		if !s.Intake.Eligible(a.Queue).OK() {
			return a, cards.NodeFit{Reason: cards.PodRefused, Verdict: s.Intake.Eligible(a.Queue)}
		}
	}

	if !s.Books.LeavesRoom(task, node, false) {
		earmarked := quota.Verdict{Reason: quota.Earmarked, Queue: a.Queue}
		return a, cards.NodeFit{Reason: cards.RoomEarmarked, Verdict: earmarked}
	}

	if s.Cards != nil {
		fit = s.FitsNode(b, &a, node.Name)
	}
	return a, fit
}

// Predicate admits the nodes on which a task can have its cards: the node has one of them, and the queue and all its
// ancestors have quota left for it.
func (s *Session) Predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	return s.fitError(s.Reclaim.BooksFor(task), task, node)
}

// fitError returns why a task cannot have its cards on a node, as Volcano expects it. The code is Unschedulable if
// evictions may help.
func (s *Session) fitError(b *quota.Books, task *api.TaskInfo, node *api.NodeInfo) error {
	a, fit := s.decideNode(b, task, node)
	if fit.Reason == cards.NodeFits {
		return nil
	}

	code := api.UnschedulableAndUnresolvable
	switch fit.Reason {
	case cards.OverQuota, cards.OtherCard, cards.RoomEarmarked:
		code = api.Unschedulable
	}

	var reason string
	if w := s.preparedFor(task); w != nil && fit.Reason == cards.NoSuchCard {
		reason = w.refused.Text(&s.explain, fit)
	} else {
		reason = s.explain.ExplainNode(fit, s.RefusedNode(constraint.Frame{}, b, a, fit)).String()
	}

	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: reason, Plugin: s.Variant.Name})
}

// askOf returns the question about the cards of a task. It is safe for many goroutines, and fast for the task that
// PrePredicate prepared.
func (s *Session) askOf(task *api.TaskInfo) constraint.Ask {
	if w := s.preparedFor(task); w != nil {
		return constraint.Ask{Task: task, Queue: w.queue, Pod: w.pod}
	}
	return s.AskCards(task)
}

// preparedFor returns the task that PrePredicate prepared last, nil if it is another one.
func (s *Session) preparedFor(task *api.TaskInfo) *prepared {
	if w := s.prepared.Load(); w != nil && w.task == task {
		return w
	}
	return nil
}

// nodeOrder scores the card of a node by its position in the task's list. Cards come last that the rest of the task's
// gang needs, that are promised to other jobs, or that the quotas refuse.
func (s *Session) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	a := s.askOf(task)
	var leave []fastres.Dim
	if w := s.preparedFor(task); w != nil {
		leave = w.leave
	}

	last := func(d fastres.Dim, milli float64) bool {
		if a.Queue == index.None {
			return false
		}
		return !s.LeavesPromised(a.Queue, d, milli) || !s.FitsCard(&s.Books.Now, &a, d, milli).OK()
	}
	return s.Cards.Preference(a.Pod, node.Name, leave, last), nil
}

// restNeeds returns the cards that the rest of a task's gang needs, given the room that the nodes and the quotas have
// left.
func (s *Session) restNeeds(task *api.TaskInfo, q index.Queue, pod *cards.PodRequest) []fastres.Dim {
	job := s.Volcano.Jobs[task.Job]
	if job == nil || pod.None() || len(job.TaskStatusIndex[api.Pending]) < 2 {
		return nil
	}

	return s.Memory.rest.Needs(s.Cards, job, task, pod, func(d fastres.Dim) float64 {
		room := min(s.Cards.FutureIdle(s.Volcano.Nodes, pod, d), quota.CardRoom(s.Index, s.Limit, q, d))
		for _, share := range s.Names.Groups(d) {
			room = min(room, quota.CardRoom(s.Index, s.Limit, q, share.Group)/share.Weight)
		}
		return room
	})
}
