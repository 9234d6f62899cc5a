package engine

import (
	"slices"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// Sums are the sums of one card over all queues, in whole cards. The queues below a queue count together with at
// most the quota and the deserved amount of the queue.
type Sums struct {
	Quota     float64
	Deserved  float64 // at least Guarantee
	Guarantee float64
}

// cardSums has the sums by card, or group of cards.
type cardSums map[string]Sums

// Amounts returns what an annotation of a queue states, in whole cards: nothing for a queue without an object. The
// caller may change the map.
type Amounts func(queue, key string) map[string]float64

// SumsOf adds up the quotas, deserved amounts and guarantees of all queues, by card and group of cards.
func SumsOf(tree *index.Tree, amounts Amounts) map[string]Sums {
	guarantees := GuaranteesOf(tree, amounts)
	below := make([]cardSums, tree.Len())
	total := cardSums{}
	for q := index.Queue(tree.Len()) - 1; q >= 0; q-- { // a queue comes before the queues below it
		if tree.Broken(q) != nil {
			continue
		}

		own := statedBy(tree.Name(q), amounts)
		for name, p := range own {
			if guarantees.Yields(q, name) {
				p.Guarantee = 0
				own[name] = p
			}
		}
		if below[q] != nil {
			own = below[q].within(own, q == tree.Root())
		}

		above := total
		if p := tree.Parent(q); p != index.None {
			if below[p] == nil {
				below[p] = cardSums{}
			}
			above = below[p]
		}
		above.add(own)
	}
	return total
}

// statedBy returns the amounts that one queue sets. Deserved and guarantee default to the quota, and are at most the
// quota.
func statedBy(queue string, amounts Amounts) cardSums {
	all := cardSums{}
	deserved := amounts(queue, card.DeservedKey)
	guarantees := amounts(queue, card.GuaranteeKey)

	for name, quota := range amounts(queue, card.QuotaKey) {
		p := Sums{Quota: quota, Deserved: quota, Guarantee: quota}
		if n, set := deserved[name]; set {
			p.Deserved = min(n, quota)
		}
		if n, set := guarantees[name]; set {
			p.Guarantee = min(n, quota)
		}
		all[name] = p
	}
	return all
}

// within caps the sums of the queues below a queue by the amounts of the queue. A queue without a quota of a card
// counts with the sums. Only the root has no guarantee of its own.
func (p cardSums) within(own cardSums, root bool) cardSums {
	for name, sum := range p {
		most, set := own[name]
		if !set {
			own[name] = sum
			continue
		}

		capped := Sums{
			Quota:     min(sum.Quota, most.Quota),
			Deserved:  min(sum.Deserved, most.Deserved),
			Guarantee: min(sum.Guarantee, most.Quota),
		}
		if !root {
			capped.Guarantee = max(capped.Guarantee, most.Guarantee)
		}
		own[name] = capped
	}
	return own
}

func (p cardSums) add(more cardSums) {
	for name, m := range more {
		sum := p[name]
		p[name] = Sums{
			Quota:     sum.Quota + m.Quota,
			Deserved:  sum.Deserved + max(m.Deserved, m.Guarantee),
			Guarantee: sum.Guarantee + m.Guarantee,
		}
	}
}

// Guarantees are the guarantees that queues state, in whole cards, by card or group of cards.
type Guarantees struct {
	tree   *index.Tree
	stated []map[string]float64 // by queue
}

// GuaranteesOf returns the guarantees of the queues of a tree.
func GuaranteesOf(tree *index.Tree, amounts Amounts) Guarantees {
	g := Guarantees{tree: tree, stated: make([]map[string]float64, tree.Len())}
	for q := range g.stated {
		g.stated[q] = amounts(tree.Name(index.Queue(q)), card.GuaranteeKey)
	}
	return g
}

// Yields reports whether a queue has no guarantee of a card by default: it states none, and a queue above it, except
// the root, does.
func (g Guarantees) Yields(q index.Queue, name string) bool {
	path := g.tree.Path(q)
	return !g.states(q, name) && slices.ContainsFunc(path[1:], func(p index.Queue) bool {
		return p != g.tree.Root() && g.states(p, name)
	})
}

func (g Guarantees) states(q index.Queue, name string) bool {
	_, is := g.stated[q][name]
	return is
}
