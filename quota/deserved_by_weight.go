package quota

import (
	"cmp"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// WeightOf returns the weight of a queue among its siblings in one dimension, a ratio
// without unit. It is not negative. A queue with weight 0 deserves its guarantee alone.
type WeightOf func(index.Queue, fastres.Dim) float64

// DeservedByWeight divides the cluster among the queues by weight, and sets deserved of
// every queue, from the root down. The children of a queue divide its deserved; in flat
// mode all queues divide the total. The method is water-filling: in each dimension
//
//	deserved = max(guarantee, min(λ·weight, realCapability))
//
// with the one level λ for which Σ deserved of the siblings is deserved of the parent. A
// queue at its realCapability leaves the rest to its siblings, by their weights. Each
// deserved is rounded down to a whole unit (of package fastres). So the sum never exceeds
// deserved of the parent, unless the guarantees alone exceed it.
//
//	root's deserved = max(min(total, realCapability), Σ guarantee of the children)
//
// Requests do not count, unlike in ProportionRounds: an idle queue keeps its deserved,
// and others borrow it.
//
// # Example
//
// The parent deserves 120. Its children:
//
//	queue  weight  guarantee  realCapability
//	a      1       0          20
//	b      1       34         no bound
//	c      2       0          no bound
//
//	round  λ                  a             b              c
//	1      120/4 = 30         30, above 20  30, below 34   60
//	2      (120−20)/3 = 33.3  20            33.3, below 34 66.7
//	3      (100−34)/2 = 33    20            34             66
//
// In round 1, a is 10 above its bound, and b is 4 below its guarantee. So λ rises: a
// remains at its bound, and b may not need its guarantee. Only a is fixed. In round 2 only
// b is out of its bounds, and is fixed.
//
// Upstream: none. Only proportion has weights there (see ProportionRounds).
func DeservedByWeight(ix *index.Index, total fastres.Vector, weight WeightOf) {
	queues := make([]index.Queue, ix.Len())
	for q := range queues {
		queues[q] = index.Queue(q)
		ix.Deserved.Row(queues[q]).Reset()
	}
	if ix.Rooted() {
		root := ix.Root()
		ix.Deserved.Row(root).CopyFrom(total)
		ix.Deserved.Row(root).CapTo(ix.RealCapability.Row(root))
		ix.Deserved.Row(root).RaiseTo(ix.ChildGuarantees.Row(root))
	}

	// The number of a parent is smaller than the numbers of its children, so its deserved is set first.
	slices.SortStableFunc(queues, func(l, r index.Queue) int { return cmp.Compare(ix.Parent(l), ix.Parent(r)) })

	var parts []portion
	for len(queues) > 0 {
		p := ix.Parent(queues[0])
		n := 1
		for n < len(queues) && ix.Parent(queues[n]) == p {
			n++
		}
		siblings := queues[:n]
		queues = queues[n:]

		// In a tree, the root has its deserved already, and the tops of broken subtrees deserve nothing.
		switch {
		case p != index.None:
			parts = splitAmong(ix, ix.Deserved.Row(p), siblings, weight, parts)
		case !ix.Rooted():
			parts = splitAmong(ix, total, siblings, weight, parts)
		}
	}
}

// splitAmong sets deserved of siblings that divide shared. It returns parts, its working
// memory.
func splitAmong(ix *index.Index, shared fastres.Vector, siblings []index.Queue, weight WeightOf,
	parts []portion) []portion {
	for d := range shared.Present() {
		parts = parts[:0]
		for _, q := range siblings {
			least := ix.Guarantee.At(q, d)
			parts = append(parts, portion{
				weight: weight(q, d),
				least:  least,
				most:   max(least, ix.RealCapability.At(q, d)),
			})
		}

		fillWater(shared.Get(d), parts)
		for i, q := range siblings {
			ix.Deserved.Row(q).Set(d, parts[i].given)
		}
	}

	for _, q := range siblings {
		ix.Deserved.Row(q).RaiseTo(ix.Guarantee.Row(q))
	}

	return parts
}

// portion is the part of one queue in one dimension.
type portion struct {
	weight, least, most float64 // guarantee and realCapability; least ≤ most
	given               float64 // deserved
	fixed               bool    // given is least or most
}

// fillWater divides a quantity by water-filling. In each round it divides the rest by weight
// among the queues that are not fixed. lacks is the sum of the quantities below lower bounds,
// and exceeds the sum of the quantities above upper bounds.
//
//	lacks ≥ exceeds: λ falls, so a queue below its lower bound remains there: fix it
//	exceeds ≥ lacks: λ rises, so a queue above its upper bound remains there: fix it
//
// The rounds end when no queue is out of its bounds.
func fillWater(rest float64, parts []portion) {
	for {
		lacks, exceeds := divide(rest, parts)
		if lacks == 0 && exceeds == 0 {
			break
		}

		for i := range parts {
			p := &parts[i]
			if p.fixed {
				continue
			}

			p.fix(lacks, exceeds)
			if p.fixed {
				rest -= p.given
			}
		}
	}

	for i := range parts {
		p := &parts[i]
		if !p.fixed {
			p.given = max(p.least, math.Floor(p.given))
		}
	}
}

// fix fixes the part at the bound that it exceeds, if the level λ does not move it back.
func (p *portion) fix(lacks, exceeds float64) {
	switch {
	case p.given < p.least && lacks >= exceeds:
		p.given = p.least
		p.fixed = true
	case p.given > p.most && exceeds >= lacks:
		p.given = p.most
		p.fixed = true
	}
}

// divide divides a quantity by weight among the queues that are not fixed. It returns the sums
// by which queues are below and above their bounds.
func divide(rest float64, parts []portion) (lacks, exceeds float64) {
	weights := 0.0
	for _, p := range parts {
		if !p.fixed {
			weights += p.weight
		}
	}

	for i := range parts {
		p := &parts[i]
		if p.fixed {
			continue
		}

		p.given = 0
		if weights > 0 {
			p.given = rest * p.weight / weights
		}
		lacks += max(0, p.least-p.given)
		exceeds += max(0, p.given-p.most)
	}

	return lacks, exceeds
}
