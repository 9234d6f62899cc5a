package reclaim

import (
	"iter"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/plugin/reclaim/notice"
)

// OpenAnnounced decides which plans of earlier sessions are still needed, and books those with notices that run. Pods
// that constraints evict are no victims any more, so it comes after them.
func (s *Rules) OpenAnnounced() {
	if !s.GivesNotice() {
		s.memory.notices = notice.Board{}
		return
	}
	for _, p := range s.memory.notices.Plans() {
		s.resume(p)
	}
}

// resume continues a plan of an earlier session. It ends a plan that is not needed any more, or that the rules do not
// allow any more.
func (s *Rules) resume(p *notice.Plan) {
	tasks := s.claimantIn(p)
	if tasks == nil || !s.hasVictims(p) {
		s.forget(p)
		return
	}

	until := s.endOf(p)
	switch notice.StateAt(until, s.Now) {
	case notice.Running:
		if marks := s.bookAgain(p, tasks); marks != nil {
			s.memory.notices.Run(p, until, marks)
			return
		}
	case notice.Due:
		s.memory.notices.Expire(p, until, s.bookAgain(p, tasks))
		return
	}
	s.forget(p)
}

// bookAgain books a plan of an earlier session if the rules still allow it. It returns nil if they do not.
func (s *Rules) bookAgain(p *notice.Plan, tasks []*api.TaskInfo) []*earmark.Mark {
	frame := s.Frames.Open()
	defer frame.Close()
	q := s.QueueOf(tasks[0])
	s.PrepareQueue(q)
	if !p.Within && !s.mayReclaim(q, frame.Vector(), tasks).Verdict.OK() {
		return nil
	}
	return s.book(p, tasks)
}

// claimantIn returns the pods of the claimant of a plan, nil where they do not need it any more.
func (s *Rules) claimantIn(p *notice.Plan) (tasks []*api.TaskInfo) {
	job := s.Volcano.Jobs[p.Job]
	if job == nil || job.Queue != p.Queue || !s.Intake.Eligible(s.Index.Lookup(string(job.Queue))).OK() {
		return nil
	}

	for _, pod := range p.Pods {
		task := job.Tasks[pod.Task]
		if task == nil || task.Status != api.Pending || task.SchGated || s.Books.Waits(task) {
			return nil
		}
		if s.Volcano.Nodes[pod.Node] == nil || !pod.Suits(task) {
			return nil
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// hasVictims reports whether all victims of a plan still run where they ran, and are kept for no other job.
func (s *Rules) hasVictims(p *notice.Plan) bool {
	q := s.Index.Lookup(string(p.Queue))
	for _, v := range p.Victims {
		task := s.taskOf(v)
		if task == nil || !api.PreemptableStatus(task.Status) || task.NodeName != v.Node || !task.Preemptable {
			return false
		}
		within := s.QueueOf(task) == q
		if within != p.Within || s.memory.notices.KeptFor(v.Task) != "" {
			return false
		}
	}

	return true
}

// taskOf returns a victim in the session, nil if it is gone.
func (s *Rules) taskOf(v notice.Victim) *api.TaskInfo {
	job := s.Volcano.Jobs[v.Job]
	if job == nil {
		return nil
	}
	return job.Tasks[v.Task]
}

// endOf returns when the last notice of a plan is over. It is the zero time if its victims have none any more.
func (s *Rules) endOf(p *notice.Plan) (until time.Time) {
	for _, v := range p.Victims {
		task := s.taskOf(v)
		at := s.NoticeOf(s.QueueOf(task), task)
		if at.After(until) {
			until = at
		}
	}
	return until
}

// book takes the victims of a plan from the future, and gives its pods their places, which it returns. It returns nil
// if a pod cannot run in its place.
func (s *Rules) book(p *notice.Plan, tasks []*api.TaskInfo) (marks []*earmark.Mark) {
	var places []earmark.Mark
	for i, task := range tasks {
		e := s.evictorOf(task, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
		node := p.Pods[i].Node
		if e.Queue == index.None || !s.place(&e, node) {
			return nil
		}

		places = append(places, earmark.Mark{
			Earmark: earmark.Earmark{Task: task, Node: node},
			Queue:   e.Queue,
			Account: s.Intake.AccountOf(p.Job),
			Charge:  e.charge,
			Kept:    task.InitResreq.Clone(),
		})
	}

	// The room that the victims leave on a node counts once, for the pods there.
	for _, v := range p.Victims {
		task := s.taskOf(v)
		places[0].Leaves = append(places[0].Leaves, s.chargeOf(task))
		leave(places, v.Node, task.Resreq)
	}

	for _, place := range places {
		marks = append(marks, s.Books.Add(place))
	}
	return marks
}

// chargeOf returns the charge of a running task, which its queue gets back once it is evicted.
func (s *Rules) chargeOf(task *api.TaskInfo) earmark.Left {
	q := s.QueueOf(task)
	charge := fastres.NewVector(s.Intake.Dims.Length())
	s.Intake.SetCharge(charge, q, task, task.NodeName)
	return earmark.Left{Queue: q, Account: s.Intake.AccountOf(task.Job), Charge: charge}
}

// leave takes the resources that a victim leaves on a node from the requests that are kept free there.
func leave(places []earmark.Mark, node string, resources *api.Resource) {
	left := resources.Clone()
	for i := range places {
		if places[i].Node != node {
			continue
		}

		unused := beyond(left, places[i].Kept)
		places[i].Kept = beyond(places[i].Kept, left)
		left = unused
	}
}

// beyond returns the part of a request that exceeds the resources left.
func beyond(requested, left *api.Resource) *api.Resource {
	rest := requested.Clone()
	rest.MilliCPU = max(0, rest.MilliCPU-left.MilliCPU)
	rest.Memory = max(0, rest.Memory-left.Memory)
	for name, quantity := range rest.ScalarResources {
		rest.ScalarResources[name] = max(0, quantity-left.ScalarResources[name])
	}
	return rest
}

// announce gives notice to the victims of a plan, and keeps the plan.
func (s *Rules) announce(found *proposal) {
	c := found.trial.claimant
	p := &notice.Plan{Job: c.job.UID, Queue: c.job.Queue, Within: c.within}
	for i, task := range c.tasks {
		p.Pods = append(p.Pods, notice.Pod{Task: task.UID, Place: earmark.PlaceOf(task, found.nodeOf(i).Name)})
	}

	why := "reclaim, for a pod of another queue"
	if c.within {
		why = "preempt, for a pod of its own queue"
	}

	for _, task := range found.victims() {
		p.Victims = append(p.Victims, notice.VictimOf(task))
		s.GiveNotice(s.QueueOf(task), task, why)
	}

	if marks := s.book(p, c.tasks); marks != nil {
		s.memory.notices.Add(p, s.endOf(p), marks)
	}
}

// forget ends a plan, and takes its places back.
func (s *Rules) forget(p *notice.Plan) {
	for _, m := range s.memory.notices.End(p) {
		s.Books.Drop(m)
	}
}

// dropDue takes back the places of the plans of a job with notices that are over: a new plan is made for it.
func (p *planner) dropDue(job *api.JobInfo) {
	for _, m := range p.memory.notices.Unbook(job.UID, p.within) {
		p.Books.Drop(m)
	}
}

// endNoticesOf ends the plans with a victim that was evicted or has lost its node.
func (s *Rules) endNoticesOf(task *api.TaskInfo) {
	if s.memory.notices.KeptFor(task.UID) == "" {
		return
	}
	for _, p := range s.memory.notices.With(task.UID) {
		s.forget(p)
	}
}

// Kept iterates over the running tasks that are kept as victims for others. With each goes the time at which the last
// notice of its plan is over.
func (s *Rules) Kept() iter.Seq2[*api.TaskInfo, time.Time] {
	return func(yield func(*api.TaskInfo, time.Time) bool) {
		for v, p := range s.memory.notices.Kept() {
			task := s.taskOf(v)
			if task != nil && !yield(task, p.Until()) {
				return
			}
		}
	}
}

// KeptFor returns the job that a running task is kept for as a victim, "" for none.
func (s *Rules) KeptFor(task *api.TaskInfo) api.JobID { return s.memory.notices.KeptFor(task.UID) }

// hasNotice reports whether a task has to have notice first, or its notice is not over.
func (s *Rules) hasNotice(task *api.TaskInfo) bool {
	return s.NoticeOf(s.QueueOf(task), task).After(s.Now)
}

// needsNotice reports whether a victim among tasks has to have notice first.
func (s *Rules) needsNotice(tasks []*api.TaskInfo) bool {
	return slices.ContainsFunc(tasks, s.hasNotice)
}
