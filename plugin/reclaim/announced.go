package reclaim

import (
	"iter"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/quota/plan"
)

// Plans with victims that get notice before they are evicted (constraint.Notifier). Nobody is evicted for such a plan
// at first: its victims are told, and the plan is kept from session to session.
//
//	plan made      announced       due                     forgotten
//	─────────────▶ notices run ──▶ the victims may go ───▶ carried out, refused, not needed any more, or over lateness
//
// While the notices run, the plan is booked: the future is without its victims, and its pods have their places. Once it
// is due, a new plan with its victims is made for the claimant. They are offered to nobody else.

// lateness bounds how long the victims of a plan are kept after their notice, for a claimant that nobody asks about.
const lateness = time.Minute

// announced is a plan that waits for the end of notices. It lasts across sessions.
type announced struct {
	job     api.JobID
	queue   api.QueueID
	within  bool // the victims are of the claimant's own queue
	pods    []waitingPod
	victims []victim
	until   time.Time // the end of the last notice
}

// waitingPod is a pod of a claimant, and its place in the plan.
type waitingPod struct {
	task    api.TaskID
	node    string
	request *api.Resource
	cards   card.List
}

// victim is a pod that is evicted at the end of its notice.
type victim struct {
	job  api.JobID
	task api.TaskID
	node string
}

// notices are the announced plans in one session.
type notices struct {
	kept  map[api.TaskID]api.JobID // the victims, by the job that they are kept for
	marks map[*announced][]*earmark.Mark
}

// OpenAnnounced books the announced plans of earlier sessions that are still needed. Pods that constraints evict are no
// victims any more, so it comes after them.
func (s *Session) OpenAnnounced() {
	if !s.GivesNotice() {
		s.memory.announced = nil
		return
	}
	s.memory.announced = slices.DeleteFunc(s.memory.announced, func(a *announced) bool {
		tasks := s.claimantIn(a)
		if tasks == nil || !s.hasVictims(a) {
			return true
		}
		a.until = s.endOf(a)
		switch over := s.Now.Sub(a.until); {
		case over > lateness:
			return true
		case over < 0 && !a.within && !s.mayReclaim(s.QueueOf(tasks[0]), tasks):
			return true
		case over >= 0:
			s.keepVictims(a)
			return false
		}
		return !s.book(a, tasks)
	})
}

// claimantIn returns the pods of an announced plan, nil where they do not need it any more.
func (s *Session) claimantIn(a *announced) (tasks []*api.TaskInfo) {
	job := s.Volcano.Jobs[a.job]
	if job == nil || job.Queue != a.queue || !s.Intake.Eligible(s.Index.Lookup(string(job.Queue))).OK() {
		return nil
	}
	for _, pod := range a.pods {
		task := job.Tasks[pod.task]
		if task == nil || task.Status != api.Pending || task.SchGated || s.Books.Waits(task) || s.Volcano.Nodes[pod.node] == nil ||
			!slices.Equal(pod.cards, card.NameOf(task.Pod.Annotations)) || !pod.request.Equal(task.InitResreq, api.Zero) {
			return nil
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// hasVictims reports whether all victims of an announced plan still run where they ran, and are kept for nobody else.
func (s *Session) hasVictims(a *announced) bool {
	q := s.Index.Lookup(string(a.queue))
	return !slices.ContainsFunc(a.victims, func(v victim) bool {
		task := s.taskOf(v)
		return task == nil || !api.PreemptableStatus(task.Status) || task.NodeName != v.node || !task.Preemptable ||
			(s.QueueOf(task) == q) != a.within || s.notices.kept[v.task] != ""
	})
}

// taskOf returns a victim in the session, nil if it is gone.
func (s *Session) taskOf(v victim) *api.TaskInfo {
	if job := s.Volcano.Jobs[v.job]; job != nil {
		return job.Tasks[v.task]
	}
	return nil
}

// endOf returns when the last notice of a plan is over. It is the zero time if its victims have none any more.
func (s *Session) endOf(a *announced) (until time.Time) {
	for _, v := range a.victims {
		task := s.taskOf(v)
		if at := s.NoticeOf(s.QueueOf(task), task); at.After(until) {
			until = at
		}
	}
	return until
}

// keepVictims keeps the victims of a plan for its job.
func (s *Session) keepVictims(a *announced) {
	n := &s.notices
	if n.kept == nil {
		n.kept, n.marks = map[api.TaskID]api.JobID{}, map[*announced][]*earmark.Mark{}
	}
	for _, v := range a.victims {
		n.kept[v.task] = a.job
	}
}

// book takes the victims of a plan from the future, and gives its pods their places. It reports whether these can run
// there.
func (s *Session) book(a *announced, tasks []*api.TaskInfo) bool {
	var marks []earmark.Mark
	for i, task := range tasks {
		e := s.evictorOf(task, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
		if e.Queue == index.None || !s.place(&e, a.pods[i].node) {
			return false
		}
		marks = append(marks, earmark.Mark{Earmark: earmark.Earmark{Task: task, Node: a.pods[i].node}, Queue: e.Queue,
			Account: s.Intake.AccountOf(a.job), Charge: e.charge, Kept: task.InitResreq.Clone()})
	}

	// What the victims leave on a node counts once, for the pods there.
	for _, v := range a.victims {
		task, charge := s.taskOf(v), fastres.NewVector(s.Intake.Dims.Length())
		q := s.QueueOf(task)
		s.Intake.SetCharge(charge, q, task, task.NodeName)
		marks[0].Leaves = append(marks[0].Leaves, earmark.Left{Queue: q, Account: s.Intake.AccountOf(task.Job), Charge: charge})

		left := task.Resreq.Clone()
		for i := range marks {
			if marks[i].Node == v.node {
				rest := beyond(left, marks[i].Kept)
				marks[i].Kept = beyond(marks[i].Kept, left)
				left = rest
			}
		}
	}
	s.keepVictims(a)
	for _, m := range marks {
		s.notices.marks[a] = append(s.notices.marks[a], s.Books.Add(m))
	}
	return true
}

// beyond returns what is requested beyond what is left.
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
func (s *Session) announce(l *ledger, p plan.Plan) {
	c := l.claimant
	a := &announced{job: c.job.UID, queue: c.job.Queue, within: c.within}
	for i, task := range c.tasks {
		a.pods = append(a.pods, waitingPod{task: task.UID, node: l.field.nodes[p.Nodes[i]].Name, request: task.InitResreq.Clone(),
			cards: card.NameOf(task.Pod.Annotations)})
	}
	why := "reclaim, for a pod of another queue"
	if c.within {
		why = "preempt, for a pod of its own queue"
	}
	for _, v := range p.Victims {
		task := l.jobs[v.Job].tasks[v.Pod]
		a.victims = append(a.victims, victim{job: task.Job, task: task.UID, node: task.NodeName})
		s.GiveNotice(s.QueueOf(task), task, why)
	}

	a.until = s.endOf(a)
	if s.book(a, c.tasks) {
		s.memory.announced = append(s.memory.announced, a)
	}
	s.field = nil
}

// dueFor returns the plan of a claimant with notices that are over, nil for none.
func (s *Session) dueFor(c *claimant) *announced {
	for _, a := range s.memory.announced {
		if a.job == c.job.UID && a.within == c.within && !a.until.After(s.Now) {
			return a
		}
	}
	return nil
}

// forget ends an announced plan.
func (s *Session) forget(a *announced) {
	n := &s.notices
	for _, m := range n.marks[a] {
		s.Books.Drop(m)
	}
	delete(n.marks, a)
	for _, v := range a.victims {
		delete(n.kept, v.task)
	}
	s.memory.announced = slices.DeleteFunc(s.memory.announced, func(other *announced) bool { return other == a })
}

// freed ends the announced plans with a victim that was evicted or has lost its node.
func (s *Session) freed(task *api.TaskInfo) {
	if s.notices.kept[task.UID] == "" {
		return
	}
	for _, a := range slices.Clone(s.memory.announced) {
		if slices.ContainsFunc(a.victims, func(v victim) bool { return v.task == task.UID }) {
			s.forget(a)
		}
	}
}

// Kept iterates over the running tasks that are kept as victims for others, each with the time at which the last notice
// of its plan is over.
func (s *Session) Kept() iter.Seq2[*api.TaskInfo, time.Time] {
	return func(yield func(*api.TaskInfo, time.Time) bool) {
		for _, a := range s.memory.announced {
			for _, v := range a.victims {
				task := s.taskOf(v)
				if task != nil && s.notices.kept[v.task] == a.job && !yield(task, a.until) {
					return
				}
			}
		}
	}
}

// hasNotice reports whether a task has to have notice first, or it is not over.
func (s *Session) hasNotice(task *api.TaskInfo) bool {
	return s.NoticeOf(s.QueueOf(task), task).After(s.Now)
}
