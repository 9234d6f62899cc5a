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
	Requests quota.Pending
	request  fastres.Vector
	read     map[podShape]struct{} // in this session
}

// podShape is what pods with the same request have in common, where they request extended
// resources: pods with the same share one PodRequest.
type podShape struct {
	queue       index.Queue
	pod         *cards.PodRequest
	cpu, memory float64
}

// Read reads the pending tasks of the jobs that allocate considers. A task with a list of
// cards counts once for each card that its queue deserves: the queue can reclaim no other.
// The result stays as it is during the session: a task that is allocated counts as if it
// were pending until the next.
func (p *Pending) Read(ssn *framework.Session, ix *index.Index, session *Session) {
	p.Requests.Reset(ix)
	p.read = map[podShape]struct{}{}
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
		p.read[shape] = struct{}{}
	}
	var requests []cards.Request
	for r := range session.cards.Requests(pod) {
		if !session.cards.Allowed(q, r).OK() {
			return
		}
		requests = append(requests, r)
	}
	p.add(ix.Deserved.Row(q), q, requests)
}

// add adds the request once for each choice of cards that the queue deserves.
func (p *Pending) add(deserved fastres.Vector, q index.Queue, requests []cards.Request) {
	if len(requests) == 0 {
		p.Requests.Add(q, p.request)
		return
	}
	for _, d := range requests[0].Selector.Dims {
		if deserved.Get(d) > 0 {
			before := p.request.Get(d)
			p.request.Increase(d, float64(requests[0].Amount))
			p.add(deserved, q, requests[1:])
			p.request.Set(d, before)
		}
	}
}
