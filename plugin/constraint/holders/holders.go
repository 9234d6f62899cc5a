// Package holders limits what each namespace, user, group, and value of a label has in a queue, and below it.
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

// Rule applies the rules of quotas to the accounts of holders (quota.Holders).
type Rule struct {
	session *constraint.Session
	holders *intake.Holders
}

var (
	_ constraint.TaskRule  = &Rule{}
	_ constraint.ClaimRule = &Rule{}
	_ constraint.JobRule   = &Rule{}
	_ constraint.CardRule  = &Rule{}
	_ constraint.Account   = &Rule{}
	_ constraint.Watcher   = &Rule{}
	_ constraint.Reserver  = &Rule{}
	_ constraint.Measurer  = &Rule{}
)

// Open returns the rule, nil where no queue limits any holder.
func Open(s *constraint.Session) any {
	if s.Intake.Holders == nil {
		return nil
	}
	return &Rule{s, s.Intake.Holders}
}

func (r *Rule) accounts() *index.Index { return &r.holders.Quota.Accounts }
func (r *Rule) bounds() *index.Rows    { return &r.accounts().RealCapability }

// of returns the account of a task's job, None where no queue limits one of its holders, or for no task.
func (r *Rule) of(task *api.TaskInfo) index.Queue {
	if task == nil {
		return index.None
	}
	return r.session.Intake.AccountOf(task.Job)
}

func (r *Rule) Fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	at := r.of(a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.Allocatable(b.Holders, r.bounds(), at, a.Request))
}

func (r *Rule) FitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	at := r.of(a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.CardFits(b.Holders, r.bounds(), at, d, milli))
}

// FitClaims looks at what the accounts of the holders hold: another pod of the queue may share a claim, and be none of
// theirs.
func (r *Rule) FitClaims(b *quota.Books, a constraint.Ask, claims []index.DeviceClaim) quota.Verdict {
	at := r.of(a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.DeviceClaimsFit(b.Holders, r.bounds(), r.session.Names, at, claims))
}

// refusal converts a verdict about an account to one about q or an ancestor.
func (r *Rule) refusal(q index.Queue, v quota.Verdict) quota.Verdict {
	if v.OK() {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return r.holders.Quota.Refusal(v)
}

// Measure compares in the accounts of the job's holders, as the rules that refuse do.
func (r *Rule) Measure(of *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
	at := r.session.Intake.AccountOf(of.Job)
	if at == index.None {
		return constraint.Shortfall{}
	}
	for _, p := range r.accounts().Path(at) {
		place := r.holders.Quota.Place(p)
		if !slices.Contains(of.Path(), place.Queue) || of.Holder != (quota.Holder{}) && of.Holder != place.Holder {
			continue
		}
		n := quota.EnqueueableNumbers(r.accounts(), p, d, milli)
		if !of.Admission {
			n = quota.AllocatableNumbers(of.Books.Holders, r.bounds(), p, d, milli)
		}
		if !n.Exceeded() {
			continue
		}
		against := constraint.HolderLimit
		if place.Key == quota.HolderNamespace {
			against = constraint.NamespaceLimit
		}
		return constraint.Shortfall{Verdict: quota.Verdict{Reason: place.Reason(), Queue: place.Queue}, Numbers: n, Against: against,
			Holder: place.Holder}
	}
	return constraint.Shortfall{}
}

// Lacks looks at the accounts that both tasks share.
func (r *Rule) Lacks(b *quota.Books, a constraint.Ask, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) bool {
	at, from := r.of(a.Task), r.of(task)
	if at == index.None || from == index.None {
		return false
	}
	return slices.ContainsFunc(r.accounts().Path(at), func(p index.Queue) bool {
		return slices.Contains(r.accounts().Path(from), p) && b.Holders.AllocatedAt(p, d)+milli > r.bounds().At(p, d)
	})
}

// FitOwn looks at the holders in the queue itself.
func (r *Rule) FitOwn(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	if at := r.of(a.Task); at != index.None {
		for _, p := range r.accounts().Path(at) {
			place := r.holders.Quota.Place(p)
			if place.Queue == a.Queue && b.Holders.AllocatedAt(p, d)+milli > r.bounds().At(p, d) {
				return quota.Verdict{Reason: place.Reason(), Queue: a.Queue}
			}
		}
	}
	return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
}

// AdmitJob applies the rule of enqueue to the holders of a job.
func (r *Rule) AdmitJob(a constraint.JobAsk) quota.Verdict {
	at := r.session.Intake.AccountOf(a.Job.UID)
	if at == index.None || !a.HasMinimum {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.Enqueueable(r.accounts(), at, a.Minimum))
}

// PrepareCards drops the reservations of jobs that the limit of one of their holders does not allow.
func (r *Rule) PrepareCards() {
	dropped := r.holders.Reservations.Prune(r.accounts())
	r.holders.Reservations.Drop(dropped)
	r.session.Reservations.Drop(dropped)
}

// AdmitCards does the same as AdmitJob for the job's cards. A list is assigned within the limits of each
// holder by itself, and within the quotas of queues by itself.
func (r *Rule) AdmitCards(a constraint.JobAsk) cards.Outcome {
	at := r.session.Intake.AccountOf(a.Job.UID)
	if at == index.None {
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}}
	}
	for _, head := range r.accounts().Heads(at) {
		o := r.holders.Reservations.Admit(r.accounts(), r.session.Cards, a.Queue, head, a.Cards)
		switch {
		case o.Verdict.OK():
		case o.Verdict.Reason != quota.OverQuota && o.Verdict.Reason != quota.SearchExhausted: // about the pods, whatever account it is
			return o
		default:
			o.Verdict, o.Holder = r.holders.Quota.Refusal(o.Verdict), r.holders.Quota.Place(head).Holder
			return o
		}
	}
	return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}}
}

func (r *Rule) Charge(b *quota.Books, a constraint.Ask) {
	if at := r.of(a.Task); at != index.None {
		quota.Charge(b.Holders, at, a.Request)
	}
}

func (r *Rule) Refund(b *quota.Books, a constraint.Ask, scratch fastres.Vector) {
	if at := r.of(a.Task); at != index.None {
		quota.Refund(b.Holders, at, a.Request, scratch)
	}
}

func (r *Rule) Charged(a constraint.Ask) {
	at := r.of(a.Task)
	if at == index.None {
		return
	}
	r.accounts().NoteOwnJobs(at)
	quota.Charge(r.accounts(), at, a.Request)
	r.session.Books.ChargedHolders(at, a.Request)
}

func (r *Rule) Refunded(a constraint.Ask) {
	at := r.of(a.Task)
	if at == index.None {
		return
	}
	frame := r.session.Frames.Open()
	defer frame.Close()
	r.accounts().NoteOwnJobs(at)
	refund := quota.Refund(r.accounts(), at, a.Request, frame.Vector())
	r.session.Books.RefundedHolders(at, refund)
	r.holders.Reservations.Refunded()
}

// Hold reserves the cards of a job for its holders.
func (r *Rule) Hold(a constraint.JobAsk) {
	at := r.session.Intake.AccountOf(a.Job.UID)
	if at == index.None {
		return
	}
	r.accounts().NoteOwnJobs(at)
	if a.Cards != nil {
		for _, head := range r.accounts().Heads(at) {
			r.holders.Reservations.AddJob(r.session.Cards, head, a.Job, a.Cards)
		}
	}
}

func (r *Rule) Withdraw(a constraint.JobAsk) (restore func()) {
	lists := r.holders.Reservations.Withdraw(a.Job)
	return func() { r.holders.Reservations.Add(lists) }
}
