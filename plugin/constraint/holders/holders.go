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

// rule applies the rules of quotas to the accounts of holders (quota.Holders).
type rule struct {
	session *constraint.Session
	holders *intake.Holders
}

// Open returns the rule, nil where no queue limits any holder.
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

// of returns the account of a task's job, None where no queue limits one of its holders, or for no task.
func (r *rule) of(task *api.TaskInfo) index.Queue {
	if task == nil {
		return index.None
	}
	return r.session.Intake.AccountOf(task.Job)
}

func (r *rule) fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	at := r.of(a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.Allocatable(b.Holders, r.bounds(), at, a.Request))
}

func (r *rule) fitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	at := r.of(a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.CardFits(b.Holders, r.bounds(), at, d, milli))
}

// fitClaims looks at what the accounts of the holders hold: another pod of the queue may share a claim, and be none of
// theirs.
func (r *rule) fitClaims(b *quota.Books, a constraint.Ask, claims []index.DeviceClaim) quota.Verdict {
	at := r.of(a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.DeviceClaimsFit(b.Holders, r.bounds(), r.session.Names, at, claims))
}

// refusal converts a verdict about an account to one about q or an ancestor.
func (r *rule) refusal(q index.Queue, v quota.Verdict) quota.Verdict {
	if v.OK() {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return r.holders.Quota.Refusal(v)
}

// measure compares in the accounts of the job's holders, as the rules that refuse do.
func (r *rule) measure(of *constraint.Refusal, d fastres.Dim, milli float64) constraint.Shortfall {
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

// lacks looks at the accounts that both tasks share.
func (r *rule) lacks(b *quota.Books, a constraint.Ask, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) bool {
	at, from := r.of(a.Task), r.of(task)
	if at == index.None || from == index.None {
		return false
	}
	return slices.ContainsFunc(r.accounts().Path(at), func(p index.Queue) bool {
		return slices.Contains(r.accounts().Path(from), p) && b.Holders.AllocatedAt(p, d)+milli > r.bounds().At(p, d)
	})
}

// fitOwn looks at the holders in the queue itself.
func (r *rule) fitOwn(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
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

// admitJob applies the rule of enqueue to the holders of a job.
func (r *rule) admitJob(a constraint.JobAsk) quota.Verdict {
	at := r.session.Intake.AccountOf(a.Job.UID)
	if at == index.None || !a.HasMinimum {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.Enqueueable(r.accounts(), at, a.Minimum))
}

// prepareCards drops the reservations of jobs that the limit of one of their holders does not allow.
func (r *rule) prepareCards() {
	dropped := r.holders.Reservations.Prune(r.accounts())
	r.holders.Reservations.Drop(dropped)
	r.session.Reservations.Drop(dropped)
}

// admitCards does the same as AdmitJob for the job's cards. A list is assigned within the limits of each
// holder by itself, and within the quotas of queues by itself.
func (r *rule) admitCards(a constraint.JobAsk) cards.Outcome {
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

func (r *rule) charge(b *quota.Books, a constraint.Ask) {
	if at := r.of(a.Task); at != index.None {
		quota.Charge(b.Holders, at, a.Request)
	}
}

func (r *rule) refund(b *quota.Books, a constraint.Ask, scratch fastres.Vector) {
	if at := r.of(a.Task); at != index.None {
		quota.Refund(b.Holders, at, a.Request, scratch)
	}
}

func (r *rule) charged(a constraint.Ask) {
	at := r.of(a.Task)
	if at == index.None {
		return
	}
	r.accounts().NoteOwnJobs(at)
	quota.Charge(r.accounts(), at, a.Request)
	r.session.Books.ChargedHolders(at, a.Request)
}

func (r *rule) refunded(a constraint.Ask) {
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

// hold reserves the cards of a job for its holders.
func (r *rule) hold(a constraint.JobAsk) {
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

func (r *rule) withdraw(a constraint.JobAsk) (restore func()) {
	lists := r.holders.Reservations.Withdraw(a.Job)
	return func() { r.holders.Reservations.Add(lists) }
}
