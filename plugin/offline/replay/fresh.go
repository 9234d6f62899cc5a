package replay

import (
	"maps"
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
)

// Actions take queues from a heap, which they fill in the order of a map. This order does not matter while only the
// share of the queue that was taken changes. It matters once the order of two other queues has changed: a placement
// changes the shares of a whole branch, and an eviction changes the share of another queue. Then any queue may be on
// top of the heap. So the action ends there, and the next session begins with a new heap.

// freshness follows the order of the queues during an action.
type freshness struct {
	queues []*api.QueueInfo // the queues with jobs, in their order
	taken  *api.QueueInfo   // the last one that the action took
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

	f.taken = queue
	f.moved = false
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
