package oracle

import (
	"cmp"
	"math/big"
	"slices"
)

// split sets deserved by weight, from the root down. Numbers are exact fractions until the
// last step.
func (o *Oracle) split() {
	for _, q := range o.queues {
		q.deserved = Amounts{}
	}
	if o.cluster.Root == "" {
		o.splitAmong(o.cluster.Total, o.names)
		return
	}

	root := o.queues[o.cluster.Root]
	root.deserved = o.cluster.Total.within(root.bound).atLeast(o.reserved(o.Children(root.Name)))

	byDepth := o.Names()
	slices.SortStableFunc(byDepth, func(l, r string) int { return cmp.Compare(len(o.Path(l)), len(o.Path(r))) })
	for _, name := range byDepth {
		o.splitAmong(o.queues[name].deserved, o.Children(name))
	}
}

// splitAmong divides an amount among queues. It finds the number λ for which the sum of
// max(guarantee, min(λ·weight, bound)) is that amount. The sum grows with λ. Between two
// neighbouring values of λ at which a queue reaches one of its bounds, it is linear.
func (o *Oracle) splitAmong(shared Amounts, names []string) {
	for _, d := range dimensions(shared) {
		if !shared.has(d) {
			continue
		}

		level, found := o.level(shared[d], names, d)
		for _, name := range names {
			q := o.queues[name]
			switch {
			case found:
				q.deserved[d] = max(q.guarantee[d], floor(o.partAt(q, d, level)))
			case o.weight(q, d) > 0:
				// There is more than all queues can use.
				q.deserved[d] = o.most(q, d)
			default:
				q.deserved[d] = q.guarantee[d]
			}
		}
	}

	for _, name := range names {
		o.queues[name].deserved = o.queues[name].deserved.atLeast(o.queues[name].guarantee)
	}
}

// weight returns the weight of a queue in one dimension, 0 for a card that does not count.
func (o *Oracle) weight(q *queue, d string) float64 {
	if slices.Contains(o.cluster.Cards, d) && !q.CardsCount {
		return 0
	}
	return q.Weight
}

func (o *Oracle) most(q *queue, d string) float64 { return max(q.guarantee[d], q.bound[d]) }

// partAt returns the part of a queue at a value of λ.
func (o *Oracle) partAt(q *queue, d string, level *big.Rat) *big.Rat {
	part := new(big.Rat).Mul(level, fraction(o.weight(q, d)))
	most := fraction(o.most(q, d))
	if part.Cmp(most) > 0 {
		part = most
	}
	least := fraction(q.guarantee[d])
	if part.Cmp(least) < 0 {
		part = least
	}

	return part
}

// level returns λ, or false if no λ is large enough.
func (o *Oracle) level(shared float64, names []string, d string) (*big.Rat, bool) {
	levels := []*big.Rat{new(big.Rat)}
	for _, name := range names {
		q := o.queues[name]
		weight := o.weight(q, d)
		if weight <= 0 {
			continue
		}
		for _, bound := range []float64{q.guarantee[d], o.most(q, d)} {
			levels = append(levels, new(big.Rat).Quo(fraction(bound), fraction(weight)))
		}
	}

	slices.SortFunc(levels, (*big.Rat).Cmp)

	sum := func(level *big.Rat) *big.Rat {
		total := new(big.Rat)
		for _, name := range names {
			total.Add(total, o.partAt(o.queues[name], d, level))
		}
		return total
	}

	want := fraction(shared)
	for i, high := range levels {
		above := sum(high)
		if above.Cmp(want) < 0 {
			continue
		}
		if i == 0 {
			return high, true
		}

		low := levels[i-1]
		below := sum(low)
		// λ = low + (want − below)/(above − below) · (high − low)
		ratio := new(big.Rat).Quo(new(big.Rat).Sub(want, below), new(big.Rat).Sub(above, below))
		return ratio.Add(low, ratio.Mul(ratio, new(big.Rat).Sub(high, low))), true
	}

	return nil, false
}

func fraction(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// floor returns the largest whole number that is not above x, for x ≥ 0.
func floor(x *big.Rat) float64 {
	whole, _ := new(big.Float).SetInt(new(big.Int).Quo(x.Num(), x.Denom())).Float64()
	return whole
}
