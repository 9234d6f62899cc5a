package plugin

import (
	"fmt"

	"k8s.io/klog/v2"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// onAllocate charges a task that was allocated or pipelined.
func (s *session) onAllocate(event *framework.Event) {
	if q := s.queueOf(event.Task); q != index.None && !s.refuseEvent(event) {
		s.change(q, event.Task, true)
		s.release(event.Task)
		s.books.Placed(event.Task)
		s.noteAllocated(event.Task)
	}
}

// onDeallocate refunds a task that lost its node.
func (s *session) onDeallocate(event *framework.Event) {
	if q := s.queueOf(event.Task); q != index.None && s.charged(event.Task) {
		s.change(q, event.Task, false)
		s.restore(event.Task)
		s.books.Displaced(event.Task)
		s.abandon(event.Task)
		s.noteDeallocated(event.Task)
	}
}

// change charges the queue of a task, and all its ancestors, or refunds them.
func (s *session) change(q index.Queue, task *api.TaskInfo, charge bool) {
	v := &s.memory.vectors
	if !s.intake.SetCharge(v.request, q, task, task.NodeName) {
		s.warnOnce(fmt.Sprintf("task %s/%s requests a resource that no job of the session requested when it opened",
			task.Namespace, task.Name))
	}
	s.ix.NoteOwnJobs(q)
	if charge {
		quota.Charge(s.ix, q, v.request)
		s.memory.guarantees.Update(q, v.request, 1)
		s.books.Charged(q, v.request)
	} else {
		quota.Refund(s.ix, q, v.request, v.refund)
		s.memory.guarantees.Update(q, v.refund, -1)
		s.books.Refunded(q, v.refund)
		s.memory.reservations.Refunded()
	}
	if s.namespaces != nil {
		s.changeNamespace(q, task, charge)
	}
	if s.intake.Gone {
		s.changeAvailable(q, task, charge)
	}
	s.changeClaims(q, task, charge, v.request)
	quota.RefreshShare(s.ix, q, s.share)
	s.check()
	s.memory.metrics.PublishAllocated(q, v.request)
	if klog.V(4).Enabled() {
		klog.Infof("[%s] task %s/%s charged: %t, queue %s has share %v",
			s.variant.name, task.Namespace, task.Name, charge, s.ix.Name(q), s.ix.Share(q))
	}
}

// changeAvailable follows a charge or a refund of cards that no node gives any more: they are
// available as long as a pod has them.
func (s *session) changeAvailable(q index.Queue, task *api.TaskInfo, charge bool) {
	for r := range s.cards.Requests(s.cards.PodRequest(q, task.Pod)) {
		d, known := s.cards.CardOn(task.NodeName, r)
		if !known || s.cards.Gives(task.NodeName, r.Resource, d) {
			continue
		}
		more := float64(r.Amount)
		if !charge {
			more = -more
		}
		s.intake.Available.Increase(d, more)
	}
}

// refuseEvent refuses the allocation of a task to a node where it cannot have its
// cards, and reports whether it did. Volcano then takes the allocation back.
// Actions that evict allocate tasks without a predicate on what is left after the
// evictions, so this check is the last one. A task that Volcano restores, because
// its eviction was discarded, is never refused.
func (s *session) refuseEvent(event *framework.Event) bool {
	task := event.Task
	if s.cards == nil || task.Status != api.Allocated && task.Status != api.Pipelined {
		return false
	}
	a := s.books.Books(task)
	if task.Status == api.Pipelined {
		s.follow(task)
		a = s.books.FutureFor(task)
	}
	reason := report.NodeEarmarked
	if node := s.ssn.Nodes[task.NodeName]; node == nil || s.books.LeavesRoom(task, node, true, s.leftOn(task.NodeName)) {
		fit := s.fitNode(a, task, task.NodeName)
		if fit.Reason == cards.NodeFits {
			return false
		}
		reason = s.explain.ExplainNode(fit, task.Namespace).String()
	}
	event.Err = fmt.Errorf("task %s/%s on node %s: %s", task.Namespace, task.Name, task.NodeName, reason)
	if s.notCharged == nil {
		s.notCharged = map[api.TaskID]bool{}
	}
	s.notCharged[task.UID] = true
	s.abandon(task)
	return true
}

// charged reports whether a task that is deallocated was charged, and forgets
// that it was not.
func (s *session) charged(task *api.TaskInfo) bool {
	if !s.notCharged[task.UID] {
		return true
	}
	delete(s.notCharged, task.UID)
	return false
}
