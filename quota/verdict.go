package quota

import (
	"fmt"
	"slices"

	"github.com/capacity-card/capacity-card/index"
)

// Reason is why a rule refuses a task or a job.
type Reason uint8

// The reasons. If several apply, the verdict has the first in this order.
const (
	Admitted          Reason = iota // not refused
	UnknownQueue                    // the session does not have the queue
	BrokenQueue                     // the queue does not reach the root
	InnerQueue                      // the queue has child queues and takes no jobs itself
	ClosedQueue                     // the queue's state is not Open
	TooManyJobs                     // the queue has as many admitted jobs as it may have
	HeldByOrder                     // a job that goes first waits for quota; allocation asks the quotas first
	OverQuota                       // the request does not fit under a bound
	OverNamespace                   // the namespace has as much in a queue as the queue lets it have
	OverHolder                      // the same for a user, a group or the value of a label
	OverBudget                      // the budget of a card is used up, or the job needs more than is left
	OverSoftQuota                   // the queue would exceed its soft quota, and others want the rest
	OverDeserved                    // the request does not fit under deserved in any dimension
	Guaranteed                      // the rest is guaranteed to other queues
	Reserved                        // the rest is reserved for pods that get a node soon
	Earmarked                       // the rest is for pods that others were evicted for
	HeldForFairShare                // the rest is held for a job of a queue that goes first
	MixedResources                  // the cards of one list have different resource names
	ResourceMismatch                // the pod requests another resource than its cards have
	UntypedPod                      // the pod names no card, and untypedCards is reject
	SearchExhausted                 // the search for an assignment of cards used up its budget
	ReclaimDelayed                  // the task has not waited as long as its queue demands
	TrainingJob                     // the service class of the task takes nothing from other queues
	ReclaimBudgetUsed               // the queue has taken as many pods from other queues as it may in a time
)

var reasonNames = [...]string{
	Admitted: "Admitted", UnknownQueue: "UnknownQueue", BrokenQueue: "BrokenQueue", InnerQueue: "InnerQueue",
	ClosedQueue: "ClosedQueue", TooManyJobs: "TooManyJobs", HeldByOrder: "HeldByOrder", OverQuota: "OverQuota",
	OverNamespace: "OverNamespace", OverHolder: "OverHolder", OverBudget: "OverBudget", OverSoftQuota: "OverSoftQuota",
	OverDeserved: "OverDeserved", Guaranteed: "Guaranteed", Reserved: "Reserved", Earmarked: "Earmarked",
	HeldForFairShare: "HeldForFairShare",
	MixedResources:   "MixedResources", ResourceMismatch: "ResourceMismatch", UntypedPod: "UntypedPod",
	SearchExhausted: "SearchExhausted", ReclaimDelayed: "ReclaimDelayed", TrainingJob: "TrainingJob",
	ReclaimBudgetUsed: "ReclaimBudgetUsed",
}

// String returns the name of the reason, such as "OverQuota".
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// IsReason reports whether a name is the name of a reason for a refusal.
func IsReason(name string) bool { return slices.Contains(reasonNames[1:], name) }

// Whole reports whether the reason is about the whole job or task, whatever resources it requests.
func (r Reason) Whole() bool {
	switch r {
	case TooManyJobs, HeldByOrder, ReclaimBudgetUsed:
		return true
	}
	return false
}

// EndsWithPromises reports whether a refusal may end when admitted jobs lose their promise.
func (r Reason) EndsWithPromises() bool { return r == OverQuota || r.OfHolder() || r == TooManyJobs }

// OfHolder reports whether the limit of a holder refuses.
func (r Reason) OfHolder() bool { return r == OverNamespace || r == OverHolder }

// Verdict is the result of a rule: Admitted, or the first reason for the refusal and the
// queue that refuses.
type Verdict struct {
	Reason Reason
	Queue  index.Queue // the requested queue or an ancestor; None with UnknownQueue
}

// OK reports whether the rule admits.
func (v Verdict) OK() bool { return v.Reason == Admitted }

// Numbers are the two sides of the comparison of a rule, in one queue and dimension. Next to each
// rule that compares an account with a bound stands the function that returns them.
type Numbers struct {
	Total float64 // the amount that counts against the bound, with the request
	Bound float64
}

// Exceeded reports whether the request does not fit under the bound.
func (n Numbers) Exceeded() bool { return n.Total > n.Bound }

// Eligible decides whether a queue can take jobs at all: the session has it, it reaches
// the root, and it is a leaf queue. In flat mode every queue of the session can take jobs. q
// is None for a queue that the session does not have.
//
// Upstream: capacity/capacity.go, checkHierarchicalQueue, and the leaf checks of
// AddAllocatableFn and AddJobEnqueueableFn.
//
// DIVERGES: upstream refuses all jobs of all queues while one queue has an unknown
// parent, is in a cycle, or is an inner queue with a job. Here a refusal concerns the
// smallest subtree.
func Eligible(t *index.Tree, q index.Queue) Verdict {
	switch {
	case q == index.None:
		return Verdict{UnknownQueue, q}
	case t.Broken(q) != nil:
		return Verdict{BrokenQueue, q}
	case !t.IsLeaf(q):
		return Verdict{InnerQueue, q}
	}

	return Verdict{Admitted, q}
}
