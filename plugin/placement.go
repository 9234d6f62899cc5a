package plugin

import (
	"context"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/report"
	"github.com/capacity-card/capacity-card/quota"
)

// predicate admits the nodes on which a task can have its cards: the node has one
// of them, and the queue and all its ancestors have quota left for it.
func (s *session) predicate(task *api.TaskInfo, node *api.NodeInfo) error {
	if s.settings.byWork {
		s.choice.note(task, node)
	}
	if s.cards == nil {
		return nil
	}
	return s.fitError(s.booksFor(task), task, node)
}

func (s *session) simulatePredicate(_ context.Context, state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo) error {
	w, err := s.whatIf(state)
	if err != nil {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return s.fitError(w.books(), task, node)
}

// fitError returns why a task cannot have its cards on a node, as Volcano expects
// it. The code is Unschedulable where evictions may help.
func (s *session) fitError(a *quota.Books, task *api.TaskInfo, node *api.NodeInfo) error {
	if !s.books.LeavesRoom(task, node, false) {
		return api.NewFitErrWithStatus(task, node, &api.Status{Code: api.Unschedulable, Reason: report.NodeEarmarked, Plugin: s.variant.name})
	}
	fit := s.fitNode(a, task, node.Name)
	if fit.Reason == cards.NodeFits {
		return nil
	}
	code := api.UnschedulableAndUnresolvable
	if fit.Reason == cards.OverQuota {
		code = api.Unschedulable
	}
	return api.NewFitErrWithStatus(task, node, &api.Status{Code: code, Reason: s.explain.ExplainNode(fit, task.Namespace).String(), Plugin: s.variant.name})
}

func (s *session) fitNode(a *quota.Books, task *api.TaskInfo, node string) cards.NodeFit {
	q, pod := s.podOf(task)
	return s.cards.FitNode(q, pod, node, func(d fastres.Dim, milli float64) quota.Verdict { return s.fitsCard(a, q, task, d, milli) })
}

// podOf returns the queue of a task and what its pod states about cards. It is
// safe for many goroutines, and fast for the task that PrePredicate prepared.
func (s *session) podOf(task *api.TaskInfo) (index.Queue, *cards.PodRequest) {
	if w := s.prepared.Load(); w != nil && w.task == task {
		return w.queue, w.pod
	}
	q := s.queueOf(task)
	return q, s.cards.PodRequest(q, task.Pod)
}

// nodeOrder scores the card of a node by its position in the task's list.
func (s *session) nodeOrder(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
	q, pod := s.podOf(task)
	return s.cards.Preference(pod, node.Name, func(d fastres.Dim, milli float64) bool {
		return q != index.None && !quota.Unpromised(s.ix, q, d, milli)
	}), nil
}
