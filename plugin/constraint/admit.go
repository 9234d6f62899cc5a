package constraint

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// AdmitsJob applies the rules of jobs to a job.
func (s *Session) AdmitsJob(a JobAsk) quota.Verdict {
	return firstRefusal(s.with(onAdmitJob), a.Queue, func(h *Hooks) quota.Verdict { return h.AdmitJob(a) })
}

// firstRefusal asks features about q until one of them refuses.
func firstRefusal(features []*Hooks, q index.Queue, ask func(*Hooks) quota.Verdict) quota.Verdict {
	for _, h := range features {
		if v := ask(h); !v.OK() {
			return v
		}
	}
	return Admitted(q)
}

// PrepareCards is called before the quotas of queues decide on the cards of a job.
func (s *Session) PrepareCards() {
	for _, h := range s.with(onPrepareCards) {
		h.PrepareCards()
	}
}

// AdmitsCards applies the rules of cards to a job, after the quotas of queues.
func (s *Session) AdmitsCards(a JobAsk) cards.Outcome {
	o := cards.Outcome{Verdict: Admitted(a.Queue)}
	rules := s.with(onAdmitCards)
	for i := 0; i < len(rules) && o.Verdict.OK(); i++ {
		o = rules[i].AdmitCards(a)
	}
	return o
}

// LimitRefuses reports whether a limit of a holder, of devices or of card-hours refuses a job, whatever the quotas of
// queues say.
func (s *Session) LimitRefuses(a JobAsk) bool {
	for _, h := range s.with(onAdmitJob) {
		v := h.AdmitJob(a)
		if byLimit(v) || v.Reason == quota.OverQuota && s.hasDevices(a.Minimum) {
			return true
		}
	}

	if a.Cards == nil {
		return false
	}

	for _, h := range s.with(onAdmitCards) {
		if byLimit(h.AdmitCards(a).Verdict) {
			return true
		}
	}
	return false
}

// LimitRefusesTask is LimitRefuses for a task of an admitted job. It leaves out the cards of the task, and may replace
// a.Request.
func (s *Session) LimitRefusesTask(a Ask) bool {
	a.Replace = true
	return slices.ContainsFunc(s.with(onFit), func(h *Hooks) bool {
		if h.Fit == nil {
			return false // LimitRefusesDim asks FitCard
		}
		v := h.Fit(&s.Books.Now, a)
		return byLimit(v) || v.Reason == quota.OverQuota && s.hasDevices(a.Request)
	})
}

// LimitRefusesDim is LimitRefuses for a quantity of one dimension, for which tasks of an admitted job ask together.
func (s *Session) LimitRefusesDim(a Ask, d fastres.Dim, quantity float64) bool {
	return slices.ContainsFunc(s.with(onFitCard), func(h *Hooks) bool {
		return byLimit(h.FitCard(&s.Books.Now, a, d, quantity))
	})
}

func byLimit(v quota.Verdict) bool { return v.Reason.OfHolder() || v.Reason == quota.OverBudget }

// hasDevices reports whether a request has devices: a refusal of their quotas replaces the request by them.
func (s *Session) hasDevices(request fastres.Vector) bool {
	for d := range request.Requested() {
		if _, device := s.Names.Class(d); device {
			return true
		}
	}
	return false
}

// HoldFor reserves for an admitted job what features hold for it.
func (s *Session) HoldFor(a JobAsk) {
	for _, h := range s.with(onHold) {
		h.Hold(a)
	}
}

// WithdrawFor takes back what features hold for a job. restore holds it again.
func (s *Session) WithdrawFor(a JobAsk) (restore func()) {
	var restores []func()
	for _, h := range s.with(onWithdraw) {
		restores = append(restores, h.Withdraw(a))
	}

	return func() {
		for _, restore := range restores {
			restore()
		}
	}
}
