package intake

import (
	"iter"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// queueClaim is a resource claim in one queue.
type queueClaim struct {
	queue index.Queue
	claim string
}

// HasSharedClaims reports whether any task of the session shares a resource claim with others.
func (s *Inputs) HasSharedClaims() bool { return len(s.sharing) > 0 }

// chargeSharedClaims charges the queues for the cards of claims that tasks with a node share. It is called after
// RollUp, because an ancestor is charged once for a claim that several of its queues share.
func (s *Inputs) chargeSharedClaims(ix *index.Index) {
	if len(s.sharing) == 0 {
		return
	}

	held := map[string]bool{}
	for _, user := range s.sharing {
		if !api.AllocatedStatus(user.task.Status) && !s.cards.Occupied(user.task) {
			continue
		}

		claims := s.sharedClaims(user)
		for _, claim := range claims {
			held[claim.Name] = true
		}

		ix.NoteOwnJobs(user.queue)
		quota.ChargeDeviceClaims(ix, user.queue, claims)

		if at := s.AccountOf(user.task.Job); at != index.None {
			s.Holders.Quota.Accounts.NoteOwnJobs(at)
			quota.ChargeDeviceClaims(&s.Holders.Quota.Accounts, at, claims)
		}
	}

	for _, user := range s.sharing {
		s.cards.Unplace(s.cards.PodRequest(user.queue, user.task.Pod), func(claim string) bool { return held[claim] })
	}
}

func (s *Inputs) sharedClaims(user deviceUser) []index.DeviceClaim {
	return s.cards.SharedOn(s.cards.PodRequest(user.queue, user.task.Pod), user.task.NodeName)
}

// LeavingClaims visits the queues and the claims that they hold only for pods that are being deleted.
func (s *Inputs) LeavingClaims(ix *index.Index, visit func(index.Queue, []index.DeviceClaim)) {
	leaving := map[queueClaim]int{} // pods that are being deleted
	for _, user := range s.sharing {
		if !s.cards.Occupied(user.task) {
			continue
		}

		for _, claim := range s.sharedClaims(user) {
			for _, p := range ix.Path(user.queue) {
				at := queueClaim{p, claim.Name}
				leaving[at]++

				has := ix.DeviceClaim(p, claim.Name)
				if leaving[at] == has.References { // no other pod holds it
					visit(p, []index.DeviceClaim{{Name: claim.Name, Devices: has.Devices}})
				}
			}
		}
	}
}

// SharedClaims iterates over the claims that tasks with a node share. Each queue of tasks has a claim once.
func (s *Inputs) SharedClaims() iter.Seq2[*api.TaskInfo, SharedBy] {
	return func(yield func(*api.TaskInfo, SharedBy) bool) {
		seen := map[queueClaim]bool{}
		for _, user := range s.sharing {
			if !api.AllocatedStatus(user.task.Status) && !s.cards.Occupied(user.task) {
				continue
			}

			by := SharedBy{Queue: user.queue}
			for _, claim := range s.sharedClaims(user) {
				at := queueClaim{user.queue, claim.Name}
				if !seen[at] {
					seen[at] = true
					by.Claims = append(by.Claims, claim)
				}
			}

			if len(by.Claims) > 0 && !yield(user.task, by) {
				return
			}
		}
	}
}

// SharedBy holds the claims that a task shares, without the claims of earlier tasks of its queue.
type SharedBy struct {
	Queue  index.Queue
	Claims []index.DeviceClaim
}
