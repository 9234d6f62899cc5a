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
	Sums     Topic = "sums"      // what queues below one are given together is more than that queue has
	Groups   Topic = "groups"    // groups of cards that do not exist, or that overlap
	NoEffect Topic = "no effect" // a value that decides nothing
)

// Result has the findings of a check.
type Result struct {
	Issues   []Issue
	Sums     []Sum
	Overlaps []Overlap
}

// Sum is the sum of the quotas of a card on one level. A queue without a quota of its own stands for those below it.
type Sum struct {
	Queue  string // the queues are below it; "" for all leaf queues, or for all queues where quotas are flat
	Queues int    // with a quota of the card
	Card   string // or group of cards
	Quotas float64
	// Quota is that of Queue, and Nodes what all nodes have; nil for none, or where they are not known.
	Quota, Nodes *float64

	last *scheduling.Queue
}

// Overlap is two groups of cards that can have a card in common. Cards are those of the nodes that both have.
type Overlap struct {
	One, Other string
	Cards      []string
}

// sums returns the sums of the quotas of all leaf queues, and of the queues below each other one, in the order of the
// tree.
func (ck *checker) sums() (all []Sum) {
	below := map[index.Queue]*total{}
	for q := index.Queue(ck.tree.Len()) - 1; q >= 0; q-- { // those below a queue come after it
		own := map[string]float64{}
		if object := ck.queues[ck.tree.Name(q)]; object != nil {
			own = amounts(object, card.QuotaKey)
		}
		if ck.tree.Broken(q) != nil {
			continue
		}
		if of := below[q]; of != nil {
			all = append(all, of.of(ck.tree.Name(q), own, ck.nodes)...)
			own = of.instead(own)
		}
		if p := ck.tree.Parent(q); p != index.None {
			if below[p] == nil {
				below[p] = newTotal()
			}
			below[p].add(own, nil)
		}
	}
	leaves := newTotal()
	for _, object := range ck.objects.Queues {
		if q := ck.tree.Lookup(object.Name); q != index.None && ck.tree.IsLeaf(q) {
			leaves.add(amounts(object, card.QuotaKey), object)
		}
	}
	all = append(all, leaves.of("", nil, ck.nodes)...)
	slices.Reverse(all)
	return all
}

// total adds up the quotas of queues.
type total struct {
	sums   map[string]float64
	queues map[string]int
	last   map[string]*scheduling.Queue
}

func newTotal() *total {
	return &total{map[string]float64{}, map[string]int{}, map[string]*scheduling.Queue{}}
}

func (t *total) add(quotas map[string]float64, object *scheduling.Queue) {
	for name, amount := range quotas {
		t.sums[name] += amount
		t.queues[name]++
		t.last[name] = object
	}
}

// instead returns the quotas of a queue, with the sums of those below it for cards that it does not name.
func (t *total) instead(own map[string]float64) map[string]float64 {
	all := maps.Clone(t.sums)
	maps.Copy(all, own)
	return all
}

// of returns the sums of the queues below one, sorted by card from the last one on.
func (t *total) of(queue string, quota map[string]float64, nodes func(card string) *float64) (all []Sum) {
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(t.sums))) {
		s := Sum{Queue: queue, Queues: t.queues[name], Card: name, Quotas: t.sums[name], Nodes: nodes(name), last: t.last[name]}
		if most, given := quota[name]; given {
			s.Quota = &most
		}
		all = append(all, s)
	}
	return all
}

// nodes returns the number of a card that the nodes have, nil without nodes, and for a card that none has.
func (ck *checker) nodes(name string) *float64 {
	if have, known := ck.stock[name]; known && len(ck.objects.Nodes) > 0 {
		return &have
	}
	return nil
}

// checkOversubscription compares the quotas of all leaf queues with the nodes.
func (ck *checker) checkOversubscription(sums []Sum) {
	for _, s := range sums {
		if s.Queue == "" && s.Nodes != nil && s.Quotas > *s.Nodes {
			ck.report(Note, s.last, "Queue", annotation(card.QuotaKey), "the quotas of %q add up to %v, and the nodes have %v", s.Card, s.Quotas, *s.Nodes)
		}
	}
}

// overlaps returns the groups of cards that overlap.
func (ck *checker) overlaps() (all []Overlap) {
	for _, pair := range ck.groups.Overlaps() {
		o := Overlap{One: pair[0], Other: pair[1]}
		for _, name := range slices.Sorted(maps.Keys(ck.stock)) {
			_, one := ck.groups[pair[0]].Of(name)
			_, other := ck.groups[pair[1]].Of(name)
			if one && other {
				o.Cards = append(o.Cards, name)
			}
		}
		all = append(all, o)
	}
	return all
}
