package oracle

import "slices"

// configure completes the configuration of a queue: its cards, and the guarantee, which is
// at least the sum of the children's.
func (o *Oracle) configure(q *queue) {
	q.capability = Amounts{}.Plus(q.Capability)
	q.deserved = Amounts{}.Plus(q.Deserved)
	q.guarantee = o.guarantee(q.Name)
	for _, card := range o.cluster.Cards {
		if !q.CardsCount || q.Name == o.cluster.Root {
			continue // the quota of the root is its bound
		}
		quota, bounded := q.CardQuota[card]
		if bounded || q.CardsClosed && o.Leaf(q.Name) {
			q.capability[card] = quota // a leaf without a quota of a card gets none
		}
		if deserved, ok := o.cardSetting(q, q.CardDeserved, card); ok {
			q.deserved[card] = deserved
		}
	}
}

// guarantee returns the effective guarantee of a queue: its own, or as much of the sum of the
// children's as its own capability lets them have.
func (o *Oracle) guarantee(name string) Amounts {
	q := o.queues[name]
	own := Amounts{}.Plus(q.Guarantee)
	for _, card := range o.cluster.Cards {
		if _, stated := q.CardGuarantee[card]; !stated && o.guaranteedAbove(name, card) {
			continue // nobody wrote it, and somebody above wrote another one
		}
		if guarantee, ok := o.cardSetting(q, q.CardGuarantee, card); ok && name != o.cluster.Root {
			if quota, bounded := q.CardQuota[card]; bounded {
				guarantee = min(guarantee, quota) // the queue can never use more than its quota
			}
			own[card] = guarantee
		}
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

// held returns what pods of a queue and of those below have when the session opens, 0 of everything else that is
// guaranteed.
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

// guaranteedAbove reports whether a queue above another one, but not the root, states a guarantee of a card.
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

// ownCapability returns the capability that an inner queue sets itself. In cpu and memory, 0 is not set.
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

// cardSetting returns the value of an annotation for a card, which defaults to the quota. In
// a leaf without a quota of the card it does not count.
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
		// A queue without a capability is bound by what is free. In a capability,
		// cpu or memory of 0 is unlimited: upstream does not distinguish 0 from a
		// value that is not set.
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

// start returns the bound of the root, which is also what flat queues share.
func (o *Oracle) start() Amounts {
	bound := Amounts{}.Plus(o.cluster.Bound)
	if o.cluster.Root == "" {
		return bound
	}
	for _, card := range o.cluster.Cards {
		bound[card] = Unlimited // a quota may exceed what the cluster has
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
	q := o.queues[name]
	if name == o.cluster.Root {
		q.bound = o.start()
		// If the root sets any dimension, the others are 0, and its children inherit
		// these values.
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
			q.deserved, q.guarantee = Amounts{}, o.reserved(o.Children(name))
			for _, child := range o.Children(name) {
				q.deserved = q.deserved.Plus(o.queues[child].deserved.atLeast(o.queues[child].guarantee))
			}
		}
	} else {
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
	for _, child := range o.Children(name) {
		o.boundBelow(child)
	}
}

// AdmissionBound returns the bound of a queue for the admission of jobs:
//
//	min(realCapability, max(deserved, guarantee) × factor)
//
// in the dimensions that deserved names. The factor is that of the queue, or of its nearest
// ancestor with one.
func (o *Oracle) AdmissionBound(name string) Amounts {
	bound, factor := Amounts{}.Plus(o.Bound(name)), 0.0
	for _, q := range o.Path(name) {
		if factor == 0 {
			factor = o.queues[q].Overcommit
		}
	}
	deserved, guarantee := o.Deserved(name), o.Guarantee(name)
	for d := range deserved {
		if factor > 0 && deserved.relevant(d) {
			bound[d] = min(bound[d], max(deserved[d], guarantee[d])*factor/1000)
		}
	}
	return bound
}

// boundFor returns the bound of a queue for jobs of a queue at or below it. Where cards count for them, the resources
// of cards are not bounded by the total of the cluster alone.
func (o *Oracle) boundFor(name, q string, bound Amounts) Amounts {
	if !o.queues[name].CardsCount {
		return bound
	}
	lifted := Amounts{}.Plus(bound)
	for _, d := range o.cluster.Resources {
		if o.onlyTotalBounds(q, d) && bound[d] >= o.Bound(q)[d] { // otherwise a factor of overcommit bounds it
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
