package intake

import (
	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/framework"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Pending reads the pending tasks of a session, for the order of queues where reclaim is
// damped. The zero Pending is ready for Read.
type Pending struct {
	Tasks   quota.Pending
	request fastres.Vector        // of a task
	choices fastres.Rows          // of a task: its request with cards
	read    map[podShape]struct{} // in this session
}

// podShape is what pods with the same request have in common, where they request extended
// resources: pods with the same share one PodRequest.
type podShape struct {
	queue       index.Queue
	pod         *cards.PodRequest
	cpu, memory float64
}

// Read reads the pending tasks of the jobs that allocate considers. A task with a list of
// cards has a choice for each card that its queue has a quota of. The result stays as it is during the session: a task that is allocated counts as if it
// were pending until the next.
func (p *Pending) Read(ssn *framework.Session, ix *index.Index, session *Session) {
	p.Tasks.Reset(ix, session.Dims.names)
	clear(p.read)
	if p.request.Len() != session.Dims.length {
		p.request = fastres.NewVector(session.Dims.length)
	}
	for _, job := range ssn.Jobs {
		q := ix.Lookup(string(job.Queue))
		if q == index.None || job.PodGroup == nil || job.IsPending() {
			continue
		}
		for _, task := range job.TaskStatusIndex[api.Pending] {
			if !task.SchGated && !task.BestEffort {
				p.readTask(ix, session, q, task)
			}
		}
	}
}

func (p *Pending) readTask(ix *index.Index, session *Session, q index.Queue, task *api.TaskInfo) {
	pod, _ := session.SetTask(p.request, q, task)
	if !pod.None() {
		shape := podShape{q, pod, task.Resreq.MilliCPU, task.Resreq.Memory}
		if _, known := p.read[shape]; known {
			return
		}
		if p.read == nil {
			p.read = map[podShape]struct{}{}
		}
		p.read[shape] = struct{}{}
	}
	var requests []cards.Request
	for r := range session.cards.Requests(pod) {
		if !session.cards.Allowed(q, r).OK() {
			return
		}
		requests = append(requests, r)
	}
	p.choices.Reset(0, session.Dims.length)
	if p.choose(ix.RealCapability.Row(q), requests); p.choices.Len() > 0 {
		p.Tasks.Add(q, &p.choices)
	}
}

// choose appends the request to choices, once for each choice of cards that fits under bound.
func (p *Pending) choose(bound fastres.Vector, requests []cards.Request) {
	if len(requests) == 0 {
		p.choices.Append(p.request)
		return
	}
	for _, d := range requests[0].Selector.Dims {
		if before := p.request.Get(d); before+float64(requests[0].Amount) <= bound.Get(d) {
			p.request.Increase(d, float64(requests[0].Amount))
			p.choose(bound, requests[1:])
			p.request.Set(d, before)
		}
	}
}
