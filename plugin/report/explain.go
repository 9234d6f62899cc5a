package report

import (
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/constraint"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota"
	"github.com/capacity-card/capacity-card/quota/budget"
)

// Explainer turns refusals into reasons: numbers into names, and verdicts into words. It compares nothing.
type Explainer struct {
	Index *index.Index
	Names *index.Names
	Cards *cards.Snapshot
	Total fastres.Vector // of the cluster
}

// Explain returns the reason of a refusal, nil if nothing is refused. Dimensions are in the order of their names, so
// that equal reasons have equal texts.
func (e *Explainer) Explain(r *constraint.Refusal) *Reason {
	if r.OK() {
		return nil
	}

	reason := &Reason{Rule: Rule(r.Verdict.Reason.String())}
	q := r.Verdict.Queue
	if q == index.None {
		return reason
	}

	reason.Queue = e.Index.Name(q)
	if r.OfCards() {
		reason.Cards = e.Cards.Describe(r.Cards)
		reason.typed = r.Cards.Selector.Typed
		reason.Requested = r.Cards.Amount.Cards()
	}

	switch {
	case r.Verdict.Reason == quota.BrokenQueue:
		reason.Detail = e.Index.Broken(q).Error()
	case r.Verdict.Reason == quota.ResourceMismatch:
		reason.Resource = e.Cards.ResourceName(r.Cards.Resource)
	case r.Verdict.Reason == quota.HeldForFairShare,
		r.Verdict.Reason == quota.OverBudget && len(r.Shortfalls) > 0 && r.Shortfalls[0].Detail != "":
		if len(r.Shortfalls) > 0 {
			reason.Detail = r.Shortfalls[0].Detail
		}
	case r.Verdict.Reason == quota.ReclaimBudgetUsed:
		reason.Detail = ofReclaimBudget(r)
	case r.Verdict.Reason == quota.HeldByOrder:
		reason.Detail = ofOrder(r)
	case r.OfList():
		e.explainList(reason, r)
	case r.Verdict.Reason.OfHolder():
		e.addShortages(reason, r)
		reason.setHolder(holderOf(r))
	case r.OfCards() && len(r.Cards.Selector.Names) == 0 && nameless(r.Verdict.Reason):
		reason.Rule = UnlabeledNodes
		reason.Label = e.Cards.LabelOf(r.Cards.Resource)
	default:
		e.addShortages(reason, r)
	}

	if len(reason.Shortages) == 1 {
		reason.Queue = reason.Shortages[0].Queue
	}
	return reason
}

// ofReclaimBudget returns the time until which a queue takes nothing, and why.
func ofReclaimBudget(r *constraint.Refusal) string {
	if len(r.Shortfalls) == 0 {
		return "now"
	}

	f := r.Shortfalls[0]
	until := "before it is read what it has taken"
	if !f.Until.IsZero() {
		until = "until " + format.Minute(f.Until)
	}

	return fmt.Sprintf("%s: %s is %s", until, policy.Short(policy.EvictionBudgetKey), f.Detail)
}

// ofOrder returns the job that goes first, and the time until which other jobs wait for it.
func ofOrder(r *constraint.Refusal) string {
	if len(r.Shortfalls) == 0 {
		return "a job that goes first waits for quota"
	}

	first := r.Shortfalls[0]
	return fmt.Sprintf("%s and waits for quota, until %s at most", first.Detail, format.Minute(first.Until))
}

// nameless reports whether cards without a name are refused because they have none.
func nameless(reason quota.Reason) bool {
	switch reason {
	case quota.MixedResources, quota.UntypedPod, quota.Guaranteed, quota.Earmarked, quota.SearchExhausted:
		return false
	}
	return true
}

// addShortages adds each comparison that decided. It adds a bound once, because cards of one group share one.
func (e *Explainer) addShortages(reason *Reason, r *constraint.Refusal) {
	for _, f := range r.Shortfalls {
		if s := e.shortage(r, f); !slices.Contains(reason.Shortages, s) {
			reason.Shortages = append(reason.Shortages, s)
		}
	}
}

// Overcommit is the name of the bound of admission where a queue has an overcommit factor.
var Overcommit = byDeserved + " × " + policy.Short(policy.OvercommitFactorKey)

// The names of other bounds.
const (
	capability = "capability" // of admission and allocation
	byDeserved = "deserved"
	kept       = "what guarantees leave" // shared with allocations and unused guarantees of others
)

// against returns the name of the bound in a comparison, "" if nothing is compared.
func (e *Explainer) against(f constraint.Shortfall) string {
	switch {
	case f.Reason == quota.Earmarked || f.Reason == quota.HeldForFairShare:
		return ""
	case f.Against == constraint.Counted:
		return f.Count.Bound
	}
	return [...]string{
		constraint.Capability:   capability,
		constraint.Deserved:     byDeserved,
		constraint.Overcommit:   Overcommit,
		constraint.Unguaranteed: kept,
		constraint.HolderLimit:  policy.Short(card.HolderKey),
		constraint.SoftQuota:    policy.Short(policy.SoftQuotaKey),
		constraint.CardBudget:   policy.Short(card.BudgetKey),
	}[f.Against]
}

// Shortage converts a comparison to names and to the units of reasons.
func (e *Explainer) Shortage(f constraint.Shortfall) Shortage {
	s := Shortage{
		Queue:     e.Index.Name(f.Queue),
		Against:   e.against(f),
		Requested: f.Quantity,
		Total:     f.Total,
		Bound:     f.Bound,
	}
	s.setHolder(f.Holder)
	if f.Against == constraint.Counted {
		s.Resource = f.Count.Unit
		return s
	}

	if f.Against == constraint.CardBudget {
		s.Requested = budget.Hours(f.Need)
		s.Total = budget.Hours(f.Total)
		s.Bound = budget.Hours(f.Bound)
		s.Until = f.Until.UTC()
	} else {
		for _, quantity := range []*float64{&s.Requested, &s.Total, &s.Bound} {
			*quantity = format.Readable(f.Dim, *quantity)
		}
	}

	if f.Dim != constraint.NoDim {
		s.Resource = cards.Shown(e.Names.Name(f.Dim))
		s.Cards = e.Cards.GroupCards(f.Dim)
	}
	return s
}

// shortage is Shortage in a refusal: it names cards as the request does.
func (e *Explainer) shortage(r *constraint.Refusal, f constraint.Shortfall) Shortage {
	s := e.Shortage(f)
	switch {
	case f.Sum:
		s.Resource = e.Cards.Describe(r.Cards)
	case f.Reason.OfHolder():
	case !r.OfCards() && f.Against != constraint.Counted:
		s.Resource = e.Names.Name(f.Dim)
	case s.Against == "" || f.Dim == constraint.NoDim:
		s.Resource = cards.Shown(r.Cards.Selector.Names[f.Card])
		s.Requested = r.Cards.Amount.Cards()
		s.Cards = ""
	}
	return s
}

// explainList sets the shortages of a list of cards, in the order of the list. Each card has its own cause. If all
// have the same one, it becomes the rule of the reason.
func (e *Explainer) explainList(reason *Reason, r *constraint.Refusal) {
	reason.Queue = e.Index.Name(r.Queue)
	mixed := false
	for i, f := range r.Shortfalls {
		s := e.shortage(r, f)
		s.Rule = Rule(f.Reason.String())
		if s.Cards == "" || !slices.Contains(reason.Shortages, s) { // cards of one group have one bound
			reason.Shortages = append(reason.Shortages, s)
		}

		mixed = mixed || i > 0 && s.Rule != reason.Rule
		if i == 0 {
			reason.Rule = s.Rule
		}
	}

	switch {
	case reason.Rule == OverNamespace, reason.Rule == OverHolder:
		reason.setHolder(r.Shortfalls[0].Holder)
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

// holderOf returns the holder of the limit that refuses: of the first comparison, or of the limit in which no
// assignment fits.
func holderOf(r *constraint.Refusal) quota.Holder {
	if len(r.Shortfalls) > 0 {
		return r.Shortfalls[0].Holder
	}
	return r.Holder
}

// claimRules are the rules by which a node refuses a resource claim.
var claimRules = map[cards.NodeReason]Rule{
	cards.ClaimUnknown:  ClaimUnknown,
	cards.ClaimRefused:  ClaimRefused,
	cards.NoDevice:      NoDevice,
	cards.UnnamedDevice: UnnamedDevice,
}

// ExplainNode returns why a pod cannot have its cards on a node, nil if it can. r is the refusal if a rule refuses a
// card of the node.
func (e *Explainer) ExplainNode(fit cards.NodeFit, r *constraint.Refusal) *Reason {
	switch fit.Reason {
	case cards.NodeFits:
		return nil
	case cards.NoSuchCard:
		return &Reason{
			Rule:      NoSuchCard,
			Cards:     e.Cards.Describe(fit.Request),
			Requested: fit.Request.Amount.Cards(),
			typed:     fit.Request.Selector.Typed,
		}
	case cards.MissingLabel:
		return &Reason{Rule: UnlabeledNode, Resource: e.Cards.ResourceName(fit.Request.Resource), Label: fit.Label}
	case cards.ClaimUnknown, cards.ClaimRefused, cards.NoDevice, cards.UnnamedDevice:
		return &Reason{Rule: claimRules[fit.Reason], Detail: fit.Text, Label: fit.Label}
	case cards.RoomEarmarked:
		return &Reason{Rule: Earmarked}
	case cards.OtherDevice:
		return &Reason{Rule: OtherDevice, Cards: fit.Text, Detail: fit.Label}
	}
	return e.Explain(r)
}

// OtherCards keeps the text for nodes without the requested cards, because most nodes refuse a pod with the same
// text. The zero value is ready, and safe for many goroutines.
type OtherCards struct{ last atomic.Pointer[otherCards] }

type otherCards struct {
	request cards.Request
	text    string
}

// Text returns the text for a node without the requested cards (cards.NoSuchCard).
func (o *OtherCards) Text(e *Explainer, fit cards.NodeFit) string {
	last := o.last.Load()
	if last == nil || last.request != fit.Request {
		last = &otherCards{fit.Request, e.ExplainNode(fit, nil).String()}
		o.last.Store(last)
	}
	return last.text
}
