package oracle

import (
	"maps"
	"slices"
)

// Groups are groups of cards, with the weight of each card. A queue has an account of each group:
//
//	account(queue, group) = Σ weight · account(queue, card)
//
// and each bound holds by itself: the bound of the card, and the bounds of its groups.
type Groups map[string]map[string]float64

// Of returns the groups that have a card, in alphabetical order.
func (g Groups) Of(card string) (groups []string) {
	for _, group := range slices.Sorted(maps.Keys(g)) {
		if g[group][card] > 0 {
			groups = append(groups, group)
		}
	}

	return groups
}

// With returns amounts with the sums of the groups of the cards. nil stays nil.
func (g Groups) With(a Amounts) Amounts {
	if a == nil {
		return nil
	}

	all := maps.Clone(a)
	for card, quantity := range a {
		for _, group := range g.Of(card) {
			all[group] += g[group][card] * quantity
		}
	}

	return all
}
