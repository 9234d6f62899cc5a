package validate

import (
	"maps"
	"math"
	"slices"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// scope is where amounts of a card are compared: in the queues with one parent. A queue that does not reach the root
// counts as its own parent.
type scope struct {
	parent index.Queue
	card   string
}

// siblings are the amounts that queues state, in the order of their names.
type siblings struct {
	queues  []*scheduling.Queue
	amounts []card.Amount
}

// resolveShares finds the numbers that shares of the cards of the nodes are. Without nodes they are not known.
func (ck *checker) resolveShares() {
	ck.numbers = map[stated]map[string]float64{}
	for _, key := range cardKeys {
		for at, all := range ck.siblings(key) {
			ck.checkSum(key, at, all.amounts)
			ck.resolve(key, at.card, all)
		}
	}
}

// siblings returns the amounts that queues state in an annotation, where any of them is a share.
func (ck *checker) siblings(key string) map[scope]*siblings {
	all := map[scope]*siblings{}
	for _, name := range slices.Sorted(maps.Keys(ck.queues)) {
		amounts, _ := card.ParseAmounts(ck.queues[name].Annotations[key])
		parent := ck.tree.ParentOrSelf(ck.tree.Lookup(name))
		for _, amount := range amounts {
			at := scope{parent, amount.Name}
			if all[at] == nil {
				all[at] = &siblings{}
			}
			all[at].queues = append(all[at].queues, ck.queues[name])
			all[at].amounts = append(all[at].amounts, amount)
		}
	}

	isShare := func(amount card.Amount) bool { return amount.Share != nil }
	maps.DeleteFunc(all, func(_ scope, s *siblings) bool { return !slices.ContainsFunc(s.amounts, isShare) })
	return all
}

// checkSum warns of shares that add up to more than all cards, which quotas may.
func (ck *checker) checkSum(key string, at scope, amounts []card.Amount) {
	sum := int64(0)
	for _, a := range amounts {
		if a.Share != nil {
			sum += a.Share.Hundredths
		}
	}

	switch {
	case sum <= card.WholeStock:
	case at.parent == index.None:
		ck.reportCluster("queues at the top have shares of %s that add up to %s (%s)", at.card, card.Percent(sum), key)
	default:
		ck.reportCluster("queues below %s have shares of %s that add up to %s (%s)",
			ck.tree.Name(at.parent), at.card, card.Percent(sum), key)
	}
}

// stated is an annotation of a queue that states shares.
type stated struct{ queue, key string }

// resolve notes the number that each share of a card is, and puts it into numbers.
func (ck *checker) resolve(key, name string, all *siblings) {
	stock := ck.stock[name]
	for i, n := range card.Divide(card.Milli(1000*stock), all.amounts) {
		q := all.queues[i]
		share := all.amounts[i].Share
		if share == nil {
			continue
		}

		number := math.NaN() // neither more nor less than another amount
		if len(ck.objects.Nodes) > 0 {
			number = float64(n)
			ck.report(Note, q, "Queue", annotation(key), "%q is %s: %d of the %v cards that the nodes give",
				name, share, n, stock)
		}

		at := stated{q.Name, key}
		if ck.numbers[at] == nil {
			ck.numbers[at] = map[string]float64{}
		}
		ck.numbers[at][name] = number
	}
}
