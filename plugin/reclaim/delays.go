package reclaim

import (
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/earmark"
)

// lateness bounds the time for which victims are kept, after their notice, for an evictor that Volcano does not ask about.
const lateness = time.Minute

// delay is an eviction that waits for the end of notices. It lasts across sessions.
type delay struct {
	job     api.JobID // of the evictor
	task    api.TaskID
	queue   api.QueueID
	node    string
	request *api.Resource
	cards   card.List
	victims []victim
	within  bool      // the victims are of the evictor's own queue
	told    time.Time // when the victims got notice
	until   time.Time // when the notice of the last victim is over, as the session knows
	ends    time.Time // when the notices of all victims of its group are over, as they were when the session opened
	asked   bool      // Reclaimable or Preemptable was asked since then
}

// victim is a task that is evicted when its notice is over.
type victim struct {
	job  api.JobID
	task api.TaskID
}

// group are the delays that end together: those of a job that needs them all, or one by itself.
type group struct {
	job  api.JobID
	told time.Time
	task api.TaskID
}

func (s *Session) groupOf(d *delay) group {
	if job := s.Volcano.Jobs[d.job]; job != nil && job.ReadyTaskNum() < job.MinAvailable {
		return group{job: d.job, told: d.told}
	}
	return group{task: d.task}
}

// OpenDelays books the delays of earlier sessions that are still needed. Tasks that constraints evict are no victims any more, so it
// comes after them.
func (s *Session) OpenDelays() {
	if !s.GivesNotice() {
		s.memory.delays = nil
		return
	}
	for _, d := range s.memory.delays {
		d.until = s.endOf(d)
	}
	s.setEnds(s.memory.delays)
	frame := s.Frames.Open()
	defer frame.Close()
	s.memory.delays = slices.DeleteFunc(s.memory.delays, func(d *delay) bool {
		evictor := s.evictorFor(d)
		switch over := s.Now.Sub(d.ends); {
		case evictor == nil || over > lateness:
			return true
		case over >= 0:
			s.keepVictims(d)
			s.notices.due[d.task] = d
			return false
		case !d.within && !s.MayReclaim(s.QueueOf(evictor), frame.Vector(), evictor).Verdict.OK():
			return true
		}
		return !s.book(d, evictor)
	})
}

// setEnds sets for each delay when the notices of all victims of its group are over.
func (s *Session) setEnds(delays []*delay) {
	latest := map[group]time.Time{}
	for _, d := range delays {
		if g := s.groupOf(d); d.until.After(latest[g]) {
			latest[g] = d.until
		}
	}
	for _, d := range delays {
		d.ends = latest[s.groupOf(d)]
	}
}

// endOf returns when the notice of the last victim of a delay is over. It is the zero time for one whose victims have none any more.
func (s *Session) endOf(d *delay) (until time.Time) {
	for _, v := range d.victims {
		if task := s.taskOf(v); task != nil {
			if at := s.NoticeOf(s.QueueOf(task), task); at.After(until) {
				until = at
			}
		}
	}
	return until
}

// taskOf returns a victim in the session, nil if it is gone.
func (s *Session) taskOf(v victim) *api.TaskInfo {
	if job := s.Volcano.Jobs[v.job]; job != nil {
		return job.Tasks[v.task]
	}
	return nil
}

// evictorFor returns the evictor of a delay, nil where it does not need it any more, or a victim has ended.
func (s *Session) evictorFor(d *delay) *api.TaskInfo {
	job := s.Volcano.Jobs[d.job]
	if job == nil || job.Queue != d.queue || s.Volcano.Nodes[d.node] == nil {
		return nil
	}
	task := job.Tasks[d.task]
	if task == nil || task.Status != api.Pending || task.SchGated || s.Books.Waits(task) ||
		!slices.Equal(d.cards, card.NameOf(task.Pod.Annotations)) || !d.request.Equal(task.InitResreq, api.Zero) {
		return nil
	}
	q := s.QueueOf(task)
	if !s.Intake.Eligible(q).OK() {
		return nil
	}
	for _, v := range d.victims {
		victim := s.taskOf(v)
		if victim == nil || victim.Status != api.Running || victim.NodeName != d.node || !victim.Preemptable ||
			(s.QueueOf(victim) == q) != d.within || s.notices.kept[v.task] != "" {
			return nil
		}
	}
	return task
}

// keepVictims keeps the victims of a delay for its job.
func (s *Session) keepVictims(d *delay) {
	n := &s.notices
	if n.kept == nil {
		n.kept, n.due, n.marks = map[api.TaskID]api.JobID{}, map[api.TaskID]*delay{}, map[*delay]*earmark.Mark{}
	}
	for _, v := range d.victims {
		n.kept[v.task] = d.job
	}
}

// book takes the victims of a delay from the future, and gives its evictor their room. It reports whether the evictor can run there.
func (s *Session) book(d *delay, evictor *api.TaskInfo) bool {
	e := s.evictorOf(evictor, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
	if e.Queue == index.None || !s.place(&e, d.node) {
		return false
	}
	m := earmark.Mark{Earmark: earmark.Earmark{Task: evictor, Node: d.node}, Queue: e.Queue, Account: s.Intake.AccountOf(d.job),
		Charge: e.charge}
	left := api.EmptyResource()
	for _, v := range d.victims {
		task, charge := s.taskOf(v), fastres.NewVector(s.Intake.Dims.Length())
		q := s.QueueOf(task)
		s.Intake.SetCharge(charge, q, task, d.node)
		m.Leaves = append(m.Leaves, earmark.Left{Queue: q, Account: s.Intake.AccountOf(task.Job), Charge: charge})
		left.Add(task.Resreq)
	}
	m.Kept = beyond(evictor.InitResreq, left)
	s.keepVictims(d)
	s.notices.marks[d] = s.Books.Add(m)
	return true
}

// beyond returns what is requested beyond what is left.
func beyond(requested, left *api.Resource) *api.Resource {
	rest := requested.Clone()
	rest.MilliCPU, rest.Memory = max(0, rest.MilliCPU-left.MilliCPU), max(0, rest.Memory-left.Memory)
	for name, quantity := range rest.ScalarResources {
		rest.ScalarResources[name] = max(0, quantity-left.ScalarResources[name])
	}
	return rest
}

// end ends a delay.
func (s *Session) end(d *delay) {
	n := &s.notices
	if m := n.marks[d]; m != nil {
		s.Books.Drop(m)
		delete(n.marks, d)
	}
	for _, v := range d.victims {
		delete(n.kept, v.task)
	}
	delete(n.due, d.task)
	s.memory.delays = slices.DeleteFunc(s.memory.delays, func(other *delay) bool { return other == d })
}

// closeDelays announces the last delays, and ends those that were due and have not helped their evictors, with the others of their groups.
func (s *Session) closeDelays() {
	if !s.GivesNotice() {
		return
	}
	s.settleDelays(nil)
	failed := map[group]bool{}
	for _, d := range s.notices.due {
		if task := s.taskOf(victim{d.job, d.task}); d.asked && (task == nil || task.Status == api.Pending) {
			failed[s.groupOf(d)] = true
		}
	}
	s.memory.delays = slices.DeleteFunc(s.memory.delays, func(d *delay) bool { return failed[s.groupOf(d)] })
}
