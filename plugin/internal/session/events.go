package session

import (
	"fmt"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// OnAllocate charges a task that was allocated or pipelined.
func (s *Session) OnAllocate(event *framework.Event) {
	q := s.QueueOf(event.Task)
	if q == index.None || s.refuseEvent(event) {
		return
	}

	s.refundCopy(q, event.Task)
	s.change(q, event.Task, true)
	if event.Task.Status == api.Pipelined {
		s.notePipelined(event.Task)
	}
}

// refundCopy refunds a task that was charged as another object: the gang actions pipeline copies of tasks, and
// allocate allocates the originals in the same session.
//
// DIVERGES: upstream charges both (capacity/capacity.go, AllocateFunc).
func (s *Session) refundCopy(q index.Queue, task *api.TaskInfo) {
	if other := s.pipelined[task.UID]; other != nil && other != task {
		s.change(q, other, false)
		delete(s.pipelined, task.UID)
	}
}

func (s *Session) notePipelined(task *api.TaskInfo) {
	if s.pipelined == nil {
		s.pipelined = map[api.TaskID]*api.TaskInfo{}
	}
	s.pipelined[task.UID] = task
}

// onDeallocate refunds a task that lost its node.
func (s *Session) onDeallocate(event *framework.Event) {
	if q := s.QueueOf(event.Task); q != index.None && s.charged(event.Task) {
		s.change(q, event.Task, false)
		delete(s.pipelined, event.Task.UID)
	}
}

// change charges the queue of a task, and all its ancestors, or refunds them.
func (s *Session) change(q index.Queue, task *api.TaskInfo, charge bool) {
	frame := s.Frames.Open()
	defer frame.Close()

	a := s.AskOn(q, task, task.NodeName, frame.Vector())
	if !a.Complete {
		s.warnOnce(fmt.Sprintf("task %s/%s requests a resource that no job of the session requested when it opened",
			task.Namespace, task.Name))
	}

	s.Index.NoteOwnJobs(q)

	if charge {
		quota.Charge(s.Index, q, a.Request)
		s.Books.Charged(q, a.Request)
		s.NoteCharged(a)
	} else {
		refund := quota.Refund(s.Index, q, a.Request, frame.Vector())
		s.Books.Refunded(q, refund)
		s.Memory.Admit.Reservations.Refunded()
		s.NoteRefunded(a)
	}

	s.Admit.AccountsChanged()
	quota.RefreshShare(s.Index, q, s.rules.share)
	s.check()
	s.Memory.metrics.PublishAllocated(q, a.Request)

	if klog.V(4).Enabled() {
		klog.Infof("[%s] task %s/%s charged: %t, queue %s has share %v",
			s.Variant.Name, task.Namespace, task.Name, charge, s.Index.Name(q), s.Index.Share(q))
	}
}

// refuseEvent refuses the allocation of a task to a node where it cannot have its cards, and reports whether it did.
// Volcano then takes the allocation back. Actions that evict allocate tasks without a predicate on the state after the
// evictions, so this check is the last one. A task that Volcano restores, because its eviction was discarded, is never
// refused.
func (s *Session) refuseEvent(event *framework.Event) bool {
	task := event.Task
	if s.Cards == nil || task.Status != api.Allocated && task.Status != api.Pipelined {
		return false
	}

	reason := s.placementProblem(task)
	if reason == "" {
		return false
	}

	event.Err = fmt.Errorf("task %s/%s on node %s: %s", task.Namespace, task.Name, task.NodeName, reason)
	if s.NotCharged == nil {
		s.NotCharged = map[api.TaskID]bool{}
	}

	s.NotCharged[task.UID] = true
	return true
}

// placementProblem returns why a task cannot have its requests on its node, "" if it can.
func (s *Session) placementProblem(task *api.TaskInfo) string {
	waits := task.Status == api.Pipelined
	if waits && s.Reclaim.LeavesToAllocate(task) {
		return report.LeftToAllocate
	}

	frame := s.Frames.Open()
	defer frame.Close()

	node := s.Volcano.Nodes[task.NodeName]
	if node == nil {
		node = &api.NodeInfo{Name: task.NodeName}
	}
	answer := s.Decide(constraint.Question{
		Task:    task,
		Queue:   s.queueOf(task),
		Node:    node,
		Placed:  true,
		As:      s.Books.For(task, waits),
		Request: frame.Vector(),
	})
	if answer.OK() {
		return ""
	}
	refusal := s.Refusal(frame, &answer)
	switch answer.Fit.Reason {
	case cards.PodRefused, cards.OverQuota:
		// Volcano keeps no reason for a task that an event refuses.
		s.tellJob(task, refusal)
	}

	return s.explain.ExplainNode(answer.Fit, refusal).String()
}

// charged reports whether a task that is deallocated was charged, and forgets that it was not.
func (s *Session) charged(task *api.TaskInfo) bool {
	if !s.NotCharged[task.UID] {
		return true
	}
	delete(s.NotCharged, task.UID)
	return false
}
