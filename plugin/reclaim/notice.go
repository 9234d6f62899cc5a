package reclaim

import (
	"cmp"
	"iter"
	"slices"
	"sync"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"
	"volcano.sh/volcano/pkg/scheduler/plugins/util"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/earmark"
)

// Victims with notice (constraint.Notifier). Where a victim of an evictor has to get notice first, nobody is evicted for the evictor. The
// session remembers the victims as a delay. When the evictor had all nodes to choose from, and found no victims that may go at
// once, the delay is booked: the future is without its victims, and with the evictor on their node (an earmark). When all tasks of the
// job were asked about, its victims get notice, unless the job as a whole has too few victims; then its delays end.
//
//	Reclaimable, Preemptable   the next evictor                    the next job, or the end of the session
//	noteDelay                  book: nobody else has the victims   tell: the victims get notice
//
// From the next session on, a delay is booked when the session opens, until the notice of its victims is over, or of all that were told
// together with them where the job has too few tasks to start. Then they may be named for the evictor, and for nobody else: in one session
// in which it is asked about, or within lateness.

// notices are the delays in one session.
type notices struct {
	mu     sync.Mutex               // Preemptable is called from many goroutines
	best   *delay                   // of the evictor that was asked about last
	job    api.JobID                // whose tasks are asked about
	new    []*delay                 // of the job, booked
	placed map[api.TaskID]bool      // tasks of the job that have victims without notice
	kept   map[api.TaskID]api.JobID // the victims, by the job that they are kept for
	due    map[api.TaskID]*delay    // by evictor
	marks  map[*delay]*earmark.Mark
}

// offered returns the tasks that may be named for an evictor: none that are kept for another job, nor for its own as long as
// they have notice. Once that is over, those alone.
func (s *Session) offered(evictor *api.TaskInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	n := &s.notices
	if len(n.kept) == 0 || len(tasks) == 0 {
		return tasks
	}
	d := n.due[evictor.UID]
	if d != nil && s.QueueOf(tasks[0]) == s.QueueOf(evictor) == d.within {
		n.mu.Lock()
		d.asked = true
		n.mu.Unlock()
	} else {
		d = nil
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(task *api.TaskInfo) bool {
		if d != nil {
			return !slices.Contains(d.victims, victim{task.Job, task.UID})
		}
		return n.kept[task.UID] != ""
	})
}

// Kept iterates over the running tasks that are kept as victims for others, each with the time at which the last notice of the victims of
// the same group is over.
func (s *Session) Kept() iter.Seq2[*api.TaskInfo, time.Time] {
	return func(yield func(*api.TaskInfo, time.Time) bool) {
		for _, d := range s.memory.delays {
			for _, v := range d.victims {
				if task := s.taskOf(v); task != nil && s.notices.kept[v.task] == d.job && !yield(task, d.ends) {
					return
				}
			}
		}
	}
}

// notKept returns the tasks that are kept for no other job.
func (s *Session) notKept(job *api.JobInfo, tasks []*api.TaskInfo) []*api.TaskInfo {
	kept := s.notices.kept
	if len(kept) == 0 {
		return tasks
	}
	return slices.DeleteFunc(slices.Clone(tasks), func(task *api.TaskInfo) bool {
		to := kept[task.UID]
		return to != "" && (job == nil || to != job.UID)
	})
}

// heed returns the victims of victims on a node that may be evicted now. If some of those that Volcano would evict have
// notice, there are none, and the delay is considered.
func (s *Session) heed(e *evictor, victims []*api.TaskInfo, within bool) []*api.TaskInfo {
	if len(victims) == 0 || !s.GivesNotice() {
		return victims
	}
	free := slices.DeleteFunc(slices.Clone(victims), s.hasNotice)
	if len(free) == len(victims) {
		return victims
	}
	node := s.Volcano.Nodes[victims[0].NodeName]
	if node == nil || e.Queue == index.None || !onOneNode(victims) {
		return free
	}
	evicted := s.evictedOf(e, node, victims, within)
	if !slices.ContainsFunc(evicted, s.hasNotice) {
		return free
	}
	s.noteDelay(e.Task, node.Name, evicted, within)
	if s.choice.reclaimer == e.Task {
		s.choice.best = node.Name // no other one: the least work has decided
	}
	return nil
}

// hasNotice reports whether a task has to have notice first, or it is not over.
func (s *Session) hasNotice(task *api.TaskInfo) bool {
	return s.NoticeOf(s.QueueOf(task), task).After(s.Now)
}

// evictedOf returns the victims that Volcano would evict of those that are named for an evictor: those of its plan, or else the
// first ones in its order with which the node has room, and the quotas for preempt.
func (s *Session) evictedOf(e *evictor, node *api.NodeInfo, victims []*api.TaskInfo, within bool) []*api.TaskInfo {
	if p := s.planOf(e.Task); p != nil && !within {
		return p.victims
	}
	if !within && s.rules.roomSpares && makesRoom(e, node, nil) {
		return nil
	}
	ordered := s.evictionOrder(e.Task, victims)
	for i := range ordered {
		if evicted := ordered[:i+1]; makesRoom(e, node, evicted) && (!within || s.fitsWithout(e, evicted)) {
			return evicted
		}
	}
	return ordered
}

// noteDelay notes a delay for the evictor that is asked about. Of several nodes, that counts on which notices are over first, with the
// fewest victims.
func (s *Session) noteDelay(evictor *api.TaskInfo, node string, victims []*api.TaskInfo, within bool) {
	d := &delay{job: evictor.Job, task: evictor.UID, queue: s.Volcano.Jobs[evictor.Job].Queue, node: node, request: evictor.InitResreq.Clone(),
		cards: card.NameOf(evictor.Pod.Annotations), within: within}
	for _, task := range victims {
		d.victims = append(d.victims, victim{task.Job, task.UID})
	}
	d.until = s.endOf(d)
	if !within { // which is asked about from one goroutine
		s.plans = slices.DeleteFunc(s.plans, func(p *plan) bool { return p.evictor.UID == evictor.UID })
	}
	n := &s.notices
	n.mu.Lock()
	defer n.mu.Unlock()
	best := n.best
	if best == nil || best.task != d.task || cmp.Or(d.until.Compare(best.until), cmp.Compare(len(d.victims), len(best.victims)),
		cmp.Compare(d.node, best.node)) < 0 {
		n.best = d
	}
}

// settleDelays books the delay of the evictor that was asked about, when another one is, nil for none. When it is of another job, the
// victims of the job before get notice.
func (s *Session) settleDelays(next *api.TaskInfo) {
	n := &s.notices
	if d := n.best; d != nil && (next == nil || next.UID != d.task) {
		n.best = nil
		s.turnTo(d.job)
		if evictor := s.evictorFor(d); evictor != nil && s.book(d, evictor) {
			n.new = append(n.new, d)
		}
	}
	if next == nil {
		s.turnTo("")
	} else if n.job != "" {
		s.turnTo(next.Job)
	}
}

// turnTo announces the delays of the job that was asked about before, if it is another one.
func (s *Session) turnTo(job api.JobID) {
	n := &s.notices
	if n.job == job {
		return
	}
	if len(n.new) > 0 {
		s.tell()
	}
	n.job, n.new, n.placed = job, nil, nil
}

// tell gives notice to the victims of a job, unless the job has too few victims to start: then its new delays end.
func (s *Session) tell() {
	n := &s.notices
	job := s.Volcano.Jobs[n.job]
	for _, d := range n.new {
		delete(n.placed, d.task)
	}
	served := len(n.new) + len(n.placed)
	for _, task := range job.TaskStatusIndex[api.Pending] {
		if s.Books.Waits(task) && !n.placed[task.UID] && !slices.ContainsFunc(n.new, func(d *delay) bool { return d.task == task.UID }) {
			served++
		}
	}
	if int(job.ReadyTaskNum())+served < int(job.MinAvailable) {
		for _, d := range n.new {
			s.end(d)
		}
		return
	}
	for _, d := range n.new {
		why := "reclaim, for a pod of another queue"
		if d.within {
			why = "preempt, for a pod of its own queue"
		}
		for _, v := range d.victims {
			if task := s.taskOf(v); task != nil {
				s.GiveNotice(s.QueueOf(task), task, why)
			}
		}
		d.told = s.Now
		s.memory.delays = append(s.memory.delays, d)
	}
	s.setEnds(n.new)
}

// served notes a task that has victims without notice, or needs none.
func (s *Session) served(task *api.TaskInfo) {
	n := &s.notices
	if n.best != nil && n.best.task == task.UID {
		n.best = nil
	}
	s.turnTo(task.Job)
	if n.placed == nil {
		n.placed = map[api.TaskID]bool{}
	}
	n.placed[task.UID] = true
}

// freed ends the delays with a victim that was evicted for somebody else, or has lost its node.
func (s *Session) freed(task *api.TaskInfo) {
	if s.notices.kept[task.UID] == "" {
		return
	}
	for d := range s.notices.marks {
		if slices.Contains(d.victims, victim{task.Job, task.UID}) {
			s.end(d)
		}
	}
}

// heedWithin returns the victims of a preemptor that may be evicted now. all are those that Volcano asks about, offered those that may be
// named, and victims and vote the answer without notices.
func (s *Session) heedWithin(preemptor *api.TaskInfo, all, offered, victims []*api.TaskInfo, vote int) ([]*api.TaskInfo, int) {
	if vote == util.Reject || !slices.ContainsFunc(offered, s.hasNotice) && len(offered) == len(all) {
		return victims, vote
	}
	if vote == util.Abstain {
		victims = s.agreedInQueue(preemptor, offered)
	}
	if len(victims) == 0 {
		return nil, util.Reject
	}
	e := s.evictorOf(preemptor, fastres.NewVector(s.Intake.Dims.Length()), fastres.Vector{})
	if !s.place(&e, victims[0].NodeName) {
		return nil, util.Reject
	}
	if victims = s.heed(&e, victims, true); len(victims) == 0 {
		return nil, util.Reject
	}
	return victims, util.Permit
}
