package validate

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/engine"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
	"github.com/capacity-card/capacity-card/plugin"
)

// checkFlat warns of parents that the configuration does not read. Volcano's webhook gives each queue the parent root.
func (ck *checker) checkFlat(c *engine.Configuration) {
	if c.Given == nil || c.Hierarchy || c.Plugin == plugin.ProportionName {
		return
	}

	at := slices.IndexFunc(ck.objects.Queues, func(q *scheduling.Queue) bool {
		return q.Spec.Parent != index.RootName && ck.queues[q.Spec.Parent] != nil
	})
	if at >= 0 {
		ck.reportConfiguration(c, Warning, fmt.Sprintf(
			"queues such as %s have a parent, and the queues are flat: set enableHierarchy: true for %s",
			ck.objects.Queues[at].Name, c.Plugin))
	}
}

// checkPlace checks the place of a queue in the tree.
func (ck *checker) checkPlace(q *scheduling.Queue) {
	if ck.places != nil {
		ck.checkPath(q)
		return
	}
	if q.Name == index.RootName && q.Spec.Parent != "" {
		ck.report(Error, q, "Queue", "spec.parent", "the root has no parent")
		return
	}

	err := ck.placed.Broken(ck.placed.Lookup(q.Name))
	switch {
	case err == nil:
	case errors.Is(err, index.ErrUnknownParent) && ck.queues[q.Spec.Parent] == nil:
		ck.report(Error, q, "Queue", "spec.parent", "there is no queue %q%s",
			q.Spec.Parent, index.DidYouMean(q.Spec.Parent, slices.Sorted(maps.Keys(ck.queues))))
	case errors.Is(err, index.ErrCycle) && ck.cycle(q) != "":
		ck.report(Error, q, "Queue", "spec.parent", "the parents form a cycle: %s", ck.cycle(q))
	default:
		ck.report(Error, q, "Queue", "spec.parent", "its path does not reach the root: %v", err)
	}
}

// checkPath reports the problems of the annotations that place a queue. A queue still has its place if only its weights
// differ from the weights that count.
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
		if message, found := strings.CutPrefix(err.Error(), "annotation "+key+": "); found {
			ck.report(severity, q, "Queue", annotation(key), "%s", message)
		}
	}
}

// cycle returns the cycle of parents that a queue is part of, "" if there is none or the queue is only below one.
func (ck *checker) cycle(q *scheduling.Queue) string {
	parent := func(name string) string {
		if above := ck.queues[name]; above != nil {
			return above.Spec.Parent
		}
		return ""
	}

	names := slices.Collect(index.Upward(q.Name, parent))
	if parent(names[len(names)-1]) != q.Name {
		return ""
	}
	return strings.Join(append(names, q.Name), " → ")
}

// above returns the nearest queue above another one that is in the input, nil for none. A queue that does not reach the
// root has none.
func (ck *checker) above(tree *index.Tree, q *scheduling.Queue) *scheduling.Queue {
	n := tree.Lookup(q.Name)
	if tree.Broken(n) != nil {
		return nil
	}
	for _, p := range tree.Path(n)[1:] {
		if above := ck.queues[tree.Name(p)]; above != nil {
			return above
		}
	}
	return nil
}

// checkAgainstParent finds bounds of a queue that are above the bounds of its parent: the queue can never reach them.
func (ck *checker) checkAgainstParent(q *scheduling.Queue) {
	if parent := ck.above(ck.placed, q); parent != nil {
		for _, name := range slices.Sorted(maps.Keys(q.Spec.Capability)) {
			own := capped(q.Spec.Capability[name])
			if above, ok := parent.Spec.Capability[name]; ok && own.Cmp(capped(above)) > 0 {
				ck.report(Error, q, "Queue", "spec.capability."+string(name),
					"%s is more than the %s of its parent %s",
					own.String(), above.String(), parent.Name).Topic = NoEffect
			}
		}
	}

	parent := ck.above(ck.tree, q)
	if parent == nil {
		return
	}
	above := ck.amounts(parent.Name, card.QuotaKey)
	own := ck.amounts(q.Name, card.QuotaKey)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if most, ok := above[name]; ok && own[name] > most {
			ck.report(Error, q, "Queue", annotation(card.QuotaKey), "%q is %v, more than the %v of its parent %s",
				name, own[name], most, parent.Name).Topic = NoEffect
		}
	}
}

// checkSums reports a queue if its children together are guaranteed, or deserve, more cards than the queue.
func (ck *checker) checkSums(q *scheduling.Queue) {
	n := ck.tree.Lookup(q.Name)
	if ck.tree.Broken(n) != nil || ck.tree.IsLeaf(n) {
		return
	}

	guarantees := map[string]float64{}
	deserved := map[string]float64{}
	for _, c := range ck.tree.Children(n) {
		child := ck.queues[ck.tree.Name(c)]
		if child == nil {
			continue // a name on a path, without a Queue object
		}

		for name, amount := range ck.orQuota(child, card.GuaranteeKey) {
			if !ck.guarantees.Yields(c, name) {
				guarantees[name] += amount
			}
		}
		for name, amount := range ck.orQuota(child, card.DeservedKey) {
			deserved[name] += amount
		}
	}

	most := ck.amounts(q.Name, card.QuotaKey)
	for _, name := range exceeding(guarantees, most) {
		ck.report(Warning, q, "Queue", annotation(card.QuotaKey),
			"%q is %v, and its children are guaranteed %v (%s is the quota where it is not set)",
			name, most[name], guarantees[name], card.GuaranteeKey).Topic = Sums
	}

	most = ck.amounts(q.Name, card.DeservedKey)
	for _, name := range exceeding(deserved, most) {
		ck.report(Warning, q, "Queue", annotation(card.DeservedKey),
			"%q is %v, and its children deserve %v (%s is the quota where it is not set)",
			name, most[name], deserved[name], card.DeservedKey).Topic = Sums
	}
}

// checkResourceSums reports a queue if its children together are guaranteed more than its capability.
func (ck *checker) checkResourceSums(q *scheduling.Queue) {
	n := ck.placed.Lookup(q.Name)
	if ck.placed.Broken(n) != nil {
		return
	}

	sums := v1.ResourceList{}
	for _, c := range ck.placed.Children(n) {
		child := ck.queues[ck.placed.Name(c)]
		if child == nil {
			continue // a name on a path, without a Queue object
		}
		for name, amount := range child.Spec.Guarantee.Resource {
			sum := sums[name]
			sum.Add(capped(amount))
			sums[name] = sum
		}
	}

	for _, name := range slices.Sorted(maps.Keys(sums)) {
		sum := sums[name]
		if most, ok := q.Spec.Capability[name]; ok && sum.Cmp(capped(most)) > 0 {
			ck.report(Error, q, "Queue", "spec.capability."+string(name), "%s, and its children are guaranteed %s",
				most.String(), sum.String()).Topic = Sums
		}
	}
}

// capped returns a quantity as the scheduler counts it, from 0 to math.MaxInt64. Cmp and Add write out all digits of
// 1e2000000000, which a live cluster can have.
func capped(quantity resource.Quantity) resource.Quantity {
	switch {
	case quantity.Sign() <= 0:
		return resource.Quantity{}
	case !card.Fits(quantity):
		return *resource.NewQuantity(math.MaxInt64, quantity.Format)
	}
	return quantity
}

// exceeding returns the names of the sums that are more than what one queue may have, in order.
func exceeding(sums, most map[string]float64) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		if bound, ok := most[name]; ok && sums[name] > bound {
			names = append(names, name)
		}
	}
	return names
}

// orQuota returns the deserved amount of each card, or the guarantee. Both default to the quota, and are at most the
// quota.
func (ck *checker) orQuota(q *scheduling.Queue, key string) map[string]float64 {
	all := ck.amounts(q.Name, card.QuotaKey)
	for name, amount := range ck.amounts(q.Name, key) {
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

	// A quota of 0 keeps jobs off a card. It needs no node with the card.
	quota := ck.amounts(q.Name, card.QuotaKey)
	for _, name := range slices.Sorted(maps.Keys(quota)) {
		if quota[name] > 0 {
			ck.checkCard(q, card.QuotaKey, name)
		}
	}

	for _, key := range []string{card.HolderKey, card.BudgetKey, policy.SoftQuotaKey} {
		for _, name := range ck.cardNames(q, key) {
			ck.checkCard(q, key, name)
		}
	}
}

// checkSoftQuota finds soft quotas that never decide: the queue deserves or is guaranteed as much, or may have no more.
func (ck *checker) checkSoftQuota(q *scheduling.Queue) {
	field := annotation(policy.SoftQuotaKey)
	quota := ck.amounts(q.Name, card.QuotaKey)
	soft := ck.amounts(q.Name, policy.SoftQuotaKey)
	for _, name := range slices.Sorted(maps.Keys(soft)) {
		most, bounded := quota[name]
		if bounded && soft[name] >= most {
			ck.noEffect(q, field, "%q has no effect: the quota is %v", name, most)
			continue
		}

		// The soft quota is at least the deserved and the guaranteed amount.
		told := ck.countsAs(q, field, name, soft[name], card.DeservedKey)
		if !told {
			ck.countsAs(q, field, name, soft[name], card.GuaranteeKey)
		}
	}
}

// checkHolders notes limits that jobs avoid by not naming a user, a group or a label.
func (ck *checker) checkHolders(q *scheduling.Queue) {
	for _, key := range policy.UnboundKeys(q.Annotations) {
		ck.report(Note, q, "Queue", annotation(card.HolderKey),
			`"*" of %q does not bound jobs without it: add "" to bound them`, key)
	}
}

// checkDeserved finds deserved amounts that a guarantee exceeds: nothing is taken from a queue below its guarantee.
func (ck *checker) checkDeserved(q *scheduling.Queue) {
	quota := ck.amounts(q.Name, card.QuotaKey)
	deserved := ck.amounts(q.Name, card.DeservedKey)
	for _, name := range slices.Sorted(maps.Keys(deserved)) {
		if deserved[name] < quota[name] {
			ck.countsAs(q, annotation(card.DeservedKey), name, deserved[name], card.GuaranteeKey)
		}
	}
}

// countsAs reports whether an amount of a card has no effect, because deserved or the guarantee is larger. It adds the
// issue. Both default to the quota, except guarantees that yield to a guarantee of a queue above.
func (ck *checker) countsAs(q *scheduling.Queue, field, name string, amount float64, key string) bool {
	if keeps, set := ck.amounts(q.Name, key)[name]; set {
		if keeps > amount {
			ck.noEffect(q, field, "%q counts as %v: %s is as much", name, keeps, policy.Short(key))
		}
		return keeps > amount
	}

	most, bounded := ck.amounts(q.Name, card.QuotaKey)[name]
	if !bounded || math.IsNaN(most) {
		return false
	}
	if key == card.GuaranteeKey && ck.guarantees.Yields(ck.tree.Lookup(q.Name), name) {
		return false
	}
	ck.noEffect(q, field, "%q has no effect: %s is not set, so it is the quota of %v", name, policy.Short(key), most)
	return true
}

// cardNames returns the cards and groups of cards that an annotation of a queue names, in order.
func (ck *checker) cardNames(q *scheduling.Queue, key string) []string {
	switch key {
	case card.HolderKey:
		return policy.HolderCardNames(q.Annotations)
	case card.BudgetKey:
		return policy.BudgetCardNames(q.Annotations)
	}
	return slices.Sorted(maps.Keys(ck.amounts(q.Name, key)))
}

func (ck *checker) checkCard(q *scheduling.Queue, key, name string) {
	if _, ok := ck.stock[name]; !ok && !strings.HasPrefix(name, card.GroupPrefix) {
		ck.noEffect(q, annotation(key), "no node has the card %q%s",
			name, index.DidYouMean(name, slices.Sorted(maps.Keys(ck.stock))))
	}
}

// checkGroups finds groups of cards that do not exist, and overlapping groups in other annotations than bounds.
func (ck *checker) checkGroups(q *scheduling.Queue) {
	overlapping := ck.groups.Overlapping()

	for _, key := range allCardKeys {
		for _, name := range ck.cardNames(q, key) {
			group, is := strings.CutPrefix(name, card.GroupPrefix)
			if !is {
				continue
			}

			// Groups that overlap cannot divide their cards among queues. They can only bound.
			divides := key == card.DeservedKey || key == card.GuaranteeKey
			if _, known := ck.groups[group]; !known {
				ck.report(Warning, q, "Queue", annotation(key),
					"%q is not a group of cards of the argument cardGroups%s",
					name, index.DidYouMean(group, slices.Sorted(maps.Keys(ck.groups)))).Topic = Groups
			} else if divides && slices.Contains(overlapping, group) {
				ck.report(Warning, q, "Queue", annotation(key),
					"%q has no effect: the group shares cards with another one, so it can only bound",
					name).Topic = Groups
			}
		}
	}
}
