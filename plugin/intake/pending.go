package intake

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Pending reads the pending tasks of a session. Damped reclaim orders queues by them. The zero Pending is ready for
// Read.
type Pending struct {
	Tasks   quota.Pending
	request fastres.Vector // of a task
	choices fastres.Rows   // of a task: its request with each choice of cards
	names   *index.Names
	read    map[podShape]*api.Resource // the room that the pods of a shape need, in this session
	tasks   []pendingTask
	picks   []pick // of the choices of all tasks
	picked  []pick // of one choice
	steps   int    // of the search for choices of a task
}

// mostSteps bounds the search for choices of a task. A claim can have 32 requests with a choice each, and all
// combinations of them would end no session. The choices that are found first stay.
const mostSteps = 1024

// podShape identifies pods of one queue with equal requests. One of the pods that need the same room is enough. Pods
// that request the same extended resources share one PodRequest.
type podShape struct {
	queue       index.Queue
	pod         *cards.PodRequest
	cpu, memory float64
}

// pendingTask is a task with its picks from first to end: n picks for each choice of cards.
type pendingTask struct {
	task          *api.TaskInfo
	first, end, n int
}

// pick is the card that a choice has for a resource.
type pick struct {
	resource cards.ResourceID
	dim      fastres.Dim
}

// Read reads the pending tasks of the jobs that allocate considers. A task with a list of cards has a choice for each
// card in the quota of its queue. The result does not follow the session: a task that is allocated counts as pending
// until the next one.
//
// mayTake may be nil. Otherwise a task that it refuses takes nothing from other queues, and is left out.
func (p *Pending) Read(ssn *framework.Session, ix *index.Index, session *Inputs, mayTake func(*api.TaskInfo) bool) {
	p.Tasks.Reset(ix, session.Dims.names)
	p.names = session.Dims.names
	p.tasks = p.tasks[:0]
	p.picks = p.picks[:0]
	if p.request.Len() != session.Dims.length {
		p.request = fastres.NewVector(session.Dims.length)
	}

	for _, job := range ssn.Jobs {
		q := ix.Lookup(string(job.Queue))
		if q == index.None || job.PodGroup == nil || job.IsPending() {
			continue
		}
		if valid := ssn.JobValid(job); valid != nil && !valid.Pass {
			continue
		}

		for _, task := range job.TaskStatusIndex[api.Pending] {
			if !session.settings.Gates.Gated(task) && !task.BestEffort && (mayTake == nil || mayTake(task)) {
				p.readTask(ix, session, q, task)
			}
		}
	}

	// A task without room on any node would put its queue first, and let the other tasks of the queue borrow.
	p.Tasks.Keep(func(number, choice int) bool { return p.hasRoom(ssn, session, p.tasks[number], choice) })
	clear(p.tasks) // so that the session can be garbage collected
	clear(p.read)
}

func (p *Pending) readTask(ix *index.Index, session *Inputs, q index.Queue, task *api.TaskInfo) {
	pod, _ := session.SetTask(p.request, q, task)
	if !pod.None() {
		shape := podShape{q, pod, task.Resreq.MilliCPU, task.Resreq.Memory}
		if room, known := p.read[shape]; known && within(room, task.InitResreq) && within(task.InitResreq, room) {
			return
		}

		if p.read == nil {
			p.read = map[podShape]*api.Resource{}
		}
		p.read[shape] = task.InitResreq
	}

	var requests []cards.Request
	for r := range session.cards.Requests(pod) {
		if !session.cards.Allowed(q, r).OK() {
			return
		}
		requests = append(requests, r)
	}

	p.choices.Reset(0, session.Dims.length)
	first := len(p.picks)
	p.steps = 0
	p.choose(ix.RealCapability.Row(q), requests)
	p.tasks = append(p.tasks, pendingTask{task, first, len(p.picks), len(requests)})
	if p.choices.Len() > 0 {
		p.Tasks.Add(q, &p.choices, len(p.tasks)-1, p.fits)
	}
}

// choose appends the request to choices, once for each choice of cards for the remaining requests that fits under
// bound. It takes mostSteps at most.
func (p *Pending) choose(bound fastres.Vector, requests []cards.Request) {
	if p.steps == mostSteps {
		return
	}
	p.steps++

	if len(requests) == 0 {
		p.choices.Append(p.request)
		p.picks = append(p.picks, p.picked...)
		return
	}

	r := requests[0]
	for _, d := range r.Selector.Dims {
		amount := float64(r.Of(d))
		if !p.fitsUnder(bound, d, amount) {
			continue
		}

		p.names.AddCard(p.request, d, amount)
		p.picked = append(p.picked, pick{r.Resource, d})
		p.choose(bound, requests[1:])
		p.picked = p.picked[:len(p.picked)-1]
		p.names.AddCard(p.request, d, -amount)
	}
}

// fitsUnder reports whether a card fits under the bound together with the cards that are already chosen.
func (p *Pending) fitsUnder(bound fastres.Vector, d fastres.Dim, amount float64) bool {
	if p.request.Get(d)+amount > bound.Get(d) {
		return false
	}

	for _, s := range p.names.Groups(d) {
		if p.request.Get(s.Group)+s.Of(amount) > bound.Get(s.Group) {
			return false
		}
	}
	return true
}

// fits reports whether a task has room wherever another task has room: it needs no more, and it has the same cards for
// the same resources.
func (p *Pending) fits(number, other int) bool {
	x, y := p.tasks[number], p.tasks[other]
	return within(x.task.InitResreq, y.task.InitResreq) && slices.Equal(p.picks[x.first:x.end], p.picks[y.first:y.end])
}

// hasRoom reports whether any node has the cards of a choice, and room for the task once the pods that are being
// deleted are gone.
func (p *Pending) hasRoom(ssn *framework.Session, session *Inputs, t pendingTask, choice int) bool {
	picks := p.picks[t.first+choice*t.n:][:t.n]
	for _, n := range ssn.NodeList {
		lacks := func(c pick) bool { return !session.cards.Gives(n.Name, c.resource, c.dim) }
		if roomFor(t.task.InitResreq, n) && !slices.ContainsFunc(picks, lacks) {
			return true
		}
	}
	return false
}

// roomFor reports whether a node has room for a request once the pods that are being deleted are gone.
func roomFor(request *api.Resource, n *api.NodeInfo) bool {
	if request.MilliCPU > n.Idle.MilliCPU+n.Releasing.MilliCPU-n.Pipelined.MilliCPU ||
		request.Memory > n.Idle.Memory+n.Releasing.Memory-n.Pipelined.Memory {
		return false
	}

	for name, amount := range request.ScalarResources {
		if amount > n.Idle.ScalarResources[name]+n.Releasing.ScalarResources[name]-n.Pipelined.ScalarResources[name] {
			return false
		}
	}
	return true
}

// within reports whether x ≤ y in all dimensions, and y names all resources of x. The names matter: a node with a
// negative amount of a resource has no room for a request of 0.
func within(x, y *api.Resource) bool {
	if x.MilliCPU > y.MilliCPU || x.Memory > y.Memory {
		return false
	}

	for name, amount := range x.ScalarResources {
		if most, named := y.ScalarResources[name]; !named || amount > most {
			return false
		}
	}
	return true
}
