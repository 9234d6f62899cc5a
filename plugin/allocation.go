package plugin

import (
	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// allocatable reports whether a task may be allocated now.
func (s *session) allocatable(queue *api.QueueInfo, task *api.TaskInfo) bool {
	frame := s.Frames.Open()
	defer frame.Close()
	request := frame.Vector()
	s.reclaim.NoteAllocate()
	v := s.Intake.Eligible(s.number(queue))
	q := v.Queue
	var books *quota.Books
	var refused cards.Request
	if v.OK() {
		s.PrepareQueue(q)
		books = s.reclaim.BooksFor(task)
		v = s.AllocationOf(books, q, task, request, &refused)
	}
	if node := s.reclaim.EvictedFor(task); v.OK() && node != nil {
		v = s.fitsOn(books, node, task, q, &refused)
	}
	if v.OK() {
		if s.gates != nil {
			s.gates.Allocatable(s.QueueOf(task), task)
		}
		return true
	}
	refusal := s.RefusedTask(frame, books, constraint.Ask{Task: task, Queue: q, Request: request},
		cards.Outcome{Verdict: v, Request: refused})
	s.NoteRefused(refusal)
	if job := s.Volcano.Jobs[task.Job]; job != nil && job.JobFitErrors == "" {
		s.memory.journal.Refuse(&s.explain, job, refusal)
	}
	if klog.V(3).Enabled() {
		klog.Infof("[%s] task %s/%s waits: %s", s.variant.Name, task.Namespace, task.Name, s.explain.Explain(refusal))
	}
	return false
}

// fitsOn decides whether the node on which pods are evicted for a task of q has its cards, and leaves room
// for what is earmarked there for others. It sets refused to the request for cards that does not fit.
func (s *session) fitsOn(b *quota.Books, node *api.NodeInfo, task *api.TaskInfo, q index.Queue, refused *cards.Request) quota.Verdict {
	if !s.Books.LeavesRoom(task, node, false) {
		return quota.Verdict{Reason: quota.Earmarked, Queue: q}
	}
	if s.Cards != nil {
		a := s.askOf(task)
		if fit := s.FitsNode(b, &a, node.Name); fit.Reason != cards.NodeFits && fit.Verdict.Reason != quota.Admitted {
			*refused = fit.Request
			return fit.Verdict
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

// predicate admits the nodes on which a task can have its cards: the node has one
// of them, and the queue and all its ancestors have quota left for it.
func (s *session) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	return s.fitError(s.reclaim.BooksFor(task), task, node)
}

// fitError returns why a task cannot have its cards on a node, as Volcano expects
// it. The code is Unschedulable where evictions may help.
func (s *session) fitError(b *quota.Books, task *api.TaskInfo, node *api.NodeInfo) error {
	if !s.Books.LeavesRoom(task, node, false) {
		s.NoteRefusedNode(task, quota.Verdict{Reason: quota.Earmarked, Queue: index.None}, false)
		return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.Unschedulable, Reason: report.NodeEarmarked, Plugin: s.variant.Name})
	}
	a := s.askOf(task)
	fit := s.FitsNode(b, &a, node.Name)
	if fit.Reason == cards.NodeFits {
		return nil
	}
	s.NoteRefusedNode(task, fit.Verdict, true)
	code := api.UnschedulableAndUnresolvable
	if fit.Reason == cards.OverQuota || fit.Reason == cards.OtherCard {
		code = api.Unschedulable
	}
	var reason string
	if w := s.preparedFor(task); w != nil && fit.Reason == cards.NoSuchCard {
		reason = w.refused.Text(&s.explain, fit)
	} else {
		reason = s.explain.ExplainNode(fit, s.RefusedNode(constraint.Frame{}, b, a, fit)).String()
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: reason, Plugin: s.variant.Name})
}

// askOf returns the question about the cards of a task. It is safe for many goroutines, and fast
// for the task that PrePredicate prepared.
func (s *session) askOf(task *api.TaskInfo) constraint.Ask {
	if w := s.preparedFor(task); w != nil {
		return constraint.Ask{Task: task, Queue: w.queue, Pod: w.pod}
	}
	return s.AskCards(task)
}

// preparedFor returns what PrePredicate prepared last, nil for another task.
func (s *session) preparedFor(task *api.TaskInfo) *prepared {
	if w := s.prepared.Load(); w != nil && w.task == task {
		return w
	}
	return nil
}

// nodeOrder scores the card of a node by its position in the task's list. Cards that the rest of
// the task's gang needs, those that are promised to other jobs, and those that the quotas refuse,
// come last.
func (s *session) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	a := s.askOf(task)
	var leave []fastres.Dim
	if w := s.preparedFor(task); w != nil {
		leave = w.leave
	}
	return s.Cards.Preference(a.Pod, node.Name, leave, func(d fastres.Dim, milli float64) bool {
		return a.Queue != index.None && (!s.LeavesPromised(a.Queue, d, milli) || !s.FitsCard(&s.Books.Now, &a, d, milli).OK())
	}), nil
}

// restNeeds returns the cards that the rest of a task's gang needs, by what the nodes and the quotas
// have left.
func (s *session) restNeeds(task *api.TaskInfo, q index.Queue, pod *cards.PodRequest) []fastres.Dim {
	job := s.Volcano.Jobs[task.Job]
	if job == nil || pod.None() || len(job.TaskStatusIndex[api.Pending]) < 2 {
		return nil
	}
	return s.memory.rest.Needs(s.Cards, job, task, pod, func(d fastres.Dim) float64 {
		room := min(s.Cards.FutureIdle(s.Volcano.Nodes, d), quota.CardRoom(s.Index, s.Limit, q, d))
		for _, share := range s.Names.Groups(d) {
			room = min(room, quota.CardRoom(s.Index, s.Limit, q, share.Group)/share.Weight)
		}
		return room
	})
}
