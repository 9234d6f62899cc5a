package earmark

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Accounts holds the earmarks of one scheduling session, and the accounts with which rules decide:
// the accounts of now and, if it differs, their future (quota.Future). Its memory is kept for the
// next session. Methods that change nothing are safe for many goroutines while nothing changes.
type Accounts struct {
	Now    quota.Books
	Future quota.Books // the same as Now if nothing differs
	both   quota.Books // Now, then Future

	unsettled  bool // Future differs from Now
	queues     quota.Future
	holders    quota.Future
	guarantees quota.Guarantees
	ix         *index.Index
	available  fastres.Vector

	marks []*Mark
}

// Open begins a session. now are its books, which read the accounts ix. holders are the accounts of
// the holders of jobs, nil if no queue limits a holder. available is the resource that guarantees
// share in the future (quota.Guarantees).
func (s *Accounts) Open(now quota.Books, ix, holders *index.Index, available fastres.Vector) {
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

// settle gives the future accounts of its own. The first difference from now calls it.
func (s *Accounts) settle() {
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

// Queues returns the future accounts of queues. They stay valid for the session.
func (s *Accounts) Queues() quota.Accounts { return &s.queues }

// Charge adds a request to the future of a queue, and of an account of holders unless it is None.
func (s *Accounts) Charge(q, account index.Queue, request fastres.Vector) {
	s.settle()

	quota.Charge(&s.queues, q, request)
	s.guarantees.Update(q, request, 1)
	if account != index.None {
		quota.Charge(&s.holders, account, request)
	}
}

// Refund subtracts a request from the future. It is the inverse of Charge.
func (s *Accounts) Refund(q, account index.Queue, request fastres.Vector) {
	s.settle()

	scratch := fastres.NewVector(request.Len())
	s.guarantees.Update(q, quota.Refund(&s.queues, q, request, scratch), -1)
	if account != index.None {
		quota.Refund(&s.holders, account, request, scratch)
	}
}

// Charged updates the guarantees and the future after a charge to the accounts of now.
func (s *Accounts) Charged(q index.Queue, request fastres.Vector) {
	s.Now.Guarantees.Update(q, request, 1)

	if s.unsettled {
		s.queues.Charged(q, request)
		s.guarantees.Update(q, request, 1)
	}
}

// Refunded updates the guarantees and the future after a refund to the accounts of now.
func (s *Accounts) Refunded(q index.Queue, refund fastres.Vector) {
	s.Now.Guarantees.Update(q, refund, -1)

	if s.unsettled {
		s.queues.Refunded(q, refund)
		s.guarantees.Update(q, refund, -1)
	}
}

// ChargedHolders updates the future after a charge to an account of holders.
func (s *Accounts) ChargedHolders(account index.Queue, request fastres.Vector) {
	s.holders.Charged(account, request)
}

// RefundedHolders updates the future after a refund to an account of holders.
func (s *Accounts) RefundedHolders(account index.Queue, refund fastres.Vector) {
	s.holders.Refunded(account, refund)
}

// ChargedDeviceClaims updates the future after a charge or a refund of resource claims that count
// devices. No terminating pod holds them, and no earmark keeps them, so both times have the same.
func (s *Accounts) ChargedDeviceClaims(q index.Queue, claims []index.DeviceClaim) {
	s.queues.CopyDevices(q, claims)
}

// FollowClaims applies a change of resource claims to the accounts of q and its ancestors, and to an
// account of holders unless it is None. It then updates the guarantees and the future. The change can
// differ from level to level.
func (s *Accounts) FollowClaims(q, account index.Queue, holders *index.Index, claims []index.DeviceClaim,
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

// follow applies a change of claims to ix, and adds the difference to the future of each level.
func follow(ix *index.Index, q index.Queue, future *quota.Future, claims []index.DeviceClaim,
	change func(quota.Accounts, index.Queue, []index.DeviceClaim)) {
	type cell struct {
		queue index.Queue
		dim   fastres.Dim
	}
	before := map[cell]float64{}
	for _, p := range ix.Path(q) {
		for _, claim := range claims {
			for _, device := range claim.Devices {
				before[cell{p, device.Dim}] = ix.AllocatedAt(p, device.Dim)
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

// LeaveClaims takes claims that no pod will hold any more out of the future of q. It leaves the
// ancestors of q alone.
func (s *Accounts) LeaveClaims(q index.Queue, claims []index.DeviceClaim) {
	s.settle()

	for _, claim := range claims {
		for _, device := range claim.Devices {
			row := s.queues.Mutable(q)
			row.Set(device.Dim, max(0, row.Get(device.Dim)-device.Quantity))
		}
	}
	s.guarantees.Again()
}

// CopyTo copies the future to a snapshot, from which a simulation begins. holders is nil if no queue
// limits a holder.
func (s *Accounts) CopyTo(queues, holders quota.Accounts) {
	if !s.unsettled {
		return
	}

	s.queues.CopyTo(queues)
	if holders != nil {
		s.holders.CopyTo(holders)
	}
}

// Books returns the accounts in which a task must fit to get a node: the accounts of now, and the
// future without the earmarks of its own job.
func (s *Accounts) Books(task *api.TaskInfo) *quota.Books {
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

// FutureFor returns the future without the earmarks of the task's job.
func (s *Accounts) FutureFor(task *api.TaskInfo) *quota.Books {
	future := &s.Future
	var scratch fastres.Vector

	for _, m := range s.marks {
		if !m.inForce() || m.Task.Job != task.Job {
			continue
		}

		if future == &s.Future {
			future = draft(&s.Future)
			scratch = fastres.NewVector(m.Charge.Len())
		}
		m.leave(future, scratch)
	}
	return future
}

// draft returns a copy of books that can be changed. The originals stay as they are.
func draft(books *quota.Books) *quota.Books {
	copied := *books
	copied.Queues = &quota.Draft{Accounts: books.Queues}
	if books.Holders != nil {
		copied.Holders = &quota.Draft{Accounts: books.Holders}
	}
	return &copied
}
