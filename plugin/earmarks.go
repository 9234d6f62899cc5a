package plugin

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/earmark"
	"github.com/capacity-card/capacity-card/quota"
)

// What victims leave belongs to whom they were evicted for, until that pod has a node: in its
// queue and all ancestors, in its namespace, and on the node (package earmark).
//
// DIVERGES: upstream has no earmarks. A session in which cards count nowhere has none either.

// openEarmarks reads the earmarks of earlier sessions.
func (s *session) openEarmarks() {
	var namespaces *index.Index
	now := quota.Books{Queues: s.ix, Guarantees: &s.memory.guarantees}
	if s.namespaces != nil {
		namespaces = &s.namespaces.Accounts
		now.Namespaces = namespaces
	}
	s.books.Open(now, s.ix, namespaces, s.intake.Available)
	if !s.evictsForCards() {
		return
	}
	for _, e := range s.memory.earmarks.Open(s.ssn, s.now) {
		c := s.claimOf(e.Task)
		c.charge = fastres.NewVector(s.intake.Dims.Length())
		if c.queue == index.None || s.ix.Broken(c.queue) != nil || !s.place(&c, e.Node) {
			s.memory.earmarks.Forget(e) // the node has another card now
			continue
		}
		s.books.Add(earmark.Mark{Earmark: e, Queue: c.queue, Account: s.namespaceOf(c.queue, e.Task), Charge: c.charge})
	}
}

// evictsForCards reports whether cards count in the session, so that it has earmarks and plans.
func (s *session) evictsForCards() bool { return s.cards != nil && !s.variant.proportion }

// booksFor returns the accounts with which the rules of allocation decide about a task. Once
// pods are evicted for its job, it waits for them, so what is there now does not matter. It is
// safe for many goroutines.
func (s *session) booksFor(task *api.TaskInfo) *quota.Books {
	if s.evictions[task.Job] > 0 {
		return s.books.FutureFor(task)
	}
	return s.books.Books(task)
}

// leavesEarmarks reports whether the node on which pods were evicted last has room beside what
// is earmarked there for others, if they were evicted for a task. Volcano evicts more if not.
func (s *session) leavesEarmarks(task *api.TaskInfo) bool {
	if s.evictions[task.Job] == 0 || s.claimant == nil || s.claimant.UID != task.UID {
		return true
	}
	node := s.ssn.Nodes[s.evictedOn]
	return node == nil || s.books.LeavesRoom(task, node, false)
}

// rememberEarmarks keeps the earmarks of this session for the next ones.
func (s *session) rememberEarmarks() {
	r := s.memory.earmarks
	s.books.Close(r, func(id api.JobID, pod api.TaskID) api.TaskStatus {
		if job := s.ssn.Jobs[id]; job != nil && job.Tasks[pod] != nil {
			return job.Tasks[pod].Status
		}
		return api.Unknown
	})
	if !s.evictsForCards() {
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
