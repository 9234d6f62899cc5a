package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	v1 "k8s.io/api/core/v1"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin/cards"
	"github.com/capacity-card/capacity-card/plugin/reserve"
	"github.com/capacity-card/capacity-card/quota"
)

// Explainer makes reasons of refusals, from the accounts of one session.
type Explainer struct {
	Index        *index.Index
	Queues       []*api.QueueInfo // by queue; nil for a root without a Queue object
	Names        *index.Names
	Cards        *cards.Session
	Reservations *reserve.Reservations
	Jobs         *quota.Jobs
	Guarantees   *quota.Guarantees
	Namespaces   *quota.Namespaces // nil where no queue limits namespaces
	Total        fastres.Vector    // of the cluster
	// Limit bounds allocation: realCapability, or deserved for proportion.
	Limit      *index.Rows
	Proportion bool
	// HolderOf returns the job that holds a card for fairness over time, and its queue, nil for none. The
	// function is nil where no job does.
	HolderOf func(fastres.Dim) (*api.JobInfo, index.Queue)
}

// Explain returns the reason of a refusal, nil where nothing is refused.
// Dimensions come in the order of their names, so that equal reasons read the same.
func (e *Explainer) Explain(r Refusal) *Reason {
	if r.OK() {
		return nil
	}
	reason := &Reason{Rule: Rule(r.Verdict.Reason.String())}
	q := r.Verdict.Queue
	if q == index.None {
		return reason
	}
	reason.Queue = e.Index.Name(q)
	switch {
	case r.Verdict.Reason == quota.BrokenQueue:
		reason.Detail = e.Index.Broken(q).Error()
	case r.Verdict.Reason == quota.TooManyJobs:
		n := e.Jobs.Numbers(q)
		reason.Shortages = []Shortage{{Queue: reason.Queue, Resource: jobs, Against: policy.Short(policy.MaxJobsKey),
			Requested: 1, Total: n.Total, Bound: n.Bound}}
	case r.Verdict.Reason == quota.HeldForFairShare:
		e.explainHeld(reason, r)
	case r.ofList():
		e.explainList(reason, r)
	case r.Verdict.Reason == quota.OverNamespace:
		e.explainNamespace(reason, r)
	case r.aboutCards():
		e.explainCards(reason, r)
	default:
		for _, d := range e.exceeded(nil, r) {
			s := e.shortage(r, q, d, r.Request.Get(d))
			s.Resource = e.Names.Name(d)
			reason.Shortages = append(reason.Shortages, s)
		}
	}
	if len(reason.Shortages) == 1 {
		reason.Queue = reason.Shortages[0].Queue
	}
	return reason
}

// Overcommit is the name of the bound of admission where a queue has an overcommit factor.
var Overcommit = byDeserved + " × " + policy.Short(policy.OvercommitFactorKey)

// The names of other bounds, and what max-jobs bounds.
const (
	capability = "capability" // of admission and allocation
	byDeserved = "deserved"
	jobs       = "jobs"
)

// source returns the queue that sets the capability of q in a dimension: q itself, or
// the ancestor that it inherits the bound from. It is q where no queue sets it.
func (e *Explainer) source(q index.Queue, d fastres.Dim) index.Queue {
	bound := e.Index.RealCapability.At(q, d)
	for _, p := range e.Index.Path(q) {
		if e.Index.RealCapability.At(p, d) != bound {
			break
		}
		if e.sets(p, d) {
			return p
		}
	}
	return q
}

// sets reports whether a queue has a capability or quota of its own in a dimension.
func (e *Explainer) sets(q index.Queue, d fastres.Dim) bool {
	if e.Names.IsCard(d) {
		_, ok := e.Cards.Quotas(q)[d]
		return ok
	}
	if e.Queues[q] == nil {
		return false
	}
	_, ok := e.Queues[q].Queue.Spec.Capability[v1.ResourceName(e.Names.Name(d))]
	return ok
}

// Levels returns the bounds of a queue and its ancestors that a quantity, in the units of Shortage,
// does not fit under. A reason names only the lowest of them.
func (e *Explainer) Levels(queue, resource string, quantity float64, admission bool) (all []Shortage) {
	q := e.Index.Lookup(queue)
	d, known := e.Names.LookupCard(resource)
	if !known {
		d, known = e.Names.Lookup(resource)
	}
	if q == index.None || !known {
		return nil
	}
	r := Refusal{Admission: admission, Queue: q}
	quantity /= Readable(d, 1)
	for _, p := range e.Index.Path(q) {
		if n, _ := e.numbers(r, p, d, quantity); n.Exceeded() {
			if s := e.shortage(r, p, d, quantity); !slices.Contains(all, s) { // several levels inherit one bound
				all = append(all, s)
			}
		}
	}
	return all
}

// ExplainNode returns why a pod of a namespace cannot have its cards on a node, nil if it can.
func (e *Explainer) ExplainNode(fit cards.NodeFit, namespace string) *Reason {
	switch fit.Reason {
	case cards.NodeFits:
		return nil
	case cards.NoSuchCard:
		return &Reason{Rule: NoSuchCard, Cards: e.Cards.Describe(fit.Request), Requested: fit.Request.Amount.Cards(),
			typed: fit.Request.Selector.Typed}
	case cards.MissingLabel:
		return &Reason{Rule: UnlabeledNode, Resource: e.Cards.ResourceName(fit.Request.Resource), Label: fit.Label}
	}
	return e.Explain(Refusal{Verdict: fit.Verdict, Cards: fit.Request, Namespace: namespace})
}

// exceeded appends the dimensions in which a refused request does not fit, in the
// order of their names. A request for cards has none.
func (e *Explainer) exceeded(dims []fastres.Dim, r Refusal) []fastres.Dim {
	reason := r.Verdict.Reason
	if reason != quota.OverQuota && reason != quota.OverDeserved && reason != quota.Reserved || r.aboutCards() {
		return dims
	}
	for d := range r.Request.Requested() {
		if n, _ := e.numbers(r, r.Verdict.Queue, d, r.Request.Get(d)); n.Exceeded() {
			dims = append(dims, d)
		}
	}
	slices.SortFunc(dims, func(x, y fastres.Dim) int { return cmp.Compare(e.Names.Name(x), e.Names.Name(y)) })
	return dims
}

// numbers returns what the rule that refuses compares in one queue and dimension, and the name of
// the bound.
func (e *Explainer) numbers(r Refusal, q index.Queue, d fastres.Dim, quantity float64) (n quota.Numbers, against string) {
	_, device := e.Names.Class(d)
	switch {
	case r.Verdict.Reason == quota.OverDeserved || e.Proportion && !r.Admission:
		return quota.AllocatableNumbers(e.Index, &e.Index.Deserved, q, d, quantity), byDeserved
	case r.Verdict.Reason == quota.Reserved:
		return quota.BesideNumbers(e.Index, e.Index, e.Limit, q, d, quantity), capability
	case r.Admission && device:
		return quota.EnqueueableDeviceNumbers(e.Index, e.Names, q, d, quantity), capability
	case r.Admission && quota.Overcommits(e.Index, q, d):
		return quota.EnqueueableNumbers(e.Index, q, d, quantity), Overcommit
	case r.Admission:
		return quota.EnqueueableNumbers(e.Index, q, d, quantity), capability
	case device:
		return quota.DeviceClaimNumbers(e.Index, e.Limit, e.Names, q, d, quantity), capability
	}
	return quota.AllocatableNumbers(e.Index, e.Limit, q, d, quantity), capability
}

// shortage returns the bound of q that a request does not fit under in one dimension. An inherited
// capability is that of the queue that sets it.
func (e *Explainer) shortage(r Refusal, q index.Queue, d fastres.Dim, quantity float64) Shortage {
	n, against := e.numbers(r, q, d, quantity)
	if _, device := e.Names.Class(d); against == capability && !device {
		q = e.source(q, d)
		at, _ := e.numbers(r, q, d, quantity)
		n.Total = at.Total
	}
	return e.shortageOf(q, d, quantity, n, against)
}

// shortageOf puts numbers in the units that people read.
func (e *Explainer) shortageOf(q index.Queue, d fastres.Dim, quantity float64, n quota.Numbers, against string) Shortage {
	return Shortage{Queue: e.Index.Name(q), Resource: cards.Shown(e.Names.Name(d)), Against: against, Cards: e.Cards.GroupCards(d),
		Requested: Readable(d, quantity), Total: Readable(d, n.Total), Bound: Readable(d, n.Bound)}
}

// explainNamespace sets what a reason states about the limit of a namespace.
func (e *Explainer) explainNamespace(reason *Reason, r Refusal) {
	reason.Namespace = r.Namespace
	if r.aboutCards() {
		reason.Cards, reason.typed, reason.Requested = e.Cards.Describe(r.Cards), r.Cards.Selector.Typed, r.Cards.Amount.Cards()
	}
	account, ix := e.Namespaces.Account(r.Verdict.Queue, r.Namespace), &e.Namespaces.Accounts
	path := ix.Path(account)
	if !r.aboutCards() {
		path = path[:1]
	}
	for d, requested := range e.ofNamespace(r) {
		for _, at := range path { // each card of a list may have too little room at another level
			n := quota.AllocatableNumbers(ix, &ix.RealCapability, at, d, requested)
			if r.Admission {
				n = quota.EnqueueableNumbers(ix, at, d, requested)
			}
			if n.Exceeded() {
				reason.Shortages = append(reason.Shortages, e.namespaceShortage(r.Namespace, at, d, requested, n))
				break
			}
		}
	}
	slices.SortStableFunc(reason.Shortages, func(x, y Shortage) int {
		if r.aboutCards() {
			return 0 // the order of the list
		}
		return cmp.Compare(x.Resource, y.Resource)
	})
}

// namespaceShortage returns the limit of an account of a namespace that a request does not fit under.
func (e *Explainer) namespaceShortage(namespace string, account index.Queue, d fastres.Dim, quantity float64, n quota.Numbers) Shortage {
	limit := policy.NamespaceCapabilityKey
	if e.Names.IsCard(d) {
		limit = card.NamespaceKey
	}
	s := e.shortageOf(e.Namespaces.Place(account).Queue, d, quantity, n, policy.Short(limit))
	s.Namespace = namespace
	return s
}

// ofNamespace iterates over what is requested where a namespace is refused: each card of a list and
// its groups, or all dimensions of a request.
func (e *Explainer) ofNamespace(r Refusal) iter.Seq2[fastres.Dim, float64] {
	return func(yield func(fastres.Dim, float64) bool) {
		if r.aboutCards() {
			for _, d := range r.Cards.Selector.Dims {
				if !yield(d, float64(r.Cards.Amount)) {
					return
				}
				for _, share := range e.Names.Groups(d) {
					if !yield(share.Group, share.Weight*float64(r.Cards.Amount)) {
						return
					}
				}
			}
			return
		}
		for d := range r.Request.Requested() {
			if !yield(d, r.Request.Get(d)) {
				return
			}
		}
	}
}

// explainCards sets what a reason states about cards, in whole cards.
func (e *Explainer) explainCards(reason *Reason, r Refusal) {
	selector := r.Cards.Selector
	reason.Cards, reason.typed, reason.Requested = e.Cards.Describe(r.Cards), selector.Typed, r.Cards.Amount.Cards()
	switch {
	case r.Verdict.Reason == quota.ResourceMismatch:
		reason.Resource = e.Cards.ResourceName(r.Cards.Resource)
		return
	case slices.Contains([]quota.Reason{quota.MixedResources, quota.UntypedPod, quota.Guaranteed, quota.Earmarked, quota.SearchExhausted},
		r.Verdict.Reason):
		return
	case len(selector.Names) == 0:
		reason.Rule, reason.Label = UnlabeledNodes, e.Cards.LabelOf(r.Cards.Resource)
		return
	case r.Shared:
		if shortage, exceeded := e.sharedShortage(r); exceeded {
			reason.Shortages = []Shortage{shortage}
			return
		}
	}
	for _, name := range selector.Names {
		d, known := e.Names.LookupCard(name)
		if shortage, exceeded := e.cardShortage(r, name, d, known); exceeded && !slices.Contains(reason.Shortages, shortage) {
			reason.Shortages = append(reason.Shortages, shortage)
		}
	}
}

// explainHeld sets which job holds the cards that a request would borrow.
func (e *Explainer) explainHeld(reason *Reason, r Refusal) {
	dims := r.Cards.Selector.Dims
	if r.aboutCards() {
		reason.Cards, reason.typed, reason.Requested = e.Cards.Describe(r.Cards), r.Cards.Selector.Typed, r.Cards.Amount.Cards()
	} else {
		dims = slices.Collect(r.Request.Requested())
	}
	for _, d := range dims {
		if job, q := e.HolderOf(d); job != nil {
			reason.Detail = fmt.Sprintf("job <%s/%s> of queue <%s>", job.Namespace, job.Name, e.Index.Name(q))
			return
		}
	}
}

// cardShortage finds the first queue on the path that has too little of one card.
// No queue has a quota of an unknown card.
func (e *Explainer) cardShortage(r Refusal, name string, d fastres.Dim, known bool) (s Shortage, exceeded bool) {
	requested := float64(r.Cards.Amount)
	s = Shortage{Queue: e.Index.Name(r.Verdict.Queue), Resource: cards.Shown(name), Against: capability,
		Requested: r.Cards.Amount.Cards(), Total: r.Cards.Amount.Cards()}
	if !known {
		return s, true
	}
	of, exceeded := e.pathShortage(r, d, requested)
	if exceeded && e.sets(e.Index.Lookup(of.Queue), d) {
		return of, true
	}
	for _, share := range e.Names.Groups(d) { // what a queue may have of a card can follow from its groups
		if of, exceeded := e.pathShortage(r, share.Group, share.Weight*requested); exceeded {
			return of, true
		}
	}
	if exceeded {
		return of, true
	}
	return s, false
}

// pathShortage finds the first queue on the path that has too little of one card or group.
func (e *Explainer) pathShortage(r Refusal, d fastres.Dim, requested float64) (s Shortage, exceeded bool) {
	path := e.Index.Path(r.Verdict.Queue)
	if r.Verdict.Reason == quota.OverDeserved {
		path = path[:1]
	}
	for _, p := range path {
		if n, _ := e.numbers(r, p, d, requested); n.Exceeded() {
			return e.shortage(r, p, d, requested), true
		}
	}
	return s, false
}

// sharedShortage returns the sum of the bounds of several cards, under which a request for several
// cards at once does not fit.
func (e *Explainer) sharedShortage(r Refusal) (s Shortage, exceeded bool) {
	q, dims := r.Verdict.Queue, r.Cards.Selector.Dims
	n, against := e.Reservations.Numbers(e.Index, q, r.Cards), capability
	if slices.ContainsFunc(dims, func(d fastres.Dim) bool { return quota.Overcommits(e.Index, q, d) }) {
		against = Overcommit
	}
	s = e.shortageOf(q, dims[0], float64(r.Cards.Amount), n, against)
	s.Resource = e.Cards.Describe(r.Cards)
	return s, n.Exceeded()
}

// Readable converts a quantity of a dimension to the units that people read: cpu
// in cores, memory in bytes, everything else in whole units.
func Readable(d fastres.Dim, quantity float64) float64 {
	if d == fastres.Memory || d == fastres.Pods {
		return quantity
	}
	return quantity / 1000
}
