package oracle

import "slices"

// CardFits returns the lowest queue, from name up, without room for an amount of a card, or
// "".
func (o *Oracle) CardFits(name, card string, amount float64) string {
	return o.first(name, func(q string) bool { return o.Allocated(q)[card]+amount > o.Bound(q)[card] })
}

// PreemptiveCard decides whether a queue may take a card from others. See Preemptive.
func (o *Oracle) PreemptiveCard(name, card string, amount float64, levels int) string {
	if o.Future(name)[card]+amount > o.Bound(name)[card] {
		return "over quota"
	}

	deserves := func(q string) bool { return o.Future(q)[card]+amount <= o.Deserved(q)[card] }
	if slices.ContainsFunc(append(o.above(name, levels), name), deserves) {
		return ""
	}

	return "over deserved"
}

// Need is one pod that takes an amount of one card of a list.
type Need struct {
	Queue  string
	Cards  []string
	Amount float64
}

// Feasible reports whether all pods can be served at the same time, by trying every card for
// every pod. A queue above its bound matters only for pods in it or below it.
func (o *Oracle) Feasible(needs []Need) bool {
	type cell struct{ queue, card string }
	given := map[cell]float64{}
	give := func(n Need, card string, amount float64) {
		for _, q := range o.Path(n.Queue) {
			for d, quantity := range o.cluster.Groups.With(Amounts{card: amount}) {
				given[cell{q, d}] += quantity
			}
		}
	}

	full := func(q, d string) bool {
		used := o.Allocated(q)[d] + o.Inqueue(q)[d] - o.Elastic(q)[d]
		return used+given[cell{q, d}] > o.AdmissionBound(q)[d]
	}

	var try func([]Need) bool
	try = func(rest []Need) bool {
		if len(rest) == 0 {
			return true
		}

		for _, card := range rest[0].Cards {
			give(rest[0], card, rest[0].Amount)
			refused := o.first(rest[0].Queue, func(q string) bool {
				groupFull := func(group string) bool { return full(q, group) }
				return full(q, card) || slices.ContainsFunc(o.cluster.Groups.Of(card), groupFull)
			})
			if refused == "" && try(rest[1:]) {
				return true
			}

			give(rest[0], card, -rest[0].Amount)
		}

		return false
	}

	return try(needs)
}
