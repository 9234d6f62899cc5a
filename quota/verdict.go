package quota

import "github.com/capacity-card/capacity-card/index"

// Reason says why a rule refuses.
type Reason uint8

// The reasons, in the order in which they are looked for.
const (
	Admitted     Reason = iota // not refused
	UnknownQueue               // the session has no such queue
	BrokenQueue                // the queue does not reach the root
	InnerQueue                 // the queue has children, so it takes no jobs
	ClosedQueue                // the queue's state is not Open
	OverQuota                  // the request does not fit under a bound
	OverDeserved               // the request fits under no dimension of deserved
	MixedCards                 // the cards to choose from are asked for by different resource names
	OtherCards                 // the resource that is asked for is that of other cards than those named
	UnnamedCards               // cards are asked for without a name, which the plugin was told to refuse
)

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
