package plugin

import (
	"slices"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/intake"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// namespaceOf returns the account of the namespace of a task of q, None where no queue limits it.
func (s *session) namespaceOf(q index.Queue, task *api.TaskInfo) index.Queue {
	if s.namespaces == nil {
		return index.None
	}
	return s.namespaces.Account(q, task.Namespace)
}

// fitsNamespace applies the rule of allocation to the request of a task and its namespace.
func (s *session) fitsNamespace(a *quota.Books, q index.Queue, task *api.TaskInfo, request fastres.Vector) quota.Verdict {
	at := s.namespaceOf(q, task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return s.refusal(q, quota.Allocatable(a.Namespaces, &s.namespaces.Accounts.RealCapability, at, request))
}

// fitsCardOfNamespace is fitsNamespace for one card.
func (s *session) fitsCardOfNamespace(a *quota.Books, q index.Queue, task *api.TaskInfo, d fastres.Dim, milli float64) quota.Verdict {
	at := s.namespaceOf(q, task)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return s.refusal(q, quota.CardFits(a.Namespaces, &s.namespaces.Accounts.RealCapability, at, d, milli))
}

// refusal converts a verdict about the account of a namespace to one about q or an ancestor.
func (s *session) refusal(q index.Queue, v quota.Verdict) quota.Verdict {
	if v.OK() {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return s.namespaces.Refusal(v)
}

// admitsMinimumOfNamespace applies the rule of enqueue to the namespace of a job of q. minimum is
// what the job lacks of its minimum without cards.
func (s *session) admitsMinimumOfNamespace(minimum fastres.Vector, q index.Queue, job *api.JobInfo) quota.Verdict {
	at := s.intake.NamespaceOf(q, job)
	if at == index.None {
		return quota.Verdict{Reason: quota.Admitted, Queue: q}
	}
	return s.refusal(q, quota.Enqueueable(&s.namespaces.Accounts, at, minimum))
}

// admitsCardsOfNamespace does the same for its cards. A list is assigned within the limits of the
// namespace by itself, and within the quotas of queues by itself.
func (s *session) admitsCardsOfNamespace(q index.Queue, job *api.JobInfo, jobCards *reserve.Job) cards.Outcome {
	at := s.intake.NamespaceOf(q, job)
	if at == index.None {
		return cards.Outcome{Verdict: quota.Verdict{Reason: quota.Admitted, Queue: q}}
	}
	o := s.intake.Namespaces.Reservations.Admit(&s.namespaces.Accounts, s.cards, q, at, jobCards)
	o.Verdict = s.refusal(q, o.Verdict)
	return o
}

// LimitProblems returns the limits of namespaces of a queue that have no effect with a plugin of
// this package, because it does not count the resource.
func LimitProblems(name string, annotations map[string]string) (problems []card.Problem) {
	texts := policy.Read(annotations)
	values, _ := texts.Parse()
	for _, b := range []*builder{cardBuilder, capacityBuilder, proportionBuilder} {
		if b.variant.name == name {
			problems = intake.Settings{Scalars: b.variant.scalars}.LimitProblems(values[policy.NamespaceCapability].Resources)
		}
	}
	return problems
}

// changeNamespace charges the namespace of a task of q, or refunds it.
func (s *session) changeNamespace(q index.Queue, task *api.TaskInfo, charge bool) {
	at := s.namespaceOf(q, task)
	if at == index.None {
		return
	}
	v, ix := &s.memory.vectors, &s.namespaces.Accounts
	ix.NoteOwnJobs(at)
	if charge {
		quota.Charge(ix, at, v.request)
		s.books.ChargedNamespace(at, v.request)
		return
	}
	quota.Refund(ix, at, v.request, v.refund)
	s.books.RefundedNamespace(at, v.refund)
	s.intake.Namespaces.Reservations.Refunded()
}

// fitsNamespaceWithout reports whether the namespace of a claim has room for it where it was
// placed, once some tasks are gone. It is safe for many goroutines.
func (s *session) fitsNamespaceWithout(c *claim, gone []*api.TaskInfo) bool {
	at := s.namespaceOf(c.queue, c.task)
	if at == index.None {
		return true
	}
	bounds := &s.namespaces.Accounts.RealCapability
	if quota.Allocatable(s.books.Future.Namespaces, bounds, at, c.charge).OK() {
		return true // with them as well
	}
	without := &quota.Draft{Accounts: s.books.Future.Namespaces}
	s.refundAll(without, gone, s.namespaceOf)
	return quota.Allocatable(without, bounds, at, c.charge).OK()
}

// refundAll refunds what tasks are charged to the accounts that of names for their queues.
func (s *session) refundAll(a quota.Accounts, tasks []*api.TaskInfo, of func(index.Queue, *api.TaskInfo) index.Queue) {
	request, refund := fastres.NewVector(s.intake.Dims.Length()), fastres.NewVector(s.intake.Dims.Length())
	for _, task := range tasks {
		q := s.queueOf(task)
		if q == index.None || !api.AllocatedStatus(task.Status) {
			continue
		}
		if from := of(q, task); from != index.None {
			s.intake.SetCharge(request, q, task, task.NodeName)
			quota.Refund(a, from, request, refund)
		}
	}
}

// lacksRoomOfNamespace reports whether the claim and a task of q share an account of a namespace
// that has too little room for the claim in one dimension.
func (s *session) lacksRoomOfNamespace(c *claim, q index.Queue, task *api.TaskInfo, d fastres.Dim) bool {
	at, from := s.namespaceOf(c.queue, c.task), s.namespaceOf(q, task)
	if at == index.None || from == index.None {
		return false
	}
	ix := &s.namespaces.Accounts
	return slices.ContainsFunc(ix.Path(at), func(p index.Queue) bool {
		return slices.Contains(ix.Path(from), p) && s.books.Future.Namespaces.Allocated(p).Get(d)+c.charge.Get(d) > ix.RealCapability.At(p, d)
	})
}
