package plugin

import (
	"context"
	"errors"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// Why a simulation fails.
var (
	errNoSnapshot = errors.New("the task has no quota snapshot of this session")
	errNoQueue    = errors.New("the task's job or queue is not in this session")
)

// prePredicate takes the snapshot that simulations for a task start from. It
// copies no account.
func (s *session) prePredicate(task *api.TaskInfo) error {
	s.reclaim.Prepare(task)
	w := &whatIf{overlay: s.Index.Snapshot(), guarantees: s.Books.Future.Guarantees}
	if h := s.Intake.Holders; h != nil {
		holders := h.Quota.Accounts.Snapshot()
		w.holders = &holders
	}
	if s.Cards != nil {
		w.task, w.queue = task, s.QueueOf(task)
		w.pod = s.Cards.PodRequest(w.queue, task.Pod)
		w.leave = s.restNeeds(task, w.queue, w.pod)
		s.prepared.Store(w)
	}
	s.Volcano.GetCycleState(task.UID).Write(fwk.StateKey(s.variant.Name), w)
	return nil
}

// whatIf returns the what-if of a cycle state.
func (s *session) whatIf(state fwk.CycleState) (*whatIf, error) {
	data, err := state.Read(fwk.StateKey(s.variant.Name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSnapshot, err)
	}
	w, ok := data.(*whatIf)
	if !ok || !w.overlay.Valid() {
		return nil, errNoSnapshot
	}
	if length := s.Intake.Dims.Length(); w.request.Len() == 0 {
		w.request, w.refund = fastres.NewVector(length), fastres.NewVector(length)
		w.books = quota.Books{Queues: &w.overlay, Guarantees: w.guarantees}
		if w.holders != nil {
			w.books.Holders = w.holders
		}
		if !w.begun {
			w.begun = true
			s.Books.CopyTo(&w.overlay, w.books.Holders)
		}
	}
	return w, nil
}

func (s *session) simulateAddTask(_ context.Context, state fwk.CycleState, _, task *api.TaskInfo, node *api.NodeInfo) error {
	return s.simulate(state, task, node, func(w *whatIf, a constraint.Ask) { s.ChargeAll(&w.books, a) })
}

func (s *session) simulateRemoveTask(_ context.Context, state fwk.CycleState, _, task *api.TaskInfo, node *api.NodeInfo) error {
	return s.simulate(state, task, node, func(w *whatIf, a constraint.Ask) { s.RefundAll(&w.books, a, w.refund) })
}

func (s *session) simulate(state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo, change func(*whatIf, constraint.Ask)) error {
	w, err := s.whatIf(state)
	if err != nil {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, err)
	}
	q := s.QueueOf(task)
	if q == index.None {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, errNoQueue)
	}
	on := task.NodeName
	if on == "" && node != nil {
		on = node.Name
	}
	a := s.AskOn(q, task, on, w.request)
	change(w, a)
	return nil
}

func (s *session) simulatePredicate(_ context.Context, state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo) error {
	w, err := s.whatIf(state)
	if err != nil {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, err)
	}
	return s.fitError(&w.books, task, node)
}

// simulateAllocatable is allocatable on a what-if. Like upstream's it does not
// check that the queue is open: the action has done so.
func (s *session) simulateAllocatable(_ context.Context, state fwk.CycleState, queue *api.QueueInfo, task *api.TaskInfo) bool {
	w, err := s.whatIf(state)
	if err != nil {
		return false
	}
	q := index.None
	if queue != nil {
		q = s.Index.Lookup(string(queue.UID))
	}
	v := quota.Eligible(s.Index.Tree, q)
	if v.OK() {
		v = s.AllocationOf(&w.books, q, task, w.request).Verdict
	}
	return v.OK()
}
