package constraint

import (
	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Admitted returns the verdict of a rule that admits something for q.
func Admitted(q index.Queue) quota.Verdict { return quota.Verdict{Reason: quota.Admitted, Queue: q} }

// Allocation applies the rule of allocation to a task without a node: each of its resources, and some card of each
// list, fits under the quotas and all features. It fits now, and it fits after the
// pending changes (Books.Then). Allocation sets refused to the request for cards that does not fit.
func (s *Session) Allocation(b *quota.Books, a *Ask, refused *cards.Request) quota.Verdict {
	v := s.Fits(b, a)

	if v.OK() && b.Then != nil {
		v = forOthers(s.Fits(b.Then, a))
	}
	if !v.OK() || a.Pod.None() {
		return v
	}

	return s.Cards.Fit(a.Queue, a.Pod, refused, func(d fastres.Dim, milli float64) quota.Verdict {
		return s.FitsCard(b, a, d, milli)
	})
}

// AllocationOf is Allocation for a task of q. It sets request to the request of the task, or to the
// refused devices.
func (s *Session) AllocationOf(b *quota.Books, q index.Queue, task *api.TaskInfo, request fastres.Vector,
	refused *cards.Request) quota.Verdict {
	var a Ask // set field by field: a literal is made elsewhere and copied, which takes 5 ns
	a.Task = task
	a.Queue = q
	a.Request = request
	a.Replace = true
	a.Pod, a.Complete = s.Intake.SetTask(request, q, task)
	return s.Allocation(b, &a, refused)
}

// FitsNode decides whether a task can have its cards on a node: the node has one of them, and FitsCard admits it. Of a
// group, all its cards together fit.
func (s *Session) FitsNode(b *quota.Books, a *Ask, node string) cards.NodeFit {
	fit := s.Cards.FitNode(a.Queue, a.Pod, node, func(d fastres.Dim, milli float64) quota.Verdict {
		return s.FitsCard(b, a, d, milli)
	})

	if fit.Reason == cards.NodeFits && s.Names.HasGroups() {
		s.Cards.EachGroupOn(a.Pod, node, func(group fastres.Dim, has cards.Request) bool {
			v := s.FitsDim(b, a, group, float64(has.Amount))
			if v.OK() && b.Then != nil {
				v = forOthers(s.FitsDim(b.Then, a, group, float64(has.Amount)))
			}
			if !v.OK() {
				fit = cards.NodeFit{Reason: cards.OverQuota, Verdict: v, Request: has}
			}
			return v.OK()
		})
	}

	if fit.Reason == cards.NodeFits {
		if v := s.FitsNodeRules(b, a, node); !v.OK() {
			return cards.NodeFit{Reason: cards.OverQuota, Verdict: v, Request: s.Cards.SharedRequest(a.Pod, node)}
		}
	}
	return fit
}

// Fits applies the rules to a.Request.
func (s *Session) Fits(b *quota.Books, a *Ask) quota.Verdict {
	// An incomplete request names a resource that nothing in the session has: it fits under no bound.
	if !a.Complete {
		return quota.Verdict{Reason: quota.OverQuota, Queue: a.Queue}
	}

	v := quota.Allocatable(b.Queues, s.LimitOf(a.Queue), a.Queue, a.Request)

	rules := s.with(onFit)
	for i := 0; i < len(rules) && v.OK(); i++ {
		if rules[i].Fit != nil {
			v = rules[i].Fit(b, *a)
		} else {
			v = fitsEach(rules[i], b, a)
		}
	}
	return v
}

// fitsEach applies a rule to each dimension of a.Request by itself.
func fitsEach(rule *Hooks, b *quota.Books, a *Ask) quota.Verdict {
	for d := range a.Request.Requested() {
		if v := rule.FitCard(b, *a, d, a.Request.Get(d)); !v.OK() {
			return v
		}
	}
	return Admitted(a.Queue)
}

// FitsCard applies the rules to a quantity of one card, now and then.
func (s *Session) FitsCard(b *quota.Books, a *Ask, d fastres.Dim, milli float64) quota.Verdict {
	v := s.fitsCard(b, a, d, milli)
	if v.OK() && b.Then != nil {
		v = forOthers(s.fitsCard(b.Then, a, d, milli))
	}
	return v
}

// fitsCard applies the rules to a card, and to each group that has it.
func (s *Session) fitsCard(b *quota.Books, a *Ask, d fastres.Dim, milli float64) quota.Verdict {
	v := s.FitsDim(b, a, d, milli)
	if groups := s.Names.Groups(d); len(groups) > 0 && v.OK() {
		return s.fitsGroups(b, a, groups, milli)
	}
	return v
}

// FitsDim applies the rules to a card or a group by itself.
func (s *Session) FitsDim(b *quota.Books, a *Ask, d fastres.Dim, milli float64) quota.Verdict {
	v := quota.CardFits(b.Queues, s.Limit, a.Queue, d, milli)

	rules := s.with(onFitCard)
	for i := 0; i < len(rules) && v.OK(); i++ {
		v = rules[i].FitCard(b, *a, d, milli)
	}
	return v
}

// FitsClaims applies the features, and not the quotas of queues, to claims that pods share.
func (s *Session) FitsClaims(b *quota.Books, a *Ask, claims []index.DeviceClaim) quota.Verdict {
	return firstRefusal(s.with(onFitClaims), a.Queue, func(h *Hooks) quota.Verdict {
		if h.FitClaims != nil {
			return h.FitClaims(b, *a, claims)
		}
		return fitsAdded(h, b, a, claims)
	})
}

// fitsAdded applies a rule to what claims add to the queue of a task, card by card.
func fitsAdded(rule *Hooks, b *quota.Books, a *Ask, claims []index.DeviceClaim) quota.Verdict {
	for _, claim := range claims {
		for _, device := range claim.Devices {
			added := quota.Added(b.Queues, a.Queue, claims, device.Dim)
			if added == 0 {
				continue
			}

			if v := rule.FitCard(b, *a, device.Dim, added); !v.OK() {
				return v
			}
		}
	}
	return Admitted(a.Queue)
}

// FitsNodeRules applies the rules that depend on the node of a task, after the rules about its cards.
func (s *Session) FitsNodeRules(b *quota.Books, a *Ask, node string) quota.Verdict {
	v := Admitted(a.Queue)
	rules := s.with(onFitNode)
	for i := 0; i < len(rules) && v.OK(); i++ {
		v = rules[i].FitNode(b, *a, node)
	}
	return v
}

// HasNodeRules reports whether rules depend on the node of a task.
func (s *Session) HasNodeRules() bool { return len(s.with(onFitNode)) > 0 }

// LeavesPromised reports whether q can take a quantity of a card, and leave the reservations of admitted jobs of the
// card and its groups.
func (s *Session) LeavesPromised(q index.Queue, d fastres.Dim, milli float64) bool {
	if !quota.Unpromised(s.Index, q, d, milli) {
		return false
	}

	for _, share := range s.Names.Groups(d) {
		if !quota.Unpromised(s.Index, q, share.Group, share.Of(milli)) {
			return false
		}
	}
	return true
}

// forOthers converts a refusal by the future accounts: the rest is earmarked for others.
func forOthers(v quota.Verdict) quota.Verdict {
	if v.Reason == quota.OverQuota || v.Reason.OfHolder() {
		v.Reason = quota.Earmarked
	}
	return v
}

// Lacks reports whether the eviction of a task of q makes room for a quantity of one dimension. That is so where a
// bound of allocation that counts the task has too little room: the quota of a queue that has both tasks, or a
// feature.
func (s *Session) Lacks(b *quota.Books, a *Ask, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) bool {
	limit := s.LimitOf(a.Queue)
	for _, p := range quota.Common(s.Index, a.Queue, q) {
		if b.Queues.AllocatedAt(p, d)+milli > limit.At(p, d) {
			return true
		}
	}

	for _, h := range s.with(onLacks) {
		if h.Lacks(b, *a, q, task, d, milli) {
			return true
		}
	}
	return false
}

// FitsOwn applies the features to a quantity of one dimension, and of the groups of a card, with the accounts of
// the queue itself.
func (s *Session) FitsOwn(b *quota.Books, a *Ask, d fastres.Dim, milli float64) quota.Verdict {
	v := Admitted(a.Queue)
	rules := s.with(onFitOwn)
	for i := 0; i < len(rules) && v.OK(); i++ {
		v = rules[i].FitOwn(b, *a, d, milli)

		for _, share := range s.Names.Groups(d) {
			if v.OK() {
				v = rules[i].FitOwn(b, *a, share.Group, share.Of(milli))
			}
		}
	}
	return v
}

// FitsOwnRequest is FitsOwn for each dimension of a request. It costs nothing without features.
func (s *Session) FitsOwnRequest(b *quota.Books, a *Ask, request fastres.Vector) quota.Verdict {
	if len(s.with(onFitOwn)) == 0 {
		return Admitted(a.Queue)
	}

	for d := range request.Requested() {
		if v := s.FitsOwn(b, a, d, request.Get(d)); !v.OK() {
			return v
		}
	}
	return Admitted(a.Queue)
}

// ChargeAll charges a task on the accounts of a what-if.
func (s *Session) ChargeAll(b *quota.Books, a Ask) {
	quota.Charge(b.Queues, a.Queue, a.Request)
	for _, h := range s.with(onCharge) {
		h.Charge(b, a)
	}
}

// RefundAll takes the charges of ChargeAll back.
func (s *Session) RefundAll(b *quota.Books, a Ask, scratch fastres.Vector) {
	quota.Refund(b.Queues, a.Queue, a.Request, scratch)
	s.RefundBeside(b, a, scratch)
}

// RefundBeside refunds a task on all accounts except the accounts of its queues.
func (s *Session) RefundBeside(b *quota.Books, a Ask, scratch fastres.Vector) {
	for _, h := range s.with(onRefund) {
		h.Refund(b, a, scratch)
	}
}

// NoteCharged tells the features that a task was charged in the session.
func (s *Session) NoteCharged(a Ask) {
	for _, h := range s.with(onCharged) {
		h.Charged(a)
	}
}

// NoteRefunded tells the features that a task was refunded in the session.
func (s *Session) NoteRefunded(a Ask) {
	for _, h := range s.with(onRefunded) {
		h.Refunded(a)
	}
}
