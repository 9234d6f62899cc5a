package plugin

import (
	"unsafe"

	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// queueTable maps QueueInfos to queues by their addresses, which do not change
// during a session. Volcano compares queues very often: BenchmarkQueueOrder takes
// 60 % longer with look-ups by name. A queue replaces the one that has the same
// slot. It is for the goroutine that runs the session.
type queueTable [1 << slotBits]struct {
	object *api.QueueInfo
	queue  index.Queue
}

const slotBits = 10

func (t *queueTable) lookup(object *api.QueueInfo, tree *index.Tree) index.Queue {
	// Multiplying by 2^64/φ spreads addresses, which are multiples of one size.
	slot := &t[uint64(uintptr(unsafe.Pointer(object)))*0x9e3779b97f4a7c15>>(64-slotBits)]
	if slot.object != object {
		slot.object, slot.queue = object, tree.Lookup(string(object.UID))
	}
	return slot.queue
}

// lookup returns the queue of an object, None for nil and for a queue that the
// session does not have: Volcano looks queues up by the names in jobs.
func (s *session) lookup(queue *api.QueueInfo) index.Queue {
	if queue == nil {
		return index.None
	}
	return s.byObject.lookup(queue, s.ix.Tree)
}

// queueOf returns the queue of a task, None where its job or the job's queue is
// not in the session. It is safe for many goroutines.
func (s *session) queueOf(task *api.TaskInfo) index.Queue {
	job := s.ssn.Jobs[task.Job]
	if job == nil {
		return index.None
	}
	return s.ix.Lookup(string(job.Queue))
}

// eligible is the first part of every admission: the queue exists, reaches the
// root, is a leaf, and is open.
func (s *session) eligible(queue *api.QueueInfo) quota.Verdict {
	return s.takesJobs(s.lookup(queue))
}

// takesJobs is eligible for a queue by its number. It is safe for many goroutines.
func (s *session) takesJobs(q index.Queue) quota.Verdict {
	v := quota.Eligible(s.ix.Tree, q)
	if !v.OK() {
		return v
	}
	if queue := s.intake.Queues[q]; queue == nil || queue.Queue.Status.State != scheduling.QueueStateOpen {
		v.Reason = quota.ClosedQueue
	}
	return v
}

// queueOrder compares two queues: by priority, then by the rule of the plugin. Where
// reclaim is damped, what queues deserve comes before priority.
func (s *session) queueOrder(l, r any) int {
	left, right := l.(*api.QueueInfo), r.(*api.QueueInfo)
	if s.damped() && !s.variant.proportion {
		if c := s.orderClaims(left, right); c != 0 {
			return c
		}
	}
	if lp, rp := left.Queue.Spec.Priority, right.Queue.Spec.Priority; lp != rp {
		return int(rp) - int(lp)
	}
	lq, rq := s.lookup(left), s.lookup(right)
	switch {
	case lq == index.None || rq == index.None:
		return int(lq) - int(rq)
	case s.variant.proportion:
		return quota.OrderByShare(s.ix, lq, rq)
	}
	return quota.Order(s.ix, lq, rq)
}

func (s *session) orderClaims(l, r *api.QueueInfo) int {
	lq, rq := s.lookup(l), s.lookup(r)
	if lq == index.None || rq == index.None {
		return 0
	}
	if !s.claimsRead { // not when the session opens: other plugins say later which jobs are valid
		s.claimsRead = true
		s.memory.pending.Read(s.ssn, s.ix, s.intake, s.claimants())
	}
	return quota.OrderClaims(s.ix, &s.memory.pending.Tasks, lq, rq, s.settings.damping)
}

// victimQueueOrder compares two queues that victims of preemptor's queue are in.
func (s *session) victimQueueOrder(l, r, preemptor any) int {
	lq, rq, pq := s.lookup(l.(*api.QueueInfo)), s.lookup(r.(*api.QueueInfo)), s.lookup(preemptor.(*api.QueueInfo))
	if lq == index.None || rq == index.None || pq == index.None {
		return 0
	}
	return quota.VictimOrder(s.ix, lq, rq, pq)
}

// overused reports whether a queue has all that it deserves (proportion).
func (s *session) overused(queue any) bool {
	q := s.lookup(queue.(*api.QueueInfo))
	if q == index.None {
		return true
	}
	overused := quota.Overused(s.ix, q)
	s.memory.metrics.SetOverused(q, overused)
	return overused
}

// publishOverused sets the metric of queues that have more than they deserve, for releases
// that set it once per session.
func (s *session) publishOverused() {
	if s.variant.proportion || !s.settings.rules.OverusedByShare {
		return
	}
	for q := range index.Queue(s.ix.Len()) {
		s.memory.metrics.SetOverused(q, s.ix.Share(q) > 1)
	}
}
