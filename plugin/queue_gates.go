package plugin

import (
	"cmp"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// gates are the reservations of pods whose queue allocation gate is removed, from then on
// until they have a node (see quota.Reserve). The zero gates are ready for reset.
type gates struct {
	on     bool // Volcano removes queue allocation gates
	active int  // pods with a reservation
	pods   map[api.TaskID]reservation
	rows   fastres.Rows // what was reserved last for each pod
}

// reservation is that of one pod. It is kept when it is released, for its row.
type reservation struct {
	queue  index.Queue
	row    int
	active bool
}

func (g *gates) reset(on bool, dims int) {
	g.on, g.active = on, 0
	if !on {
		g.pods = nil
		return
	}
	g.pods = map[api.TaskID]reservation{}
	g.rows.Reset(0, dims)
}

// of returns the reservation of a task. It is safe for many goroutines while none changes
// reservations.
func (g *gates) of(task *api.TaskInfo) (r reservation, active bool) {
	if g.active > 0 {
		r = g.pods[task.UID]
	}
	return r, r.active
}

// reserved returns how much of a card is reserved for a task.
func (g *gates) reserved(task *api.TaskInfo, d fastres.Dim) float64 {
	if r, active := g.of(task); active {
		return g.rows.At(r.row, d)
	}
	return 0
}

// openGates reserves what the pods request that wait for a node and whose gate is gone. Pods
// with the fewest cards to choose from go first, so that a longer list takes what these leave.
func (s *session) openGates() {
	s.memory.gates.reset(s.settings.gates && !s.variant.proportion, s.intake.Dims.Length())
	if !s.memory.gates.on {
		return
	}
	type pod struct {
		task    *api.TaskInfo
		choices int
	}
	var pods []pod
	for _, job := range s.ssn.Jobs {
		q := s.ix.Lookup(string(job.Queue))
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if q == index.None || task.SchGated || !reserve.OptedIn(task) {
				continue
			}
			p := pod{task: task}
			for r := range s.cards.Requests(s.cards.PodRequest(q, task.Pod)) {
				p.choices = max(p.choices, len(r.Selector.Dims))
			}
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, func(x, y pod) int {
		return cmp.Or(cmp.Compare(x.choices, y.choices), x.task.Pod.CreationTimestamp.Compare(y.task.Pod.CreationTimestamp.Time),
			cmp.Compare(x.task.UID, y.task.UID))
	})
	for _, p := range pods {
		s.reserve(p.task)
	}
}

// reserve reserves what a task requests, unless that is reserved already. Of a list, it is the
// first card with room in the queue, or else the first one: an exact assignment would search
// at each call of Allocatable, and the card is only where the room is kept. The node decides
// which card the pod is charged for.
func (s *session) reserve(task *api.TaskInfo) {
	q := s.queueOf(task)
	if _, active := s.memory.gates.of(task); active || q == index.None {
		return
	}
	request := s.memory.vectors.reservation
	pod, _ := s.intake.SetTask(request, q, task)
	for r := range s.cards.Requests(pod) {
		if len(r.Selector.Dims) > 0 {
			request.Increase(s.cardToReserve(q, task, r), float64(r.Amount))
		}
	}
	s.ix.NoteOwnJobs(q)
	quota.Reserve(s.ix, q, request)
	g := &s.memory.gates
	known, again := g.pods[task.UID]
	if !again {
		known.row = g.rows.Append(request)
	}
	g.rows.Row(known.row).CopyFrom(request)
	g.pods[task.UID] = reservation{queue: q, row: known.row, active: true}
	g.active++
	s.check()
}

func (s *session) cardToReserve(q index.Queue, task *api.TaskInfo, r cards.Request) fastres.Dim {
	for _, d := range r.Selector.Dims {
		if s.fitsCard(&s.books.Now, q, task, d, float64(r.Amount)).OK() {
			return d
		}
	}
	return r.Selector.Dims[0]
}

// release takes back what is reserved for a task.
func (s *session) release(task *api.TaskInfo) {
	g := &s.memory.gates
	r, active := g.of(task)
	if !active {
		return
	}
	quota.Release(s.ix, r.queue, g.rows.Row(r.row))
	r.active = false
	g.pods[task.UID] = r
	g.active--
	s.check()
}

// restore reserves again what a task requests that lost the node it had in this session.
//
// DIVERGES: upstream does so for pods that are evicted, too. Then what they leave is kept from
// the pod that they are evicted for.
func (s *session) restore(task *api.TaskInfo) {
	if s.memory.gates.on && task.Status == api.Pending && reserve.OptedIn(task) {
		s.reserve(task)
	}
}

// fitsBeside applies the rule of reservations to what a task of q requests, or is charged on a
// node.
func (s *session) fitsBeside(a quota.View, q index.Queue, task *api.TaskInfo, request fastres.Vector) quota.Verdict {
	if s.memory.gates.active > 0 {
		for d := range request.Requested() {
			if v := s.fitsCardBeside(a, q, task, d, request.Get(d)); !v.OK() {
				return v
			}
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: q}
}

// fitsCardBeside is fitsBeside for one card. A task with a reservation may have another card of
// its list, as far as that is not reserved.
func (s *session) fitsCardBeside(a quota.View, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) quota.Verdict {
	g := &s.memory.gates
	if g.active == 0 {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return quota.FitsBeside(s.ix, a, s.limit, q, d, milli-g.reserved(task, d))
}
