package constraint

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Allocation applies the rule of allocation to a task without a node: each of its resources, and
// some card of each list, fits under the quotas and all constraints, beside what is there now and
// beside what will be (Books.Then). It sets refused to the request for cards that does not fit.
func (s *Session) Allocation(b *quota.Books, a *Ask, refused *cards.Request) quota.Verdict {
	v := s.Fits(b, a)
	if v.OK() && b.Then != nil {
		v = forOthers(s.Fits(b.Then, a))
	}
	if !v.OK() || a.Pod.None() {
		return v
	}
	return s.Cards.Fit(a.Queue, a.Pod, refused, func(d fastres.Dim, milli float64) quota.Verdict { return s.FitsCard(b, a, d, milli) })
}

// AllocationOf is Allocation for a task of q. It sets request to what the task requests, or to the devices
// that are refused.
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

// FitsNode decides whether a task can have its cards on a node: the node has one of them, and FitsCard
// admits it. Of a group, all its cards together fit.
func (s *Session) FitsNode(b *quota.Books, a *Ask, node string) cards.NodeFit {
	fit := s.Cards.FitNode(a.Queue, a.Pod, node, func(d fastres.Dim, milli float64) quota.Verdict { return s.FitsCard(b, a, d, milli) })
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

// Fits applies the rules to a.Request. An incomplete request names a resource that nothing in the
// session has, so it fits under no bound.
func (s *Session) Fits(b *quota.Books, a *Ask) quota.Verdict {
	if !a.Complete {
		return quota.Verdict{Reason: quota.OverQuota, Queue: a.Queue}
	}
	v := quota.Allocatable(b.Queues, s.LimitOf(a.Queue), a.Queue, a.Request)
	for i := 0; i < len(s.tasks) && v.OK(); i++ {
		v = s.tasks[i].Fit(b, *a)
	}
	return v
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
	for i := 0; i < len(s.tasks) && v.OK(); i++ {
		v = s.tasks[i].FitCard(b, *a, d, milli)
	}
	return v
}

// FitsClaims applies the constraints, and not the quotas of queues, to claims that pods share.
func (s *Session) FitsClaims(b *quota.Books, a *Ask, claims []index.DeviceClaim) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	for i := 0; i < len(s.tasks) && v.OK(); i++ {
		if rule, ok := s.tasks[i].(ClaimRule); ok {
			v = rule.FitClaims(b, *a, claims)
		} else {
			v = fitsAdded(s.tasks[i], b, a, claims)
		}
	}
	return v
}

// fitsAdded applies a rule to what the queue of a task is charged for claims.
func fitsAdded(rule TaskRule, b *quota.Books, a *Ask, claims []index.DeviceClaim) quota.Verdict {
	for _, claim := range claims {
		for _, of := range claim.Devices {
			added := quota.Added(b.Queues, a.Queue, claims, of.Dim)
			if added == 0 {
				continue
			}
			if v := rule.FitCard(b, *a, of.Dim, added); !v.OK() {
				return v
			}
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

// FitsNodeRules applies the rules that depend on the node of a task, after those about its cards.
func (s *Session) FitsNodeRules(b *quota.Books, a *Ask, node string) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	for i := 0; i < len(s.nodes) && v.OK(); i++ {
		v = s.nodes[i].FitNode(b, *a, node)
	}
	return v
}

// HasNodeRules reports whether rules depend on the node of a task.
func (s *Session) HasNodeRules() bool { return len(s.nodes) > 0 }

// LeavesPromised reports whether q can take a quantity of a card, and leave what is reserved for admitted jobs
// of the card and its groups.
func (s *Session) LeavesPromised(q index.Queue, d fastres.Dim, milli float64) bool {
	return quota.Unpromised(s.Index, q, d, milli) && !slices.ContainsFunc(s.Names.Groups(d), func(share index.Share) bool {
		return !quota.Unpromised(s.Index, q, share.Group, share.Of(milli))
	})
}

// forOthers converts a refusal beside what will be: what is left is earmarked for others.
func forOthers(v quota.Verdict) quota.Verdict {
	if v.Reason == quota.OverQuota || v.Reason.OfHolder() {
		v.Reason = quota.Earmarked
	}
	return v
}

// Lacks reports whether a bound on the quantity of one dimension that a task of q is a part of has
// too little room for a: the quota of a queue that both are in, or a constraint. These are the
// bounds of allocation.
func (s *Session) Lacks(b *quota.Books, a *Ask, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) bool {
	limit := s.LimitOf(a.Queue)
	for _, p := range quota.Common(s.Index, a.Queue, q) {
		if b.Queues.AllocatedAt(p, d)+milli > limit.At(p, d) {
			return true
		}
	}
	for _, rule := range s.tasks {
		if rule.Lacks(b, *a, q, task, d, milli) {
			return true
		}
	}
	return false
}

// FitsOwn applies the constraints to a quantity of one dimension, and of the groups of a card, beside what
// the queue itself has.
func (s *Session) FitsOwn(b *quota.Books, a *Ask, d fastres.Dim, milli float64) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	for i := 0; i < len(s.tasks) && v.OK(); i++ {
		v = s.tasks[i].FitOwn(b, *a, d, milli)
		for _, share := range s.Names.Groups(d) {
			if v.OK() {
				v = s.tasks[i].FitOwn(b, *a, share.Group, share.Of(milli))
			}
		}
	}
	return v
}

// FitsOwnRequest is FitsOwn for each dimension of a request. It costs nothing without constraints.
func (s *Session) FitsOwnRequest(b *quota.Books, a *Ask, request fastres.Vector) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	if len(s.tasks) == 0 {
		return v
	}
	for d := range request.Requested() {
		v = s.FitsOwn(b, a, d, request.Get(d))
		if !v.OK() {
			break
		}
	}
	return v
}

// MayTake decides whether the policies allow a task of q to take from other queues at all.
func (s *Session) MayTake(q index.Queue, task *api.TaskInfo) quota.Verdict {
	v := quota.Verdict{Reason: quota.Admitted, Queue: q}
	if q == index.None || task == nil {
		return v
	}
	for i := 0; i < len(s.policies) && v.OK(); i++ {
		v = s.policies[i].MayTake(q, task)
	}
	return v
}

// Protection returns what protects a running task of q from a reclaimer: one policy that spares it
// is enough.
func (s *Session) Protection(r Reclaimer, q index.Queue, task *api.TaskInfo) quota.Protection {
	protection := quota.ByDeserved
	for _, p := range s.policies {
		switch t := p.Protection(r, q, task); t {
		case quota.Spared:
			return t
		case quota.ByGuarantee:
			protection = t
		}
	}
	return protection
}

// Spares reports whether jobs of the same queue may not preempt a running task.
func (s *Session) Spares(task *api.TaskInfo) bool {
	if len(s.policies) == 0 {
		return false
	}
	q := s.QueueOf(task)
	return q != index.None && slices.ContainsFunc(s.policies, func(p TakePolicy) bool { return p.Spares(q, task) })
}

// HasLoans reports whether queues may take what others borrow.
func (s *Session) HasLoans() bool { return len(s.loans) > 0 }

// AllowsLoan reports whether a constraint lets a queue take what another one borrows, though it deserves
// no more.
func (s *Session) AllowsLoan(b quota.View, l Loan) bool {
	return slices.ContainsFunc(s.loans, func(rule LoanRule) bool { return rule.AllowLoan(b, l) })
}

// FindsLoan reports whether AllowsLoan may let q take a quantity of a card from any queue. Who loses how much is not
// known yet.
func (s *Session) FindsLoan(b quota.View, q index.Queue, card fastres.Dim, milli float64) bool {
	if !s.HasLoans() {
		return false
	}
	for from := range index.Queue(s.Index.Len()) {
		if from != q && s.Index.IsLeaf(from) && s.AllowsLoan(b, Loan{To: q, From: from, Card: card, Gained: milli}) {
			return true
		}
	}
	return false
}

// HasPolicies reports whether policies decide who takes from whom.
func (s *Session) HasPolicies() bool { return len(s.policies) > 0 }

// AdmitsJob applies the rules of jobs to one.
func (s *Session) AdmitsJob(a JobAsk) (v quota.Verdict) {
	v = quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	for i := 0; i < len(s.jobs) && v.OK(); i++ {
		v = s.jobs[i].AdmitJob(a)
	}
	return v
}

// PrepareCards is called before the quotas of queues decide on the cards of a job, and AdmitsCards
// afterwards.
func (s *Session) PrepareCards() {
	for _, rule := range s.cards {
		rule.PrepareCards()
	}
}

func (s *Session) AdmitsCards(a JobAsk) cards.Outcome {
	o := cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}}
	for i := 0; i < len(s.cards) && o.Verdict.OK(); i++ {
		o = s.cards[i].AdmitCards(a)
	}
	return o
}

// LimitRefuses reports whether a limit of a holder or a budget refuses a job, whatever the quotas of queues say.
func (s *Session) LimitRefuses(a JobAsk) bool {
	limit := func(v quota.Verdict) bool { return v.Reason.OfHolder() || v.Reason == quota.OverBudget }
	if slices.ContainsFunc(s.jobs, func(rule JobRule) bool { return limit(rule.AdmitJob(a)) }) {
		return true
	}
	return a.Cards != nil && slices.ContainsFunc(s.cards, func(rule CardRule) bool { return limit(rule.AdmitCards(a).Verdict) })
}

// HoldFor reserves for an admitted job what constraints hold for it.
func (s *Session) HoldFor(a JobAsk) {
	for _, h := range s.reservers {
		h.Hold(a)
	}
}

// WithdrawFor takes back what constraints hold for a job. restore holds it again.
func (s *Session) WithdrawFor(a JobAsk) (restore func()) {
	var each []func()
	for _, h := range s.reservers {
		each = append(each, h.Withdraw(a))
	}
	return func() {
		for _, restore := range each {
			restore()
		}
	}
}

// ChargeAll charges a task on the accounts of a what-if, and RefundAll takes it back.
func (s *Session) ChargeAll(b *quota.Books, a Ask) {
	quota.Charge(b.Queues, a.Queue, a.Request)
	for _, account := range s.accounts {
		account.Charge(b, a)
	}
}

func (s *Session) RefundAll(b *quota.Books, a Ask, scratch fastres.Vector) {
	quota.Refund(b.Queues, a.Queue, a.Request, scratch)
	s.RefundBeside(b, a, scratch)
}

// RefundBeside refunds a task on all accounts but those of its queues.
func (s *Session) RefundBeside(b *quota.Books, a Ask, scratch fastres.Vector) {
	for _, account := range s.accounts {
		account.Refund(b, a, scratch)
	}
}

// NoteCharged tells the constraints that a task was charged in the session, and NoteRefunded that it was
// refunded.
func (s *Session) NoteCharged(a Ask) {
	for _, w := range s.watchers {
		w.Charged(a)
	}
}

func (s *Session) NoteRefunded(a Ask) {
	for _, w := range s.watchers {
		w.Refunded(a)
	}
}
