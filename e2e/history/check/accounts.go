package check

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/index/card"
)

// root is the name of the root queue.
const root = "root"

// same reports whether two states of a queue have the same bounds.
func (q queue) same(other queue) bool {
	samePlace := q.exists == other.exists && q.open == other.open && q.parent == other.parent && q.bad == other.bad

	return samePlace &&
		maps.Equal(q.quota, other.quota) &&
		maps.Equal(q.deserved, other.deserved) &&
		maps.Equal(q.guarantee, other.guarantee) &&
		maps.Equal(q.namespace, other.namespace) &&
		maps.Equal(q.capability, other.capability)
}

// queueNow returns the present state of a queue.
func (c *cluster) queueNow(name string) queue { return c.queues[name].now() }

// path returns a queue and its ancestors, without the root, which has no bound here. A flat queue has no ancestors.
func (c *cluster) path(name string) []string {
	path := []string{name}
	if !c.configuration.Hierarchy {
		return path
	}

	above := c.queueNow(name).parent
	for above != root && above != "" && !slices.Contains(path, above) {
		path = append(path, above)
		above = c.queueNow(above).parent
	}

	return path
}

// children returns the queues below a parent. Flat queues are all below the root.
func (c *cluster) children(parent string) (names []string) {
	for name, all := range c.queues {
		q := all.now()
		if !q.exists || name == root {
			continue
		}

		isChild := q.parent == parent
		if !c.configuration.Hierarchy {
			isChild = parent == root
		}
		if isChild {
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

// bound returns the bound of a queue for a card, or for a resource if cards do not count. There may be no bound.
func (c *cluster) bound(q queue, name string, leaf bool) (card.Milli, bool) {
	if c.configuration.Plain {
		return q.capability.get(name)
	}

	return q.bound(name, leaf, c.groups)
}

// counted sums the weights of the pods that count in a queue and below. Pods of other cards have the weight 0.
func (c *cluster) counted(in string, weight func(*pod) float64) (sum card.Milli) {
	for _, p := range c.pods {
		// In Volcano, a pod without a PodGroup does not count, and neither does a terminating pod.
		if c.configuration.Plain && (p.terminates() || c.podGroups[groupOf(p.object)] == nil) {
			continue
		}
		if p.counts() && p.card != "" && slices.Contains(c.path(p.queue), in) {
			sum += card.Milli(float64(p.request.Milli) * weight(p))
		}
	}

	return sum
}

// ofCard gives the weight 1 to the pods with a card.
func ofCard(name string) func(*pod) float64 {
	return func(p *pod) float64 {
		if p.card == name {
			return 1
		}

		return 0
	}
}

// ofGroup gives the pods their weights in a group of cards.
func (c *cluster) ofGroup(name string) func(*pod) float64 {
	return func(p *pod) float64 {
		weight, _ := c.groups[name].Of(p.card)
		return weight
	}
}

// inNamespace limits a weight to the pods of a namespace.
func inNamespace(namespace string, weight func(*pod) float64) func(*pod) float64 {
	return func(p *pod) float64 {
		if p.object.Namespace != namespace {
			return 0
		}

		return weight(p)
	}
}

// noPod matches no pod.
func noPod(*pod) bool { return false }

// heldOn sums the requests of the pods on a node for a resource. It leaves out some pods.
func (c *cluster) heldOn(node string, resource corev1.ResourceName, leaveOut func(*pod) bool) (sum card.Milli) {
	for _, p := range c.pods {
		onNode := p.counts() && p.object.Spec.NodeName == node
		if onNode && p.request.Resource == resource && !leaveOut(p) {
			sum += p.request.Milli
		}
	}

	return sum
}

// stock returns the largest stock of a card in the window: the cards that nodes state, or more if pods hold more.
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

// forgotten reports whether Volcano and its plugins may not know that a pod is on its node. This happens if the node
// was deleted and created again while the pod ran. If cards count, it only happens if the PodGroup of the pod is gone
// as well.
func (c *cluster) forgotten(p *pod) bool {
	for _, v := range c.nodes[p.object.Spec.NodeName] {
		if !v.value.exists && v.from.After(p.at) {
			return c.configuration.Plain || c.podGroups[groupOf(p.object)] == nil
		}
	}

	return false
}

// needs returns max(allocated, guarantee) of a queue for a card. A queue needs at least the sum of its children. The
// guarantee is the smallest in the window. It is the largest for queues on the path of a pod that is bound, because the
// pod may use it.
func (c *cluster) needs(name, cardName string, path []string, without func(*pod) bool) card.Milli {
	have := c.counted(name, func(p *pod) float64 {
		if without(p) {
			return 0
		}
		return ofCard(cardName)(p)
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

// guaranteed returns the smallest and the largest guarantee of a queue for a card in the window. A scheduler that has
// just started knows no last good value for a wrong annotation. Then the default holds, or nothing.
func (c *cluster) guaranteed(name, cardName string) (least, most card.Milli) {
	for i, v := range c.queues[name].since(c.view(c.now)) {
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
