package chaos

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
)

// groupsOf returns the weights of the groups that have a card, by the name of the group in quotas:
// docs/spec/cards.md says which they are.
func (w *chaos) groupsOf(name string) map[string]float64 {
	all, _ := w.Arguments[arguments.CardGroups].(map[string]any)
	weights := map[string]float64{}
	for group, of := range all {
		entries, longest := of.(map[string]any), -1
		for pattern, value := range entries {
			prefix, open := strings.CutSuffix(pattern, "*")
			fits, length := open && strings.HasPrefix(name, prefix), len(pattern)
			if pattern == name {
				fits, length = true, math.MaxInt
			}
			if fits && length > longest {
				if longest = length; value == "share" {
					value = sharesOf[name]
				}
				weights["@"+group] = fraction(value)
			}
		}
		if weights["@"+group] == 0 {
			delete(weights, "@"+group)
		}
	}
	return weights
}

// sharesOf are the parts of whole cards that the cards of random worlds are.
var sharesOf = map[string]string{"A": "1", "B": "1", "C": "1", "N": "1", "Z": "1", "A/mig-1g.10gb-mixed": "1/7", "A/mps-80g*1/4": "1/4"}

// fraction returns a number, a decimal or a fraction, rounded down to a multiple of 2^-20.
func fraction(value any) float64 {
	switch value := value.(type) {
	case float64:
		return math.Floor(value*(1<<20)) / (1 << 20)
	case int:
		return float64(value)
	case string:
		above, below, _ := strings.Cut(value, "/")
		x, _ := strconv.ParseFloat(above, 64)
		if y, err := strconv.ParseFloat(below, 64); err == nil {
			x /= y
		}
		return math.Floor(x*(1<<20)) / (1 << 20)
	}
	return 0
}

// groupNames returns the groups of the configuration, as quotas name them.
func (w *chaos) groupNames() (names []string) {
	all, _ := w.Arguments[arguments.CardGroups].(map[string]any)
	for _, group := range sortedKeys(all) {
		names = append(names, "@"+group)
	}
	return names
}

// disjoint reports whether a group has no card in common with another one.
func (w *chaos) disjoint(group string) bool {
	all, _ := w.Arguments[arguments.CardGroups].(map[string]any)
	own, _ := all[group[1:]].(map[string]any)
	matches := func(pattern, name string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return pattern == name || open && strings.HasPrefix(name, prefix)
	}
	for other, of := range all {
		if other == group[1:] {
			continue
		}
		for x := range own {
			for y := range of.(map[string]any) {
				if matches(x, y) || matches(y, x) {
					return false
				}
			}
		}
	}
	return true
}

// withGroups adds to a the amounts of groups for the cards of a.
func (w *chaos) withGroups(a amounts) amounts {
	for d, amount := range maps.Clone(a) {
		if isCard(d) {
			for group, weight := range w.groupsOf(d[len(cardPrefix):]) {
				a[cardPrefix+group] += weight * amount
			}
		}
	}
	return a
}

// exists reports whether some node gives a card, or some queue names it. No queue may have another one.
func (w *chaos) exists(name string) bool {
	for _, n := range w.Nodes {
		if slices.ContainsFunc(cardResources, func(resource string) bool { return cardOf(n.Spec, resource) == name }) || slices.Contains(w.Pools[n.Spec.Name].Gives(), name) {
			return true
		}
	}
	for _, q := range w.Queues {
		for _, key := range quotaKeys {
			if _, named := w.readOf(q).good[key][name]; named {
				return true
			}
		}
	}
	return false
}

// byGroups returns the most that the groups which a queue names let it have, or deserve, of a card, in
// thousandths, and whether it names some.
func (w *chaos) byGroups(queue, key, name string) (most float64, some bool) {
	most = math.Inf(1)
	if w.Queues[queue] == nil || !w.exists(name) {
		return most, false
	}
	for group, weight := range w.groupsOf(name) {
		if _, named := w.readOf(w.Queues[queue]).good[card.QuotaKey][group]; !named {
			continue
		}
		amount := w.cardQuota(queue, group)
		if key == card.DeservedKey && w.disjoint(group) {
			amount = w.cardAmount(queue, key, group)
		}
		most, some = min(most, math.Ceil(amount/weight)), true
	}
	return most, some
}

// given returns the part of the charge of a pod that its node gives: nothing if the node is lost.
func (c *chaosCycle) given(p *Pod, node string, charge amounts) amounts {
	a, n := amounts{}, c.World.Nodes[node]
	if n == nil || n.Lost {
		return a
	}
	gone := c.goneDevices(p, node)
	for d, amount := range charge {
		if c.gives(n.Spec, d) {
			a[d] = amount - gone[d]
		}
	}
	for d := range a {
		if isCard(d) && slices.Contains(c.groupNames(), d[len(cardPrefix):]) {
			delete(a, d)
		}
	}
	return c.withGroups(a)
}
