package plugin

import (
	"context"
	"errors"
	"fmt"

	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Why a what-if question has no answer.
var (
	errNoSnapshot = errors.New("the task has no quota snapshot of this session")
	errNoQueue    = errors.New("the task's job or queue is not in this session")
)

// whatIf is a task's snapshot in its cycle state. Volcano clones cycle states
// and asks about each clone from a goroutine of its own, so each has its own
// room for requests.
type whatIf struct {
	index.Overlay
	request, scratch fastres.Vector // made when first needed

	// The task, its queue and what it wants of cards: predicates ask for each node.
	task   *api.TaskInfo
	queue  index.Queue
	demand *demand
}

// Clone returns an independent what-if (fwk.StateData).
func (w *whatIf) Clone() fwk.StateData { return &whatIf{Overlay: w.Overlay.Clone()} }

// prePredicate takes the snapshot that the what-if questions about a task start
// from. It copies no queue.
func (o *session) prePredicate(task *api.TaskInfo) error {
	w := &whatIf{Overlay: o.ix.Snapshot()}
	if o.cards != nil {
		w.task, w.queue = task, o.queueOf(task)
		w.demand = o.demandOf(w.queue, task.Pod)
		o.current.Store(w)
	}
	o.ssn.GetCycleState(task.UID).Write(fwk.StateKey(o.name), w)
	return nil
}

// whatIf finds the what-if of a cycle state.
func (o *session) whatIf(state fwk.CycleState) (*whatIf, error) {
	data, err := state.Read(fwk.StateKey(o.name))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoSnapshot, err)
	}
	w, ok := data.(*whatIf)
	if !ok || !w.Valid() {
		return nil, errNoSnapshot
	}
	if w.request.Len() == 0 {
		w.request, w.scratch = fastres.NewVector(o.length), fastres.NewVector(o.length)
	}
	return w, nil
}

func (o *session) simulateAddTask(_ context.Context, state fwk.CycleState, _, task *api.TaskInfo, node *api.NodeInfo) error {
	return o.simulate(state, task, node, func(w *whatIf, q index.Queue) { quota.Charge(w, q, w.request) })
}

func (o *session) simulateRemoveTask(_ context.Context, state fwk.CycleState, _, task *api.TaskInfo, node *api.NodeInfo) error {
	return o.simulate(state, task, node, func(w *whatIf, q index.Queue) { quota.Refund(w, q, w.request, w.scratch) })
}

func (o *session) simulate(state fwk.CycleState, task *api.TaskInfo, node *api.NodeInfo, change func(*whatIf, index.Queue)) error {
	w, err := o.whatIf(state)
	if err != nil {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, err)
	}
	q := o.queueOf(task)
	if q == index.None {
		return fmt.Errorf("task %s/%s: %w", task.Namespace, task.Name, errNoQueue)
	}
	on := task.NodeName
	if on == "" && node != nil {
		on = node.Name
	}
	o.setPlaced(w.request, q, task, on)
	change(w, q)
	return nil
}

// simulateAllocatable is allocatable on a what-if. Like upstream's it does not
// ask whether the queue is open: the action has done so.
func (o *session) simulateAllocatable(_ context.Context, state fwk.CycleState, queue *api.QueueInfo, task *api.TaskInfo) bool {
	w, err := o.whatIf(state)
	if err != nil {
		return false
	}
	q := index.None
	if queue != nil {
		q = o.ix.Lookup(string(queue.UID))
	}
	v := quota.Eligible(o.ix.Tree, q)
	if v.OK() {
		v, _ = o.fitsTask(w, q, w.request, task)
	}
	return v.OK()
}
