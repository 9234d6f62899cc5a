package assign

import "math"

// serve answers whether a component has an assignment.
func (a *Assigner) serve(demands []openDemand, budget *Budget) Answer {
	a.build(demands)
	a.sidesOf(demands)
	if !a.fitsSides(demands) || !a.flow(demands) {
		return No
	}

	// The first flow is not part of the budget, so that demands of one size are always decided.
	a.residual.visited = 0
	a.limit = int(*budget+1) / 2
	a.cut = false
	found := a.branch(demands)
	*budget -= Budget(a.residual.visited)

	switch {
	case found:
		return Yes
	case a.cut:
		return Unknown
	}
	return No
}

// atLimit reports whether the search has to end.
func (a *Assigner) atLimit() bool {
	a.cut = a.cut || a.residual.visited >= a.limit
	return a.cut
}

// branch reports whether an assignment exists. It begins with a flow that meets the demands. It selects an option:
//
//   - If the flow splits a pod, the card that carries most of this pod.
//   - Otherwise, if a group is exceeded, a card that takes from the group.
//
// The first branch places the whole pods that the card carries, and the split pod, on the card. The second branch
// allows the card one pod less. Afterwards, demands, options and rooms are as they were.
func (a *Assigner) branch(demands []openDemand) bool {
	if !a.fitsSides(demands) {
		return false
	}

	d, o := a.splitPod(demands)
	if d == nil {
		d, o = a.excess(demands)
	}
	if d == nil {
		return true
	}
	if a.atLimit() {
		return false
	}

	// Without a flow for the first branch, only the second one is left.
	pods := math.Ceil(a.residual.arcs[o.arc^1].residual / d.size)
	mostPods := o.mostPods
	if !a.setFlow(d, o, pods*d.size) {
		o.mostPods = pods - 1
		found := a.setFlow(d, o, o.mostPods*d.size) && a.branch(demands)
		o.mostPods = mostPods
		return found
	}

	a.place(d, o, pods)
	found := a.branch(demands)
	d.pods += pods
	a.take(*o, -pods*d.size)

	// The first branch has changed the flow, so the second one computes a new one.
	if !found && !a.atLimit() {
		o.mostPods = pods - 1
		found = a.flow(demands) && a.branch(demands)
	}
	o.mostPods = mostPods

	return found
}

// splitPod returns a demand of the largest size with a pod that the flow splits, and the option that carries most of
// that pod. It returns nil if the flow splits no pod.
func (a *Assigner) splitPod(demands []openDemand) (d *openDemand, most *option) {
	for i := range demands {
		d := &demands[i]
		part := 0.0
		for j := d.from; j < d.to; j++ {
			o := &a.options[j]
			if p := remainder(a.residual.arcs[o.arc^1].residual, d.size); p > part {
				most = o
				part = p
			}
		}

		if part > 0 {
			return d, most
		}
	}

	return nil, nil
}

// setFlow changes the flow through an option to an amount, at the same total flow. To increase it, setFlow sends the
// difference from the option's cell back to the demand through the residual graph, which reroutes other pods. To
// decrease it, setFlow does the reverse. It returns false if the residual graph does not allow it.
func (a *Assigner) setFlow(d *openDemand, o *option, amount float64) bool {
	forth := &a.residual.arcs[o.arc]
	back := &a.residual.arcs[o.arc^1]

	// The new paths must not use the option itself.
	sent := back.residual
	forth.residual = 0
	back.residual = 0
	if sent < amount {
		sent += a.residual.augment(forth.to, back.to, amount-sent)
	} else {
		sent -= a.residual.augment(back.to, forth.to, sent-amount)
	}
	forth.residual = o.mostPods*d.size - sent
	back.residual = sent

	return sent == amount
}

// place fixes pods on the card of an option that carries them: it removes their flow from the network, and takes their
// room.
func (a *Assigner) place(d *openDemand, o *option, pods float64) {
	amount := pods * d.size
	d.pods -= pods
	o.mostPods -= pods
	a.take(*o, amount)

	arcs := a.residual.arcs
	arcs[d.arc^1].residual -= amount
	arcs[o.arc^1].residual -= amount
	for at := o.cell; at != none; at = a.cells[at].above {
		arcs[a.cells[at].arc^1].residual -= amount
	}
}
