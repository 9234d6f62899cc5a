package intake

import (
	"maps"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// closed holds what queues have that are not open, by queue, where cards count in them. Such a queue takes no jobs, so
// it is guaranteed what it still has: the rest of its guarantee would stay idle until the queue is deleted.
//
// DIVERGES: upstream keeps the whole guarantee (capacity/capacity.go, buildQueueAttrs). So do queues in which cards do
// not count.
type closed map[index.Queue]fastres.Vector

// findClosed adds up what the queues have.
func findClosed(jobs []*api.JobInfo, session *Session) (found closed) {
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
			switch {
			case api.AllocatedStatus(task.Status):
				session.SetCharge(charge, q, task, task.NodeName)
			case session.cards.Occupied(task): // a terminating pod holds its cards alone
				charge.Reset()
				session.cards.AddTo(charge, session.cards.PodRequest(q, task.Pod), task.NodeName)
			default:
				continue
			}
			for _, p := range session.tree.Path(q) {
				if has, some := found[p]; some {
					has.Add(charge)
				}
			}
		}
	}
	return found
}

// bears reports whether a queue is one of c, or below one.
func (c closed) bears(tree *index.Tree, q index.Queue) bool {
	for _, p := range tree.Path(q) {
		if _, some := c[p]; some {
			return true
		}
	}
	return false
}

func (c closed) equal(other closed) bool { return maps.EqualFunc(c, other, same) }
