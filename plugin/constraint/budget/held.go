package budget

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/constraint"
)

// changed is a task that got cards in the session, or lost them.
type changed struct {
	job api.JobID
	had bool // when the session opened
}

// readHeld sets what queues have without the queues below them, by their accounts. These have the pods of earlier
// sessions, and nothing of this session yet.
func (r *Budgets) readHeld() {
	ix := r.session.Index
	own := r.memory.had.own
	for q := range index.Queue(ix.Len()) {
		for dim, d := range r.dims {
			allocated := ix.AllocatedAt(q, d)
			own[r.at(q, dim)] += allocated

			if p := ix.Parent(q); p != index.None {
				own[r.at(p, dim)] -= allocated
			}
		}
	}
}

// note notes a task that gets or loses cards, for close. had says that the task had them before.
func (r *Budgets) note(a constraint.Ask, had bool) {
	for _, d := range r.dims {
		if _, noted := r.changed[a.Task.UID]; !noted && a.Request.Get(d) > 0 {
			r.changed[a.Task.UID] = changed{a.Task.Job, had}
		}
	}
}

// close notes what queues have until the next session.
func (r *Budgets) close() {
	s := r.session
	own := r.memory.had.own
	for id, c := range r.changed {
		job := s.Volcano.Jobs[c.job]
		if job == nil || job.Tasks[id] == nil {
			continue
		}

		task := job.Tasks[id]
		if holds(s, task) == c.had {
			continue
		}

		sign := 1.0
		if c.had {
			sign = -1
		}

		q := s.Index.Lookup(string(job.Queue))
		for dim, d := range r.dims {
			own[r.at(q, dim)] += sign * held(s, q, task, d)
		}
	}
	clear(r.changed)
}

// holds reports whether a task has the cards of its node. Pods that wait for a node, or for victims, have nothing. Pods
// that were evicted have their cards as long as quotas count them.
func holds(s *constraint.Session, task *api.TaskInfo) bool {
	return api.AllocatedStatus(task.Status) || s.Cards.Occupied(task)
}

// held returns how much of a card or a group a task of a queue takes on its node.
func held(s *constraint.Session, q index.Queue, task *api.TaskInfo, d fastres.Dim) (milli float64) {
	pod := s.Cards.PodRequest(q, task.Pod)
	if pod.None() {
		return 0
	}

	node := s.Cards.Node(task.NodeName)
	for request := range s.Cards.RequestsOn(pod, task.NodeName) {
		for listed, amount := range request.On(node) {
			milli += partOf(s, listed, d, float64(amount))
		}
	}
	return milli
}

// partOf returns how much a quantity of the card listed counts of a card or a group d: 0 of another card.
func partOf(s *constraint.Session, listed, d fastres.Dim, milli float64) float64 {
	if listed == d {
		return milli
	}

	for _, share := range s.Names.Groups(listed) {
		if share.Group == d {
			return share.Of(milli)
		}
	}
	return 0
}
