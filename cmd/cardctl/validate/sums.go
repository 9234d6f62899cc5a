package validate

import (
	"maps"
	"slices"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// Topic groups issues that say the same of queues, for package audit.
type Topic string

// The topics. Most issues have none.
const (
	Sums     Topic = "sums"      // the queues below one are given more together than that queue has
	Groups   Topic = "groups"    // groups of cards that do not exist, or that overlap
	NoEffect Topic = "no effect" // a value that decides nothing
)

// Result has the findings of a check.
type Result struct {
	Issues   []Issue
	Sums     []Sum
	Overlaps []Overlap
}

// Sum is the sum of the quotas of a card on one level. A queue without a quota of its own stands for the queues below
// it.
type Sum struct {
	Queue  string // the queues are below it; "" for all leaf queues, or for all queues where quotas are flat
	Queues int    // with a quota of the card
	Card   string // or group of cards
	Quotas float64
	Quota  *float64 // the quota of Queue, nil for none
	Nodes  *float64 // the cards of all nodes, nil if they are not known

	last *scheduling.Queue // that is part of the sum
}

// Overlap is two groups of cards that can have a card in common. Cards are the cards of the nodes that are in both.
type Overlap struct {
	One, Other string
	Cards      []string
}

// sums returns the sums of the quotas of all leaf queues, and of the queues below each other queue, in the order of the
// tree.
func (ck *checker) sums() (all []Sum) {
	below := map[index.Queue]total{}
	for q := index.Queue(ck.tree.Len()) - 1; q >= 0; q-- { // a queue comes before the queues below it
		if ck.tree.Broken(q) != nil {
			continue
		}

		own := map[string]float64{}
		if object := ck.queues[ck.tree.Name(q)]; object != nil {
			own = amounts(object, card.QuotaKey)
		}

		// The children stand in for a queue without a quota of its own.
		if children := below[q]; children != nil {
			all = append(all, ck.sumsOf(children, ck.tree.Name(q), own)...)
			own = children.instead(own)
		}

		if p := ck.tree.Parent(q); p != index.None {
			if below[p] == nil {
				below[p] = total{}
			}
			below[p].add(own, nil)
		}
	}

	leaves := total{}
	for _, object := range ck.objects.Queues {
		if q := ck.tree.Lookup(object.Name); q != index.None && ck.tree.IsLeaf(q) {
			leaves.add(amounts(object, card.QuotaKey), object)
		}
	}
	all = append(all, ck.sumsOf(leaves, "", nil)...)
	slices.Reverse(all)
	return all
}

// total has the sums of the quotas of some queues, by card.
type total map[string]Sum

func (t total) add(quotas map[string]float64, object *scheduling.Queue) {
	for name, amount := range quotas {
		s := t[name]
		s.Quotas += amount
		s.Queues++
		s.last = object
		t[name] = s
	}
}

// instead returns the quotas of a queue, with the sums of its children for cards that the queue does not name.
func (t total) instead(own map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for name, s := range t {
		all[name] = s.Quotas
	}
	maps.Copy(all, own)
	return all
}

// sumsOf completes the sums of the queues below one. They are sorted by card, in descending order.
func (ck *checker) sumsOf(t total, queue string, quotas map[string]float64) (all []Sum) {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(t))) {
		s := t[name]
		s.Queue = queue
		s.Card = name

		if quota, given := quotas[name]; given {
			s.Quota = &quota
		}
		if n, known := ck.stock[name]; known && len(ck.objects.Nodes) > 0 {
			s.Nodes = &n
		}
		all = append(all, s)
	}
	return all
}

// checkOversubscription compares the quotas of all leaf queues with the nodes.
func (ck *checker) checkOversubscription(sums []Sum) {
	for _, s := range sums {
		if s.Queue == "" && s.Nodes != nil && s.Quotas > *s.Nodes {
			ck.report(Note, s.last, "Queue", annotation(card.QuotaKey),
				"the quotas of %q add up to %v, and the nodes have %v", s.Card, s.Quotas, *s.Nodes)
		}
	}
}

// overlaps returns the groups of cards that overlap.
func (ck *checker) overlaps() (all []Overlap) {
	for _, pair := range ck.groups.Overlaps() {
		o := Overlap{One: pair[0], Other: pair[1]}

		for _, name := range slices.Sorted(maps.Keys(ck.stock)) {
			_, inOne := ck.groups[o.One].Of(name)
			_, inOther := ck.groups[o.Other].Of(name)
			if inOne && inOther {
				o.Cards = append(o.Cards, name)
			}
		}
		all = append(all, o)
	}
	return all
}
