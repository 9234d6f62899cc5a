// Package holders limits the cards and resources of each namespace, user, group, and value of a label in a queue and
// its descendants.
package holders

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/quota"
)

// rule applies the rules of quotas to the accounts of holders (quota.Holders).
type rule struct {
	session *constraint.Session
	holders *intake.Holders
}

// Open returns the hooks, nil where no queue limits any holder.
func Open(s *constraint.Session) *constraint.Hooks {
	if s.Intake.Holders == nil {
		return nil
	}
	return (&rule{s, s.Intake.Holders}).hooks()
}

// hooks returns the hooks of limits of namespaces, users, groups and labels.
func (r *rule) hooks() *constraint.Hooks {
	return &constraint.Hooks{
		AdmitJob:      r.admitJob,
		PrepareCards:  r.prepareCards,
		AdmitCards:    r.admitCards,
		Hold:          r.hold,
		Withdraw:      r.withdraw,
		Fit:           r.fit,
		FitCard:       r.fitCard,
		FitClaims:     r.fitClaims,
		FitOwn:        r.fitOwn,
		Lacks:         r.lacks,
		MayTake:       nil, // FitOwn refuses a task that no victim of another queue helps
		Charge:        r.charge,
		Refund:        r.refund,
		Charged:       r.charged,
		Refunded:      r.refunded,
		CompareQueues: nil, // queues and not holders are ordered
		Measure:       r.measure,
	}
}

func (r *rule) accounts() *index.Index { return &r.holders.Quota.Accounts }
func (r *rule) bounds() *index.Rows    { return &r.accounts().RealCapability }

// account returns the account of a task's job, None where no queue limits one of its holders, or for no task.
func (r *rule) account(task *api.TaskInfo) index.Queue {
	if task == nil {
		return index.None
	}
	return r.session.Intake.AccountOf(task.Job)
}

func (r *rule) fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	account := r.account(a.Task)
	if account == index.None {
		return constraint.Admitted(a.Queue)
	}
	return r.refusal(a.Queue, quota.Allocatable(b.Holders, r.bounds(), account, a.Request))
}

func (r *rule) fitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	account := r.account(a.Task)
	if account == index.None {
		return constraint.Admitted(a.Queue)
	}
	return r.refusal(a.Queue, quota.CardFits(b.Holders, r.bounds(), account, d, milli))
}

// fitClaims looks at the claims that the accounts of the holders have. A pod of another holder in the queue may share a
// claim.
func (r *rule) fitClaims(b *quota.Books, a constraint.Ask, claims []index.DeviceClaim) quota.Verdict {
	account := r.account(a.Task)
	if account == index.None {
		return constraint.Admitted(a.Queue)
	}
	return r.refusal(a.Queue, quota.DeviceClaimsFit(b.Holders, r.bounds(), r.session.Names, account, claims))
}

// refusal converts a verdict about an account to a verdict about q or an ancestor.
func (r *rule) refusal(q index.Queue, v quota.Verdict) quota.Verdict {
	if v.OK() {
		return constraint.Admitted(q)
	}
	return r.holders.Quota.Refusal(v)
}

// measure compares in the accounts of the job's holders, as the rules that refuse do.
func (r *rule) measure(refusal *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	account := r.session.Intake.AccountOf(refusal.Job)
	if account == index.None {
		return constraint.Shortfall{}
	}

	for _, p := range r.accounts().Path(account) {
		place := r.holders.Quota.Place(p)
		other := refusal.Holder != (quota.Holder{}) && refusal.Holder != place.Holder
		if other || !slices.Contains(refusal.Path(), place.Queue) {
			continue
		}

		n := quota.EnqueueableNumbers(r.accounts(), p, d, milli)
		if !refusal.Admission {
			n = quota.AllocatableNumbers(refusal.Books.Holders, r.bounds(), p, d, milli)
		}
		if !n.Exceeded() {
			continue
		}

		return constraint.Shortfall{
			Verdict: quota.Verdict{Reason: place.Reason(), Queue: place.Queue},
			Numbers: n,
			Against: constraint.HolderLimit,
			Holder:  place.Holder,
		}
	}
	return constraint.Shortfall{}
}

// lacks looks at the accounts that both tasks share.
func (r *rule) lacks(b *quota.Books, a constraint.Ask, q index.Queue, task *api.TaskInfo,
	d fastres.Dim, milli float64) bool {
	to := r.account(a.Task)
	from := r.account(task)
	if to == index.None || from == index.None {
		return false
	}

	above := r.accounts().Path(from)
	return slices.ContainsFunc(r.accounts().Path(to), func(p index.Queue) bool {
		return slices.Contains(above, p) && b.Holders.AllocatedAt(p, d)+milli > r.bounds().At(p, d)
	})
}

// fitOwn looks at the holders in the queue itself.
func (r *rule) fitOwn(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	account := r.account(a.Task)
	if account == index.None {
		return constraint.Admitted(a.Queue)
	}

	for _, p := range r.accounts().Path(account) {
		place := r.holders.Quota.Place(p)
		if place.Queue == a.Queue && b.Holders.AllocatedAt(p, d)+milli > r.bounds().At(p, d) {
			return quota.Verdict{Reason: place.Reason(), Queue: a.Queue}
		}
	}
	return constraint.Admitted(a.Queue)
}

// admitJob applies the rule of enqueue to the holders of a job.
func (r *rule) admitJob(a constraint.JobAsk) quota.Verdict {
	account := r.session.Intake.AccountOf(a.Job.UID)
	if account == index.None || !a.HasMinimum {
		return constraint.Admitted(a.Queue)
	}
	return r.refusal(a.Queue, quota.Enqueueable(r.accounts(), account, a.Minimum))
}

// prepareCards drops the reservations of jobs that the limit of one of their holders does not allow.
func (r *rule) prepareCards() {
	dropped := r.holders.Reservations.Prune(r.accounts())
	r.holders.Reservations.Drop(dropped)
	r.session.Reservations.Drop(dropped)
}

// admitCards is admitJob for the job's cards. A list is assigned within the limits of each holder by itself, and within
// the quotas of queues by itself.
func (r *rule) admitCards(a constraint.JobAsk) cards.Outcome {
	account := r.session.Intake.AccountOf(a.Job.UID)
	if account == index.None {
		return cards.Outcome{Verdict: constraint.Admitted(a.Queue)}
	}

	for _, head := range r.accounts().Heads(account) {
		o := r.holders.Reservations.Admit(r.accounts(), r.session.Cards, a.Queue, head, a.Cards)
		switch {
		case o.Verdict.OK():
			continue
		case o.Verdict.Reason == quota.OverQuota, o.Verdict.Reason == quota.SearchExhausted:
			o.Verdict = r.holders.Quota.Refusal(o.Verdict)
			o.Holder = r.holders.Quota.Place(head).Holder
		}
		return o // other reasons are about the pods, whatever account it is
	}
	return cards.Outcome{Verdict: constraint.Admitted(a.Queue)}
}

func (r *rule) charge(b *quota.Books, a constraint.Ask) {
	if account := r.account(a.Task); account != index.None {
		quota.Charge(b.Holders, account, a.Request)
	}
}

func (r *rule) refund(b *quota.Books, a constraint.Ask, scratch fastres.Vector) {
	if account := r.account(a.Task); account != index.None {
		quota.Refund(b.Holders, account, a.Request, scratch)
	}
}

func (r *rule) charged(a constraint.Ask) {
	account := r.account(a.Task)
	if account == index.None {
		return
	}

	r.accounts().NoteOwnJobs(account)
	quota.Charge(r.accounts(), account, a.Request)
	r.session.Books.ChargedHolders(account, a.Request)
}

func (r *rule) refunded(a constraint.Ask) {
	account := r.account(a.Task)
	if account == index.None {
		return
	}

	frame := r.session.Frames.Open()
	defer frame.Close()

	r.accounts().NoteOwnJobs(account)
	refund := quota.Refund(r.accounts(), account, a.Request, frame.Vector())
	r.session.Books.RefundedHolders(account, refund)
	r.holders.Reservations.Refunded()
}

// hold reserves the cards of a job for its holders.
func (r *rule) hold(a constraint.JobAsk) {
	account := r.session.Intake.AccountOf(a.Job.UID)
	if account == index.None {
		return
	}

	r.accounts().NoteOwnJobs(account)
	if a.Cards == nil {
		return
	}

	for _, head := range r.accounts().Heads(account) {
		r.holders.Reservations.AddJob(r.session.Cards, head, a.Job, a.Cards)
	}
}

func (r *rule) withdraw(a constraint.JobAsk) (restore func()) {
	lists := r.holders.Reservations.Withdraw(a.Job)
	return func() { r.holders.Reservations.Add(lists) }
}
