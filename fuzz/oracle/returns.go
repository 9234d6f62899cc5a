package oracle

import "slices"

// Returns says who gives something back to jobs that wait for admission.
type Returns struct {
	Gives  func(leaf string) bool // reclaim takes from the queue
	Fenced func(name string) bool
}

// HasFence reports whether reclaim ends at a queue.
func (o *Oracle) HasFence(name string) bool { return o.queues[name].Fence }

// Surplus returns the amount that a queue gives back to the queues outside of it, in one dimension.
func (o *Oracle) Surplus(r Returns, name, d string) float64 {
	if o.Leaf(name) && !r.Gives(name) || r.Fenced(name) {
		return 0
	}

	surplus := max(0, o.notElastic(name, d)-max(o.deserves(name, d), o.Guarantee(name)[d]))
	if !o.Leaf(name) {
		below := 0.0
		for _, child := range o.Children(name) {
			below += o.Surplus(r, child, d)
		}
		surplus = min(surplus, below)
	}

	return surplus
}

func (o *Oracle) notElastic(name, d string) float64 { return o.Allocated(name)[d] - o.Elastic(name)[d] }

// deserves returns deserved of a queue. If deserved does not name a group, the group deserves the weighted sum of its
// cards.
func (o *Oracle) deserves(name, d string) float64 {
	deserved := o.Deserved(name)
	weights, group := o.cluster.Groups[d]
	if _, named := deserved[d]; named || !group {
		return deserved[d]
	}

	sum := 0.0
	for card, weight := range weights {
		sum += weight * deserved[card]
	}

	return sum
}

// EnqueueableWith returns the lowest queue, from name up, without room for the minimum of a job, although resources are
// given back to it, or "".
func (o *Oracle) EnqueueableWith(r Returns, name string, min, preempted Amounts) string {
	full := map[string]bool{}
	for _, d := range min.requested() {
		for _, q := range o.fullWith(r, name, d, min[d], preempted[d]) {
			full[q] = true
		}
	}

	return o.first(name, func(q string) bool { return full[q] })
}

// fullWith returns the queues on the path of name without room for a quantity in one dimension.
func (o *Oracle) fullWith(r Returns, name, d string, quantity, preempted float64) (full []string) {
	returned := preempted
	below := "" // the queue below q on the path
	gives := true
	for _, q := range o.Path(name) {
		if below != "" {
			total := quantity + o.notElastic(below, d) + o.Inqueue(below)[d] - returned
			gives = gives && !r.Fenced(below) && total <= o.deserves(below, d)
			if gives {
				for _, sibling := range o.siblings(below, q) {
					returned += o.Surplus(r, sibling, d)
				}
			}
		}

		if quantity+o.notElastic(q, d)+o.Inqueue(q)[d]-returned > o.AdmissionBound(q)[d] {
			full = append(full, q)
		}
		below = q
	}

	return full
}

// siblings returns the other children of the parent of a queue.
func (o *Oracle) siblings(name, parent string) []string {
	return slices.DeleteFunc(o.Children(parent), func(child string) bool { return child == name })
}

// FeasibleWith reports whether pods of one queue can be served if resources are given back to them. It tries every card
// for every pod.
func (o *Oracle) FeasibleWith(r Returns, name string, preempted Amounts, needs []Need) bool {
	var try func(rest []Need, taken Amounts) bool
	try = func(rest []Need, taken Amounts) bool {
		if len(rest) == 0 {
			return o.EnqueueableWith(r, name, o.cluster.Groups.With(taken), preempted) == ""
		}

		return slices.ContainsFunc(rest[0].Cards, func(card string) bool {
			return try(rest[1:], taken.Plus(Amounts{card: rest[0].Amount}))
		})
	}

	return try(needs, Amounts{})
}
