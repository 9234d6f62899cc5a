package validate

import (
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// parentOf returns the parent, nil for nil and if that is the root and the root is not in the input.
func (ck *checker) parentOf(q *scheduling.Queue) *scheduling.Queue {
	if q == nil {
		return nil
	}
	parent := q.Spec.Parent
	if parent == "" && q.Name != index.RootName {
		parent = index.RootName
	}
	return ck.queues[parent]
}

// checkAgainstParent finds bounds of a queue above those of its parent, which the queue
// can never reach.
func (ck *checker) checkAgainstParent(q *scheduling.Queue) {
	parent := ck.parentOf(q)
	if parent == nil || parent == q || ck.tree.Broken(ck.tree.Lookup(q.Name)) != nil {
		return
	}
	for _, name := range sortedNames(q.Spec.Capability) {
		own := q.Spec.Capability[name]
		if above, ok := parent.Spec.Capability[name]; ok && own.Cmp(above) > 0 {
			ck.report(Error, q, "Queue", "spec.capability."+string(name), "%s is more than the %s of its parent %s", own.String(), above.String(),
				parent.Name)
		}
	}
	above := amounts(parent, card.QuotaKey)
	own := amounts(q, card.QuotaKey)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if most, ok := above[name]; ok && own[name] > most {
			ck.report(Error, q, "Queue", annotation(card.QuotaKey), "%q is %v, more than the %v of its parent %s", name, own[name], most,
				parent.Name)
		}
	}
}

// checkSums finds queues whose children together are guaranteed, or deserve, more than
// the queue.
func (ck *checker) checkSums() {
	for _, q := range ck.objects.Queues {
		n := ck.tree.Lookup(q.Name)
		if ck.tree.Broken(n) != nil || ck.tree.IsLeaf(n) {
			continue
		}
		cards, resources, deserved := map[string]float64{}, v1.ResourceList{}, map[string]float64{}
		for _, c := range ck.tree.Children(n) {
			child := ck.queues[ck.tree.Name(c)]
			for name, amount := range guaranteed(child) {
				cards[name] += amount
			}
			for name, amount := range amounts(child, card.DeservedKey) {
				deserved[name] += amount
			}
			for name, amount := range child.Spec.Guarantee.Resource {
				sum := resources[name]
				sum.Add(amount)
				resources[name] = sum
			}
		}
		ck.checkSumsOf(q, cards, deserved, resources)
	}
}

func (ck *checker) checkSumsOf(q *scheduling.Queue, cards, deserved map[string]float64, resources v1.ResourceList) {
	quota, own := amounts(q, card.QuotaKey), amounts(q, card.DeservedKey)
	for _, name := range slices.Sorted(maps.Keys(cards)) {
		if most, ok := quota[name]; ok && cards[name] > most {
			ck.report(Warning, q, "Queue", annotation(card.QuotaKey), "%q is %v, and its children are guaranteed %v "+
				"(%s is the quota where it is not set)", name, most, cards[name], card.GuaranteeKey)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(deserved)) {
		if most, ok := own[name]; ok && deserved[name] > most {
			ck.report(Warning, q, "Queue", annotation(card.DeservedKey), "%q is %v, and its children deserve %v", name, most, deserved[name])
		}
	}
	for _, name := range sortedNames(resources) {
		sum := resources[name]
		if most, ok := q.Spec.Capability[name]; ok && sum.Cmp(most) > 0 {
			ck.report(Error, q, "Queue", "spec.capability."+string(name), "%s, and its children are guaranteed %s", most.String(), sum.String())
		}
	}
}

// guaranteed is the guarantee of each card of a queue. It defaults to the quota and is
// at most the quota.
func guaranteed(q *scheduling.Queue) map[string]float64 {
	all := amounts(q, card.QuotaKey)
	for name, amount := range amounts(q, card.GuaranteeKey) {
		if most, ok := all[name]; !ok || amount < most {
			all[name] = amount
		}
	}
	return all
}

// checkCards finds cards that no node has.
func (ck *checker) checkCards(q *scheduling.Queue) {
	if len(ck.objects.Nodes) == 0 {
		return
	}
	own := amounts(q, card.QuotaKey)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, ok := ck.stock[name]; !ok && own[name] > 0 {
			ck.report(Warning, q, "Queue", annotation(card.QuotaKey), "no node has the card %q%s", name,
				index.DidYouMean(name, slices.Sorted(maps.Keys(ck.stock))))
		}
	}
}

// checkOversubscription adds up the quotas of the leaf queues.
func (ck *checker) checkOversubscription() {
	if len(ck.objects.Nodes) == 0 {
		return
	}
	sums, last := map[string]float64{}, map[string]*scheduling.Queue{}
	for _, q := range ck.objects.Queues {
		if n := ck.tree.Lookup(q.Name); n == index.None || !ck.tree.IsLeaf(n) {
			continue
		}
		for name, amount := range amounts(q, card.QuotaKey) {
			sums[name] += amount
			last[name] = q
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if have, known := ck.stock[name]; known && sums[name] > have {
			ck.report(Note, last[name], "Queue", annotation(card.QuotaKey), "the quotas of %q add up to %v, and the nodes have %v", name, sums[name],
				have)
		}
	}
}
