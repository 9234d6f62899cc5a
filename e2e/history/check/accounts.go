package check

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/index/card"
)

// root is the top of a tree.
const root = "root"

// same reports whether two states of a queue have the same bounds.
func (q queue) same(other queue) bool {
	return q.exists == other.exists && q.open == other.open && q.parent == other.parent && q.bad == other.bad &&
		maps.Equal(q.quota, other.quota) && maps.Equal(q.deserved, other.deserved) &&
		maps.Equal(q.guarantee, other.guarantee) && maps.Equal(q.namespace, other.namespace) && maps.Equal(q.capability, other.capability)
}

// versionsOf are the states of a queue.
func (c *cluster) versionsOf(name string) versions[queue] {
	if all := c.queues[name]; all != nil {
		return *all
	}
	return nil
}

// queueNow is the state of a queue.
func (c *cluster) queueNow(name string) queue { return c.versionsOf(name).now() }

// nodeNow is the state of a node.
func (c *cluster) nodeNow(name string) node {
	if all := c.nodes[name]; all != nil {
		return all.now()
	}
	return node{}
}

// path is a queue and the queues above it, without the root, which bounds nothing here. Flat queues have none above.
func (c *cluster) path(name string) []string {
	path := []string{name}
	if !c.configuration.Hierarchy {
		return path
	}
	for above := c.queueNow(name).parent; above != root && above != "" && !slices.Contains(path, above); above = c.queueNow(above).parent {
		path = append(path, above)
	}
	return path
}

// children are the queues below another one, or below the root. Flat queues are all below the root.
func (c *cluster) children(of string) (names []string) {
	for name, all := range c.queues {
		q := all.now()
		if !q.exists || name == root {
			continue
		}
		if c.configuration.Hierarchy && q.parent == of || !c.configuration.Hierarchy && of == root {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// leaf reports whether a queue takes jobs.
func (c *cluster) leaf(name string) bool {
	return !c.configuration.Hierarchy || len(c.children(name)) == 0
}

// bound returns what a queue has at most of a card, or of a resource where cards do not count. There may be no bound.
func (c *cluster) bound(q queue, name string, leaf bool) (card.Milli, bool) {
	if c.configuration.Plain {
		bound, has := q.capability[name]
		return bound, has
	}
	return q.bound(name, leaf, c.groups)
}

// counted sums the weights of the pods that count in a queue and below. A weight is 0 for pods of other cards.
func (c *cluster) counted(in string, weight func(*pod) float64) (sum card.Milli) {
	for _, p := range c.pods {
		if c.configuration.Plain && (p.terminates() || c.podGroups[groupOf(p.object)] == nil) {
			continue // as in Volcano, where neither what terminates nor what has no PodGroup counts
		}
		if p.counts() && p.card != "" && slices.Contains(c.path(p.queue), in) {
			sum += card.Milli(float64(p.request.Milli) * weight(p))
		}
	}
	return sum
}

// of has the weight of pods that have a card.
func of(name string) func(*pod) float64 {
	return func(p *pod) float64 {
		if p.card == name {
			return 1
		}
		return 0
	}
}

// ofGroup has the weights of a group of cards.
func (c *cluster) ofGroup(name string) func(*pod) float64 {
	return func(p *pod) float64 {
		weight, _ := c.groups[name].Of(p.card)
		return weight
	}
}

// inNamespace has the weight of the pods of a namespace.
func inNamespace(namespace string, weight func(*pod) float64) func(*pod) float64 {
	return func(p *pod) float64 {
		if p.object.Namespace != namespace {
			return 0
		}
		return weight(p)
	}
}

// nobody leaves out no pod.
func nobody(*pod) bool { return false }

// on sums what the pods on a node have of a resource, but for some pods.
func (c *cluster) on(node string, resource corev1.ResourceName, but func(*pod) bool) (sum card.Milli) {
	for _, p := range c.pods {
		if p.counts() && p.object.Spec.NodeName == node && p.request.Resource == resource && !but(p) {
			sum += p.request.Milli
		}
	}
	return sum
}

// stock is the most cards of a model that the nodes had in the window: what they state, and what pods hold beyond that.
func (c *cluster) stock(name string) (sum card.Milli) {
	view := c.view(c.now)
	held := map[string]card.Milli{}
	for _, p := range c.pods {
		if p.counts() && p.card == name {
			held[p.object.Spec.NodeName] += p.request.Milli
		}
	}
	for node, all := range c.nodes {
		most := held[node]
		for _, v := range all.since(view) {
			most = max(most, v.value.has(name))
		}
		sum += most
	}
	return sum
}

// forgotten reports whether Volcano and its plugins may not know that a pod is on its node: the node was deleted, and
// made anew, while it ran, and either cards do not count, or its PodGroup is gone as well.
func (c *cluster) forgotten(p *pod) bool {
	if all := c.nodes[p.object.Spec.NodeName]; all != nil {
		for _, v := range *all {
			if !v.value.exists && v.from.After(p.at) {
				return c.configuration.Plain || c.podGroups[groupOf(p.object)] == nil
			}
		}
	}
	return false
}

// needs returns max(allocated, guarantee) of a queue for a card, where a queue needs at least the sum of those below
// it. The guarantee is the smallest in the window, and the largest for queues on the path of a pod that is bound: the
// pod may use it.
func (c *cluster) needs(name, cardName string, path []string, without func(*pod) bool) card.Milli {
	have := c.counted(name, func(p *pod) float64 {
		if without(p) {
			return 0
		}
		return of(cardName)(p)
	})
	below := card.Milli(0)
	for _, child := range c.children(name) {
		if c.configuration.Hierarchy {
			below += c.needs(child, cardName, path, without)
		}
	}
	least, most := c.guaranteed(name, cardName)
	if slices.Contains(path, name) {
		return max(have, below, most)
	}
	return max(have, below, least)
}

// guaranteed is the least and the most that a queue was guaranteed of a card in the window. Of an annotation that is
// wrong, a scheduler that has just started knows no last good value, so that the default holds, or nothing.
func (c *cluster) guaranteed(name, cardName string) (least, most card.Milli) {
	for i, v := range c.versionsOf(name).since(c.view(c.now)) {
		guarantee := v.value.guarantees(cardName)
		most = max(most, guarantee)
		if v.value.bad {
			most = max(most, v.value.quota[cardName])
			guarantee = 0
		}
		if i == 0 || guarantee < least {
			least = guarantee
		}
	}
	return least, most
}
