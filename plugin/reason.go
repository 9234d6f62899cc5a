package plugin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/index/card"
)

// Rule names what refuses a job or a task.
type Rule string

// The rules. Those up to UnnamedCards are package quota's reasons; the last two
// are about a node.
const (
	UnknownQueue  Rule = "UnknownQueue"
	BrokenQueue   Rule = "BrokenQueue"
	InnerQueue    Rule = "InnerQueue"
	ClosedQueue   Rule = "ClosedQueue"
	OverQuota     Rule = "OverQuota"
	OverDeserved  Rule = "OverDeserved"
	MixedCards    Rule = "MixedCards"
	OtherCards    Rule = "OtherCards"
	UnnamedCards  Rule = "UnnamedCards"
	NamelessCards Rule = "NamelessCards" // nodes have the resource, and no label says which card it is
	NoSuchCard    Rule = "NoSuchCard"    // the node has none of the cards
	CardUnlabeled Rule = "CardUnlabeled" // the node has the resource, and lacks the label that names the card
)

// Reason is why a job or a task waits, as a value. Events, conditions and logs
// say what String returns, so that whoever shows reasons shows the same.
type Reason struct {
	Rule  Rule   `json:"rule"`
	Queue string `json:"queue,omitempty"` // where the rule was broken: the job's queue, or one above it
	// Cards is the list that a pod names, or the resource of one that names none.
	Cards     string  `json:"cards,omitempty"`
	Requested float64 `json:"requested,omitempty"` // of Cards, in whole cards
	// Resource is what a pod asks for in place of what its cards are asked for with.
	Resource string `json:"resource,omitempty"`
	Label    string `json:"label,omitempty"`  // that the node lacks
	Detail   string `json:"detail,omitempty"` // what is wrong with the queue's place in the tree
	// Shortages are the bounds that are exceeded: of cards, one for each card of
	// the list; of other resources, one for each resource.
	Shortages []Shortage `json:"shortages,omitempty"`

	named bool // the pod names its cards
}

// Shortage is a bound that a request does not fit under:
//
//	Total = what is used, and promised to others, + Requested > Bound
//
// cpu is in cores, memory in bytes, cards and everything else in whole units.
type Shortage struct {
	Queue     string  `json:"queue"` // whose bound it is: the job's queue, or one above it
	Resource  string  `json:"resource"`
	Requested float64 `json:"requested"`
	Total     float64 `json:"total"`
	Bound     float64 `json:"bound"`
	Against   string  `json:"against"` // which bound: capability or deserved
}

// few is how many cards are told of one by one to a pod that names none.
const few = 2

// String says why, in cores, Mi and whole units of everything else.
func (r Reason) String() string {
	switch r.Rule {
	case UnknownQueue:
		return "The job's queue does not exist"
	case BrokenQueue:
		return fmt.Sprintf("Queue <%s> takes no jobs: %s", r.Queue, r.Detail)
	case InnerQueue:
		return fmt.Sprintf("Queue <%s> has child queues, so takes no jobs itself", r.Queue)
	case ClosedQueue:
		return fmt.Sprintf("Queue <%s> is not open", r.Queue)
	case MixedCards:
		return fmt.Sprintf("Cards <%s> are asked for with different resource names, so no pod can take one or the other", r.Cards)
	case OtherCards:
		return fmt.Sprintf("Pod asks for <%s>, which is not what the cards <%s> are asked for with", r.Resource, r.Cards)
	case UnnamedCards:
		return fmt.Sprintf("Pod asks for <%s> but names no card: set the annotation %s", r.Cards, card.NameKey)
	case NamelessCards:
		return fmt.Sprintf("Nobody has a quota of <%s>: the nodes that have it lack the labels that tell which card it is", r.Cards)
	case NoSuchCard:
		if r.named {
			return fmt.Sprintf("node(s) have none of the cards <%s>", r.Cards)
		}
		return fmt.Sprintf("node(s) have no <%s>", r.Cards)
	case CardUnlabeled:
		return fmt.Sprintf("node(s) have <%s> without the label %s, so the card has no name", r.Resource, r.Label)
	}
	return r.shortages()
}

// shortages says what does not fit.
func (r Reason) shortages() string {
	switch {
	case r.Cards != "" && !r.named && len(r.Shortages) > few:
		return fmt.Sprintf("Queue <%s> has insufficient quota of every <%s> card: requested <%s>", r.Queue, r.Cards, number(r.Requested))
	case len(r.Shortages) > 0:
	case r.Cards != "": // no number tells: it is about a what-if, or how pods would have to be placed
		return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>", r.Queue, r.Cards, number(r.Requested))
	default:
		return fmt.Sprintf("Queue <%s> has no quota for a resource that is requested", r.Queue)
	}
	var each []string
	for _, s := range r.Shortages {
		each = append(each, s.String())
	}
	return strings.Join(each, "; ")
}

// String says what does not fit where.
func (s Shortage) String() string {
	return fmt.Sprintf("Queue <%s> has insufficient <%s> quota: requested <%s>, total would be <%s>, but %s is <%s>",
		s.Queue, s.Resource, s.amount(s.Requested), s.amount(s.Total), s.Against, s.amount(s.Bound))
}

func (s Shortage) amount(quantity float64) string {
	if s.Resource == "memory" {
		return number(quantity/(1<<20)) + "Mi"
	}
	return number(quantity)
}

func number(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 3, 64), "0"), ".")
}
