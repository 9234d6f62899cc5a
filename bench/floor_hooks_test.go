package bench

import (
	"context"
	"errors"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/plugin/release"
)

// floorPlugin is a floor under the name of the plugin that it stands in for.
type floorPlugin struct {
	*floor
	name string
}

func (p floorPlugin) Name() string                      { return p.name }
func (p floorPlugin) OnSessionClose(*framework.Session) {}

func (p floorPlugin) OnSessionOpen(ssn *framework.Session) {
	p.open(ssn)
	queue := func(job api.JobID) int { return p.numbers[string(ssn.Jobs[job].Queue)] }
	ssn.AddAllocatableFn(p.name, func(q *api.QueueInfo, task *api.TaskInfo) bool {
		return open(q) && p.fits(p.allocated, p.numbers[q.Name], task)
	})
	ssn.AddJobEnqueueableFn(p.name, func(x any) int {
		if job := x.(*api.JobInfo); open(ssn.Queues[job.Queue]) && p.admitsJob(job) {
			return util.Permit
		}
		return util.Reject
	})
	ssn.AddQueueOrderFn(p.name, p.queueOrder)
	release.AddPreemptiveFn(ssn, p.name, func(q *api.QueueInfo, tasks []*api.TaskInfo) bool {
		n := p.numbers[q.Name]
		may := open(q) && p.preemptive(n, tasks)
		overused := 1.0
		if may {
			overused = 0
		}
		p.gauges[n][p.width+1].Set(overused)
		return may
	})
	ssn.AddReclaimableFn(p.name, func(reclaimer *api.TaskInfo, from []*api.TaskInfo) ([]*api.TaskInfo, int) {
		if release.Built() >= release.V115 {
			from = evictionOrder(ssn, reclaimer, from)
		}
		return p.reclaimable(queue, reclaimer, from), util.Permit
	})
	ssn.AddPreemptableFn(p.name, func(preemptor *api.TaskInfo, from []*api.TaskInfo) ([]*api.TaskInfo, int) {
		return p.preemptable(queue, preemptor, from), util.Permit
	})
	ssn.AddEventHandler(&framework.EventHandler{
		AllocateFunc:   func(e *framework.Event) { p.event(queue(e.Task.Job), e.Task, 1) },
		DeallocateFunc: func(e *framework.Event) { p.event(queue(e.Task.Job), e.Task, -1) },
	})
	ssn.AddPrePredicateFn(p.name, func(task *api.TaskInfo) error {
		ssn.GetCycleState(task.UID).Write(fwk.StateKey(p.name), &floorState{})
		return nil
	})
	ssn.AddSimulateRemoveTaskFn(p.name, func(_ context.Context, state fwk.CycleState, _, task *api.TaskInfo, _ *api.NodeInfo) error {
		data, err := state.Read(fwk.StateKey(p.name))
		if err == nil {
			p.remove(data.(*floorState), queue(task.Job), task)
		}
		return err
	})
	ssn.AddSimulateAllocatableFn(p.name, func(_ context.Context, state fwk.CycleState, q *api.QueueInfo, task *api.TaskInfo) bool {
		data, err := state.Read(fwk.StateKey(p.name))
		return err == nil && p.fitsState(data.(*floorState), p.numbers[q.Name], task)
	})
	if len(p.nodes) > 0 {
		ssn.AddPredicateFn(p.name, func(task *api.TaskInfo, node *api.NodeInfo) error { return p.predicate(queue(task.Job), task, node) })
		ssn.AddNodeOrderFn(p.name, func(task *api.TaskInfo, node *api.NodeInfo) (float64, error) {
			return p.nodeOrder(queue(task.Job), task, node), nil
		})
	}
}

// open reports whether a queue takes pods and jobs, as upstream's plugin asks in each of these hooks.
func open(q *api.QueueInfo) bool { return q.Queue.Status.State == scheduling.QueueStateOpen }

// read reads a request. Each caller has its own memory.
func (f *floor) read(task *api.TaskInfo, memory int) []amount {
	r := task.InitResreq
	amounts := append(f.amounts[memory][:0], amount{cpuDim, r.MilliCPU}, amount{memoryDim, r.Memory})
	if len(f.nodes) == 0 { // with cards, cpu, memory and cards count
		for name, quantity := range r.ScalarResources {
			amounts = append(amounts, amount{f.dims[name], quantity})
		}
	}
	f.amounts[memory] = amounts
	return amounts
}

// charged is read with the card of the node of a task.
func (f *floor) charged(task *api.TaskInfo, memory int) []amount {
	amounts := f.read(task, memory)
	if len(f.nodes) > 0 {
		if pod := &f.pods.slot(task.Pod).podCard; len(pod.dims) > 0 {
			amounts = append(amounts, amount{f.nodes[task.NodeName], pod.quantity})
			f.amounts[memory] = amounts
		}
	}
	return amounts
}

// fits reports whether a request fits into the amounts that are left at every level. All resources other than cards
// must fit, and one of the cards.
func (f *floor) fits(allocated cells, q int, task *api.TaskInfo) bool {
	for _, a := range f.read(task, 0) {
		if !f.fitsAmount(allocated, q, a) {
			return false
		}
	}
	return f.fitsCards(allocated, q, task)
}

func (f *floor) fitsCards(allocated cells, q int, task *api.TaskInfo) bool {
	if len(f.nodes) == 0 {
		return true
	}
	pod := &f.pods.slot(task.Pod).podCard
	for _, d := range pod.dims {
		if f.fitsAmount(allocated, q, amount{d, pod.quantity}) {
			return true
		}
	}
	return len(pod.dims) == 0
}

func (f *floor) fitsAmount(allocated cells, q int, a amount) bool {
	for _, p := range f.paths[q] {
		if allocated.values[p*f.width+a.dim]+a.quantity > f.bound.values[p*f.width+a.dim] && a.quantity > 0 {
			return false
		}
	}
	return true
}

func (f *floor) admitsJob(job *api.JobInfo) bool {
	q := f.numbers[string(job.Queue)]
	for name, quantity := range *job.PodGroup.Spec.MinResources {
		least := float64(quantity.MilliValue())
		if name == v1.ResourceMemory {
			least = float64(quantity.Value())
		}
		if !f.admits(q, amount{f.dims[name], least}) {
			return false
		}
	}
	if len(f.nodes) == 0 {
		return true
	}
	var pod *podCard
	for _, task := range job.Tasks {
		p := &f.pods.slot(task.Pod).podCard
		if pod != nil && (p.quantity != pod.quantity || !slices.Equal(p.dims, pod.dims)) {
			return false // no job that is measured has pods that differ
		}
		pod = p
	}
	if pod == nil || len(pod.dims) == 0 {
		return true
	}
	for _, d := range pod.dims {
		if f.admits(q, amount{d, pod.quantity * float64(job.PodGroup.Spec.MinMember)}) {
			return true
		}
	}
	return false
}

// admits reports whether an amount fits in a queue, together with the amounts that other jobs have or were promised.
func (f *floor) admits(q int, a amount) bool {
	for _, p := range f.paths[q] {
		at := p*f.width + a.dim
		if f.allocated.values[at]+f.inqueue.values[at]-f.elastic.values[at]+a.quantity > f.bound.values[at] {
			return false
		}
	}
	return true
}

func (f *floor) queueOrder(l, r any) int {
	x, y := l.(*api.QueueInfo), r.(*api.QueueInfo)
	if x.Queue.Spec.Priority != y.Queue.Spec.Priority {
		return int(y.Queue.Spec.Priority) - int(x.Queue.Spec.Priority)
	}
	from, to := f.paths[f.numbers[x.Name]], f.paths[f.numbers[y.Name]]
	i, j := len(from)-1, len(to)-1
	for i > 0 && j > 0 && from[i] == to[j] {
		i, j = i-1, j-1
	}
	switch p, q := f.share[from[i]], f.share[to[j]]; {
	case p < q:
		return -1
	case p > q:
		return 1
	}
	return 0
}

func (f *floor) preemptive(q int, tasks []*api.TaskInfo) bool {
	deserves := false
	for _, a := range f.read(tasks[0], 0) {
		at := q*f.width + a.dim
		if f.allocated.values[at]+a.quantity > f.bound.values[at] {
			return false
		}
		deserves = deserves || a.quantity > 0 && f.allocated.values[at]+a.quantity <= f.deserved.values[at]
	}
	if len(f.nodes) == 0 {
		return deserves
	}
	pod := &f.pods.slot(tasks[0].Pod).podCard
	for _, d := range pod.dims {
		at := q*f.width + d
		if has := f.allocated.values[at] + pod.quantity; has <= f.bound.values[at] && has <= f.deserved.values[at] {
			return true
		}
	}
	return len(pod.dims) == 0 && deserves
}

// reclaimable takes the tasks of queues that have more than they deserve and more than their guarantee, without the
// tasks that it took before. The guarantee of an inner queue stays there, too. There are no victims unless the
// reclaimer fits at every level without them.
func (f *floor) reclaimable(queue func(api.JobID) int, reclaimer *api.TaskInfo, from []*api.TaskInfo) []*api.TaskInfo {
	own, claim := queue(reclaimer.Job), f.read(reclaimer, 0)
	wants := &podCard{}
	if len(f.nodes) > 0 {
		wants = &f.pods.slot(reclaimer.Pod).podCard
	}
	victims := make([]*api.TaskInfo, 0, len(from))
	f.call++
	for _, task := range from {
		q := queue(task.Job)
		left, deserved := f.without(q), f.deserved.row(q)
		amounts := f.charged(task, 1)
		over := false
		for _, a := range amounts {
			shared := a.quantity > 0 && (len(wants.dims) > 0 && slices.Contains(wants.dims, a.dim) ||
				len(wants.dims) == 0 && slices.ContainsFunc(claim, func(c amount) bool { return c.dim == a.dim && c.quantity > 0 }))
			over = over || shared && deserved[a.dim] > 0 && left[a.dim] > deserved[a.dim]
		}
		if over && f.keepGuarantees(q, own, amounts) {
			for _, p := range f.paths[q] {
				left := f.without(p)
				for _, a := range amounts {
					left[a.dim] -= a.quantity
				}
			}
			victims = append(victims, task)
		}
	}
	for _, p := range f.paths[own] {
		f.without(p)
	}
	if !f.fits(f.left, own, reclaimer) {
		return nil
	}
	return victims
}

// evictionOrder is the order in which Volcano evicts tasks. From v1.15 on, which of them are victims depends on it.
func evictionOrder(ssn *framework.Session, reclaimer *api.TaskInfo, from []*api.TaskInfo) []*api.TaskInfo {
	ordered := make([]*api.TaskInfo, 0, len(from))
	for queue := ssn.BuildVictimsPriorityQueue(from, reclaimer); !queue.Empty(); {
		ordered = append(ordered, queue.Pop().(*api.TaskInfo))
	}
	return ordered
}

// without returns the amounts of a queue without the victims of this question.
func (f *floor) without(q int) []float64 {
	left := f.left.row(q)
	if f.calls[q] != f.call {
		f.calls[q] = f.call
		copy(left, f.allocated.row(q))
	}
	return left
}

// keepGuarantees reports whether each queue that loses amounts to another queue still has its guarantee without them.
func (f *floor) keepGuarantees(q, to int, amounts []amount) bool {
	for _, p := range f.paths[q] {
		if slices.Contains(f.paths[to], p) {
			break
		}
		left, guarantee := f.without(p), f.guarantee.row(p)
		for _, a := range amounts {
			if left[a.dim]-a.quantity < guarantee[a.dim] {
				return false
			}
		}
	}
	return true
}

// preemptable takes the tasks with a card that the preemptor can use. The queues of the preemptor must have room for it
// after the tasks of its own queue are gone.
func (f *floor) preemptable(queue func(api.JobID) int, preemptor *api.TaskInfo, from []*api.TaskInfo) []*api.TaskInfo {
	own, wants := queue(preemptor.Job), &f.pods.slot(preemptor.Pod).podCard
	freed, victims := f.left.row(own), make([]*api.TaskInfo, 0, len(from))
	clear(freed)
	for _, task := range from {
		if !slices.Contains(wants.dims, f.nodes[task.NodeName]) {
			continue
		}
		victims = append(victims, task)
		if queue(task.Job) == own {
			for _, a := range f.charged(task, 1) {
				freed[a.dim] += a.quantity
			}
		}
	}
	for _, d := range wants.dims {
		if f.fitsAmount(f.allocated, own, amount{d, wants.quantity - freed[d]}) {
			return victims
		}
	}
	return nil
}

// event charges the path of a queue, or refunds it, and publishes the changes.
func (f *floor) event(q int, task *api.TaskInfo, sign float64) {
	amounts := f.charged(task, 0)
	for _, p := range f.paths[q] {
		row, gauges := f.allocated.row(p), f.gauges[p]
		for _, a := range amounts {
			row[a.dim] += sign * a.quantity
			gauges[a.dim].Set(row[a.dim])
		}
		f.share[p] = f.shareOf(p)
		gauges[f.width].Set(f.share[p])
	}
}

// floorState holds the rows of queues that a simulation has changed.
type floorState struct {
	queues []int
	rows   []float64
}

// Clone returns an independent copy (fwk.StateData).
func (s *floorState) Clone() fwk.StateData {
	return &floorState{slices.Clone(s.queues), slices.Clone(s.rows)}
}

// row returns the row of a queue that was changed, nil for none.
func (s *floorState) row(q, width int) []float64 {
	if i := slices.Index(s.queues, q); i >= 0 {
		return s.rows[i*width : (i+1)*width]
	}
	return nil
}

func (f *floor) remove(s *floorState, q int, task *api.TaskInfo) {
	amounts := f.charged(task, 0)
	for _, p := range f.paths[q] {
		row := s.row(p, f.width)
		if row == nil {
			s.queues, s.rows = append(s.queues, p), append(s.rows, f.allocated.row(p)...)
			row = s.row(p, f.width)
		}
		for _, a := range amounts {
			row[a.dim] -= a.quantity
		}
	}
}

func (f *floor) fitsState(s *floorState, q int, task *api.TaskInfo) bool {
	fits := func(a amount) bool {
		for _, p := range f.paths[q] {
			row := s.row(p, f.width)
			if row == nil {
				row = f.allocated.row(p)
			}
			if a.quantity > 0 && row[a.dim]+a.quantity > f.bound.row(p)[a.dim] {
				return false
			}
		}
		return true
	}
	for _, a := range f.read(task, 0) {
		if !fits(a) {
			return false
		}
	}
	if len(f.nodes) == 0 {
		return true
	}
	pod := &f.pods.slot(task.Pod).podCard
	return len(pod.dims) == 0 || slices.ContainsFunc(pod.dims, func(d int) bool { return fits(amount{d, pod.quantity}) })
}

var errFloor = errors.New("the queue has none of the cards of the node left")

// predicate looks up the card of a node, and the amount of it that the queue has left.
func (f *floor) predicate(q int, task *api.TaskInfo, node *api.NodeInfo) error {
	pod := &f.pods.slot(task.Pod).podCard
	if len(pod.dims) == 0 {
		return nil
	}
	d, ok := f.nodes[node.Name]
	if !ok || !slices.Contains(pod.dims, d) || !f.fitsAmount(f.allocated, q, amount{d, pod.quantity}) {
		return errFloor
	}
	return nil
}

// nodeOrder scores a node by the place of its card in the list. A card that the quotas refuse, or that jobs were
// promised, comes after all others.
func (f *floor) nodeOrder(q int, task *api.TaskInfo, node *api.NodeInfo) float64 {
	pod, card := &f.pods.slot(task.Pod).podCard, f.nodes[node.Name]
	rank := slices.Index(pod.dims, card)
	if rank < 0 {
		return 0
	}
	if len(pod.dims) > 1 && !f.leavesPromised(q, amount{card, pod.quantity}) {
		rank += len(pod.dims)
	}
	return math.Ldexp(100, -rank)
}

// leavesPromised reports whether an amount fits next to the amounts that other tasks have and jobs were promised.
func (f *floor) leavesPromised(q int, a amount) bool {
	for _, p := range f.paths[q] {
		at := p*f.width + a.dim
		if f.allocated.values[at]+f.inqueue.values[at]+a.quantity > f.bound.values[at] {
			return false
		}
	}
	return true
}
