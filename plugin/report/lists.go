package report

import (
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/quota"
)

// kept is the name of the bound that allocations and unused guarantees of others share.
const kept = "what guarantees leave"

// ofList reports whether a task gets none of several cards, each of which can have a cause of its
// own.
func (r Refusal) ofList() bool {
	return r.Allocation && r.aboutCards() && len(r.Cards.Selector.Names) > 1 && slices.Contains(
		[]quota.Reason{quota.OverQuota, quota.OverNamespace, quota.Guaranteed, quota.Reserved, quota.Earmarked}, r.Verdict.Reason)
}

// listVerdict returns why a task does not get one card of its list: the dimension of the card, or of a
// group that has it, and how much of that is requested.
func (e *Explainer) listVerdict(r Refusal, card fastres.Dim) (v quota.Verdict, d fastres.Dim, amount float64) {
	d, amount = card, float64(r.Cards.Amount)
	v = e.dimVerdict(r, d, amount)
	for _, share := range e.Names.Groups(card) {
		if v.Reason != quota.Earmarked {
			break
		}
		if of := e.dimVerdict(r, share.Group, share.Weight*amount); of.Reason != quota.Earmarked {
			return of, share.Group, share.Weight * amount
		}
	}
	return v, d, amount
}

// dimVerdict is listVerdict for one dimension. The queue of OverNamespace is the account of the namespace.
func (e *Explainer) dimVerdict(r Refusal, d fastres.Dim, amount float64) quota.Verdict {
	if v := quota.CardFits(e.Index, e.Limit, r.Queue, d, amount); !v.OK() {
		return v
	}
	if v := e.Guarantees.Fits(e.Index, r.Queue, d, amount); !v.OK() {
		return v
	}
	if e.Namespaces != nil {
		accounts := &e.Namespaces.Accounts
		if at := e.Namespaces.Account(r.Queue, r.Namespace); at != index.None {
			if v := quota.CardFits(accounts, &accounts.RealCapability, at, d, amount); !v.OK() {
				return quota.Verdict{Reason: quota.OverNamespace, Queue: v.Queue}
			}
		}
	}
	if v := quota.FitsBeside(e.Index, e.Index, e.Limit, r.Queue, d, amount); !v.OK() {
		return v
	}
	if e.held(r.Queue, d, amount) {
		return quota.Verdict{Reason: quota.HeldForFairShare, Queue: r.Queue}
	}
	return quota.Verdict{Reason: quota.Earmarked, Queue: r.Queue} // now it fits
}

// held reports whether a job holds a card that q would borrow.
func (e *Explainer) held(q index.Queue, d fastres.Dim, amount float64) bool {
	if e.HolderOf == nil || e.Index.Allocated(q).Get(d)+amount <= e.Index.Deserved.At(q, d) {
		return false
	}
	job, _ := e.HolderOf(d)
	return job != nil
}

// explainList sets what a reason states about several cards: each with its own cause, in the order
// of the list. Where all have one cause, the rule of the reason names it.
func (e *Explainer) explainList(reason *Reason, r Refusal) {
	selector := r.Cards.Selector
	reason.Cards, reason.typed, reason.Requested = e.Cards.Describe(r.Cards), selector.Typed, r.Cards.Amount.Cards()
	reason.Queue = e.Index.Name(r.Queue)
	mixed := false
	for i, name := range selector.Names {
		s := e.listShortage(r, name)
		if s.Cards == "" || !slices.Contains(reason.Shortages, s) { // cards of one group have one bound
			reason.Shortages = append(reason.Shortages, s)
		}
		mixed = mixed || i > 0 && s.Rule != reason.Rule
		if i == 0 {
			reason.Rule = s.Rule
		}
	}
	switch {
	case reason.Rule == OverNamespace:
		reason.Namespace = r.Namespace
	case reason.Rule == Guaranteed:
		reason.Queue = reason.Shortages[0].Queue
	}
	switch {
	case mixed || reason.Rule == Guaranteed:
		return
	case reason.Rule == Earmarked:
		reason.Shortages = nil // no bound is exceeded
	}
	for i := range reason.Shortages {
		reason.Shortages[i].Rule = ""
	}
}

// listShortage is the bound of one card of a list.
func (e *Explainer) listShortage(r Refusal, name string) (s Shortage) {
	v, requested := quota.Verdict{Reason: quota.OverQuota}, float64(r.Cards.Amount)
	card, known := e.Names.LookupCard(name)
	d := card
	if known {
		v, d, requested = e.listVerdict(r, card)
	}
	switch v.Reason {
	case quota.Guaranteed:
		_, n := e.Guarantees.Numbers(e.Index, r.Queue, d, requested)
		s = e.shortageOf(v.Queue, d, requested, n, kept)
	case quota.Earmarked, quota.HeldForFairShare:
		s = Shortage{Queue: e.Index.Name(v.Queue), Resource: cards.Shown(name), Requested: r.Cards.Amount.Cards()}
	case quota.OverNamespace:
		accounts := &e.Namespaces.Accounts
		s = e.namespaceShortage(r.Namespace, v.Queue, d, requested,
			quota.AllocatableNumbers(accounts, &accounts.RealCapability, v.Queue, d, requested))
	default:
		r.Verdict = quota.Verdict{Reason: v.Reason, Queue: r.Queue}
		s, _ = e.cardShortage(r, name, card, known)
	}
	s.Rule = Rule(v.Reason.String())
	return s
}
