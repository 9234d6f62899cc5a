package session

import (
	"context"
	"errors"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// The errors of a simulation.
var (
	errNoSnapshot = errors.New("the task has no quota snapshot of this session")
	errNoQueue    = errors.New("the task's job or queue is not in this session")
)

// PrePredicate takes the snapshot that simulations for a task start from. It copies no account.
func (s *Session) PrePredicate(task *api.TaskInfo) error {
	s.Reclaim.Prepare(task)
	s.PrepareTask(task)

	w := s.prepare(task)
	w.queues = s.Index.Version()
	if h := s.Intake.Holders; h != nil {
		w.holders = h.Quota.Accounts.Version()
	}

	s.Volcano.GetCycleState(task.UID).Write(fwk.StateKey(s.Variant.Name), w)
	return nil
}

// prepare returns the what-if of a task. If cards count, it also keeps the requests of the task for the predicates on
// each node.
func (s *Session) prepare(task *api.TaskInfo) *whatIf {
	if s.Cards == nil {
		return &whatIf{}
	}

	p := &prepared{task: task, queue: s.QueueOf(task)}
	p.pod = s.Cards.PodRequest(p.queue, task.Pod)
	p.leave = s.restNeeds(task, p.queue, p.pod)
	s.prepared.Store(p)
	return &p.whatIf
}

// SimulationOf returns the accounts of a cycle state for simulations.
func (s *Session) SimulationOf(state fwk.CycleState) (*simulation, error) {
	data, err := state.Read(fwk.StateKey(s.Variant.Name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSnapshot, err)
	}

	w, ok := data.(*whatIf)
	if !ok || !w.queues.Valid() {
		return nil, errNoSnapshot
	}

	return s.begin(w), nil
}

func (s *Session) simulateAddTask(
	_ context.Context, state fwk.CycleState, _, task *api.TaskInfo, node *api.NodeInfo,
) error {
	return s.simulate(state, task, node, func(sim *simulation, a constraint.Ask) {
		s.ChargeAll(&sim.Books, a)
	})
}

func (s *Session) simulateRemoveTask(
	_ context.Context, state fwk.CycleState, _, task *api.TaskInfo, node *api.NodeInfo,
) error {
	return s.simulate(state, task, node, func(sim *simulation, a constraint.Ask) {
		s.RefundAll(&sim.Books, a, sim.refund)
	})
}

// simulate changes the accounts of a cycle state by a task on a node.
func (s *Session) simulate(
	state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo, change func(*simulation, constraint.Ask),
) error {
	sim, err := s.SimulationOf(state)
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
	change(sim, s.AskOn(q, task, on, sim.request))
	return nil
}

func (s *Session) simulatePredicate(
	_ context.Context, state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo,
) error {
	sim, err := s.SimulationOf(state)
	if err != nil {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, err)
	}

	return s.fitError(task, node, &sim.Books)
}

// simulateAllocatable is allocatable on a what-if. PrePredicate has prepared the queue of the task.
func (s *Session) simulateAllocatable(
	_ context.Context, state fwk.CycleState, queue *api.QueueInfo, task *api.TaskInfo,
) bool {
	sim, err := s.SimulationOf(state)
	if err != nil {
		return false
	}

	q := index.None
	if queue != nil {
		q = s.Index.Lookup(string(queue.UID)) // not from byObject: this is one of many goroutines
	}
	answer := s.Decide(constraint.Question{Task: task, Queue: q, As: &sim.Books, Request: sim.request})
	return answer.OK()
}

// begin returns the accounts of a what-if. At the first call, they are copies of the accounts of the future.
func (s *Session) begin(w *whatIf) *simulation {
	if w.simulation == nil {
		w.simulation = &simulation{}
	}
	sim := w.simulation

	if sim.request.Len() == 0 {
		length := s.Intake.Dims.Length()
		sim.request = fastres.NewVector(length)
		sim.refund = fastres.NewVector(length)
	}
	if sim.begun {
		return sim
	}

	sim.begun = true
	var holders index.Accounts
	if s.Intake.Holders != nil {
		holders = &w.holders
	}
	sim.Begin(&w.queues, holders, s.Books.Future.Guarantees)
	s.Books.CopyTo(sim.Queues, sim.Holders)
	return sim
}
