package session

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// queueOrder compares two queues by the rule of the name and the arguments.
func (s *Session) queueOrder(l, r any) int {
	return s.CompareQueues(l.(*api.QueueInfo), r.(*api.QueueInfo))
}

// CompareQueues compares two queues by the rule of the plugin's name and arguments.
func (s *Session) CompareQueues(l, r *api.QueueInfo) int { return s.rules.order(s, l, r) }

// orderByDeserved compares by priority, then by the deserved of the queues.
func (s *Session) orderByDeserved(l, r *api.QueueInfo) int { return s.orderBy(quota.Order, l, r) }

// orderByShare compares by priority, then by share (proportion).
func (s *Session) orderByShare(l, r *api.QueueInfo) int { return s.orderBy(quota.OrderByShare, l, r) }

// orderByReclaim compares queues if reclaim is damped: deserved comes before priority.
func (s *Session) orderByReclaim(l, r *api.QueueInfo) int {
	lq, rq := s.number(l), s.number(r)
	if lq != index.None && rq != index.None {
		s.readPending()
		if c := quota.OrderByReclaim(s.Index, &s.Memory.pending.Tasks, lq, rq, s.Settings.Damping); c != 0 {
			return c
		}
	}

	return s.orderByDeserved(l, r)
}

// readPending reads the pending tasks of the session once. This is too early when the session opens, because other
// plugins say later which jobs are valid.
func (s *Session) readPending() {
	if s.pendingRead {
		return
	}
	s.pendingRead = true

	var mayTake func(*api.TaskInfo) bool
	if s.HasPolicies() {
		mayTake = func(task *api.TaskInfo) bool { return s.MayTake(s.QueueOf(task), task).OK() }
	}
	s.Memory.pending.Read(s.Volcano, s.Index, s.Intake, mayTake)
}

// orderBy compares two queues by priority, by the constraints that order queues, then by a rule.
func (s *Session) orderBy(rule func(*index.Index, index.Queue, index.Queue) int, l, r *api.QueueInfo) int {
	if lp, rp := l.Queue.Spec.Priority, r.Queue.Spec.Priority; lp != rp {
		return int(rp) - int(lp)
	}

	lq, rq := s.number(l), s.number(r)
	if lq == index.None || rq == index.None {
		return int(lq) - int(rq)
	}

	if c := s.OrderQueues(lq, rq); c != 0 {
		return c
	}

	return rule(s.Index, lq, rq)
}

// jobOrder compares two jobs of a queue by the constraints that order jobs.
func (s *Session) jobOrder(l, r any) int { return s.OrderJobs(l.(*api.JobInfo), r.(*api.JobInfo)) }

// jobOrderProblem returns a warning if the plugin drf orders jobs first, "" for none. drf decides between most jobs.
func (s *Session) jobOrderProblem() string {
	names := s.OrdersOnlyThere()
	if len(names) == 0 {
		return ""
	}

	for _, tier := range s.Volcano.Tiers {
		for _, p := range tier.Plugins {
			switch {
			case p.Name == s.Variant.Name:
				return ""
			case p.Name == "drf" && p.EnabledJobOrder != nil && *p.EnabledJobOrder:
				return names[0] + " has little effect behind the plugin drf; put " + s.Variant.Name +
					" before it, or set enableJobOrder: false for drf"
			}
		}
	}

	return ""
}

// victimQueueOrder compares two queues with victims of the queue preemptor.
func (s *Session) victimQueueOrder(l, r, preemptor any) int {
	lq := s.number(l.(*api.QueueInfo))
	rq := s.number(r.(*api.QueueInfo))
	pq := s.number(preemptor.(*api.QueueInfo))
	if lq == index.None || rq == index.None || pq == index.None {
		return 0
	}

	if s.OrdersVictims() {
		switch l, r := s.LoseFirst(lq, pq), s.LoseFirst(rq, pq); {
		case l && !r:
			return -1
		case r && !l:
			return 1
		}
	}

	if !s.Index.Rooted() {
		return 0
	}

	return quota.VictimOrder(s.Index, lq, rq, pq)
}

// overused reports whether a queue has its deserved (proportion).
func (s *Session) overused(queue any) bool {
	q := s.number(queue.(*api.QueueInfo))
	if q == index.None {
		return true
	}

	overused := quota.Overused(s.Index, q)
	s.Memory.metrics.SetOverused(q, overused)
	return overused
}

// publishOverused sets the metric of queues that have more than they deserve, for releases that set it once per
// session.
func (s *Session) publishOverused() {
	if s.Variant.Proportion || !s.Settings.Rules.OverusedByShare {
		return
	}
	for q := range index.Queue(s.Index.Len()) {
		s.Memory.metrics.SetOverused(q, s.Index.Share(q) > 1)
	}
}
