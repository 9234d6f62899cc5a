package constraint

import (
	"cmp"
	"iter"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Refusal is the verdict of the rules, what it is about, and the comparisons that decided. One with the
// verdict Admitted refuses nothing.
type Refusal struct {
	Verdict quota.Verdict
	// Request is that of the task, or the minimum of the job without its cards.
	Request fastres.Vector
	Task    *api.TaskInfo // nil for a job
	Job     api.JobID     // of the task, or itself
	// Admission: Request is the minimum of a job, and reservations for others count.
	Admission bool
	// Allocation: Request is that of a task of Queue that asks for a node.
	Allocation bool
	Queue      index.Queue
	Books      *quota.Books // with which the rules decided
	// Cards is the refused request for cards, zero where Request is refused.
	Cards  cards.Request
	Shared bool // see cards.Outcome
	// Holder is that whose limit refuses the cards of a job, the zero Holder for any.
	Holder quota.Holder
	// Shortfalls are the comparisons: one for each card of a list that a task asks for (OfList), or else
	// those of the cards, or of the dimensions of Request in the order of their names, that do not fit.
	Shortfalls []Shortfall

	path []index.Queue // where shortfalls are looked for
}

// OK reports whether nothing is refused.
func (r *Refusal) OK() bool { return r.Verdict.OK() }

// OfCards reports whether a request for cards is refused.
func (r *Refusal) OfCards() bool { return r.Cards.Selector != nil }

// OfList reports whether a task gets none of several cards, each of which can have a cause of its
// own.
func (r *Refusal) OfList() bool {
	if !r.Allocation || !r.OfCards() || len(r.Cards.Selector.Names) < 2 {
		return false
	}
	switch r.Verdict.Reason {
	case quota.OverQuota, quota.OverNamespace, quota.OverHolder, quota.OverBudget, quota.OverSoftQuota, quota.Guaranteed, quota.Reserved,
		quota.Earmarked:
		return true
	}
	return false
}

// Path returns the queues to compare in, from the lowest on: the one that refuses, and for cards those
// above it.
func (r *Refusal) Path() []index.Queue { return r.path }

// Against names the bound of a comparison.
type Against uint8

// The bounds.
const (
	Capability     Against = iota // realCapability
	Deserved                      // of reclaim, and of allocation for proportion
	Overcommit                    // deserved times the overcommit factor
	NamespaceLimit                // what a namespace may have in the queue
	HolderLimit                   // what a user, a group or a value of a label may have
	Unguaranteed                  // what is left beside the guarantees of others
	MaxJobs
	SoftQuota     // up to which a queue gets a card that others want
	ReclaimBudget // how many pods of others the queue may have evicted in a time: Detail has it
	CardBudget    // card-milli × seconds that the queue may use in a window
)

// NoDim is the dimension of a card that nothing in the session has.
const NoDim fastres.Dim = -1

// Shortfall is a comparison that refuses: Total > Bound, in one queue and dimension.
type Shortfall struct {
	quota.Verdict // the cause, and the queue whose bound it is
	quota.Numbers
	Dim      fastres.Dim
	Quantity float64 // requested
	Against  Against
	Holder   quota.Holder // whose limit it is
	Card     int          // the position of the card in the list; Dim is the card or one of its groups
	Sum      bool         // Total and Bound are sums over the cards of the list
	Detail   string       // for a rule that compares no numbers
	// Need is what is requested, and Until the time at which more is left, of a budget. A pod needs nothing.
	Need  float64
	Until time.Time
}

// Refused adds the outcome of the rules to what was asked, and the comparisons that decided. It is memory of
// the frame. With the zero Frame it is safe for many goroutines.
func (s *Session) Refused(f Frame, asked Refusal, o cards.Outcome) *Refusal {
	r := f.refusal()
	asked.Shortfalls = r.Shortfalls[:0]
	*r = asked
	r.Verdict = o.Verdict
	r.Cards = o.Request
	r.Shared = o.Shared
	r.Holder = o.Holder
	if v := r.Verdict; v.OK() || v.Queue == index.None {
		return r
	}
	r.path = s.Index.Path(r.Verdict.Queue)
	switch reason := r.Verdict.Reason; {
	case r.OfList():
		r.path = s.Index.Path(r.Queue)
		for i := range r.Cards.Selector.Names {
			r.Shortfalls = append(r.Shortfalls, s.ofList(r, i))
		}
	case reason == quota.TooManyJobs, reason == quota.ReclaimBudgetUsed, reason == quota.HeldByOrder:
		r.add(s.measure(r, reason, fastres.CPU, 1))
	case reason.OfHolder(), reason == quota.OverBudget, reason == quota.OverSoftQuota, reason == quota.HeldForFairShare:
		if !r.OfCards() {
			r.path = r.path[:1]
		}
		for d, quantity := range s.requested(r) {
			r.add(s.measure(r, reason, d, quantity))
		}
	case reason != quota.OverQuota && reason != quota.OverDeserved && reason != quota.Reserved:
		return r // no numbers decide
	case r.OfCards():
		s.addCards(r)
	default:
		r.path = r.path[:1]
		for d := range r.Request.Requested() {
			r.add(s.measure(r, reason, d, r.Request.Get(d)))
		}
	}
	if !r.OfCards() {
		slices.SortFunc(r.Shortfalls, func(x, y Shortfall) int { return cmp.Compare(s.Names.Name(x.Dim), s.Names.Name(y.Dim)) })
	}
	return r
}

// RefusedTask returns the refusal of a task that asks for a node.
func (s *Session) RefusedTask(f Frame, b *quota.Books, a Ask, o cards.Outcome) *Refusal {
	return s.Refused(f, Refusal{Request: a.Request, Task: a.Task, Job: a.Task.Job, Allocation: true, Queue: a.Queue, Books: b}, o)
}

// RefusedNode returns the refusal of the cards of a node, with the verdict Admitted where no rule refuses them.
func (s *Session) RefusedNode(f Frame, b *quota.Books, a Ask, fit cards.NodeFit) *Refusal {
	return s.Refused(f, Refusal{Task: a.Task, Job: a.Task.Job, Queue: a.Queue, Books: b},
		cards.Outcome{Verdict: fit.Verdict, Request: fit.Request})
}

// add adds a shortfall unless the quantity fits.
func (r *Refusal) add(of Shortfall) {
	if !of.OK() {
		r.Shortfalls = append(r.Shortfalls, of)
	}
}

// addCards adds the cards that do not fit, or the sum of them where the list as a whole does not.
func (s *Session) addCards(r *Refusal) {
	q, dims := r.Verdict.Queue, r.Cards.Selector.Dims
	if r.Shared && len(dims) > 0 {
		of := Shortfall{Verdict: r.Verdict, Numbers: s.Reservations.Numbers(s.Index, q, r.Cards), Dim: dims[0],
			Quantity: float64(r.Cards.Amount), Sum: true}
		if slices.ContainsFunc(dims, func(d fastres.Dim) bool { return quota.Overcommits(s.Index, q, d) }) {
			of.Against = Overcommit
		}
		if of.Exceeded() {
			r.add(of)
			return
		}
	}
	if r.Verdict.Reason == quota.OverDeserved {
		r.path = r.path[:1]
	}
	for i := range r.Cards.Selector.Names {
		r.add(s.ofCard(r, i, r.Verdict.Reason))
	}
}

// ofList returns why a task does not get one card of its list. What fits now is earmarked for others.
func (s *Session) ofList(r *Refusal, i int) Shortfall {
	of := s.ofCard(r, i, quota.Admitted)
	if of.OK() {
		of = Shortfall{Verdict: quota.Verdict{Reason: quota.Earmarked, Queue: r.Queue}, Quantity: float64(r.Cards.Amount), Card: i}
	}
	return of
}

// ofCard returns what does not fit of the card in a position of a list: the card, or a group that has it,
// where no queue sets a quota of the card itself: what a queue may have of a card can follow from its groups.
func (s *Session) ofCard(r *Refusal, i int, reason quota.Reason) Shortfall {
	milli := float64(r.Cards.Amount)
	card, known := s.Names.LookupCard(r.Cards.Selector.Names[i])
	if known {
		milli = float64(r.Cards.Of(card))
	} else {
		return Shortfall{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: r.path[0]}, Numbers: quota.Numbers{Total: milli},
			Dim: NoDim, Quantity: milli, Card: i}
	}
	of := s.measure(r, reason, card, milli)
	bySource := of.Reason == quota.OverQuota || of.Reason == quota.Reserved
	if of.OK() || bySource && !s.sets(of.Queue, card) {
		for _, share := range s.Names.Groups(card) {
			g := s.measure(r, reason, share.Group, share.Of(milli))
			if !g.OK() && (of.OK() || g.Reason == of.Reason) {
				of = g
				break
			}
		}
	}
	of.Card = i
	return of
}

// requested iterates over what is refused: each card of a list and its groups, or all dimensions of a request.
func (s *Session) requested(r *Refusal) iter.Seq2[fastres.Dim, float64] {
	return func(yield func(fastres.Dim, float64) bool) {
		if !r.OfCards() {
			for d := range r.Request.Requested() {
				if !yield(d, r.Request.Get(d)) {
					return
				}
			}
			return
		}
		for _, d := range r.Cards.Selector.Dims {
			amount := float64(r.Cards.Of(d))
			if !yield(d, amount) {
				return
			}
			for _, share := range s.Names.Groups(d) {
				if !yield(share.Group, share.Of(amount)) {
					return
				}
			}
		}
	}
}

// measure asks the quotas of queues, and then the constraints, for the comparison that refuses a quantity
// for a reason, or for whatever reason where it is Admitted.
func (s *Session) measure(r *Refusal, reason quota.Reason, d fastres.Dim, milli float64) Shortfall {
	of := s.measureQuotas(r, d, milli)
	for i := 0; i < len(s.with(onMeasure)) && (of.OK() || reason != quota.Admitted && of.Reason != reason); i++ {
		of = s.with(onMeasure)[i].Measure(r, d, milli)
	}
	if of.OK() || reason != quota.Admitted && of.Reason != reason {
		return Shortfall{}
	}
	of.Dim, of.Quantity = d, milli
	return of
}

// measureQuotas compares with the quotas of queues. Those of devices are a constraint.
func (s *Session) measureQuotas(r *Refusal, d fastres.Dim, milli float64) Shortfall {
	if _, device := s.Names.Class(d); device {
		return Shortfall{}
	}
	reason := quota.OverQuota
	limit := s.LimitOf(r.Queue)
	against := Capability
	if limit == &s.Index.Deserved {
		against = Deserved
	}
	if r.Verdict.Reason == quota.OverDeserved {
		reason = quota.OverDeserved
		limit = &s.Index.Deserved
		against = Deserved
	}
	return s.Exceeded(r, reason, d, func(q index.Queue) (quota.Numbers, Against) {
		switch {
		case !r.Admission:
			return quota.AllocatableNumbers(r.Books.Queues, limit, q, d, milli), against
		case quota.Overcommits(s.Index, q, d):
			return quota.EnqueueableNumbersOf(s.Index, r.Queue, q, d, milli), Overcommit
		}
		return quota.EnqueueableNumbersOf(s.Index, r.Queue, q, d, milli), Capability
	})
}

// Exceeded returns the comparison in the first queue of a refusal in which numbers exceed the bound. An
// inherited capability is that of the queue that sets it.
func (s *Session) Exceeded(r *Refusal, reason quota.Reason, d fastres.Dim, numbers func(index.Queue) (quota.Numbers, Against)) Shortfall {
	for _, q := range r.path {
		n, against := numbers(q)
		if !n.Exceeded() {
			continue
		}
		if _, device := s.Names.Class(d); against == Capability && !device {
			q = s.source(q, d)
			at, _ := numbers(q)
			n.Total = at.Total
		}
		return Shortfall{Verdict: quota.Verdict{Reason: reason, Queue: q}, Numbers: n, Against: against}
	}
	return Shortfall{}
}

// source returns the queue that sets the capability of q in a dimension: q itself, or
// the ancestor that it inherits the bound from. It is q where no queue sets it.
func (s *Session) source(q index.Queue, d fastres.Dim) index.Queue {
	bound := s.Index.RealCapability.At(q, d)
	for _, p := range s.Index.Path(q) {
		if s.Index.RealCapability.At(p, d) != bound {
			break
		}
		if s.sets(p, d) {
			return p
		}
	}
	return q
}

// sets reports whether a queue has a capability or quota of its own in a dimension.
func (s *Session) sets(q index.Queue, d fastres.Dim) bool {
	if s.Names.IsCard(d) {
		_, ok := s.Cards.Quotas(q)[d]
		return ok
	}
	queue := s.Intake.Queues[q]
	if queue == nil {
		return false
	}
	_, ok := queue.Queue.Spec.Capability[v1.ResourceName(s.Names.Name(d))]
	return ok
}

// Levels returns the bounds of a queue and its ancestors that a quantity does not fit under. A refusal has
// only the lowest of them.
func (s *Session) Levels(q index.Queue, d fastres.Dim, quantity float64, admission bool) (all []Shortfall) {
	r := Refusal{Verdict: quota.Verdict{Reason: quota.OverQuota, Queue: q}, Admission: admission, Queue: q, Books: &s.Books.Now}
	path := s.Index.Path(q)
	for i := range path {
		r.path = path[i : i+1]
		if of := s.measure(&r, quota.OverQuota, d, quantity); !of.OK() {
			all = append(all, of)
		}
	}
	return all
}
