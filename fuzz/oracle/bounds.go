package oracle

import "slices"

// configure completes the configuration of a queue: its cards, and its guarantee, which is at
// least the sum of the guarantees of its children.
func (o *Oracle) configure(q *queue) {
	q.capability = Amounts{}.Plus(q.Capability)
	q.deserved = Amounts{}.Plus(q.Deserved)
	q.guarantee = o.guarantee(q.Name)

	// The quota of the root is its bound.
	if !q.CardsCount || q.Name == o.cluster.Root {
		return
	}

	for _, card := range o.cluster.Cards {
		// A leaf without a quota of a card gets none.
		quota, bounded := q.CardQuota[card]
		if bounded || q.CardsClosed && o.Leaf(q.Name) {
			q.capability[card] = quota
		}
		if deserved, ok := o.cardSetting(q, q.CardDeserved, card); ok {
			q.deserved[card] = deserved
		}
	}
}

// guarantee returns the effective guarantee of a queue: its own guarantee, or the sum of the
// guarantees of its children, as far as its own capability has room for it.
func (o *Oracle) guarantee(name string) Amounts {
	q := o.queues[name]
	own := Amounts{}.Plus(q.Guarantee)
	for _, card := range o.cluster.Cards {
		// The guarantee that an ancestor states takes the place of the default.
		_, stated := q.CardGuarantee[card]
		if !stated && o.guaranteedAbove(name, card) {
			continue
		}

		guarantee, ok := o.cardSetting(q, q.CardGuarantee, card)
		if !ok || name == o.cluster.Root {
			continue
		}

		// The queue can never use more than its quota.
		if quota, bounded := q.CardQuota[card]; bounded {
			guarantee = min(guarantee, quota)
		}
		own[card] = guarantee
	}

	if q.Closed && q.CardsCount {
		own = own.within(o.held(name))
	}
	if o.Leaf(name) {
		return own
	}

	passed := o.reserved(o.Children(name))
	if name != o.cluster.Root && len(q.path) > 1 {
		for d := range passed {
			passed[d] = min(passed[d], o.ownCapability(q, d))
		}
	}

	return own.atLeast(passed)
}

// held returns the resources of the pods of a queue, and of all queues below, when the session opens. It returns 0 of
// everything else that is guaranteed.
func (o *Oracle) held(name string) Amounts {
	held := Amounts{}
	for d := range o.queues[name].Guarantee {
		held[d] = 0
	}

	for _, card := range o.cluster.Cards {
		held[card] = 0
	}

	for _, job := range o.cluster.Jobs {
		if o.queues[job.Queue] == nil || !o.within(job.Queue, name) {
			continue
		}

		for _, t := range job.Tasks {
			if t.Placed || t.Terminating {
				held = held.Plus(t.Request)
			}
		}
	}

	return held
}

// guaranteedAbove reports whether an ancestor of a queue, except the root, states a guarantee of a card.
func (o *Oracle) guaranteedAbove(name, card string) bool {
	for _, p := range o.Path(name)[1:] {
		if q := o.queues[p]; p != o.cluster.Root && q.CardsCount {
			if _, stated := q.CardGuarantee[card]; stated {
				return true
			}
		}
	}

	return false
}

// ownCapability returns the capability that an inner queue sets itself. A cpu or memory of 0 is not set.
func (o *Oracle) ownCapability(q *queue, d string) float64 {
	quantity, set := q.Capability[d]
	if quota, bounded := q.CardQuota[d]; bounded && q.CardsCount && slices.Contains(o.cluster.Cards, d) {
		return quota
	}
	if !set || quantity <= 0 && (d == CPU || d == Memory) {
		return Unlimited
	}

	return quantity
}

// reserved returns the sum of the guarantees of queues.
func (o *Oracle) reserved(names []string) Amounts {
	sum := Amounts{}
	for _, name := range names {
		sum = sum.Plus(o.guarantee(name))
	}
	return sum
}

// cardSetting returns the value of an annotation for a card. It defaults to the quota. In a leaf
// without a quota of the card it does not count.
func (o *Oracle) cardSetting(q *queue, setting Amounts, card string) (float64, bool) {
	quota, bounded := q.CardQuota[card]
	if !q.CardsCount || !bounded && o.Leaf(q.Name) {
		return 0, false
	}
	if amount, ok := setting[card]; ok {
		return amount, true
	}

	return quota, bounded
}

// boundFlat computes bounds and deserved in flat mode:
//
//	realCapability = min(capability, max(0, total − Σ guarantee) + guarantee)
//	deserved       = max(min(deserved, realCapability), guarantee)
func (o *Oracle) boundFlat() {
	free := o.start().beyond(o.reserved(o.Names()))
	for _, name := range o.Names() {
		q := o.queues[name]
		q.bound = free.Plus(q.guarantee)

		// Without a capability, free and the guarantee bound the queue. In a capability, cpu or memory
		// of 0 is unlimited: upstream does not distinguish 0 from a value that is not set.
		if len(q.Capability) > 0 || q.CardsCount || o.cluster.ZeroLeaf {
			for _, d := range []string{CPU, Memory} {
				if !o.cluster.ZeroLeaf && q.capability[d] <= 0 {
					q.capability[d] = Unlimited
				}
			}

			q.bound = q.bound.within(q.capability)
		}

		q.deserved = q.deserved.within(q.bound).atLeast(q.guarantee)
	}
}

// start returns the bound of the root, which flat queues share as well.
func (o *Oracle) start() Amounts {
	bound := Amounts{}.Plus(o.cluster.Bound)
	if o.cluster.Root == "" {
		return bound
	}

	// A quota may exceed the cards of the cluster.
	for _, card := range o.cluster.Cards {
		bound[card] = Unlimited
		if quota, ok := o.queues[o.cluster.Root].CardQuota[card]; ok {
			bound[card] = quota
		}
	}

	return bound
}

// boundBelow computes the bounds of a queue and of all queues below it:
//
//	capability     = as set, each dimension that is not set from the parent
//	realCapability = min(capability, max(0, parent's realCapability
//	                 − Σ guarantee of the parent's children) + guarantee)
func (o *Oracle) boundBelow(name string) {
	if name == o.cluster.Root {
		o.boundRoot()
	} else {
		o.boundChild(name)
	}

	for _, child := range o.Children(name) {
		o.boundBelow(child)
	}
}

// boundRoot completes the root. The dimensions that it does not set are 0 if it sets any, and its
// children inherit these values.
func (o *Oracle) boundRoot() {
	q := o.queues[o.cluster.Root]
	q.bound = o.start()
	if q.capability.Empty() {
		q.capability = q.bound
	}

	if q.deserved.Empty() {
		q.deserved = Amounts{}.Plus(o.cluster.Total)
	}
	for _, card := range o.cluster.Cards {
		if total, ok := o.cluster.Total[card]; ok {
			q.deserved[card] = total
		}
	}

	if o.cluster.OpenRoot {
		children := o.Children(q.Name)
		q.guarantee = o.reserved(children)
		q.deserved = Amounts{}
		for _, child := range children {
			q.deserved = q.deserved.Plus(o.queues[child].deserved.atLeast(o.queues[child].guarantee))
		}
	}
}

// boundChild computes the bounds of a queue with a parent.
func (o *Oracle) boundChild(name string) {
	q := o.queues[name]
	parent := o.queues[q.path[1]]
	for _, d := range dimensions(parent.capability) {
		_, set := q.capability[d]
		if d == CPU || d == Memory {
			set = q.capability[d] > 0 || o.cluster.ZeroLeaf && o.Leaf(name)
		}
		if !set {
			q.capability[d] = parent.capability[d]
		}
	}

	free := parent.bound.beyond(o.reserved(o.Children(parent.Name)))
	q.bound = free.Plus(q.guarantee).within(q.capability)
	if o.cluster.OpenRoot {
		q.deserved = q.deserved.atLeast(q.guarantee)
	}
}

// AdmissionBound returns the bound of a queue for the admission of jobs:
//
//	min(realCapability, max(deserved, guarantee) × factor)
//
// in the dimensions that deserved names. The factor is set by the queue, or by the nearest
// queue that it inherits from.
func (o *Oracle) AdmissionBound(name string) Amounts {
	factor := 0.0
	for _, q := range o.inheritance(name) {
		if factor == 0 && o.queues[q] != nil {
			factor = o.queues[q].Overcommit
		}
	}

	bound := Amounts{}.Plus(o.Bound(name))
	deserved := o.Deserved(name)
	guarantee := o.Guarantee(name)
	for d := range deserved {
		if factor > 0 && deserved.relevant(d) {
			bound[d] = min(bound[d], max(deserved[d], guarantee[d])*factor/1000)
		}
	}

	return bound
}

// boundFor returns the bound of the queue q for jobs of the queue name, at or below q. If cards count for these jobs,
// the total of the cluster alone does not bound the resources of cards.
func (o *Oracle) boundFor(name, q string, bound Amounts) Amounts {
	if !o.queues[name].CardsCount {
		return bound
	}

	// A bound below realCapability comes from a factor of overcommit, and stays.
	lifted := Amounts{}.Plus(bound)
	for _, d := range o.cluster.Resources {
		if o.onlyTotalBounds(q, d) && bound[d] >= o.Bound(q)[d] {
			lifted[d] = Unlimited
		}
	}

	return lifted
}

// onlyTotalBounds reports whether the bound of a queue in a dimension is the total of the cluster: no queue on its path
// sets a capability, and nothing is guaranteed to others. The capability of the root bounds the queues below it.
func (o *Oracle) onlyTotalBounds(name, d string) bool {
	if name == o.cluster.Root {
		return true
	}

	path := o.Path(name)
	for i, p := range path {
		if _, sets := o.queues[p].Capability[d]; sets {
			return false
		}
		if i+1 < len(path) && o.reserved(o.Children(path[i+1]))[d] > o.guarantee(p)[d] {
			return false
		}
	}

	return o.cluster.Root != "" || o.reserved(o.Names())[d] <= o.guarantee(name)[d]
}

// Capability, Bound, Deserved and Guarantee follow from the configuration. Bound is
// realCapability.
func (o *Oracle) Capability(name string) Amounts { return o.queues[name].capability }
func (o *Oracle) Bound(name string) Amounts      { return o.queues[name].bound }
func (o *Oracle) Deserved(name string) Amounts   { return o.queues[name].deserved }
func (o *Oracle) Guarantee(name string) Amounts  { return o.queues[name].guarantee }
