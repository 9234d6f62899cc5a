package oracle

import "slices"

// CardFits returns the lowest queue, from name up, that has no room for so much
// of a card, "" if all have.
func (o *Oracle) CardFits(name, card string, amount float64) string {
	return o.first(name, func(q string) bool { return o.Allocated(q)[card]+amount > o.Bound(q)[card] })
}

// PreemptiveCard answers whether a queue may take a card from others.
func (o *Oracle) PreemptiveCard(name, card string, amount float64) string {
	switch after := o.Allocated(name)[card] + amount; {
	case after > o.Bound(name)[card]:
		return "over quota"
	case after > o.Deserved(name)[card]:
		return "over deserved"
	}
	return ""
}

// FreesCard answers whether a victim of one queue makes a card usable for a
// task of another. Room below a queue that both are in is what the victim makes;
// all that is above the reclaimer alone must have it already.
func (o *Oracle) FreesCard(from, to, card string, amount float64) bool {
	if o.PreemptiveCard(to, card, amount) != "" {
		return false
	}
	alone := slices.DeleteFunc(slices.Clone(o.Path(to)), func(q string) bool { return o.within(from, q) })
	return !slices.ContainsFunc(alone, func(q string) bool { return o.Allocated(q)[card]+amount > o.Bound(q)[card] })
}

// Need is one pod that takes so much of one card, any of Cards.
type Need struct {
	Queue  string
	Cards  []string
	Amount float64
}

// Feasible answers whether all needs can be served at once, by trying every
// card for every pod. A queue that is over its bound already is in nobody's way
// who does not ask it.
func (o *Oracle) Feasible(needs []Need) bool {
	type cell struct{ queue, card string }
	given := map[cell]float64{}
	give := func(n Need, card string, amount float64) {
		for _, q := range o.Path(n.Queue) {
			given[cell{q, card}] += amount
		}
	}
	var try func([]Need) bool
	try = func(rest []Need) bool {
		if len(rest) == 0 {
			return true
		}
		for _, card := range rest[0].Cards {
			give(rest[0], card, rest[0].Amount)
			room := o.first(rest[0].Queue, func(q string) bool {
				used := o.Allocated(q)[card] + o.Inqueue(q)[card] - o.Elastic(q)[card]
				return used+given[cell{q, card}] > o.Bound(q)[card]
			})
			if room == "" && try(rest[1:]) {
				return true
			}
			give(rest[0], card, -rest[0].Amount)
		}
		return false
	}
	return try(needs)
}
