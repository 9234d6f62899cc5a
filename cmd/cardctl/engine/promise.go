package engine

import (
	"slices"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// Promise has the sums of one card over all queues, in whole cards. The queues below a queue count together with at
// most the quota and the deserved amount of the queue.
type Promise struct {
	Quota     float64
	Deserved  float64 // at least Guarantee
	Guarantee float64
}

// promises are amounts by card, or group of cards.
type promises map[string]Promise

// Amounts returns what an annotation of a queue states, in whole cards: nothing for a queue without an object. The
// caller may change the map.
type Amounts func(queue, key string) map[string]float64

// Promises adds up the quotas, deserved amounts and guarantees of all queues, by card and group of cards.
func Promises(tree *index.Tree, amounts Amounts) map[string]Promise {
	guarantees := GuaranteesOf(tree, amounts)
	below := make([]promises, tree.Len())
	total := promises{}
	for q := index.Queue(tree.Len()) - 1; q >= 0; q-- { // a queue comes before the queues below it
		if tree.Broken(q) != nil {
			continue
		}

		own := promisesOf(tree.Name(q), amounts)
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
				below[p] = promises{}
			}
			above = below[p]
		}
		above.add(own)
	}
	return total
}

// promisesOf returns the amounts that one queue sets. Deserved and guarantee default to the quota, and are at most the
// quota.
func promisesOf(queue string, amounts Amounts) promises {
	all := promises{}
	deserved := amounts(queue, card.DeservedKey)
	guarantees := amounts(queue, card.GuaranteeKey)

	for name, quota := range amounts(queue, card.QuotaKey) {
		p := Promise{Quota: quota, Deserved: quota, Guarantee: quota}
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
func (p promises) within(own promises, root bool) promises {
	for name, sum := range p {
		most, set := own[name]
		if !set {
			own[name] = sum
			continue
		}

		capped := Promise{
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

func (p promises) add(more promises) {
	for name, m := range more {
		sum := p[name]
		p[name] = Promise{
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
