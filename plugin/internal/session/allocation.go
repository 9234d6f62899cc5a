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
	answer := s.Decide(constraint.Question{Task: task, Queue: s.number(queue), Request: frame.Vector()})

	if answer.OK() {
		s.Memory.journal.Pass(task.Job)
		if s.Gates != nil {
			s.Gates.Allocatable(s.QueueOf(task), task)
		}
		return true
	}

	refusal := s.Refusal(frame, &answer)
	s.tellJob(task, refusal)

	if klog.V(3).Enabled() {
		klog.Infof("[%s] task %s/%s waits: %s", s.Variant.Name, task.Namespace, task.Name, s.explain.Explain(refusal))
	}

	return false
}

// tellJob makes a refusal the reason of the job of a task, unless the job has a reason from this session.
func (s *Session) tellJob(task *api.TaskInfo, refusal *constraint.Refusal) {
	if job := s.Volcano.Jobs[task.Job]; job != nil && job.JobFitErrors == "" {
		s.Memory.journal.Refuse(&s.explain, job, refusal)
	}
}

// Predicate admits the nodes on which a task can have its cards: the node has one of them, and the queue and all its
// ancestors have quota left for it.
func (s *Session) Predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	return s.fitError(task, node, nil)
}

// fitError returns why a task cannot have its cards on a node, as Volcano expects it. The code is Unschedulable if
// evictions may help. as are the accounts of a simulation, nil for the accounts of the session.
func (s *Session) fitError(task *api.TaskInfo, node *api.NodeInfo, as *quota.Books) error {
	answer := s.Decide(constraint.Question{Task: task, Queue: s.queueOf(task), Node: node, As: as})
	if answer.OK() {
		return nil
	}

	code := api.UnschedulableAndUnresolvable
	switch answer.Fit.Reason {
	case cards.OverQuota, cards.OtherCard, cards.RoomEarmarked:
		code = api.Unschedulable
	}

	var reason string
	if w := s.preparedFor(task); w != nil && answer.Fit.Reason == cards.NoSuchCard {
		reason = w.refused.Text(&s.explain, answer.Fit)
	} else {
		reason = s.explain.ExplainNode(answer.Fit, s.Refusal(constraint.Frame{}, &answer)).String()
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

// queueOf is QueueOf, and fast for the task that PrePredicate prepared.
func (s *Session) queueOf(task *api.TaskInfo) index.Queue {
	if w := s.preparedFor(task); w != nil {
		return w.queue
	}
	return s.QueueOf(task)
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
