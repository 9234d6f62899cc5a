package admit

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/conf"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// returns is what reclaim and preempt can take back for jobs (quota.Returns). It is read at the first
// refusal, and again after accounts have changed.
type returns struct {
	on                 bool // the argument admitReclaimable
	reclaims, preempts bool // the configuration has the action
	fresh              bool
	running            map[api.QueueID][]*api.JobInfo // with pods that preempt may evict
	preempted          map[preemptors]fastres.Vector
	none               fastres.Vector
	victims            Victims
	// question is the job whose bounds are raised, the zero question for none.
	question question
}

// preemptors are the jobs of a queue with a priority.
type preemptors struct {
	queue    api.QueueID
	priority int32
}

// question is a job of a queue with what preempt can take for it.
type question struct {
	job       *api.JobInfo
	queue     index.Queue
	preempted fastres.Vector
}

// openReturns reads which actions the configuration has. Volcano sets them before it opens a session.
func (s *Session) openReturns(with Settings) {
	has := func(actions ...string) bool {
		return slices.ContainsFunc(actions, func(name string) bool { return conf.EnabledActionMap[name] })
	}
	s.returns = returns{victims: with.Victims, reclaims: has("reclaim", "gangreclaim"), preempts: has("preempt", "gangpreempt")}
	s.returns.on = with.Reclaimable && (s.returns.reclaims || s.returns.preempts)
}

// AccountsChanged tells that a task got or lost a node.
func (s *Session) AccountsChanged() { s.returns.fresh = false }

// decideReturned decides again about a job that does not fit, beside what is given back to it.
func (s *Session) decideReturned(refused cards.Outcome, a constraint.JobAsk) cards.Outcome {
	if !s.returns.on || refused.Verdict.Reason != quota.OverQuota || !s.readReturns() {
		return refused
	}
	frame := s.Frames.Open()
	defer frame.Close()
	outer := s.returns.question
	s.returns.question = question{job: a.Job, queue: a.Queue, preempted: s.preemptedFor(a.Job)}
	defer func() {
		s.returns.question = outer
		s.raise()
	}()
	if !s.raise() {
		return refused
	}
	a.Minimum = frame.Vector() // that of the refusal stays
	a.Minimum.Reset()
	if outcome := s.decideOnce(a); outcome.Verdict.OK() {
		return outcome
	}
	return refused
}

// raise raises the bounds for the question, and reports whether anything is given back.
func (s *Session) raise() bool {
	s.memory.returns.Lower()
	q := s.returns.question
	return q.job != nil && s.memory.returns.Raise(q.queue, q.preempted)
}

// lower lowers the bounds until raiseAgain: a rule may ask about a job while it decides about another one.
func (s *Session) lower() (lowered bool) {
	if s.returns.question.job == nil {
		return false
	}
	s.memory.returns.Lower()
	return true
}

// raiseAgain raises the bounds again, if lower lowered them.
func (s *Session) raiseAgain(lowered bool) {
	if lowered {
		s.raise()
	}
}

// readReturns reads what is given back, unless it is known. It reports false where another question is
// open, and accounts have changed since.
func (s *Session) readReturns() bool {
	if s.returns.fresh {
		return true
	}
	if s.returns.question.job != nil {
		return false
	}
	s.returns.fresh = true
	s.returns.running = nil
	s.returns.preempted = map[preemptors]fastres.Vector{}
	s.returns.none = fastres.NewVector(s.Index.Dims())
	s.memory.returns.Read(s.Index, s.Names, quota.Giving{
		Leaf: func(q index.Queue) bool {
			queue := s.Intake.Queues[q]
			return s.returns.reclaims && (queue == nil || queue.Reclaimable())
		},
		Fenced: func(q index.Queue) bool { return s.Intake.HasPolicies() && s.Intake.Policies(q).ReclaimFence() },
	})
	if s.memory.Reservations.Len() > 0 {
		s.raiseForReservations()
		s.memory.returns.Lower()
	}
	return true
}

// raiseForReservations raises all bounds by what is given back to the jobs with reservations.
func (s *Session) raiseForReservations() {
	first := map[index.Queue]*api.JobInfo{} // with the highest priority, by queue
	for job := range s.memory.Reservations.Jobs() {
		q := s.Index.Lookup(string(job.Queue))
		if q != index.None && (first[q] == nil || job.Priority > first[q].Priority) {
			first[q] = job
		}
	}
	s.memory.returns.RaiseAll(func(q index.Queue) fastres.Vector {
		if job := first[q]; job != nil {
			return s.preemptedFor(job)
		}
		return s.returns.none
	})
}

// prune drops the reservations that cannot be served, even if all is given back to them.
func (s *Session) prune() {
	if !s.returns.on || s.memory.Reservations.Pruned() || s.memory.Reservations.Len() == 0 || !s.readReturns() {
		return
	}
	s.raiseForReservations()
	s.memory.Reservations.Prune(s.Index)
	s.raise()
}

// preemptedFor returns what preempt can take for a job from jobs of its queue with a lower priority,
// beyond what is elastic.
func (s *Session) preemptedFor(job *api.JobInfo) fastres.Vector {
	if !s.returns.preempts || !mayPreempt(job) {
		return s.returns.none
	}
	key := preemptors{job.Queue, job.Priority}
	if known, ok := s.returns.preempted[key]; ok {
		return known
	}
	x := fastres.NewVector(s.Index.Dims())
	victims := s.victimsFor(job)
	for len(victims) > 0 {
		n := 1
		for n < len(victims) && victims[n].Job == victims[0].Job {
			n++
		}
		s.addPreempted(x, victims[:n])
		victims = victims[n:]
	}
	s.returns.preempted[key] = x
	return x
}

// mayPreempt reports whether the action preempt serves a job.
func mayPreempt(job *api.JobInfo) bool {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if constraint.NeverPreempts(task) {
			return false
		}
	}
	return !job.ContainsNetworkTopology()
}

// victimsFor returns the tasks that preempt can evict for a job: those of jobs with a lower priority that no policy and
// no other plugin spares, in the order of jobs.
func (s *Session) victimsFor(job *api.JobInfo) []*api.TaskInfo {
	if s.returns.running == nil {
		s.returns.running = map[api.QueueID][]*api.JobInfo{}
		for _, other := range s.Volcano.Jobs {
			if len(other.TaskStatusIndex[api.Running])+len(other.TaskStatusIndex[api.Bound]) > 0 {
				s.returns.running[other.Queue] = append(s.returns.running[other.Queue], other)
			}
		}
	}
	var candidates []*api.TaskInfo
	for _, other := range s.returns.running[job.Queue] {
		if other.Priority >= job.Priority {
			continue
		}
		for _, status := range []api.TaskStatus{api.Running, api.Bound} {
			for _, task := range other.TaskStatusIndex[status] {
				if task.Preemptable && !s.Spares(task) {
					candidates = append(candidates, task)
				}
			}
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	victims := slices.Clone(s.returns.victims.VictimsWithin(preemptorOf(job), candidates))
	slices.SortFunc(victims, func(x, y *api.TaskInfo) int { return cmp.Or(cmp.Compare(x.Job, y.Job), cmp.Compare(x.UID, y.UID)) })
	return victims
}

// preemptorOf returns a task of a job that asks for victims: a pending one, or one that stands for
// those that do not exist yet.
func preemptorOf(job *api.JobInfo) *api.TaskInfo {
	for _, task := range job.TaskStatusIndex[api.Pending] {
		own := *task
		return &own
	}
	return &api.TaskInfo{Job: job.UID, Namespace: job.Namespace, Name: job.Name, Priority: job.Priority,
		Pod: &v1.Pod{}, Resreq: api.EmptyResource(), InitResreq: api.EmptyResource()}
}

// addPreempted adds what the eviction of some tasks of one job frees to x, less what is elastic.
func (s *Session) addPreempted(x fastres.Vector, victims []*api.TaskInfo) {
	job := s.Volcano.Jobs[victims[0].Job]
	q := s.Index.Lookup(string(job.Queue))
	frame := s.Frames.Open()
	defer frame.Close()
	freed := frame.Vector()
	charge := frame.Vector()
	elastic := frame.Vector()
	freed.Reset()
	for _, task := range victims {
		s.Intake.SetCharge(charge, q, task, task.NodeName)
		freed.Add(charge)
	}
	s.setElastic(elastic, q, job)
	charge.SetExceeded(freed, elastic)
	x.Add(charge)
}

// setElastic sets x to what a job of q has beyond its minimum.
func (s *Session) setElastic(x fastres.Vector, q index.Queue, job *api.JobInfo) {
	frame := s.Frames.Open()
	defer frame.Close()
	minimum, allocated := frame.Vector(), frame.Vector()
	s.Intake.SetMinimum(minimum, job)
	jobCards := s.cardsOf(&s.memory.running, q, job)
	if jobCards != nil {
		jobCards.ExemptMinimum(s.Cards, minimum)
	}
	setAllocated(s.Session, allocated, job, jobCards)
	x.SetExceeded(allocated, minimum)
	if jobCards != nil {
		jobCards.AddElastic(s.Cards, x)
	}
}

// askOf returns the question about a job of q that waits for admission.
func (s *Session) askOf(memory *reserve.Job, minimum fastres.Vector, q index.Queue, job *api.JobInfo) constraint.JobAsk {
	return constraint.JobAsk{Job: job, Queue: q, Minimum: minimum, HasMinimum: intake.HasMinimum(job), Cards: s.cardsOf(memory, q, job)}
}
