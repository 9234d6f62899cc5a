package oracle

import "slices"

// Returns says who gives something back to jobs that wait for admission.
type Returns struct {
	Gives  func(leaf string) bool // reclaim takes from the queue
	Fenced func(name string) bool
}

// HasFence reports whether reclaim ends at a queue.
func (o *Oracle) HasFence(name string) bool { return o.queues[name].Fence }

// Surplus returns what a queue gives back to the queues outside of it, in one dimension.
func (o *Oracle) Surplus(r Returns, name, d string) float64 {
	if o.Leaf(name) && !r.Gives(name) || r.Fenced(name) {
		return 0
	}
	surplus := max(0, o.heldBeside(name, d)-max(o.deserves(name, d), o.Guarantee(name)[d]))
	if !o.Leaf(name) {
		below := 0.0
		for _, child := range o.Children(name) {
			below += o.Surplus(r, child, d)
		}
		surplus = min(surplus, below)
	}
	return surplus
}

func (o *Oracle) heldBeside(name, d string) float64 { return o.Allocated(name)[d] - o.Elastic(name)[d] }

// deserves returns what a queue deserves. A group that it does not name deserves what its cards deserve.
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

// EnqueueableWith returns the lowest queue, from name up, without room for the minimum of a job beside what is
// given back to it, or "".
func (o *Oracle) EnqueueableWith(r Returns, name string, min, preempted Amounts) string {
	full := map[string]bool{}
	for _, d := range min.requested() {
		returned, gives := preempted[d], true
		for k, q := range o.Path(name) {
			if k > 0 {
				below := o.Path(name)[k-1]
				total := min[d] + o.heldBeside(below, d) + o.Inqueue(below)[d] - returned
				gives = gives && !r.Fenced(below) && total <= o.deserves(below, d)
				if gives {
					for _, sibling := range o.Children(q) {
						if sibling != below {
							returned += o.Surplus(r, sibling, d)
						}
					}
				}
			}
			if min[d]+o.heldBeside(q, d)+o.Inqueue(q)[d]-returned > o.AdmissionBound(q)[d] {
				full[q] = true
			}
		}
	}
	return o.first(name, func(q string) bool { return full[q] })
}

// FeasibleWith reports whether pods of one queue can be served beside what is given back to them, by trying every card
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
