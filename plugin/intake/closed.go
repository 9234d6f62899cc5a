package intake

import (
	"maps"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// closed holds the resources that closed queues still have, where cards count in the queue. Such a queue takes no
// jobs, so its guarantee shrinks to its allocated resources: the rest would stay idle until the queue is deleted.
//
// DIVERGES: upstream keeps the whole guarantee (capacity/capacity.go, buildQueueAttrs). So do queues in which cards do
// not count.
type closed map[index.Queue]fastres.Vector

// findClosed adds up the resources of the closed queues. It returns nil if there are none.
func findClosed(jobs []*api.JobInfo, session *Inputs) (found closed) {
	for q := range index.Queue(session.tree.Len()) {
		if session.Open(q) || !session.cards.Counted(q) {
			continue
		}

		if found == nil {
			found = closed{}
		}
		found[q] = fastres.NewVector(session.Dims.length)
	}

	if found == nil {
		return nil
	}

	charge := fastres.NewVector(session.Dims.length)
	for _, job := range jobs {
		q := session.tree.Lookup(string(job.Queue))
		if q == index.None || !found.bears(session.tree, q) {
			continue
		}

		for _, task := range job.Tasks {
			if session.SetHeld(charge, q, task) {
				found.charge(session.tree, q, charge)
			}
		}
	}
	return found
}

// SetHeld makes x the resources that a task of q holds on its node. It returns false if the task has nothing.
func (s *Inputs) SetHeld(x fastres.Vector, q index.Queue, task *api.TaskInfo) bool {
	switch {
	case api.AllocatedStatus(task.Status):
		s.SetCharge(x, q, task, task.NodeName)
		return true
	case s.cards.Occupied(task): // a terminating pod holds only its cards
		x.Reset()
		s.cards.AddTo(x, s.cards.PodRequest(q, task.Pod), task.NodeName)
		return true
	}
	return false
}

// charge adds a charge of q to the closed queues on its path.
func (c closed) charge(tree *index.Tree, q index.Queue, charge fastres.Vector) {
	for _, p := range tree.Path(q) {
		if has, is := c[p]; is {
			has.Add(charge)
		}
	}
}

// bears reports whether q or an ancestor is a closed queue.
func (c closed) bears(tree *index.Tree, q index.Queue) bool {
	for _, p := range tree.Path(q) {
		if _, is := c[p]; is {
			return true
		}
	}
	return false
}

func (c closed) equal(other closed) bool { return maps.EqualFunc(c, other, same) }
