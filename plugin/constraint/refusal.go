package constraint

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// Refusal is the verdict of the rules, its subject, and the comparisons that decided. A Refusal with the verdict
// Admitted refuses nothing.
type Refusal struct {
	Verdict quota.Verdict
	// Request is the request of the task, or the minimum of the job without its cards.
	Request fastres.Vector
	Task    *api.TaskInfo // nil for a job
	Job     api.JobID     // of the task, or itself
	// Admission: Request is the minimum of a job, and reservations for others count.
	Admission bool
	// Allocation: Request is the request of a task of Queue that asks for a node.
	Allocation bool
	Queue      index.Queue
	Books      *quota.Books // with which the rules decided
	// Cards is the refused request for cards, zero where Request is refused.
	Cards  cards.Request
	Shared bool // see cards.Outcome
	// Holder is the holder with the limit that refuses the cards of a job, the zero Holder for any.
	Holder quota.Holder
	// Shortfalls are the comparisons. For a task that asks for a list of cards (OfList), there is one for each card.
	// Otherwise they are the cards that do not fit, or the dimensions of Request in the order of their names.
	Shortfalls []Shortfall

	path []index.Queue // where shortfalls are looked for
}

// OK reports whether nothing is refused.
func (r *Refusal) OK() bool { return r.Verdict.OK() }

// OfCards reports whether a request for cards is refused.
func (r *Refusal) OfCards() bool { return r.Cards.Selector != nil }

// OfList reports whether a task gets none of several cards. Each of them can have its own cause.
func (r *Refusal) OfList() bool {
	if !r.Allocation || !r.OfCards() || len(r.Cards.Selector.Names) < 2 {
		return false
	}

	switch r.Verdict.Reason {
	case quota.OverQuota, quota.OverNamespace, quota.OverHolder, quota.OverBudget, quota.OverSoftQuota,
		quota.Guaranteed, quota.Reserved, quota.Earmarked:
		return true
	}
	return false
}

// Path returns the queues to compare in, from the lowest up: the queue that refuses, and for cards the queues above it.
func (r *Refusal) Path() []index.Queue { return r.path }

// Against names the bound of a comparison.
type Against uint8

// The bounds.
const (
	Capability    Against = iota // realCapability
	Deserved                     // of reclaim, and of allocation for proportion
	Overcommit                   // deserved times the overcommit factor
	HolderLimit                  // the limit of a namespace, a user, a group or a value of a label
	Unguaranteed                 // the rest after the guarantees of others
	Counted                      // a number, such as of jobs, which Shortfall.Count names
	SoftQuota                    // up to which a queue gets a card that others want
	ReclaimBudget                // how many pods of others the queue may have evicted in a time: Detail has it
	CardBudget                   // card-milli × seconds that the queue may use in a window
)

// Count names a number that a policy bounds.
type Count struct {
	Unit  string // such as jobs
	Bound string // the name of the policy, such as max-jobs
}

// NoDim is the dimension of a card that nothing in the session has.
const NoDim fastres.Dim = -1

// Shortfall is a comparison that refuses: Total > Bound, in one queue and dimension.
type Shortfall struct {
	quota.Verdict // the cause, and the queue that has the bound
	quota.Numbers
	Dim      fastres.Dim
	Quantity float64 // requested
	Against  Against
	Count    *Count       // of Counted
	Holder   quota.Holder // that has the limit
	Card     int          // the position of the card in the list; Dim is the card or one of its groups
	Sum      bool         // Total and Bound are sums over the cards of the list
	Detail   string       // for a rule that compares no numbers
	// Need is the part of a budget that is requested: a pod needs nothing. Until is the time at which more is left.
	Need  float64
	Until time.Time
}

// Refused adds the outcome of the rules to what was asked, and the comparisons that decided. The result is memory of
// the frame. With the zero Frame, Refused is safe for many goroutines.
func (s *Session) Refused(f Frame, asked Refusal, o cards.Outcome) *Refusal {
	r := f.refusal()
	asked.Shortfalls = r.Shortfalls[:0]
	*r = asked
	r.Verdict = o.Verdict
	r.Cards = o.Request
	r.Shared = o.Shared
	r.Holder = o.Holder

	if r.Verdict.OK() || r.Verdict.Queue == index.None {
		return r
	}

	r.path = s.Index.Path(r.Verdict.Queue)
	s.addShortfalls(r)
	if !r.OfCards() {
		slices.SortFunc(r.Shortfalls, func(x, y Shortfall) int {
			return cmp.Compare(s.Names.Name(x.Dim), s.Names.Name(y.Dim))
		})
	}
	return r
}

// addShortfalls adds the comparisons by which a refusal was decided, none where no numbers decide.
func (s *Session) addShortfalls(r *Refusal) {
	switch reason := r.Verdict.Reason; {
	case r.OfList():
		r.path = s.Index.Path(r.Queue)
		for i := range r.Cards.Selector.Names {
			r.Shortfalls = append(r.Shortfalls, s.cardOfList(r, i))
		}

	case reason.Whole():
		r.add(s.measure(r, reason, fastres.CPU, 1)) // the feature ignores the resource

	case reason.OfHolder(), reason == quota.OverBudget, reason == quota.OverSoftQuota, reason == quota.HeldForFairShare:
		if !r.OfCards() {
			r.path = r.path[:1]
		}
		for d, quantity := range s.requested(r) {
			r.add(s.measure(r, reason, d, quantity))
		}

	case reason != quota.OverQuota && reason != quota.OverDeserved && reason != quota.Reserved:
		// No numbers decide.

	case r.OfCards():
		s.addCards(r)

	default:
		r.path = r.path[:1]
		for d := range r.Request.Requested() {
			r.add(s.measure(r, reason, d, r.Request.Get(d)))
		}
	}
}

// add adds a shortfall unless the quantity fits.
func (r *Refusal) add(short Shortfall) {
	if !short.OK() {
		r.Shortfalls = append(r.Shortfalls, short)
	}
}

// addCards adds the cards that do not fit, or their sum where the list as a whole does not fit.
func (s *Session) addCards(r *Refusal) {
	if r.Shared && len(r.Cards.Selector.Dims) > 0 {
		if sum := s.sumOfCards(r); sum.Exceeded() {
			r.add(sum)
			return
		}
	}

	if r.Verdict.Reason == quota.OverDeserved {
		r.path = r.path[:1]
	}
	for i := range r.Cards.Selector.Names {
		r.add(s.cardAt(r, i, r.Verdict.Reason))
	}
}

// sumOfCards compares the sum over the cards of a list.
func (s *Session) sumOfCards(r *Refusal) Shortfall {
	q := r.Verdict.Queue
	dims := r.Cards.Selector.Dims
	sum := Shortfall{
		Verdict:  r.Verdict,
		Numbers:  s.Reservations.Numbers(s.Index, q, r.Cards),
		Dim:      dims[0],
		Quantity: float64(r.Cards.Amount),
		Sum:      true,
	}

	if slices.ContainsFunc(dims, func(d fastres.Dim) bool { return quota.Overcommits(s.Index, q, d) }) {
		sum.Against = Overcommit
	}
	return sum
}

// cardOfList returns why a task does not get one card of its list. A card that fits now is earmarked for others.
func (s *Session) cardOfList(r *Refusal, i int) Shortfall {
	short := s.cardAt(r, i, quota.Admitted)
	if !short.OK() {
		return short
	}

	return Shortfall{
		Verdict:  quota.Verdict{Reason: quota.Earmarked, Queue: r.Queue},
		Quantity: float64(r.Cards.Amount),
		Card:     i,
	}
}

// cardAt returns the comparison that refuses the card in a position of a list.
//
// It names a group of the card where no queue sets a quota of the card itself: the bound of a card can follow from its
// groups.
func (s *Session) cardAt(r *Refusal, i int, reason quota.Reason) Shortfall {
	card, known := s.Names.LookupCard(r.Cards.Selector.Names[i])
	if !known {
		milli := float64(r.Cards.Amount)
		return Shortfall{
			Verdict:  quota.Verdict{Reason: quota.OverQuota, Queue: r.path[0]},
			Numbers:  quota.Numbers{Total: milli},
			Dim:      NoDim,
			Quantity: milli,
			Card:     i,
		}
	}

	milli := float64(r.Cards.Of(card))
	short := s.measure(r, reason, card, milli)
	bySource := short.Reason == quota.OverQuota || short.Reason == quota.Reserved
	if short.OK() || bySource && !s.sets(short.Queue, card) {
		for _, share := range s.Names.Groups(card) {
			group := s.measure(r, reason, share.Group, share.Of(milli))
			if !group.OK() && (short.OK() || group.Reason == short.Reason) {
				short = group
				break
			}
		}
	}
	short.Card = i
	return short
}

// requested iterates over the refused dimensions: each card of a list and its groups, or all of a request.
func (s *Session) requested(r *Refusal) iter.Seq2[fastres.Dim, float64] {
	if !r.OfCards() {
		return func(yield func(fastres.Dim, float64) bool) {
			for d := range r.Request.Requested() {
				if !yield(d, r.Request.Get(d)) {
					return
				}
			}
		}
	}

	return func(yield func(fastres.Dim, float64) bool) {
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
