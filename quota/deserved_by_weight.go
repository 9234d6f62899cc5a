package quota

import (
	"cmp"
	"math"
	"slices"

	"github.com/capacity-card/capacity-card/fastres"
	"github.com/capacity-card/capacity-card/index"
)

// WeightOf is the weight of a queue among its siblings, in one dimension: not
// negative, and 0 for a queue that gets no more than its guarantee.
type WeightOf func(index.Queue, fastres.Dim) float64

// Split sets deserved of every queue by weight, from the root down. Flat queues
// share the total; the children of a queue share what it deserves:
//
//	deserved = max(guarantee, min(λ·weight, realCapability))
//
// in each dimension, with one λ for all siblings, so that what a capped queue
// cannot take, and no more than that, goes to the others by their weights. The
// root deserves the total, as far as it is bound to no less, or what is guaranteed
// below it if that is more. Parts are whole units, rounded down, so Σ of the children is never above the parent.
//
// Requests do not count, unlike in Divide: a queue deserves its part even while
// it is idle, and others borrow it. Upstream has weights in proportion alone.
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
	// A parent's number is smaller than its children's, so it has its part first.
	slices.SortStableFunc(queues, func(l, r index.Queue) int { return cmp.Compare(ix.Parent(l), ix.Parent(r)) })
	var parts []part
	for len(queues) > 0 {
		p, n := ix.Parent(queues[0]), 1
		for n < len(queues) && ix.Parent(queues[n]) == p {
			n++
		}
		switch {
		case p != index.None:
			parts = splitAmong(ix, ix.Deserved.Row(p), queues[:n], weight, parts)
		case !ix.Rooted():
			parts = splitAmong(ix, total, queues[:n], weight, parts)
		} // else they are the root, and the tops of broken subtrees, which deserve nothing
		queues = queues[n:]
	}
}

// splitAmong splits what siblings share. parts is memory to work in.
func splitAmong(ix *index.Index, shared fastres.Vector, siblings []index.Queue, weight WeightOf, parts []part) []part {
	for d := range shared.Present() {
		parts = parts[:0]
		for _, q := range siblings {
			least := ix.Guarantee.Row(q).Get(d)
			parts = append(parts, part{weight: weight(q, d), least: least, most: max(least, ix.RealCapability.Row(q).Get(d))})
		}
		split(shared.Get(d), parts)
		for i, q := range siblings {
			ix.Deserved.Row(q).Set(d, parts[i].given)
		}
	}
	for _, q := range siblings {
		ix.Deserved.Row(q).RaiseTo(ix.Guarantee.Row(q))
	}
	return parts
}

// part is what one queue gets of one dimension.
type part struct {
	weight, least, most float64 // least ≤ most
	given               float64
	bound               bool // given is least or most
}

// split splits a quantity. Those whose part by weight is out of bounds get their
// bound, and the rest is split anew. If what lacks at the lower bounds is more
// than what is too much at the upper ones, the others will get less than now: who
// is at a lower bound stays there, and who is at an upper bound may not. The
// other way round it is the reverse.
func split(rest float64, parts []part) {
	for {
		weights, lacks, exceeds := 0.0, 0.0, 0.0
		for _, p := range parts {
			if !p.bound {
				weights += p.weight
			}
		}
		for i := range parts {
			p := &parts[i]
			if p.bound {
				continue
			}
			p.given = 0
			if weights > 0 {
				p.given = rest * p.weight / weights
			}
			lacks += max(0, p.least-p.given)
			exceeds += max(0, p.given-p.most)
		}
		if lacks == 0 && exceeds == 0 {
			break
		}
		for i := range parts {
			p := &parts[i]
			if p.bound {
				continue
			}
			if p.given < p.least && lacks >= exceeds {
				p.given, p.bound = p.least, true
			} else if p.given > p.most && exceeds >= lacks {
				p.given, p.bound = p.most, true
			}
			if p.bound {
				rest -= p.given
			}
		}
	}
	for i := range parts {
		if p := &parts[i]; !p.bound {
			p.given = max(p.least, math.Floor(p.given))
		}
	}
}
