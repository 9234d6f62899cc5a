package validate

import (
	"errors"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

// checkPlace checks a queue's place in the tree.
func (ck *checker) checkPlace(q *scheduling.Queue) {
	err := ck.tree.Broken(ck.tree.Lookup(q.Name))
	switch {
	case ck.places != nil:
		ck.checkPath(q)
	case q.Name == index.RootName && q.Spec.Parent != "":
		ck.report(Error, q, "Queue", "spec.parent", "the root has no parent")
	case err == nil:
	case errors.Is(err, index.ErrUnknownParent) && ck.queues[q.Spec.Parent] == nil:
		ck.report(Error, q, "Queue", "spec.parent", "there is no queue %q%s", q.Spec.Parent,
			index.DidYouMean(q.Spec.Parent, slices.Sorted(maps.Keys(ck.queues))))
	case errors.Is(err, index.ErrCycle) && len(ck.around(q)) > 0:
		ck.report(Error, q, "Queue", "spec.parent", "the parents form a cycle: %s", ck.cycle(q))
	default:
		ck.report(Error, q, "Queue", "spec.parent", "its path does not reach the root: %v", err)
	}
}

// checkPath reports what is wrong with the annotations that place a queue. A queue whose weights
// alone differ from those that count has its place.
func (ck *checker) checkPath(q *scheduling.Queue) {
	err := ck.places.Problems[q.Name]
	if err == nil {
		return
	}
	severity := Warning
	if ck.tree.Broken(ck.tree.Lookup(q.Name)) != nil {
		severity = Error
	}
	for _, key := range []string{index.WeightsKey, index.PathKey} {
		if message, of := strings.CutPrefix(err.Error(), "annotation "+key+": "); of {
			ck.report(severity, q, "Queue", annotation(key), "%s", message)
		}
	}
}

// around is the cycle that a queue is part of. It is nil if the queue is only below a
// cycle.
func (ck *checker) around(q *scheduling.Queue) []string {
	parent := func(name string) string {
		if of := ck.queues[name]; of != nil {
			return of.Spec.Parent
		}
		return ""
	}
	names := slices.Collect(index.Upward(q.Name, parent))
	if parent(names[len(names)-1]) != q.Name {
		return nil
	}
	return names
}

func (ck *checker) cycle(q *scheduling.Queue) string {
	text := ""
	for _, name := range ck.around(q) {
		text += name + " → "
	}
	return text + q.Name
}

// above returns the nearest queue above another one that is in the input, nil for none.
func (ck *checker) above(q *scheduling.Queue) *scheduling.Queue {
	for _, p := range ck.tree.Path(ck.tree.Lookup(q.Name))[1:] {
		if above := ck.queues[ck.tree.Name(p)]; above != nil {
			return above
		}
	}
	return nil
}

// checkAgainstParent finds bounds of a queue above those of its parent, which the queue
// can never reach.
func (ck *checker) checkAgainstParent(q *scheduling.Queue) {
	parent := ck.above(q)
	if parent == nil || ck.tree.Broken(ck.tree.Lookup(q.Name)) != nil {
		return
	}
	for _, name := range sortedNames(q.Spec.Capability) {
		own := q.Spec.Capability[name]
		if above, ok := parent.Spec.Capability[name]; ok && own.Cmp(above) > 0 {
			ck.report(Error, q, "Queue", "spec.capability."+string(name), "%s is more than the %s of its parent %s", own.String(), above.String(),
				parent.Name).Topic = NoEffect
		}
	}
	above := amounts(parent, card.QuotaKey)
	own := amounts(q, card.QuotaKey)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if most, ok := above[name]; ok && own[name] > most {
			ck.report(Error, q, "Queue", annotation(card.QuotaKey), "%q is %v, more than the %v of its parent %s", name, own[name], most,
				parent.Name).Topic = NoEffect
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
		cards := map[string]float64{}
		resources := v1.ResourceList{}
		deserved := map[string]float64{}
		for _, c := range ck.tree.Children(n) {
			child := ck.queues[ck.tree.Name(c)]
			if child == nil {
				continue // a name on a path, without a Queue object
			}
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
				"(%s is the quota where it is not set)", name, most, cards[name], card.GuaranteeKey).Topic = Sums
		}
	}
	for _, name := range slices.Sorted(maps.Keys(deserved)) {
		if most, ok := own[name]; ok && deserved[name] > most {
			ck.report(Warning, q, "Queue", annotation(card.DeservedKey), "%q is %v, and its children deserve %v", name, most, deserved[name]).Topic = Sums
		}
	}
	for _, name := range sortedNames(resources) {
		sum := resources[name]
		if most, ok := q.Spec.Capability[name]; ok && sum.Cmp(most) > 0 {
			ck.report(Error, q, "Queue", "spec.capability."+string(name), "%s, and its children are guaranteed %s", most.String(), sum.String()).Topic = Sums
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
		if own[name] > 0 {
			ck.checkCard(q, card.QuotaKey, name)
		}
	}
	for _, key := range []string{card.NamespaceKey, card.HolderKey, card.BudgetKey, policy.SoftQuotaKey} {
		for _, name := range cardNames(q, key) {
			ck.checkCard(q, key, name)
		}
	}
}

// checkSoftQuota finds soft quotas that never decide: the queue deserves or is guaranteed as much, or may have no more.
func (ck *checker) checkSoftQuota(q *scheduling.Queue) {
	quota, soft := amounts(q, card.QuotaKey), amounts(q, policy.SoftQuotaKey)
	for _, name := range slices.Sorted(maps.Keys(soft)) {
		most, bounded := quota[name]
		if bounded && soft[name] >= most {
			ck.report(Warning, q, "Queue", annotation(policy.SoftQuotaKey), "%q has no effect: the quota is %v", name, most).Topic = NoEffect
			continue
		}
		for _, key := range []string{card.DeservedKey, card.GuaranteeKey} {
			keeps, set := amounts(q, key)[name]
			switch {
			case set && keeps > soft[name]:
				ck.report(Warning, q, "Queue", annotation(policy.SoftQuotaKey), "%q counts as %v: %s is as much", name, keeps, policy.Short(key)).Topic = NoEffect
			case !set && bounded:
				ck.report(Warning, q, "Queue", annotation(policy.SoftQuotaKey), "%q has no effect: %s is not set, so it is the quota of %v", name,
					policy.Short(key), most).Topic = NoEffect
			default:
				continue
			}
			break
		}
	}
}

// cardNames returns the cards and groups of cards that an annotation of a queue names, in order.
func cardNames(q *scheduling.Queue, key string) []string {
	switch key {
	case card.HolderKey:
		return policy.HolderCardNames(q.Annotations)
	case card.BudgetKey:
		return policy.BudgetCardNames(q.Annotations)
	}
	return slices.Sorted(maps.Keys(amounts(q, key)))
}

func (ck *checker) checkCard(q *scheduling.Queue, key, name string) {
	if _, ok := ck.stock[name]; !ok && !strings.HasPrefix(name, card.GroupPrefix) {
		ck.report(Warning, q, "Queue", annotation(key), "no node has the card %q%s", name,
			index.DidYouMean(name, slices.Sorted(maps.Keys(ck.stock)))).Topic = NoEffect
	}
}

// checkGroups finds groups of cards that do not exist, and those that can only bound.
func (ck *checker) checkGroups(q *scheduling.Queue) {
	overlapping := ck.groups.Overlapping()
	for _, key := range allCardKeys {
		for _, name := range cardNames(q, key) {
			group, is := strings.CutPrefix(name, card.GroupPrefix)
			switch _, known := ck.groups[group]; {
			case !is:
			case !known:
				ck.report(Warning, q, "Queue", annotation(key), "%q is not a group of cards of the argument cardGroups%s", name,
					index.DidYouMean(group, slices.Sorted(maps.Keys(ck.groups)))).Topic = Groups
			case (key == card.DeservedKey || key == card.GuaranteeKey) && slices.Contains(overlapping, group):
				ck.report(Warning, q, "Queue", annotation(key), "%q has no effect: the group shares cards with another one, so it can only bound", name).Topic = Groups
			}
		}
	}
}
