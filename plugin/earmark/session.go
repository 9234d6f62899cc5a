package earmark

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// Accounts holds the earmarks of one scheduling session, and the accounts with which rules decide: the accounts of
// now, and their future. The future is allocated as it will be once all evictions are over: the pods that are being
// deleted are gone, and the pods that others were evicted for have their nodes:
//
//	future = allocated − terminating + earmarked
//
// for each queue, rolled up as allocated is. earmarked is the sum of the charges of pods that wait for their victims to
// end.
//
// A rule about the present reads allocated: a pod gets a node if it fits next to all other pods, terminating or not. A
// rule about the end of evictions reads the future: which pods have to be evicted, and whether a pod leaves the room of
// victims to the pods that they were evicted for. The rules themselves do not distinguish the two.
//
// A queue has a quota of 5 cards and 3 pods of one card. Two of them are evicted for a gang of two pods with two cards
// each. Their controller makes pods in their place.
//
//	                         allocated  terminating  earmarked  future  one more card
//	the victims terminate    3          2            4          5       refused by future
//	one victim is gone       2          1            4          5       refused by future
//	both are gone            1          0            4          5       refused by future
//	the gang has its nodes   5          0            0          5       refused by allocated
//
// Its memory is kept for the next session. Methods that change nothing are safe for many goroutines while nothing
// changes.
//
// Upstream: none. There, pods that are being deleted are not part of allocated, and a pod that waits for its victims is
// charged in each session in which allocate reaches it first.
type Accounts struct {
	Now    quota.Books
	Future quota.Books // the same as Now if nothing differs
	both   quota.Books // Now, then Future

	unsettled  bool          // Future differs from Now
	queues     index.Overlay // of now, with rows where the future differs
	holders    index.Overlay
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

	end(&s.queues, ix)
	if holders != nil {
		end(&s.holders, holders)
	}
	if len(s.queues.Changed()) > 0 {
		s.settle()
	}
}

// end begins a future of rolled-up accounts, in which the pods that are being deleted are gone and nothing is
// earmarked.
func end(future *index.Overlay, now *index.Index) {
	future.Begin(now)
	for q := range index.Queue(now.Len()) {
		if terminating := now.Terminating.Row(q); !terminating.IsEmpty() {
			future.Mutable(q).Sub(terminating)
		}
	}
}

// follow changes the rows of q and its ancestors in a future, after the accounts of now have changed. A queue without a
// row has no difference, and shows the change already.
func follow(future *index.Overlay, q index.Queue, change func(p index.Queue, row fastres.Vector)) {
	if len(future.Changed()) == 0 {
		return
	}

	for _, p := range future.Path(q) {
		if row, differs := future.Own(p); differs {
			change(p, row)
		}
	}
}

func charged(future *index.Overlay, q index.Queue, request fastres.Vector) {
	follow(future, q, func(_ index.Queue, row fastres.Vector) { row.Add(request) })
}

func refunded(future *index.Overlay, q index.Queue, refund fastres.Vector) {
	follow(future, q, func(_ index.Queue, row fastres.Vector) { row.Sub(refund) })
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

// Draft begins a draft of the future.
func (s *Accounts) Draft(d *quota.Draft) { d.Begin(&s.queues, s.Future.Holders, s.Future.Guarantees) }

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
		charged(&s.queues, q, request)
		s.guarantees.Update(q, request, 1)
	}
}

// Refunded updates the guarantees and the future after a refund to the accounts of now.
func (s *Accounts) Refunded(q index.Queue, refund fastres.Vector) {
	s.Now.Guarantees.Update(q, refund, -1)

	if s.unsettled {
		refunded(&s.queues, q, refund)
		s.guarantees.Update(q, refund, -1)
	}
}

// ChargedHolders updates the future after a charge to an account of holders.
func (s *Accounts) ChargedHolders(account index.Queue, request fastres.Vector) {
	charged(&s.holders, account, request)
}

// RefundedHolders updates the future after a refund to an account of holders.
func (s *Accounts) RefundedHolders(account index.Queue, refund fastres.Vector) {
	refunded(&s.holders, account, refund)
}

// ChargedDeviceClaims updates the future after a charge or a refund of resource claims that count
// devices. No terminating pod holds them, and no earmark keeps them, so both times have the same.
func (s *Accounts) ChargedDeviceClaims(q index.Queue, claims []index.DeviceClaim) {
	follow(&s.queues, q, func(p index.Queue, row fastres.Vector) {
		for _, claim := range claims {
			for _, device := range claim.Devices {
				row.Set(device.Dim, s.ix.AllocatedAt(p, device.Dim))
			}
		}
	})
}

// FollowClaims applies a change of resource claims to the accounts of q and its ancestors, and to an
// account of holders unless it is None. It then updates the guarantees and the future. The change can
// differ from level to level.
func (s *Accounts) FollowClaims(q, account index.Queue, holders *index.Index, claims []index.DeviceClaim,
	change func(quota.Accounts, index.Queue, []index.DeviceClaim)) {
	followClaims(s.ix, q, &s.queues, claims, change)

	s.Now.Guarantees.Again()
	if s.unsettled {
		s.guarantees.Again()
	}

	if account != index.None {
		followClaims(holders, account, &s.holders, claims, change)
	}
}

// followClaims applies a change of claims to ix, and adds the difference to the future of each level.
func followClaims(ix *index.Index, q index.Queue, future *index.Overlay, claims []index.DeviceClaim,
	change func(quota.Accounts, index.Queue, []index.DeviceClaim)) {
	type account struct {
		queue index.Queue
		dim   fastres.Dim
	}
	before := map[account]float64{}
	for _, p := range ix.Path(q) {
		for _, claim := range claims {
			for _, device := range claim.Devices {
				before[account{p, device.Dim}] = ix.AllocatedAt(p, device.Dim)
			}
		}
	}

	change(ix, q, claims)

	for c, had := range before {
		row, differs := future.Own(c.queue)
		if now := ix.AllocatedAt(c.queue, c.dim); differs && now != had {
			row.Set(c.dim, max(0, row.Get(c.dim)+(now-had)))
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

	copyTo(queues, &s.queues)
	if holders != nil {
		copyTo(holders, &s.holders)
	}
}

func copyTo(a quota.Accounts, future *index.Overlay) {
	for _, q := range future.Changed() {
		a.Mutable(q).CopyFrom(future.Allocated(q))
	}
}

// For returns the accounts in which a task must fit to get a node: the accounts of now, and the future without the
// earmarks of its own job. For a task that waits until evictions are over, the accounts of now do not matter.
func (s *Accounts) For(task *api.TaskInfo, waits bool) *quota.Books {
	if !s.unsettled {
		return &s.Now
	}

	future := s.futureFor(task)
	switch {
	case waits:
		return future
	case future == &s.Future:
		return &s.both
	}

	both := s.Now
	both.Then = future
	return &both
}

// futureFor returns the future without the earmarks of the task's job.
func (s *Accounts) futureFor(task *api.TaskInfo) *quota.Books {
	future := &s.Future
	var scratch fastres.Vector

	for _, m := range s.marks {
		if !m.inForce() || m.Task.Job != task.Job {
			continue
		}

		if future == &s.Future {
			draft := &quota.Draft{}
			s.Draft(draft)
			future = &draft.Books
			scratch = fastres.NewVector(m.Charge.Len())
		}
		m.leave(future, scratch)
	}
	return future
}
