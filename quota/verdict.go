package quota

import (
	"fmt"

	"github.com/capacity-card/capacity-card/index"
)

// Reason says why a rule refuses.
type Reason uint8

// The reasons, in the order in which they are looked for.
const (
	Admitted         Reason = iota // not refused
	UnknownQueue                   // the session has no such queue
	BrokenQueue                    // the queue does not reach the root
	InnerQueue                     // the queue has children, so it takes no jobs
	ClosedQueue                    // the queue's state is not Open
	OverQuota                      // the request does not fit under a bound
	OverDeserved                   // the request fits under no dimension of deserved
	MixedResources                 // the cards of one list have different resource names
	ResourceMismatch               // the pod requests another resource than that of the cards it names
	UntypedPod                     // the pod requests cards and names none, and untypedCards is reject
)

var reasonNames = [...]string{
	Admitted: "Admitted", UnknownQueue: "UnknownQueue", BrokenQueue: "BrokenQueue", InnerQueue: "InnerQueue",
	ClosedQueue: "ClosedQueue", OverQuota: "OverQuota", OverDeserved: "OverDeserved",
	MixedResources: "MixedResources", ResourceMismatch: "ResourceMismatch", UntypedPod: "UntypedPod",
}

// String returns the name of the reason, such as "OverQuota".
func (r Reason) String() string {
	if int(r) < len(reasonNames) {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// Verdict is the answer of a rule: admitted, or the first reason against it and
// the queue on the path that has it.
type Verdict struct {
	Reason Reason
	Queue  index.Queue
}

// OK reports whether the rule admits.
func (v Verdict) OK() bool { return v.Reason == Admitted }

// Eligible is the part that all admissions share: the queue is known, reaches
// the root, and is a leaf. When quotas are flat every known queue is.
//
// DIVERGES: one unknown parent, cycle or job in an inner queue makes upstream
// refuse all jobs of all queues until it is mended. Here nobody else notices.
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
