package constraint

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/quota"
)

// HasPolicies reports whether features decide who takes from whom.
func (s *Session) HasPolicies() bool { return len(s.with(onMayTake))+len(s.with(onProtection)) > 0 }

// MayTake decides whether a task of q may take from other queues at all.
func (s *Session) MayTake(q index.Queue, task *api.TaskInfo) quota.Verdict {
	if q == index.None || task == nil {
		return Admitted(q)
	}
	return firstRefusal(s.with(onMayTake), q, func(h *Hooks) quota.Verdict { return h.MayTake(q, task) })
}

// Protection returns what protects a running task of q from a reclaimer. One feature that spares it is enough.
func (s *Session) Protection(r Reclaimer, q index.Queue, task *api.TaskInfo) quota.Protection {
	strongest := quota.ByDeserved
	for _, h := range s.with(onProtection) {
		switch protection := h.Protection(r, q, task); protection {
		case quota.Spared:
			return protection
		case quota.ByGuarantee:
			strongest = protection
		}
	}
	return strongest
}

// Spares reports whether jobs of the same queue may not preempt a running task.
func (s *Session) Spares(task *api.TaskInfo) bool {
	policies := s.with(onSpares)
	if len(policies) == 0 {
		return false
	}

	q := s.QueueOf(task)
	return q != index.None && slices.ContainsFunc(policies, func(h *Hooks) bool { return h.Spares(q, task) })
}

// HasLoans reports whether queues may take borrowed cards back.
func (s *Session) HasLoans() bool { return len(s.with(onAllowLoan)) > 0 }

// AllowsLoan reports whether a feature lets a queue take what another one borrows, though it deserves no more.
func (s *Session) AllowsLoan(b quota.View, l Loan) bool {
	return slices.ContainsFunc(s.with(onAllowLoan), func(h *Hooks) bool { return h.AllowLoan(b, l) })
}

// FindsLoan reports whether AllowsLoan may let q take a quantity of a card from any queue. Who loses how much is not
// known yet.
func (s *Session) FindsLoan(b quota.View, q index.Queue, card fastres.Dim, milli float64) bool {
	if !s.HasLoans() {
		return false
	}

	for from := range index.Queue(s.Index.Len()) {
		loan := Loan{To: q, From: from, Card: card, Gained: milli}
		if from != q && s.Index.IsLeaf(from) && s.AllowsLoan(b, loan) {
			return true
		}
	}
	return false
}
