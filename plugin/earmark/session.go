package earmark

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Session is the earmarks of one scheduling session, and the accounts with which rules decide:
// those of now and, where these differ, those of the future (quota.Future). Its memory is kept for
// the next session. Methods that change nothing are safe for many goroutines while nothing
// changes.
type Session struct {
	Now    quota.Books
	Future quota.Books // the same as Now where nothing differs
	both   quota.Books // Now, then Future

	unsettled  bool // Future differs from Now
	queues     quota.Future
	holders    quota.Future
	guarantees quota.Guarantees
	ix         *index.Index
	available  fastres.Vector

	marks []*Mark
}

// Mark is an earmark in a session: what a pod was let in for, and waits for.
type Mark struct {
	Earmark
	Queue   index.Queue
	Account index.Queue    // of its holders, None where no queue limits one
	Charge  fastres.Vector // to the queue, with the card of the node
	// Leaves has the charges of running tasks that will be evicted for Task. Task needs Kept on the node beside what
	// they leave; nil stands for its whole request.
	Leaves []Left
	Kept   *api.Resource
	// placed is the pod of the job that got a node in this session in place of the earmark, ""
	// for none.
	placed api.TaskID
}

// Left is the charge of a task that will be evicted, on its queue and on an account of holders or None.
type Left struct {
	Queue, Account index.Queue
	Charge         fastres.Vector
}

// Open begins a session with the accounts now, which are those of ix. holders are their
// accounts, nil where no queue limits one; available is that of quota.Guarantees in the future.
func (s *Session) Open(now quota.Books, ix, holders *index.Index, available fastres.Vector) {
	s.Now = now
	s.Future = now
	s.ix = ix
	s.available = available
	s.unsettled = false
	s.marks = nil
	s.queues.Reset(ix)
	if holders != nil {
		s.holders.Reset(holders)
	}
	if s.queues.Differs() {
		s.settle()
	}
}

// settle makes the future accounts of its own, from its first difference on.
func (s *Session) settle() {
	if s.unsettled {
		return
	}
	s.unsettled = true
	s.guarantees.Reset(s.ix, &s.queues, s.available)
	s.Future = quota.Books{Queues: &s.queues, Guarantees: &s.guarantees}
	if s.Now.Holders != nil {
		s.Future.Holders = &s.holders
	}
	s.both = s.Now
	s.both.Then = &s.Future
}

// Queues returns the accounts of queues as they will be, which stay valid for the session.
func (s *Session) Queues() quota.Accounts { return &s.queues }

// Empty reports whether there are no earmarks.
func (s *Session) Empty() bool { return len(s.marks) == 0 }

// Add adds an earmark.
func (s *Session) Add(m Mark) *Mark {
	s.marks = append(s.marks, &m)
	s.keep(&m)
	return &m
}

// Drop ends an earmark.
func (s *Session) Drop(m *Mark) {
	if m.placed == "" {
		s.release(m)
	}
	s.marks = slices.DeleteFunc(s.marks, func(other *Mark) bool { return other == m })
}

// keep charges an earmark to the future.
func (s *Session) keep(m *Mark) {
	m.placed = ""
	for _, left := range m.Leaves {
		s.Refund(left.Queue, left.Account, left.Charge)
	}
	s.Charge(m.Queue, m.Account, m.Charge)
}

// release takes an earmark from the future.
func (s *Session) release(m *Mark) {
	s.Refund(m.Queue, m.Account, m.Charge)
	for _, left := range m.Leaves {
		s.Charge(left.Queue, left.Account, left.Charge)
	}
}

// Charge adds a request to the future of a queue, and of the account of holders. Refund takes
// it back.
func (s *Session) Charge(q, account index.Queue, request fastres.Vector) {
	s.settle()
	quota.Charge(&s.queues, q, request)
	s.guarantees.Update(q, request, 1)
	if account != index.None {
		quota.Charge(&s.holders, account, request)
	}
}

// Refund subtracts a request from the future.
func (s *Session) Refund(q, account index.Queue, request fastres.Vector) {
	s.settle()
	scratch := fastres.NewVector(request.Len())
	s.guarantees.Update(q, quota.Refund(&s.queues, q, request, scratch), -1)
	if account != index.None {
		quota.Refund(&s.holders, account, request, scratch)
	}
}

// Charged follows a charge of the accounts of now in all that derives from them, and Refunded a
// refund.
func (s *Session) Charged(q index.Queue, request fastres.Vector) {
	s.Now.Guarantees.Update(q, request, 1)
	if s.unsettled {
		s.queues.Charged(q, request)
		s.guarantees.Update(q, request, 1)
	}
}

func (s *Session) Refunded(q index.Queue, refund fastres.Vector) {
	s.Now.Guarantees.Update(q, refund, -1)
	if s.unsettled {
		s.queues.Refunded(q, refund)
		s.guarantees.Update(q, refund, -1)
	}
}

// ChargedHolders and RefundedHolders do the same for the account of the holders of a job.
func (s *Session) ChargedHolders(account index.Queue, request fastres.Vector) {
	s.holders.Charged(account, request)
}

func (s *Session) RefundedHolders(account index.Queue, refund fastres.Vector) {
	s.holders.Refunded(account, refund)
}

// ChargedDeviceClaims follows a charge or a refund of resource claims, which nothing terminating holds
// and no earmark keeps.
func (s *Session) ChargedDeviceClaims(q index.Queue, claims []index.DeviceClaim) {
	s.queues.CopyDevices(q, claims)
}

// FollowClaims changes the resource claims of cards that q holds, and its ancestors, and the account of holders where
// that is not None, and follows the change in all that derives from them. It can differ from level to level.
func (s *Session) FollowClaims(q, account index.Queue, holders *index.Index, claims []index.DeviceClaim,
	change func(quota.Accounts, index.Queue, []index.DeviceClaim)) {
	follow(s.ix, q, &s.queues, claims, change)
	s.Now.Guarantees.Again()
	if s.unsettled {
		s.guarantees.Again()
	}
	if account != index.None {
		follow(holders, account, &s.holders, claims, change)
	}
}

func follow(ix *index.Index, q index.Queue, future *quota.Future, claims []index.DeviceClaim,
	change func(quota.Accounts, index.Queue, []index.DeviceClaim)) {
	type cell struct {
		queue index.Queue
		dim   fastres.Dim
	}
	before := map[cell]float64{}
	for _, p := range ix.Path(q) {
		for _, claim := range claims {
			for _, of := range claim.Devices {
				before[cell{p, of.Dim}] = ix.AllocatedAt(p, of.Dim)
			}
		}
	}
	change(ix, q, claims)
	for c, had := range before {
		if now := ix.AllocatedAt(c.queue, c.dim); now != had {
			future.Change(c.queue, c.dim, now-had)
		}
	}
}

// LeaveClaims takes claims that nobody will hold any more out of the future of q alone.
func (s *Session) LeaveClaims(q index.Queue, claims []index.DeviceClaim) {
	s.settle()
	for _, claim := range claims {
		for _, of := range claim.Devices {
			row := s.queues.Mutable(q)
			row.Set(of.Dim, max(0, row.Get(of.Dim)-of.Quantity))
		}
	}
	s.guarantees.Again()
}

// CopyTo makes the future that of a snapshot, in which a simulation begins. holders is nil
// where no queue limits one.
func (s *Session) CopyTo(queues, holders quota.Accounts) {
	if !s.unsettled {
		return
	}
	s.queues.CopyTo(queues)
	if holders != nil {
		s.holders.CopyTo(holders)
	}
}

// Books returns the accounts beside which a task must fit to get a node: those of now, and those
// of the future without what is earmarked for its own job.
func (s *Session) Books(task *api.TaskInfo) *quota.Books {
	if !s.unsettled {
		return &s.Now
	}
	future := s.FutureFor(task)
	if future == &s.Future {
		return &s.both
	}
	both := s.Now
	both.Then = future
	return &both
}

// FutureFor returns the future without what is earmarked for the job of a task.
func (s *Session) FutureFor(task *api.TaskInfo) *quota.Books {
	var without *quota.Books
	var scratch fastres.Vector
	for _, m := range s.marks {
		if m.placed != "" || m.Task.Job != task.Job {
			continue
		}
		if without == nil {
			copied := s.Future
			copied.Queues = &quota.Draft{Accounts: s.Future.Queues}
			if copied.Holders != nil {
				copied.Holders = &quota.Draft{Accounts: s.Future.Holders}
			}
			without, scratch = &copied, fastres.NewVector(m.Charge.Len())
		}
		quota.Refund(without.Queues, m.Queue, m.Charge, scratch)
		if m.Account != index.None {
			quota.Refund(without.Holders, m.Account, m.Charge, scratch)
		}
		for _, left := range m.Leaves {
			quota.Charge(without.Queues, left.Queue, left.Charge)
			if left.Account != index.None {
				quota.Charge(without.Holders, left.Account, left.Charge)
			}
		}
	}
	if without == nil {
		return &s.Future
	}
	return without
}

// Waits reports whether a task has an earmark. So it may not have others evicted.
func (s *Session) Waits(task *api.TaskInfo) bool {
	return slices.ContainsFunc(s.marks, func(m *Mark) bool { return m.placed == "" && m.Task.UID == task.UID })
}

// Placed ends the earmark of a task that gets a node, or else one of an equal task of its job with the
// same cards: Volcano takes the tasks of a role for one another.
func (s *Session) Placed(task *api.TaskInfo, request fastres.Vector) {
	var spent *Mark
	for _, m := range s.marks {
		if m.placed == "" && m.Task.Job == task.Job && (m.Task.UID == task.UID || spent == nil &&
			m.Task.InitResreq.Equal(task.InitResreq, api.Zero) && m.Charge.Equal(request)) {
			spent = m
		}
	}
	if spent != nil {
		spent.placed = task.UID
		s.release(spent)
	}
}

// Displaced makes the earmark again that a task had ended which lost its node in this session.
func (s *Session) Displaced(task *api.TaskInfo) {
	for _, m := range s.marks {
		if m.placed == task.UID {
			s.keep(m)
		}
	}
}

// KeptOn returns what is earmarked on a node for tasks of other jobs, nil for nothing.
func (s *Session) KeptOn(node string, task *api.TaskInfo) (kept *api.Resource) {
	for _, m := range s.marks {
		if m.Node != node || m.placed != "" || m.Task.Job == task.Job {
			continue
		}
		if kept == nil {
			kept = api.EmptyResource()
		}
		if m.Kept != nil {
			kept.Add(m.Kept)
		} else {
			kept.Add(m.Task.InitResreq)
		}
	}
	return kept
}

// Kept returns what is earmarked on each node, for tasks of all jobs.
func (s *Session) Kept() map[string]*api.Resource {
	kept := map[string]*api.Resource{}
	for _, m := range s.marks {
		if m.placed != "" {
			continue
		}
		if kept[m.Node] == nil {
			kept[m.Node] = api.EmptyResource()
		}
		if m.Kept != nil {
			kept[m.Node].Add(m.Kept)
		} else {
			kept[m.Node].Add(m.Task.InitResreq)
		}
	}
	return kept
}

// LeavesRoom reports whether a node has room for a task beside what is earmarked there for others,
// without some tasks on the node. placed: the node counts the task already.
func (s *Session) LeavesRoom(task *api.TaskInfo, node *api.NodeInfo, placed bool, without ...[]*api.TaskInfo) bool {
	if s.Empty() {
		return true
	}
	kept := s.KeptOn(node.Name, task)
	if kept == nil {
		return true
	}
	if !placed {
		kept.Add(task.InitResreq)
	}
	free := node.FutureIdle()
	for _, tasks := range without {
		for _, victim := range tasks {
			free.Add(victim.Resreq)
		}
	}
	for _, name := range task.InitResreq.ResourceNames() {
		if task.InitResreq.Get(name) > 0 && kept.Get(name) > free.Get(name) {
			return false
		}
	}
	return true
}

// Close ends the earmarks of a Registry that were used: status returns that of a task. A task that is
// allocated beside pipelined ones of its gang is not bound, and has no node in the next session.
func (s *Session) Close(r *Registry, status func(api.JobID, api.TaskID) api.TaskStatus) {
	for _, m := range s.marks {
		if m.placed != "" && status(m.Task.Job, m.placed) == api.Binding {
			r.ended(m.Task.Job, m.Task.UID)
		}
	}
	s.marks = nil // so that the tasks can be garbage collected
}
