package oracle

// configure completes what a queue is configured with: its cards, and for an
// inner queue the guarantee, which is at least what its children were promised.
func (o *Oracle) configure(q *queue) {
	q.capability, q.deserved, q.guarantee = Amounts{}.Plus(q.Capability), Amounts{}.Plus(q.Deserved), o.guarantee(q.Name)
	for _, card := range o.cluster.Cards {
		if !q.CardsCount || q.Name == o.cluster.Root {
			continue // what the root says of cards is its bound
		}
		quota, bounded := q.CardQuota[card]
		if bounded || o.Leaf(q.Name) {
			q.capability[card] = quota // a leaf has none but those it has a quota for
		}
		if deserved, ok := o.cardSetting(q, q.CardDeserved, card); ok {
			q.deserved[card] = deserved
		}
	}
}

// guarantee is what is kept for a queue.
func (o *Oracle) guarantee(name string) Amounts {
	q := o.queues[name]
	own := Amounts{}.Plus(q.Guarantee)
	for _, card := range o.cluster.Cards {
		if guarantee, ok := o.cardSetting(q, q.CardGuarantee, card); ok && name != o.cluster.Root {
			if quota, bounded := q.CardQuota[card]; bounded {
				guarantee = min(guarantee, quota) // what it may never use need not be kept
			}
			own[card] = guarantee
		}
	}
	if o.Leaf(name) {
		return own
	}
	return own.atLeast(o.reserved(o.Children(name)))
}

// reserved is what is kept for all of some queues.
func (o *Oracle) reserved(names []string) Amounts {
	sum := Amounts{}
	for _, name := range names {
		sum = sum.Plus(o.guarantee(name))
	}
	return sum
}

// cardSetting is what an annotation says of a card, or else what the quota says.
// It counts for nothing in a leaf without a quota.
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

// boundFlat bounds queues that share the total:
//
//	realCapability = min(capability, max(0, total − Σ guarantee) + guarantee)
//	deserved       = max(min(deserved, realCapability), guarantee)
func (o *Oracle) boundFlat() {
	free := o.start().beyond(o.reserved(o.Names()))
	for _, name := range o.Names() {
		q := o.queues[name]
		q.bound = free.Plus(q.guarantee)
		// A queue that says nothing is bound to what is free. One that says
		// something is not bound in cpu or memory where it does not say them, nor
		// where it says 0: upstream cannot tell the two apart.
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

// start is what the root is bound to, and what flat queues share.
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

// boundBelow bounds a queue and all below it, from the top down:
//
//	capability     = as set, each dimension that is not set from the parent
//	realCapability = min(capability, max(0, parent's realCapability
//	                 − Σ guarantee of the parent's children) + guarantee)
func (o *Oracle) boundBelow(name string) {
	q := o.queues[name]
	if name == o.cluster.Root {
		q.bound = o.start()
		// A root that says anything at all is taken at its word, with nothing
		// where it is silent: its children inherit that nothing.
		if q.capability.empty() {
			q.capability = q.bound
		}
		if q.deserved.empty() {
			q.deserved = o.cluster.Total
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
	}
	for _, child := range o.Children(name) {
		o.boundBelow(child)
	}
}

// Capability, Bound, Deserved and Guarantee are what follows from configuration;
// Bound is realCapability.
func (o *Oracle) Capability(name string) Amounts { return o.queues[name].capability }
func (o *Oracle) Bound(name string) Amounts      { return o.queues[name].bound }
func (o *Oracle) Deserved(name string) Amounts   { return o.queues[name].deserved }
func (o *Oracle) Guarantee(name string) Amounts  { return o.queues[name].guarantee }
