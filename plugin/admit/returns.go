package admit

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/quota"
)

// returns is the resources that reclaim and preempt can take back for jobs (quota.Returns). They are read at the first
// refusal, and again after accounts have changed.
type returns struct {
	raising
	reclaims, preempts bool // the argument admitReclaimable is on, and the configuration has the action
	victims            Victims

	fresh     bool                           // the fields below are right for the present accounts
	running   map[api.QueueID][]*api.JobInfo // with pods that preempt may evict
	preempted map[preemptors]fastres.Vector  // as far as asked
	none      fastres.Vector                 // no resources
}

// preemptors are the jobs of a queue with a priority.
type preemptors struct {
	queue    api.QueueID
	priority int32
}

// openReturns reads which actions the configuration has. Volcano sets them before it opens a session.
func openReturns(b bounds, settings Settings) returns {
	has := func(actions ...string) bool {
		return slices.ContainsFunc(actions, func(name string) bool { return conf.EnabledActionMap[name] })
	}

	return returns{
		raising:  raising{bounds: b},
		reclaims: settings.Reclaimable && has("reclaim", "gangreclaim"),
		preempts: settings.Reclaimable && has("preempt", "gangpreempt"),
		victims:  settings.Victims,
	}
}

// on reports whether anything can be taken back.
func (r *returns) on() bool { return r.reclaims || r.preempts }

// AccountsChanged tells that a task got or lost a node.
func (s *Admission) AccountsChanged() { s.returns.fresh = false }

// decideReturned decides again about a job that does not fit. The bounds are raised by the resources that others give
// back to it.
func (s *Admission) decideReturned(refused cards.Outcome, a constraint.JobAsk) cards.Outcome {
	if !s.returns.on() || refused.Verdict.Reason != quota.OverQuota || !s.readReturns() {
		return refused
	}

	frame := s.Frames.Open()
	defer frame.Close()
	outer, some := s.returns.ask(question{job: a.Job, queue: a.Queue, preempted: s.preemptedFor(a.Job)})
	defer s.returns.answer(outer)
	if !some {
		return refused
	}

	a.Minimum = frame.Vector() // the refusal keeps its own
	a.Minimum.Reset()
	outcome := s.decideOnce(a)
	if !outcome.Verdict.OK() {
		return refused
	}
	return outcome
}

// readReturns reads the resources that can be taken back, unless they are known. It reports false where another
// question is open, and accounts have changed since.
func (s *Admission) readReturns() bool {
	r := &s.returns
	if r.fresh {
		return true
	}
	if r.asks() {
		return false
	}

	r.fresh = true
	if r.preempts {
		r.running = s.runningJobs()
	}
	r.preempted = map[preemptors]fastres.Vector{}
	r.none = fastres.NewVector(s.Index.Dims())
	s.memory.returns.Read(s.Index, s.Names, quota.Giving{
		Leaf: func(q index.Queue) bool {
			queue := s.Intake.Queues[q]
			return r.reclaims && (queue == nil || queue.Reclaimable())
		},
		Fenced: func(q index.Queue) bool { return s.Intake.HasPolicies() && s.Intake.Policies(q).ReclaimFence() },
	})

	if s.memory.Reservations.Len() > 0 {
		s.raiseForReservations()
		s.memory.returns.Lower()
	}
	return true
}

// raiseForReservations raises all bounds by the resources that jobs with reservations are given back.
func (s *Admission) raiseForReservations() {
	first := map[index.Queue]*api.JobInfo{} // with the highest priority, by queue
	for job := range s.memory.Reservations.Jobs() {
		q := s.Index.Lookup(string(job.Queue))
		if q != index.None && (first[q] == nil || job.Priority > first[q].Priority) {
			first[q] = job
		}
	}

	s.memory.returns.RaiseAll(func(q index.Queue) fastres.Vector {
		job := first[q]
		if job == nil {
			return s.returns.none
		}
		return s.preemptedFor(job)
	})
}

// prune drops the reservations that cannot be served, even if all is given back to them. It happens once in a session.
func (s *Admission) prune() {
	reservations := &s.memory.Reservations
	if !s.returns.on() || reservations.Pruned() || reservations.Len() == 0 || !s.readReturns() {
		return
	}

	s.raiseForReservations()
	reservations.Prune(s.Index)
	s.returns.settle()
}
