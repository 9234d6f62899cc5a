// Package namespaces limits what each namespace has in a queue, and below it.
package namespaces

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule applies the rules of quotas to the accounts of namespaces (quota.Namespaces).
type Rule struct {
	session      *constraint.Session
	namespaces   *intake.Namespaces
	reservations *reserve.Reservations // of queues
}

var (
	_ constraint.TaskRule = &Rule{}
	_ constraint.JobRule  = &Rule{}
	_ constraint.CardRule = &Rule{}
	_ constraint.Account  = &Rule{}
	_ constraint.Watcher  = &Rule{}
	_ constraint.Holder   = &Rule{}
)

// Open returns the rule, nil where no queue limits namespaces.
func Open(s *constraint.Session, reservations *reserve.Reservations) any {
	if s.Intake.Namespaces == nil {
		return nil
	}
	return &Rule{s, s.Intake.Namespaces, reservations}
}

func (r *Rule) accounts() *index.Index { return &r.namespaces.Quota.Accounts }
func (r *Rule) bounds() *index.Rows    { return &r.accounts().RealCapability }

// of returns the account of a task's namespace, None where no queue limits it, or for no task.
func (r *Rule) of(q index.Queue, task *api.TaskInfo) index.Queue {
	if task == nil {
		return index.None
	}
	return r.session.Intake.NamespaceOf(q, task.Namespace)
}

func (r *Rule) Fit(b *quota.Books, a constraint.Ask) quota.Verdict {
	at := r.of(a.Queue, a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.Allocatable(b.Namespaces, r.bounds(), at, a.Request))
}

func (r *Rule) FitCard(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	at := r.of(a.Queue, a.Task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.CardFits(b.Namespaces, r.bounds(), at, d, milli))
}

// refusal converts a verdict about the account of a namespace to one about q or an ancestor.
func (r *Rule) refusal(q index.Queue, v quota.Verdict) quota.Verdict {
	if v.OK() {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return r.namespaces.Quota.Refusal(v)
}

// Lacks looks at the accounts that both tasks share.
func (r *Rule) Lacks(b *quota.Books, a constraint.Ask, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) bool {
	at, from := r.of(a.Queue, a.Task), r.of(q, task)
	if at == index.None || from == index.None {
		return false
	}
	return slices.ContainsFunc(r.accounts().Path(at), func(p index.Queue) bool {
		return slices.Contains(r.accounts().Path(from), p) && b.Namespaces.Allocated(p).Get(d)+milli > r.bounds().At(p, d)
	})
}

// FitOwn looks at the namespace in the queue itself.
func (r *Rule) FitOwn(b *quota.Books, a constraint.Ask, d fastres.Dim, milli float64) quota.Verdict {
	at := r.of(a.Queue, a.Task)
	if at == index.None || r.namespaces.Quota.Place(at).Queue != a.Queue || b.Namespaces.Allocated(at).Get(d)+milli <= r.bounds().At(at, d) {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return quota.Verdict{Reason: quota.OverNamespace, Queue: a.Queue}
}

// AdmitJob applies the rule of enqueue to the namespace of a job.
func (r *Rule) AdmitJob(a constraint.JobAsk) quota.Verdict {
	at := r.session.Intake.NamespaceOf(a.Queue, a.Job.Namespace)
	if at == index.None || !a.HasMinimum {
		return quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}
	}
	return r.refusal(a.Queue, quota.Enqueueable(r.accounts(), at, a.Minimum))
}

// PrepareCards drops the reservations of jobs that the limits of their namespaces do not allow.
func (r *Rule) PrepareCards() { r.reservations.Drop(r.namespaces.Reservations.Prune(r.accounts())) }

// AdmitCards does the same as AdmitJob for the job's cards. A list is assigned within the limits of the
// namespace by itself, and within the quotas of queues by itself.
func (r *Rule) AdmitCards(a constraint.JobAsk) cards.Outcome {
	at := r.session.Intake.NamespaceOf(a.Queue, a.Job.Namespace)
	if at == index.None {
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: a.Queue}}
	}
	o := r.namespaces.Reservations.Admit(r.accounts(), r.session.Cards, a.Queue, at, a.Cards)
	o.Verdict = r.refusal(a.Queue, o.Verdict)
	return o
}

func (r *Rule) Charge(b *quota.Books, a constraint.Ask) {
	if at := r.of(a.Queue, a.Task); at != index.None {
		quota.Charge(b.Namespaces, at, a.Request)
	}
}

func (r *Rule) Refund(b *quota.Books, a constraint.Ask, scratch fastres.Vector) {
	if at := r.of(a.Queue, a.Task); at != index.None {
		quota.Refund(b.Namespaces, at, a.Request, scratch)
	}
}

func (r *Rule) Charged(a constraint.Ask) {
	at := r.of(a.Queue, a.Task)
	if at == index.None {
		return
	}
	r.accounts().NoteOwnJobs(at)
	quota.Charge(r.accounts(), at, a.Request)
	r.session.Books.ChargedNamespace(at, a.Request)
}

func (r *Rule) Refunded(a constraint.Ask) {
	at := r.of(a.Queue, a.Task)
	if at == index.None {
		return
	}
	frame := r.session.Frames.Open()
	defer frame.Close()
	refund := frame.Vector()
	r.accounts().NoteOwnJobs(at)
	quota.Refund(r.accounts(), at, a.Request, refund)
	r.session.Books.RefundedNamespace(at, refund)
	r.namespaces.Reservations.Refunded()
}

// Hold reserves the cards of a job in its namespace.
func (r *Rule) Hold(a constraint.JobAsk) {
	at := r.session.Intake.NamespaceOf(a.Queue, a.Job.Namespace)
	if at == index.None {
		return
	}
	r.accounts().NoteOwnJobs(at)
	if a.Cards != nil {
		r.namespaces.Reservations.AddJob(r.session.Cards, at, a.Job, a.Cards)
	}
}

func (r *Rule) Withdraw(a constraint.JobAsk) (restore func()) {
	lists := r.namespaces.Reservations.Withdraw(a.Job)
	return func() { r.namespaces.Reservations.Add(lists) }
}
