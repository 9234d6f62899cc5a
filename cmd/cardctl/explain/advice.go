package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/stock"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// roomAdvice is the advice about a job that has no room on the nodes, as long as nothing else helps.
const roomAdvice = "the quota has room but the nodes have none: wait for pods to end, or add nodes with such cards"

func isRoomAdvice(line string) bool { return line == roomAdvice }

// advise returns the changes that would let a job in.
func (e *explainer) advise(f *Finding) []string {
	// The cards of a list have a rule of their own if they do not fit for different causes.
	if f.Reason != nil && len(f.Reason.Shortages) > 0 && f.Reason.Shortages[0].Rule != "" {
		return e.adviseList(f)
	}

	switch f.Rule {
	case report.Guaranteed:
		return e.adviseGuaranteed(f)
	case report.OverQuota, report.OverDeserved:
		return e.adviseShortages(f)
	case NodesFull:
		return adviseFull(f)
	case report.InnerQueue:
		f.Leaves = first(e.children[f.Queue], 5)
		return []string{LeafAdvice(f.Leaves)}
	}

	advice := cmp.Or(e.adviseQueue(f), adviseNodes(f), adviceOf(f.Rule))
	if advice != "" {
		return []string{advice}
	}
	return nil
}

// adviseQueue returns the advice about a state or a policy of the queue that refuses a job, "" for any other rule.
func (e *explainer) adviseQueue(f *Finding) string {
	switch f.Rule {
	case report.UnknownQueue:
		return fmt.Sprintf("create the queue %s, or name another one in spec.queue", f.Queue)
	case report.BrokenQueue:
		if e.Annotated {
			return fmt.Sprintf("correct the annotations %s and %s of the queue that is named",
				index.PathKey, index.WeightsKey)
		}
		return "correct spec.parent of the queue that is named: the path of each queue must end at the root"
	case report.ClosedQueue:
		return fmt.Sprintf("open the queue: vcctl queue operate -a open -n %s", f.Level)
	case report.HeldForFairShare:
		return fmt.Sprintf("wait: the queue borrows again once %s has nodes, or its time (%s) is over",
			f.Reason.Detail, "nodes= of "+policy.OrderKey)
	case report.HeldByOrder:
		return fmt.Sprintf("wait until the job that goes first is admitted, or its time is over; "+
			"or change the annotation %s of queue %s", policy.OrderKey, f.Level)
	case report.OverSoftQuota:
		return fmt.Sprintf(
			"wait until other queues do not want the cards any more, or raise the annotation %s of queue %s",
			policy.SoftQuotaKey, f.Level)
	case report.TooManyJobs:
		return fmt.Sprintf("wait for jobs of queue %s to end, or raise its annotation %s", f.Level, policy.MaxJobsKey)
	case report.OverNamespace:
		return fmt.Sprintf(
			"wait for jobs of the namespace %s in queue %s to end, or raise the annotation %s of the queue",
			f.Namespace, f.Level, card.HolderKey)
	case report.OverHolder:
		return fmt.Sprintf(
			"wait for jobs of %s in queue %s to end, or raise its limit in the annotation %s of the queue",
			f.Reason.Holder, f.Level, card.HolderKey)
	case report.OverBudget:
		if len(f.Reason.Shortages) > 0 && !f.Reason.Shortages[0].Until.IsZero() {
			return fmt.Sprintf("wait until %s, submit a shorter job, or raise the annotation %s of queue %s",
				format.Minute(f.Reason.Shortages[0].Until), card.BudgetKey, f.Level)
		}
		return fmt.Sprintf("wait, submit a shorter job, or raise the annotation %s of queue %s",
			card.BudgetKey, f.Level)
	}
	return ""
}

// adviseNodes returns the advice about names of cards that are wrong or missing, "" for any other rule.
func adviseNodes(f *Finding) string {
	switch f.Rule {
	case report.ResourceMismatch:
		return fmt.Sprintf("request the resource of the cards in limits, or name a card of %s", f.Reason.Resource)
	case report.UntypedPod:
		return fmt.Sprintf("set the annotation %s of its pods, or the plugin's argument untypedCards to charge",
			card.NameKey)
	case report.UnnamedDevice:
		return fmt.Sprintf(
			"have the driver publish the attribute %s, or name another one in the argument cardAttributes",
			f.Reason.Label)
	case report.UnlabeledNodes, report.UnlabeledNode:
		if card.IsRegistration(f.Reason.Label) {
			return fmt.Sprintf("have the device plugin register the cards of the nodes: "+
				"the annotation %s is missing or not valid", f.Reason.Label)
		}
		return fmt.Sprintf("set the label %s of the nodes", f.Reason.Label)
	}
	return ""
}

// adviseFull returns the advice about a job that has no room on the nodes with its cards.
func adviseFull(f *Finding) []string {
	advice := []string{roomAdvice}
	if f.Verdict != nil && f.Verdict.Kind == Never {
		advice = []string{fmt.Sprintf("the nodes have room for %d of the %d pods that it needs, even if it is alone: "+
			"add nodes with such cards, or request less", f.Verdict.Fit, f.Pods.Minimum)}
	}
	if f.Unlabeled > 0 {
		advice = append(advice, fmt.Sprintf("nodes with cards without a name, which may be such nodes: %d; "+
			"cardctl cards names the label that they lack", f.Unlabeled))
	}
	return advice
}

// LeafAdvice returns the advice about a job in an inner queue, which names some leaf queues below it.
func LeafAdvice(leaves []string) string {
	text := "submit it to a queue without children"
	if len(leaves) > 0 {
		text += ": " + strings.Join(leaves, ", ")
	}
	return text
}

// adviseList returns the advice for each card of a list, where the cards of the list do not fit for different causes.
func (e *explainer) adviseList(f *Finding) (all []string) {
	for _, s := range f.Reason.Shortages {
		reason := *f.Reason
		own := *f
		own.Rule = s.Rule
		own.Level = s.Queue
		own.Reason = &reason
		own.Holders = nil
		own.Unused = nil
		s.Rule = ""
		reason.Shortages = []report.Shortage{s}

		for _, advice := range e.advise(&own) {
			if !slices.Contains(all, advice) {
				all = append(all, advice)
			}
		}
		f.Holders = append(f.Holders, own.Holders...)
		f.Unused = append(f.Unused, own.Unused...)
	}
	return all
}

// adviseGuaranteed names the guarantees that other queues do not use.
func (e *explainer) adviseGuaranteed(f *Finding) []string {
	resources := []string(card.ParseList(f.Reason.Cards))
	for _, s := range f.Reason.Shortages {
		resources = append(resources, s.Resource)
	}
	if len(resources) == 0 {
		resources = []string{"cpu", "memory"}
	}

	parent := f.Level
	if parent == f.Queue { // queues are flat
		parent = ""
	}

	advice := "wait for pods to end, or lower what is guaranteed to queues that do not use it: spec.guarantee, or " +
		card.GuaranteeKey
	return append([]string{advice}, e.adviseUnused(f, parent, f.Queue, resources...)...)
}

// adviseUntyped returns the advice about pods that name no card.
func (e *explainer) adviseUntyped(f *Finding) string {
	advice := fmt.Sprintf("name a card: set the annotation %s of its pods", card.NameKey)
	var some []string
	for _, h := range e.accounts[f.Queue].Holdings {
		if h.Card && h.Capability > 0 && !math.IsInf(h.Capability, 1) {
			some = append(some, h.Resource)
		}
	}

	if len(some) == 0 {
		return advice + fmt.Sprintf(", and give queue %s a quota of it (%s)", f.Queue, card.QuotaKey)
	}
	return advice + fmt.Sprintf("; queue %s has a quota of %s", f.Queue, strings.Join(some, ", "))
}

// adviseShortages returns the advice about each bound that is exceeded.
func (e *explainer) adviseShortages(f *Finding) (all []string) {
	shortages := f.Bounds
	if len(f.Cards) == 0 && f.Reason.Cards != "" {
		all = []string{e.adviseUntyped(f)}
		isUnset := func(s report.Shortage) bool { return s.Bound == 0 }
		shortages = slices.DeleteFunc(slices.Clone(f.Reason.Shortages), isUnset)
	} else if len(shortages) == 0 {
		shortages = f.Reason.Shortages
	}

	for _, s := range shortages {
		all = append(all, e.adviseShortage(f, s)...)
	}
	return all
}

// adviseShortage says how much is missing at which queue. It records the jobs that hold the resource there, unless no
// job could free enough of it.
func (e *explainer) adviseShortage(f *Finding, s report.Shortage) (advice []string) {
	missing := Amount(s.Resource, s.Total-s.Bound)
	isCard := e.isCard(s)
	most, configured := e.configured(s.Queue, s.Resource)
	ofCluster := !isCard && s.Against == "capability" && s.Bound != 0 && !configured // no queue sets the bound
	free, onNodes := e.free()[s.Resource]
	allocated, _ := e.holding(s.Queue, s.Resource)

	switch {
	case isCard && !onNodes && !strings.Contains(s.Resource, "|"):
		return []string{fmt.Sprintf("no node has the card %s: name one that cardctl cards lists", s.Resource)}
	case s.Against == report.Overcommit:
		advice = []string{fmt.Sprintf(
			"wait until jobs of %s end: they are admitted up to %s %s; or raise what it deserves, or its annotation %s",
			s.Queue, Amount(s.Resource, s.Bound), s.Resource, policy.OvercommitFactorKey)}
	case ofCluster:
		advice = []string{fmt.Sprintf(
			"%s %s are missing: the cluster's total less the guarantees of other queues bounds %s",
			missing, s.Resource, s.Queue)}
		advice = append(advice, e.adviseUnused(f, e.accounts[s.Queue].Parent, s.Queue, s.Resource)...)
	case s.Against == "capability" && configured && most >= s.Total && e.boundAbove(s) != "":
		above := s
		above.Queue = e.boundAbove(s)
		if slices.ContainsFunc(f.Bounds, func(other report.Shortage) bool { return other.Queue == above.Queue }) {
			return nil // the advice about that queue follows
		}
		return e.adviseShortage(f, above)
	case s.Against == "capability" && configured && most >= s.Total:
		advice = []string{fmt.Sprintf(
			"%s %s are missing in %s: the guarantees of other queues, or the cluster's total, lower its bound",
			missing, s.Resource, s.Queue)}
		advice = append(advice, e.adviseUnused(f, e.accounts[s.Queue].Parent, s.Queue, s.Resource)...)
	case s.Requested > s.Bound:
		return []string{e.adviseNever(f, s)}
	case isCard && onNodes && free < s.Total-allocated.Allocated:
		advice = []string{fmt.Sprintf("raising %s does not help while the nodes have %s free: free %s in it",
			e.field(s), Amount(s.Resource, free), missing)}
	default:
		advice = []string{fmt.Sprintf("raise %s to %s, or free %s in it",
			e.field(s), Amount(s.Resource, s.Total), missing)}
	}

	if holders := e.holders(s.Queue, s.Resource); len(holders.Jobs) > 0 {
		f.Holders = append(f.Holders, holders)
	}
	return advice
}

// adviseNever returns the advice about a bound that is less than the request.
func (e *explainer) adviseNever(f *Finding, s report.Shortage) string {
	if f.Verdict != nil && f.Verdict.Kind == Until {
		return f.never(false)
	}

	raise := f.never(len(e.changing(f.Queue)) > 0)
	raise += fmt.Sprintf(" raise %s to %s", e.field(s), Amount(s.Resource, s.Total))
	if s.Total > s.Requested {
		raise += fmt.Sprintf(", or to %s and free %s in it",
			Amount(s.Resource, s.Requested), Amount(s.Resource, s.Total-s.Requested))
	}

	return raise + ", or request less"
}

// countFree returns the cards that no pod uses on the nodes that take pods, by card and by group of cards.
func (e *explainer) countFree() map[string]float64 {
	free := map[string]float64{}
	groups := e.Settings().Cards.Groups

	for _, on := range stock.Count(e.world, e.Session).Nodes {
		if on.Why == "" {
			free[on.Card] += on.Free
			groups.Add(free, on.Card, on.Free)
		}
	}
	return free
}

// field returns the field that sets a bound, as users write it.
func (e *explainer) field(s report.Shortage) string {
	name := fmt.Sprintf("spec.%s.%s", s.Against, s.Resource)
	if e.isCard(s) {
		key := card.QuotaKey
		if s.Against == "deserved" {
			key = card.DeservedKey
		}
		name = fmt.Sprintf("%s of %q", key, s.Resource)
		for _, share := range e.Quota.Shares(s.Queue) {
			if share.Annotation == key && share.Card == s.Resource {
				name += fmt.Sprintf(" (%s)", share)
			}
		}
	}
	return name + " of queue " + s.Queue
}

// isCard reports whether the resource of a shortage is a card, or a list of cards.
func (e *explainer) isCard(s report.Shortage) bool {
	for _, a := range e.accounts {
		for _, h := range a.Holdings {
			if h.Resource == s.Resource {
				return h.Card
			}
		}
	}

	// No queue has an account of a list of cards, or of a card that nobody has.
	return s.Resource != "cpu" && s.Resource != "memory" && e.Plugin == plugin.Name
}

// configured returns the bound of a resource in the capability or the quota of a queue itself.
func (e *explainer) configured(queue, resource string) (most float64, set bool) {
	if quantity, ok := e.Quota.Spec(queue).Capability[v1.ResourceName(resource)]; ok {
		return quantity.AsApproximateFloat64(), true
	}

	most, set = e.Amounts(queue, card.QuotaKey)[resource]
	return most, set
}

// boundAbove returns the ancestor of a queue that sets a bound, "" if none does.
func (e *explainer) boundAbove(s report.Shortage) string {
	for above := range e.path(e.accounts[s.Queue].Parent) {
		most, set := e.configured(above, s.Resource)
		if set && most <= s.Bound {
			return above
		}
	}
	return ""
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }
