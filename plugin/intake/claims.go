package intake

import (
	"iter"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// HasSharedClaims reports whether some task of the session shares a resource claim with others.
func (s *Session) HasSharedClaims() bool { return len(s.sharing) > 0 }

// chargeSharedClaims charges the queues for the cards of the claims that tasks with a node share, after RollUp: queues
// that share a claim are charged for it each, and their ancestors once.
func (s *Session) chargeSharedClaims(ix *index.Index) {
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

func (s *Session) sharedClaims(user deviceUser) []index.DeviceClaim {
	return s.cards.SharedOn(s.cards.PodRequest(user.queue, user.task.Pod), user.task.NodeName)
}

// LeavingClaims iterates over the queues that hold claims for pods that are being deleted alone, with these claims.
func (s *Session) LeavingClaims(ix *index.Index) iter.Seq2[index.Queue, []index.DeviceClaim] {
	return func(yield func(index.Queue, []index.DeviceClaim) bool) {
		type held struct {
			queue index.Queue
			claim string
		}
		leaving := map[held]int{}
		for _, user := range s.sharing {
			if !s.cards.Occupied(user.task) {
				continue
			}
			for _, claim := range s.sharedClaims(user) {
				for _, p := range ix.Path(user.queue) {
					of := held{p, claim.Name}
					leaving[of]++
					if has := ix.DeviceClaim(p, claim.Name); leaving[of] == has.References {
						if !yield(p, []index.DeviceClaim{{Name: claim.Name, Devices: has.Devices}}) {
							return
						}
					}
				}
			}
		}
	}
}

// SharedClaims iterates over the claims that tasks with a node share, each once for a queue of tasks.
func (s *Session) SharedClaims() iter.Seq2[*api.TaskInfo, SharedBy] {
	type held struct {
		queue index.Queue
		claim string
	}
	return func(yield func(*api.TaskInfo, SharedBy) bool) {
		seen := map[held]bool{}
		for _, user := range s.sharing {
			if !api.AllocatedStatus(user.task.Status) && !s.cards.Occupied(user.task) {
				continue
			}
			by := SharedBy{Queue: user.queue}
			for _, claim := range s.sharedClaims(user) {
				if of := (held{user.queue, claim.Name}); !seen[of] {
					seen[of] = true
					by.Claims = append(by.Claims, claim)
				}
			}
			if len(by.Claims) > 0 && !yield(user.task, by) {
				return
			}
		}
	}
}

// SharedBy has the claims that a task shares and no task before in its queue.
type SharedBy struct {
	Queue  index.Queue
	Claims []index.DeviceClaim
}
