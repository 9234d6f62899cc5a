package explain

import (
	"fmt"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// advise returns what has to change so that a job need not wait.
func (e *explainer) advise(f *Finding) []string {
	if f.Reason != nil && len(f.Reason.Shortages) > 0 && f.Reason.Shortages[0].Rule != "" {
		return e.adviseList(f)
	}
	switch f.Rule {
	case report.UnknownQueue:
		return []string{fmt.Sprintf("create the queue %s, or name another one in spec.queue", f.Queue)}
	case report.BrokenQueue:
		if e.Annotated {
			return []string{fmt.Sprintf("correct the annotations %s and %s of the queue that is named", index.PathKey, index.WeightsKey)}
		}
		return []string{"correct spec.parent of the queue that is named: the path of each queue must end at the root"}
	case report.InnerQueue:
		f.Leaves = first(e.children[f.Queue], 5)
		return []string{LeafAdvice(f.Leaves)}
	case report.ClosedQueue:
		return []string{fmt.Sprintf("open the queue: vcctl queue operate -a open -n %s", f.Level)}
	case report.MixedResources:
		return []string{"name cards of one resource only, or submit a job for each"}
	case report.ResourceMismatch:
		return []string{fmt.Sprintf("request the resource of the cards in limits, or name a card of %s", f.Reason.Resource)}
	case report.UntypedPod:
		return []string{fmt.Sprintf("set the annotation %s of its pods, or the plugin's argument untypedCards to charge", card.NameKey)}
	case report.Guaranteed:
		return e.adviseGuaranteed(f)
	case report.Reserved, report.Earmarked, report.HeldForFairShare, report.HeldByOrder, report.OverSoftQuota:
		return []string{adviseOthers(f)}
	case report.SearchExhausted:
		return []string{"wait for pods of the queue to end, or use fewer sizes of pods or shorter lists of cards"}
	case report.TooManyJobs:
		return []string{fmt.Sprintf("wait for jobs of queue %s to end, or raise its annotation %s", f.Level, policy.MaxJobsKey)}
	case report.OverNamespace:
		key := policy.NamespaceCapabilityKey
		if f.Reason.Cards != "" {
			key = card.NamespaceKey
		}
		return []string{fmt.Sprintf("wait for jobs of the namespace %s in queue %s to end, or raise the annotation %s of the queue", f.Namespace,
			f.Level, key)}
	case report.OverHolder:
		return []string{fmt.Sprintf("wait for jobs of %s in queue %s to end, or raise its limit in the annotation %s of the queue", f.Reason.Holder,
			f.Level, card.HolderKey)}
	case report.OverBudget:
		return []string{adviseBudget(f)}
	case report.OverQuota, report.OverDeserved:
		return e.adviseShortages(f)
	case NotEnoughPods:
		return []string{"look at the job's controller: kubectl describe its Job"}
	case Gated:
		return []string{"the controller that set the scheduling gates must remove them"}
	case OtherPlugin:
		return []string{"look at the other plugins of the scheduler's configuration: the quota has room"}
	case Overused:
		return []string{"wait until pods of the queue end, or raise its weight"}
	}
	return adviseNodes(f)
}

// adviseOthers returns the advice about a job that waits for others.
func adviseOthers(f *Finding) string {
	switch f.Rule {
	case report.Reserved:
		return "wait until the pods whose queue allocation gate is removed have a node"
	case report.HeldForFairShare:
		return fmt.Sprintf("wait: the queue borrows again once %s has nodes, or its time (%s) is over", f.Reason.Detail, policy.FairShareHoldKey)
	case report.HeldByOrder:
		return fmt.Sprintf("wait until the job that goes first is admitted, or its time is over; or change the annotation %s of queue %s",
			policy.JobOrderKey, f.Level)
	case report.OverSoftQuota:
		return fmt.Sprintf("wait until other queues do not want the cards any more, or raise the annotation %s of queue %s", policy.SoftQuotaKey, f.Level)
	}
	return "wait until the pods that others were evicted for have a node"
}

// adviseNodes returns the advice about a job that the nodes have no place for.
func adviseNodes(f *Finding) []string {
	switch f.Rule {
	case report.UnlabeledNodes, report.UnlabeledNode:
		if card.IsRegistration(f.Reason.Label) {
			return []string{fmt.Sprintf("have the device plugin register the cards of the nodes: the annotation %s is missing or not valid", f.Reason.Label)}
		}
		return []string{fmt.Sprintf("set the label %s of the nodes", f.Reason.Label)}
	case report.ClaimUnknown:
		return []string{"create the ResourceClaim, or wait until Kubernetes makes it of its template; kubectl describe the pod"}
	case report.ClaimRefused:
		return []string{"correct the ResourceClaim or its DeviceClass"}
	case report.NoDevice:
		return []string{"request devices that some node has: kubectl get resourceslices lists them"}
	case report.UnnamedDevice:
		return []string{fmt.Sprintf("have the driver publish the attribute %s, or name another one in the argument cardAttributes", f.Reason.Label)}
	case report.OtherDevice:
		return []string{"let the selectors of the claim admit the named cards alone, or name all that it admits"}
	case report.NoSuchCard:
		return []string{"name a card that some node has; cardctl cards lists them"}
	case NodesTooSmall:
		return []string{largeAdvice}
	case NodesFull:
		advice := []string{"the quota has room but the nodes have none: wait for pods to end, or add nodes with such cards"}
		if f.Unlabeled > 0 {
			advice = append(advice, fmt.Sprintf("nodes whose cards have no name, and which may be such nodes: %d; cardctl cards names the label that they lack", f.Unlabeled))
		}
		return advice
	case NodesUnfit:
		return []string{"the quota has room: look at the pod's node selector, affinity and tolerations"}
	}
	return nil
}

// largeAdvice is the advice about a pod that requests more than every node has.
const largeAdvice = "no node is that large: request less for each pod, and run more pods"

// LeafAdvice is the advice about a job in an inner queue, which names some leaf queues below it.
func LeafAdvice(leaves []string) string {
	text := "submit it to a queue without children"
	if len(leaves) > 0 {
		text += ": " + strings.Join(leaves, ", ")
	}
	return text
}

// adviseList returns the advice for each card of a list whose cards do not fit for different causes.
func (e *explainer) adviseList(f *Finding) (all []string) {
	for _, s := range f.Reason.Shortages {
		own, reason := *f, *f.Reason
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
		f.Holders, f.Unused = append(f.Holders, own.Holders...), append(f.Unused, own.Unused...)
	}
	return all
}

// adviseGuaranteed names the guarantees that others do not use.
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
	advice := []string{"wait for pods to end, or lower what is guaranteed to queues that do not use it: spec.guarantee, or " + card.GuaranteeKey}
	return append(advice, e.adviseUnused(f, parent, f.Queue, resources)...)
}

// adviseUnused records the guarantees below a queue that nobody uses, and describes them.
func (e *explainer) adviseUnused(f *Finding, parent, without string, resources []string) (advice []string) {
	unused := e.unusedGuarantees(parent, without, resources)
	for _, u := range unused {
		advice = append(advice, u.String())
	}
	f.Unused = append(f.Unused, unused...)
	return advice
}

// adviseUntyped returns the advice about pods that name no card.
func (e *explainer) adviseUntyped(f *Finding) []string {
	advice := fmt.Sprintf("name a card: set the annotation %s of its pods", card.NameKey)
	var some []string
	for _, h := range e.accounts[f.Queue].Holdings {
		if h.Card && h.Capability > 0 && !math.IsInf(h.Capability, 1) {
			some = append(some, h.Resource)
		}
	}
	if len(some) == 0 {
		return []string{advice + fmt.Sprintf(", and give queue %s a quota of it (%s)", f.Queue, card.QuotaKey)}
	}
	return []string{advice + fmt.Sprintf("; queue %s has a quota of %s", f.Queue, strings.Join(some, ", "))}
}

// adviseShortages returns, for each bound that is exceeded, how much is missing at
// which queue. It also finds which jobs use it there.
func (e *explainer) adviseShortages(f *Finding) []string {
	var all []string
	shortages := f.Bounds
	if untyped := len(f.Cards) == 0 && f.Reason.Cards != ""; untyped {
		all = e.adviseUntyped(f)
		shortages = slices.DeleteFunc(slices.Clone(f.Reason.Shortages), func(s report.Shortage) bool { return s.Bound == 0 })
	} else if len(shortages) == 0 {
		shortages = f.Reason.Shortages
	}
	for _, s := range shortages {
		missing := Amount(s.Resource, s.Total-s.Bound)
		origin := e.origin(s)
		free, known := e.free()[s.Resource]
		switch {
		case e.isCard(s) && !known && !strings.Contains(s.Resource, "|"):
			all = append(all, fmt.Sprintf("no node has the card %s: name one that cardctl cards lists", s.Resource))
			continue
		case s.Against == report.Overcommit:
			all = append(all, fmt.Sprintf(
				"wait until jobs of %s end: they are admitted up to %s %s; or raise what it deserves, or its annotation %s",
				s.Queue, Amount(s.Resource, s.Bound), s.Resource, policy.OvercommitFactorKey))
		case origin == "":
			all = append(all, fmt.Sprintf("%s %s are missing: the cluster's total less the guarantees of other queues bounds %s", missing,
				s.Resource, s.Queue))
			all = append(all, e.adviseUnused(f, e.accounts[s.Queue].Parent, s.Queue, []string{s.Resource})...)
		case e.kept(s, origin):
			all = append(all, fmt.Sprintf("%s %s are missing in %s: the guarantees of other queues, or the cluster's total, lower its bound",
				missing, s.Resource, s.Queue))
			all = append(all, e.adviseUnused(f, e.accounts[s.Queue].Parent, s.Queue, []string{s.Resource})...)
		case s.Requested > s.Bound:
			all = append(all, e.adviseNever(f, s, origin))
			continue
		case e.isCard(s) && known && free < s.Total-e.allocated(s):
			all = append(all, fmt.Sprintf("raising %s does not help while the nodes have %s free: free %s in it",
				e.field(s, origin), Amount(s.Resource, free), missing))
		default:
			all = append(all, fmt.Sprintf("raise %s to %s, or free %s in it", e.field(s, origin), Amount(s.Resource, s.Total), missing))
		}
		if holders := e.holders(s); len(holders.Jobs) > 0 {
			f.Holders = append(f.Holders, holders)
		}
	}
	return all
}

// adviseNever returns the advice about a bound that is less than what is requested.
func (e *explainer) adviseNever(f *Finding, s report.Shortage, origin string) string {
	raise := fmt.Sprintf("it can never run in %s as it is: raise %s to %s", f.Queue, e.field(s, origin), Amount(s.Resource, s.Total))
	if s.Total > s.Requested {
		raise += fmt.Sprintf(", or to %s and free %s in it", Amount(s.Resource, s.Requested), Amount(s.Resource, s.Total-s.Requested))
	}
	return raise + ", or request less"
}

// free returns how many of each card, and of each group of cards, no pod uses. It has the cards of all nodes that take
// pods.
func (e *explainer) free() map[string]float64 {
	if e.unused == nil {
		e.unused = map[string]float64{}
		labels := e.CardLabels()
		groups := e.CardGroups()
		fractions := e.CardFractions()
		for _, node := range e.NodeList {
			if engine.Unusable(node.Node) != "" {
				continue
			}
			inventory := card.OnNode(node.Node, labels)
			for _, c := range inventory.Cards {
				free := max(0, c.Milli.Cards()-engine.Used(node, inventory, c, fractions))
				e.unused[c.Name] += free
				groups.Add(e.unused, c.Name, free)
			}
		}
		e.freeDevices()
	}
	return e.unused
}

// freeDevices adds the cards that are devices which no claim has.
func (e *explainer) freeDevices() {
	taken := map[card.SliceDevice]bool{}
	for _, claim := range e.Devices.Claims {
		if claim.Status.Allocation != nil {
			for _, r := range claim.Status.Allocation.Devices.Results {
				taken[card.SliceDevice{Driver: r.Driver, Pool: r.Pool, Name: r.Device}] = true
			}
		}
	}
	for _, d := range e.CardAttributes().Devices(e.Devices.Slices) {
		if d.Card != "" && !taken[card.SliceDevice{Driver: d.Driver, Pool: d.Pool, Name: d.Name}] {
			e.unused[d.Card]++
			e.CardGroups().Add(e.unused, d.Card, 1)
		}
	}
}

// field is the field that sets a bound, as users write it.
func (e *explainer) field(s report.Shortage, origin string) string {
	what := "spec." + s.Against
	if e.isCard(s) {
		key := card.QuotaKey
		if s.Against == "deserved" {
			key = card.DeservedKey
		}
		what = fmt.Sprintf("%s of %q", key, s.Resource)
	} else {
		what += "." + s.Resource
	}
	return fmt.Sprintf("%s of queue %s", what, origin)
}

// allocated returns the cards that are allocated to the queue of a shortage.
func (e *explainer) allocated(s report.Shortage) float64 {
	h, _ := e.holding(s.Queue, s.Resource)
	return h.Allocated
}

func (e *explainer) isCard(s report.Shortage) bool {
	for _, a := range e.accounts {
		for _, h := range a.Holdings {
			if h.Resource == s.Resource {
				return h.Card
			}
		}
	}
	return s.Resource != "cpu" && s.Resource != "memory" && e.Plugin == plugin.Name
}

// origin is the queue whose configuration sets a bound, "" if no queue sets it.
func (e *explainer) origin(s report.Shortage) string {
	if e.isCard(s) || s.Against != "capability" || s.Bound == 0 {
		return s.Queue
	}
	if queue := e.Session.Queues[api.QueueID(s.Queue)]; queue != nil {
		if _, set := e.configured(queue.Name, s.Resource); set {
			return s.Queue
		}
	}
	return ""
}

// kept reports whether a bound is lower than the capability that its queue sets,
// because of the guarantees of others or the cluster's total.
func (e *explainer) kept(s report.Shortage, origin string) bool {
	queue := e.Session.Queues[api.QueueID(origin)]
	if queue == nil || s.Against != "capability" {
		return false
	}
	most, set := e.configured(queue.Name, s.Resource)
	return set && most >= s.Total
}

// configured is the bound of a resource in a queue's own capability or quota.
func (e *explainer) configured(queue, resource string) (most float64, set bool) {
	if quantity, ok := e.Quota.Spec(queue).Capability[v1.ResourceName(resource)]; ok {
		return quantity.AsApproximateFloat64(), true
	}
	most, set = engine.Cards(e.Quota.Annotations(queue)[card.QuotaKey])[resource]
	return most, set
}

func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

// adviseBudget says when more is left of a budget, and what sets it.
func adviseBudget(f *Finding) string {
	if len(f.Reason.Shortages) > 0 && f.Reason.Shortages[0].Until != "" {
		return fmt.Sprintf("wait until %s, submit a shorter job, or raise the annotation %s of queue %s", f.Reason.Shortages[0].Until, card.BudgetKey, f.Level)
	}
	return fmt.Sprintf("wait, submit a shorter job, or raise the annotation %s of queue %s", card.BudgetKey, f.Level)
}
