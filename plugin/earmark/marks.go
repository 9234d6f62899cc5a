package earmark

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Mark is an earmark in a session, with the charges that it makes to the future.
type Mark struct {
	Earmark
	Queue   index.Queue
	Account index.Queue    // the account of its holders, None if no queue limits a holder
	Charge  fastres.Vector // to the queue, with the card of the node

	// Leaves are the charges of running tasks that will be evicted for Task.
	Leaves []Left
	// Kept is the room that Task needs on the node in addition to the room that these tasks leave. nil means the
	// whole request.
	Kept *api.Resource
	// placed is the pod of the job that got a node in this session and spent the earmark, "" for none.
	placed api.TaskID
}

// Left is the charge of a task that will be evicted, to its queue and to an account of holders or None.
type Left struct {
	Queue, Account index.Queue
	Charge         fastres.Vector
}

// inForce reports whether no pod has spent the earmark in this session.
func (m *Mark) inForce() bool { return m.placed == "" }

// room returns the resources that an earmark keeps on its node.
func (m *Mark) room() *api.Resource {
	if m.Kept != nil {
		return m.Kept
	}
	return m.Task.InitResreq
}

// leave takes an earmark out of a draft of the future.
func (m *Mark) leave(future *quota.Books, scratch fastres.Vector) {
	quota.Refund(future.Queues, m.Queue, m.Charge, scratch)
	if m.Account != index.None {
		quota.Refund(future.Holders, m.Account, m.Charge, scratch)
	}

	for _, left := range m.Leaves {
		quota.Charge(future.Queues, left.Queue, left.Charge)
		if left.Account != index.None {
			quota.Charge(future.Holders, left.Account, left.Charge)
		}
	}
}

// Empty reports whether there are no earmarks.
func (s *Accounts) Empty() bool { return len(s.marks) == 0 }

// Add adds an earmark.
func (s *Accounts) Add(m Mark) *Mark {
	s.marks = append(s.marks, &m)
	s.keep(&m)
	return &m
}

// Drop ends an earmark.
func (s *Accounts) Drop(m *Mark) {
	if m.inForce() {
		s.release(m)
	}
	s.marks = slices.DeleteFunc(s.marks, func(other *Mark) bool { return other == m })
}

// keep charges an earmark to the future.
func (s *Accounts) keep(m *Mark) {
	m.placed = ""

	for _, left := range m.Leaves {
		s.Refund(left.Queue, left.Account, left.Charge)
	}
	s.Charge(m.Queue, m.Account, m.Charge)
}

// release takes an earmark from the future.
func (s *Accounts) release(m *Mark) {
	s.Refund(m.Queue, m.Account, m.Charge)
	for _, left := range m.Leaves {
		s.Charge(left.Queue, left.Account, left.Charge)
	}
}

// Waits reports whether a task has an earmark. Such a task may not have others evicted.
func (s *Accounts) Waits(task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.marks, func(m *Mark) bool { return m.inForce() && m.Task.UID == task.UID })
}

// Placed ends the earmark of a task that gets a node. If the task has none, it ends one of an equal
// task of its job with the same cards. Volcano exchanges the tasks of a role freely.
func (s *Accounts) Placed(task *api.TaskInfo, request fastres.Vector) {
	var spent *Mark
	for _, m := range s.marks {
		if !m.inForce() || m.Task.Job != task.Job {
			continue
		}

		own := m.Task.UID == task.UID
		if own || spent == nil && m.Task.InitResreq.Equal(task.InitResreq, api.Zero) && m.Charge.Equal(request) {
			spent = m
		}
	}

	if spent != nil {
		spent.placed = task.UID
		s.release(spent)
	}
}

// Displaced restores the earmark that a task spent, after the task lost its node in this session.
func (s *Accounts) Displaced(task *api.TaskInfo) {
	for _, m := range s.marks {
		if m.placed == task.UID {
			s.keep(m)
		}
	}
}

// KeptOn returns the sum of the earmarks on a node for tasks of other jobs, nil if there are none.
func (s *Accounts) KeptOn(node string, task *api.TaskInfo) (kept *api.Resource) {
	for _, m := range s.marks {
		if m.Node != node || !m.inForce() || m.Task.Job == task.Job {
			continue
		}

		if kept == nil {
			kept = api.EmptyResource()
		}
		kept.Add(m.room())
	}
	return kept
}

// Kept returns the sum of the earmarks on each node, for tasks of all jobs.
func (s *Accounts) Kept() map[string]*api.Resource {
	kept := map[string]*api.Resource{}
	for _, m := range s.marks {
		if !m.inForce() {
			continue
		}

		if kept[m.Node] == nil {
			kept[m.Node] = api.EmptyResource()
		}
		kept[m.Node].Add(m.room())
	}
	return kept
}

// LeavesRoom reports whether a node has room for a task in addition to the earmarks of other jobs
// there. The tasks in without do not count. placed means that the node counts the task already.
func (s *Accounts) LeavesRoom(task *api.TaskInfo, node *api.NodeInfo, placed bool, without ...[]*api.TaskInfo) bool {
	if s.Empty() {
		return true
	}

	needed := s.KeptOn(node.Name, task)
	if needed == nil {
		return true
	}
	if !placed {
		needed.Add(task.InitResreq)
	}

	free := node.FutureIdle()
	for _, victims := range without {
		for _, victim := range victims {
			free.Add(victim.Resreq)
		}
	}

	for _, name := range task.InitResreq.ResourceNames() {
		if task.InitResreq.Get(name) > 0 && needed.Get(name) > free.Get(name) {
			return false
		}
	}
	return true
}

// Close ends the earmarks of a Registry that were spent. status returns the status of a task. A task
// that is allocated, in a gang with pipelined tasks, is not bound: it has no node in the next session.
func (s *Accounts) Close(r *Registry, status func(api.JobID, api.TaskID) api.TaskStatus) {
	for _, m := range s.marks {
		if !m.inForce() && status(m.Task.Job, m.placed) == api.Binding {
			r.ended(m.Task.Job, m.Task.UID)
		}
	}
	s.marks = nil // so that the tasks can be garbage collected
}
