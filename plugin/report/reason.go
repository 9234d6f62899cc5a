package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/format"
	"github.com/capacity-card/capacity-card/quota"
)

// Rule names the rule that refuses a job or a task.
type Rule string

// The rules that the code here and in cardctl names. The rules up to ReclaimBudgetUsed are reasons of package quota.
const (
	UnknownQueue      Rule = "UnknownQueue"
	BrokenQueue       Rule = "BrokenQueue"
	InnerQueue        Rule = "InnerQueue"
	ClosedQueue       Rule = "ClosedQueue"
	TooManyJobs       Rule = "TooManyJobs" // the queue has reached its maximum of admitted jobs
	HeldByOrder       Rule = "HeldByOrder" // a job of the queue that goes first waits for quota
	OverQuota         Rule = "OverQuota"
	OverNamespace     Rule = "OverNamespace" // the namespace has reached its limit in a queue
	OverHolder        Rule = "OverHolder"    // the user, the group or the value of a label has reached its limit
	OverBudget        Rule = "OverBudget"    // the queue has too little left of its budget of a card
	OverSoftQuota     Rule = "OverSoftQuota" // the queue would exceed its soft quota, and others want the rest
	OverDeserved      Rule = "OverDeserved"
	Guaranteed        Rule = "Guaranteed"       // the rest is guaranteed to other queues
	Reserved          Rule = "Reserved"         // the rest is reserved for pods that get a node soon
	Earmarked         Rule = "Earmarked"        // the rest is for pods that others were evicted for
	HeldForFairShare  Rule = "HeldForFairShare" // the rest is held for a job of a queue that goes first
	MixedResources    Rule = "MixedResources"
	ResourceMismatch  Rule = "ResourceMismatch"
	UntypedPod        Rule = "UntypedPod"
	SearchExhausted   Rule = "SearchExhausted"   // the search for an assignment of cards used up its budget
	ReclaimDelayed    Rule = "ReclaimDelayed"    // the pod has not waited for the delay of its queue
	TrainingJob       Rule = "TrainingJob"       // pods of this service class take nothing from other queues
	ReclaimBudgetUsed Rule = "ReclaimBudgetUsed" // the queue has used up its budget of pods to take from others
	UnlabeledNodes    Rule = "UnlabeledNodes"    // no node with the resource has the label that names the card
	NoSuchCard        Rule = "NoSuchCard"        // the node has none of the cards
	UnlabeledNode     Rule = "UnlabeledNode"     // the node has the resource, but lacks the label that names the card
	ClaimUnknown      Rule = "ClaimUnknown"      // a resource claim of the pod does not exist
	ClaimRefused      Rule = "ClaimRefused"      // a resource claim of the pod can be served nowhere
	NoDevice          Rule = "NoDevice"          // the node has no device for a resource claim of the pod
	UnnamedDevice     Rule = "UnnamedDevice"     // a claim may get a device without the attribute that names the card
	OtherDevice       Rule = "OtherDevice"       // a resource claim may get a card there that the pod does not name
)

// Reason says why a job or a task waits. Events, conditions, logs and cardctl show its String.
type Reason struct {
	Rule  Rule   `json:"rule"`
	Queue string `json:"queue,omitempty"` // the queue that refuses: the job's queue or an ancestor
	// Cards is the list of a pod, or the resource that an untyped pod requests.
	Cards     string  `json:"cards,omitempty"`
	Requested float64 `json:"requested,omitempty"` // of Cards, in whole cards
	// Resource is the resource that the pod requests, if its cards have another one.
	Resource string `json:"resource,omitempty"`
	Label    string `json:"label,omitempty"` // that the node lacks
	// Detail says why the queue does not reach the root, which job holds the cards or goes first, or which claim or
	// device is refused.
	Detail string `json:"detail,omitempty"`
	// Limited is the holder of the limit, if the limit is not for all jobs.
	Limited
	// Shortages are the bounds that the request exceeds: one for each card of a list, or one for each resource.
	Shortages []Shortage `json:"shortages,omitempty"`

	typed bool // the pod lists its cards
}

// Shortage is a bound that a request exceeds:
//
//	Total = allocated + reservations for others + Requested > Bound
//
// cpu is in cores, memory in bytes, cards and everything else in whole units.
type Shortage struct {
	Queue     string  `json:"queue"` // the queue with the bound: the job's queue or an ancestor
	Resource  string  `json:"resource"`
	Requested float64 `json:"requested"`
	Total     float64 `json:"total"`
	Bound     float64 `json:"bound"`
	Against   string  `json:"against"` // name of the bound, such as capability or deserved
	// Cards are the cards of a group. It is "" if Resource is no group.
	Cards string `json:"cards,omitempty"`
	// Rule is the rule for one card of a list, if the cards are refused by different rules.
	Rule Rule `json:"rule,omitempty"`
	// Limited is the holder of the bound, if the bound is not for all jobs.
	Limited
	// Until is the time from which a budget has more left. Then Requested, Total and Bound are card-hours.
	Until time.Time `json:"until,omitzero"`
}

// Holder has the jobs to which a limit applies.
type Holder = quota.Holder

// Limited names the holder of a limit: a namespace, or a holder of another kind.
type Limited struct {
	Namespace string `json:"namespace,omitempty"`
	Holder    Holder `json:"holder,omitzero"`
}

func (l *Limited) setHolder(h Holder) {
	*l = Limited{Holder: h}
	if h.Key == quota.HolderNamespace {
		*l = Limited{Namespace: h.Value}
	}
}

// phrase formats the holder. It is "" for a bound of all jobs.
func (l Limited) phrase() string {
	switch {
	case l.Namespace != "":
		return " for namespace <" + l.Namespace + ">"
	case l.Holder != Holder{}:
		return " for " + l.Holder.String()
	}
	return ""
}

// maxUntypedShortages is the maximum number of shortages that are listed for an untyped pod. Any card of its resource
// would do, so a longer list says no more.
const maxUntypedShortages = 2

// maxShortages is the maximum number of shortages that String lists. Volcano copies the text to the conditions of the
// job and of each pod, and their size is limited.
const maxShortages = 8

// String formats the reason for events and conditions.
func (r Reason) String() string { return r.In(format.Mi) }

// In formats the reason with memory in a given unit.
func (r Reason) In(memory format.Unit) string {
	switch r.Rule {
	case UnknownQueue:
		return "The job's queue does not exist"
	case BrokenQueue:
		return fmt.Sprintf("Queue <%s> takes no jobs: %s", r.Queue, r.Detail)
	case InnerQueue:
		return fmt.Sprintf("Queue <%s> has child queues and takes no jobs itself", r.Queue)
	case ClosedQueue:
		return fmt.Sprintf("Queue <%s> is not open", r.Queue)
	case Guaranteed, Earmarked:
		if r.Rule == Earmarked && r.Queue == "" {
			return nodeEarmarked
		}
		if len(r.Shortages) > 0 {
			return r.shortages(memory)
		}
		use := map[Rule]string{Guaranteed: "guaranteed to other queues", Earmarked: earmarked}[r.Rule]
		return fmt.Sprintf("What is left at queue <%s> is %s%s", r.Queue, use, r.requested())
	case HeldForFairShare:
		return fmt.Sprintf("Queue <%s> may not borrow what is left: "+
			"it is held for %s, which goes first and waits for nodes%s",
			r.Queue, r.Detail, r.requested())
	case HeldByOrder:
		return fmt.Sprintf("Queue <%s> holds the job back: %s", r.Queue, r.Detail)
	case OverBudget:
		if r.Detail != "" {
			return fmt.Sprintf("Queue <%s> has a budget of <%s>, and %s", r.Queue, r.Cards, r.Detail)
		}
		return r.shortages(memory)
	case MixedResources:
		return fmt.Sprintf("Cards <%s> do not share one resource name, so no pod can request either of them", r.Cards)
	case ResourceMismatch:
		return fmt.Sprintf("Pod requests <%s>, which is not the resource name of the cards <%s>", r.Resource, r.Cards)
	case UntypedPod:
		return fmt.Sprintf("Pod requests <%s> but names no card: set the annotation %s", r.Cards, card.NameKey)
	case SearchExhausted:
		return fmt.Sprintf("Queue <%s> may have room for <%s> of <%s>, but the search for an assignment of cards "+
			"used up its budget in this session",
			r.Queue, card.FormatDecimal(r.Requested), r.Cards)
	case ReclaimDelayed, TrainingJob, ReclaimBudgetUsed:
		return r.ofReclaim()
	case UnlabeledNodes:
		return fmt.Sprintf("No queue has a quota of <%s>: the nodes that have it lack %s", r.Cards, r.naming())
	case NoSuchCard:
		if r.typed {
			return fmt.Sprintf("node(s) have none of the cards <%s>", r.Cards)
		}
		return fmt.Sprintf("node(s) have no <%s>", r.Cards)
	case ClaimUnknown, ClaimRefused, NoDevice, UnnamedDevice, OtherDevice:
		return r.ofClaim()
	case UnlabeledNode:
		return fmt.Sprintf("node(s) have <%s> but lack %s", r.Resource, r.naming())
	}

	// The other rules compare the request with bounds.
	if r.Rule == Reserved && !r.mixed() {
		return r.shortages(memory) + reserved
	}
	return r.shortages(memory)
}

// ofReclaim formats why a queue takes nothing from others.
func (r Reason) ofReclaim() string {
	why := " for the pod: its service class is " + policy.Training
	switch r.Rule {
	case ReclaimDelayed:
		why = " for the pod yet: the pod waits for less than " + policy.ReclaimDelayKey
	case ReclaimBudgetUsed:
		why = " " + r.Detail
	}

	return fmt.Sprintf("Queue <%s> takes nothing from other queues%s", r.Queue, why)
}

// ofClaim formats a reason about a resource claim.
func (r Reason) ofClaim() string {
	switch r.Rule {
	case ClaimUnknown:
		return fmt.Sprintf("resource claim <%s> does not exist yet", r.Detail)
	case NoDevice:
		return fmt.Sprintf("node(s) have too few devices for resource claim <%s>", r.Detail)
	case UnnamedDevice:
		return fmt.Sprintf("node(s) have devices of <%s> that lack the attribute %s, which names the card",
			r.Detail, r.Label)
	case OtherDevice:
		return fmt.Sprintf("resource claims may get <%s> on the node(s), and the pod names <%s>", r.Detail, r.Cards)
	}
	return "resource claim " + r.Detail // that can be served nowhere
}

// naming names the label or annotation that a node lacks to name its cards.
func (r Reason) naming() string {
	if card.IsRegistration(r.Label) {
		return fmt.Sprintf("a valid annotation %s, which registers the cards", r.Label)
	}
	return fmt.Sprintf("the label %s, which names the card", r.Label)
}

// requested formats the requested cards. It is "" if there are none.
func (r Reason) requested() string {
	if r.Cards == "" {
		return ""
	}
	return fmt.Sprintf(": requested <%s> of <%s>", card.FormatDecimal(r.Requested), r.Cards)
}

// nodeEarmarked says why a node has no room for a pod that would fit.
const nodeEarmarked = "node(s) have room that is " + earmarked

// LeftToAllocate says why an action that evicts may not place a pod on idle room.
const LeftToAllocate = "the node has room now, and nobody is evicted for the pod or its gang: " +
	"it waits for the action allocate"

// earmarked ends the texts about room that earmarks keep.
const earmarked = "earmarked for pods that others were evicted for"

// reserved ends the text of a shortage that only reservations cause.
const reserved = "; the rest is reserved for pods that wait for a node"

// mixed reports whether different rules refuse the cards of a list.
func (r Reason) mixed() bool { return len(r.Shortages) > 0 && r.Shortages[0].Rule != "" }

// shortages formats the shortages.
func (r Reason) shortages(memory format.Unit) string {
	switch {
	case r.Cards != "" && !r.typed && len(r.Shortages) > maxUntypedShortages && !r.mixed():
		return fmt.Sprintf("Queue <%s> has insufficient quota of every <%s> card: requested <%s>",
			r.Queue, r.Cards, card.FormatDecimal(r.Requested))
	case len(r.Shortages) > 0:
	case r.Cards != "": // no single bound is exceeded: the cards cannot be assigned to all pods at once
		return fmt.Sprintf("Queue <%s> has insufficient <%s> quota%s: requested <%s>",
			r.Queue, r.Cards, r.phrase(), card.FormatDecimal(r.Requested))
	default:
		return fmt.Sprintf("Queue <%s> has no quota for a requested resource", r.Queue)
	}

	var each []string
	for _, s := range r.Shortages[:min(len(r.Shortages), maxShortages)] {
		each = append(each, s.in(memory))
	}

	if more := len(r.Shortages) - maxShortages; more > 0 {
		kind := "resources"
		if r.Cards != "" {
			kind = "cards of the list"
		}
		each = append(each, fmt.Sprintf("and %d more %s", more, kind))
	}
	return strings.Join(each, "; ")
}

// in formats the shortage.
func (s Shortage) in(memory format.Unit) string {
	amount := func(quantity float64) string { return format.Amount(s.Resource, quantity, memory) }
	switch s.Rule {
	case Guaranteed:
		return fmt.Sprintf("What is left of <%s> at queue <%s> is guaranteed to other queues: requested <%s>",
			s.Resource, s.Queue, amount(s.Requested))
	case HeldForFairShare:
		return fmt.Sprintf("What queue <%s> may borrow of <%s> is held for a job that goes first: requested <%s>",
			s.Queue, s.Resource, amount(s.Requested))
	case Earmarked:
		return fmt.Sprintf("What is left of <%s> at queue <%s> is %s: requested <%s>",
			s.Resource, s.Queue, earmarked, amount(s.Requested))
	}

	if s.Against == policy.Short(card.BudgetKey) {
		return s.ofBudget()
	}

	end := ""
	if s.Cards != "" {
		end = fmt.Sprintf(" (%s)", s.Cards)
	}
	if s.Against == policy.Short(policy.SoftQuotaKey) {
		end += " and other queues want what is left"
	}
	if s.Rule == Reserved {
		end += reserved
	}

	return fmt.Sprintf("Queue <%s> has insufficient <%s> quota%s: "+
		"requested <%s>, total would be <%s>, but %s is <%s>%s",
		s.Queue, s.Resource, s.phrase(), amount(s.Requested), amount(s.Total), s.Against, amount(s.Bound), end)
}

// ofBudget formats the shortage of a budget.
func (s Shortage) ofBudget() string {
	needs := ""
	unit := " card-hours"
	if s.Requested > 0 {
		needs = fmt.Sprintf("the job needs <%s> card-hours, ", format.CardHours(s.Requested))
		unit = ""
	}

	until := ""
	if !s.Until.IsZero() {
		until = " until " + format.Minute(s.Until)
	}

	left := max(0, s.Bound-(s.Total-s.Requested))
	return fmt.Sprintf(
		"Queue <%s> has insufficient <%s> budget: %s<%s> of <%s>%s are left%s",
		s.Queue,
		s.Resource,
		needs,
		format.CardHours(left),
		format.CardHours(s.Bound),
		unit,
		until,
	)
}
