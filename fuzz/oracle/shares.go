package oracle

import "math/big"

// Share is a share of the cards of the cluster, which a queue states in place of an amount. Min and Max are in the unit
// of the card. Max is Unlimited for a share without a maximum.
type Share struct {
	Percent  *big.Rat
	Min, Max float64
}

// CardShares are the shares that a queue states, by card, in each of the three annotations of cards.
type CardShares struct{ Quota, Deserved, Guarantee map[string]Share }

// shared is one annotation of cards: the amounts and the shares of a queue.
type shared struct {
	amounts func(q *queue) *Amounts
	shares  func(q *queue) map[string]Share
}

// resolveShares gives the queues the amounts of their shares:
//
//	amount = max(min, min(max, whole cards of (percent · stock / 100)))
//
// Shares of 100% together, of queues below the same queue that all state a share of the card, get all whole cards of
// the stock: the first ones in the order of the fractions that they lost, and then of their names, get one more.
func (o *Oracle) resolveShares() {
	for _, s := range []shared{
		{
			func(q *queue) *Amounts { return &q.CardQuota },
			func(q *queue) map[string]Share { return q.Shares.Quota },
		},
		{
			func(q *queue) *Amounts { return &q.CardDeserved },
			func(q *queue) map[string]Share { return q.Shares.Deserved },
		},
		{
			func(q *queue) *Amounts { return &q.CardGuarantee },
			func(q *queue) map[string]Share { return q.Shares.Guarantee },
		},
	} {
		all := map[string]Amounts{}
		for _, name := range o.names {
			q := o.queues[name]
			all[name] = Amounts{}
			for card, amount := range *s.amounts(q) {
				all[name][card] = amount
			}
			for card := range s.shares(q) {
				all[name][card] = o.shareOf(name, card, s)
			}
		}

		// The amounts of others decide whether all of them are shares.
		for name, amounts := range all {
			*s.amounts(o.queues[name]) = amounts
		}
	}
}

// shareOf returns the amount of the share of a queue.
func (o *Oracle) shareOf(name, card string, s shared) float64 {
	own := s.shares(o.queues[name])[card]
	cards, lost := o.wholeCards(card, own)

	sum := new(big.Rat)
	left, _ := o.wholeCards(card, Share{Percent: big.NewRat(100, 1)})
	before := int64(0)
	onlyShares := true
	for _, other := range o.dividing(name) {
		if _, number := (*s.amounts(o.queues[other]))[card]; number {
			onlyShares = false
		}
		share, is := s.shares(o.queues[other])[card]
		if !is {
			continue
		}

		sum.Add(sum, share.Percent)
		n, fraction := o.wholeCards(card, share)
		left -= n
		if fraction.Cmp(lost) > 0 || fraction.Cmp(lost) == 0 && other < name {
			before++
		}
	}

	if onlyShares && sum.Cmp(big.NewRat(100, 1)) == 0 && before < left {
		cards++
	}
	return max(own.Min, min(own.Max, float64(cards)*o.cluster.Card))
}

// wholeCards returns the whole cards of a share of the stock, and the fraction of a card that it loses.
func (o *Oracle) wholeCards(card string, share Share) (whole int64, lost *big.Rat) {
	stock := new(big.Rat).SetFloat64(o.cluster.Available[card])
	exact := stock.Quo(stock, new(big.Rat).SetFloat64(o.cluster.Card))
	exact.Mul(exact, share.Percent)
	exact.Quo(exact, big.NewRat(100, 1))

	cards := new(big.Int).Quo(exact.Num(), exact.Denom())
	return cards.Int64(), exact.Sub(exact, new(big.Rat).SetInt(cards))
}

// dividing returns the queues that divide a card with a queue: the queues below its parent. The root is alone, and so
// is a queue that does not reach it.
func (o *Oracle) dividing(name string) []string {
	switch {
	case o.cluster.Root == "":
		return o.names
	case name == o.cluster.Root || o.Broken(name):
		return []string{name}
	}
	return o.Children(o.Path(name)[1])
}
