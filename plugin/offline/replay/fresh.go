package replay

import (
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Actions take queues from a heap, into which they put them in the order of a map. While only the share of the
// queue that was taken changes, its order does not matter. It matters once the order of two other queues has
// changed, because a placement changes the share of a whole branch, or an eviction that of another queue: then
// the queue on top of the heap may be any. There the action ends, and the next session begins with a new heap.

// freshness follows the order of the queues during an action.
type freshness struct {
	queues []*api.QueueInfo // those with jobs, as they are ordered
	taken  *api.QueueInfo   // the last one
	moved  bool             // a task was allocated or evicted since
	stale  bool             // the action has ended
}

// begin starts an action.
func (f *freshness) begin() { *f = freshness{} }

// asks is called for each queue that an action takes. It reports whether the action must end.
func (o *order) asks(queue *api.QueueInfo) bool {
	f := &o.freshness
	switch {
	case f.stale:
		return true
	case f.queues == nil:
		with := map[api.QueueID]bool{}
		for _, job := range o.Jobs {
			with[job.Queue] = true
		}
		for _, id := range slices.Sorted(maps.Keys(with)) {
			f.queues = append(f.queues, o.Queues[id])
		}
		slices.SortFunc(f.queues, o.compareQueues)
	case f.moved:
		before := slices.Clone(f.queues)
		slices.SortFunc(f.queues, o.compareQueues)
		f.stale = o.decided() && !slices.Equal(without(before, f.taken), without(f.queues, f.taken))
	}
	f.taken, f.moved = queue, false
	return f.stale
}

func (o *order) compareQueues(a, b *api.QueueInfo) int {
	switch {
	case o.QueueOrderFn(a, b):
		return -1
	case o.QueueOrderFn(b, a):
		return 1
	}
	return 0
}

func without(queues []*api.QueueInfo, one *api.QueueInfo) []*api.QueueInfo {
	return slices.DeleteFunc(slices.Clone(queues), func(q *api.QueueInfo) bool { return q == one })
}
