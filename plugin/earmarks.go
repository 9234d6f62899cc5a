package plugin

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// What victims leave belongs to whom they were evicted for, until that pod has a node: in its
// queue and all ancestors, in its namespace, and on the node. Package earmark remembers whose it
// is; quota.Future has what it adds up to.
//
// DIVERGES: upstream has no earmarks. A session in which cards count nowhere has none either.

// earmarked is what one pod was let in for, and waits for.
type earmarked struct {
	task    *api.TaskInfo
	queue   index.Queue
	account index.Queue // of its namespace
	node    string
	charge  fastres.Vector
	// placed is the pod of the job that has a node in this session in place of the earmark, ""
	// for none.
	placed api.TaskID
}

// openEarmarks charges what is earmarked to the future of the session.
func (s *session) openEarmarks() {
	s.future = s.live
	m := s.memory
	m.future.Reset(s.ix)
	if s.namespaces != nil {
		m.futureOfNamespaces.Reset(&s.namespaces.Accounts)
	}
	if s.cards == nil || s.variant.proportion {
		return
	}
	for _, e := range m.earmarks.Open(s.ssn, s.now) {
		q := s.queueOf(e.Task)
		if q == index.None || s.ix.Broken(q) != nil {
			continue
		}
		kept := &earmarked{task: e.Task, queue: q, account: s.namespaceOf(q, e.Task), node: e.Node, charge: fastres.NewVector(s.intake.Dims.Length())}
		if s.intake.SetCharge(kept.charge, q, e.Task, e.Node) {
			s.earmarks = append(s.earmarks, kept)
		}
	}
	if len(s.earmarks) > 0 || m.future.Differs() {
		s.settle()
	}
	for _, e := range s.earmarks {
		s.keep(e)
	}
}

// settle makes the future of the session accounts of its own, once it differs from the present.
func (s *session) settle() {
	m := s.memory
	if s.unsettled {
		return
	}
	s.unsettled = true
	m.futureGuarantees.Reset(s.ix, &m.future, s.intake.Available)
	s.future = accounts{queues: &m.future, guarantees: &m.futureGuarantees}
	if s.namespaces != nil {
		s.future.namespaces = &m.futureOfNamespaces
	}
	s.both = s.live
	s.both.then = &s.future
}

// keep charges an earmark to the future, and release takes it back.
func (s *session) keep(e *earmarked) {
	e.placed = ""
	m := s.memory
	quota.Charge(&m.future, e.queue, e.charge)
	m.futureGuarantees.Update(e.queue, e.charge, 1)
	if e.account != index.None {
		quota.Charge(&m.futureOfNamespaces, e.account, e.charge)
	}
}

func (s *session) releaseEarmark(e *earmarked, to *api.TaskInfo) {
	e.placed = to.UID
	m, refund := s.memory, fastres.NewVector(e.charge.Len())
	quota.Refund(&m.future, e.queue, e.charge, refund)
	m.futureGuarantees.Update(e.queue, refund, -1)
	if e.account != index.None {
		quota.Refund(&m.futureOfNamespaces, e.account, e.charge, refund)
	}
}

// spendEarmark ends the earmark of a pod that gets a node, or else one of an equal pod of its
// job: Volcano takes the pods of a role for one another.
func (s *session) spendEarmark(task *api.TaskInfo) {
	var spent *earmarked
	for _, e := range s.earmarks {
		if e.placed == "" && e.task.Job == task.Job && (e.task.UID == task.UID || spent == nil && e.task.InitResreq.Equal(task.InitResreq, api.Zero)) {
			spent = e
		}
	}
	if spent != nil {
		s.releaseEarmark(spent, task)
	}
}

// restoreEarmark makes the earmark again that a pod had spent which lost its node in this session.
func (s *session) restoreEarmark(task *api.TaskInfo) {
	for _, e := range s.earmarks {
		if e.placed == task.UID {
			s.keep(e)
		}
	}
}

// waits reports whether victims leave to a task what it lacks. So it may not have others evicted.
func (s *session) waits(task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.earmarks, func(e *earmarked) bool { return e.placed == "" && e.task.UID == task.UID })
}

// accountsFor returns the accounts with which the rules of allocation decide about a task. Once
// pods are evicted for its job, it waits for them, so what is there now does not matter. It is
// safe for many goroutines.
func (s *session) accountsFor(task *api.TaskInfo) *accounts {
	if s.unsettled && s.evictions[task.Job] > 0 {
		return s.futureFor(task)
	}
	return s.bothFor(task)
}

// bothFor returns the accounts of now and, where they differ, those of the future.
func (s *session) bothFor(task *api.TaskInfo) *accounts {
	if !s.unsettled {
		return &s.live
	}
	future := s.futureFor(task)
	if future == &s.future {
		return &s.both
	}
	both := s.live
	both.then = future
	return &both
}

// futureFor returns the future without what is earmarked for the job of a task.
func (s *session) futureFor(task *api.TaskInfo) *accounts {
	var without *accounts
	var scratch fastres.Vector
	for _, e := range s.earmarks {
		if e.placed != "" || e.task.Job != task.Job {
			continue
		}
		if without == nil {
			copied := s.future
			copied.queues = &quota.Draft{Accounts: s.future.queues}
			if copied.namespaces != nil {
				copied.namespaces = &quota.Draft{Accounts: s.future.namespaces}
			}
			without, scratch = &copied, fastres.NewVector(e.charge.Len())
		}
		quota.Refund(without.queues, e.queue, e.charge, scratch)
		if e.account != index.None {
			quota.Refund(without.namespaces, e.account, e.charge, scratch)
		}
	}
	if without == nil {
		return &s.future
	}
	return without
}

// keptOn returns what is earmarked on a node for pods of other jobs, nil for nothing.
func (s *session) keptOn(node string, task *api.TaskInfo) (kept *api.Resource) {
	for _, e := range s.earmarks {
		if e.node != node || e.placed != "" || e.task.Job == task.Job {
			continue
		}
		if kept == nil {
			kept = api.EmptyResource()
		}
		kept.Add(e.task.InitResreq)
	}
	return kept
}

// leavesEarmarks reports whether a node has room for a task beside what is earmarked there for
// others. placed: the node counts the task already.
func (s *session) leavesEarmarks(task *api.TaskInfo, node *api.NodeInfo, placed bool) bool {
	kept := s.keptOn(node.Name, task)
	if kept == nil {
		return true
	}
	if !placed {
		kept.Add(task.InitResreq)
	}
	free := node.FutureIdle()
	for _, name := range task.InitResreq.ResourceNames() {
		if task.InitResreq.Get(name) > 0 && kept.Get(name) > free.Get(name) {
			return false
		}
	}
	return true
}

// rememberEarmarks keeps the earmarks of this session for the next ones.
func (s *session) rememberEarmarks() {
	r := s.memory.earmarks
	for _, e := range s.earmarks {
		job := s.ssn.Jobs[e.task.Job]
		if job == nil || e.placed == "" {
			continue
		}
		if task := job.Tasks[e.placed]; task != nil && api.AllocatedStatus(task.Status) {
			r.Ended(job.UID, e.task.UID)
		}
	}
	if s.cards == nil || s.variant.proportion {
		return
	}
	victims := map[api.JobID][]*api.TaskInfo{}
	for _, e := range s.evicted {
		victims[e.claimant.Job] = append(victims[e.claimant.Job], e.task)
	}
	for id, evicted := range victims {
		job := s.ssn.Jobs[id]
		if job == nil || slices.ContainsFunc(s.plans, func(p *plan) bool { return p.failed && p.claimant.Job == id }) {
			continue
		}
		var claimants []*api.TaskInfo
		for _, task := range job.TaskStatusIndex[api.Pipelined] {
			task.EvictionOccurred = true // so that Volcano writes its nominatedNodeName, which outlasts the scheduler
			claimants = append(claimants, task)
		}
		r.Keep(job, claimants, evicted, s.now)
	}
}
