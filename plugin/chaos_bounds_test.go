package plugin

import (
	"github.com/capacity-card/capacity-card/plugin/arguments"

	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// readAnnotations reads the card annotations of all queues as the scheduler does: a bad
// value leaves the last good one in force.
func (w *world) readAnnotations() {
	for _, name := range sortedKeys(w.queues) {
		q := w.queues[name]
		q.bad = false
		q.readPolicies()
		for _, key := range quotaKeys {
			text, ok := q.object.Annotations[key]
			before := q.good[key]
			if q.good[key] = nil; !ok {
				continue
			}
			q.good[key] = map[string]int64{}
			var entries map[string]json.RawMessage
			if json.Unmarshal([]byte(text), &entries) != nil {
				q.good[key], q.bad = before, true
				if before == nil {
					q.good[key] = map[string]int64{}
				}
				continue
			}
			for name, value := range entries {
				if n, err := strconv.ParseInt(string(value), 10, 64); err == nil && n >= 0 {
					q.good[key][name] = n
				} else {
					q.bad = true
					if n, had := before[name]; had {
						q.good[key][name] = n
					}
				}
			}
		}
	}
}

// closed reports whether a leaf has none of a card that its quota does not name.
func (w *world) closed(queue string) bool {
	if w.plugin == Name {
		return true
	}
	return slices.ContainsFunc(w.path(queue), func(q string) bool {
		return w.annotated(q) && (q != index.RootName || !w.hierarchy)
	})
}

// cardQuota returns the quota of a card, in thousandths.
func (w *world) cardQuota(queue, name string) float64 {
	if q := w.queues[queue]; q != nil {
		if n, ok := q.good[card.QuotaKey][name]; ok {
			return 1000 * float64(n)
		}
	}
	if w.leaf(queue) && w.closed(queue) && !(w.hierarchy && queue == index.RootName) {
		return 0
	}
	return math.Inf(1)
}

// cardAmount returns deserved or guarantee of a card, in thousandths.
func (w *world) cardAmount(queue, key, name string) float64 {
	q, quota := w.queues[queue], w.cardQuota(queue, name)
	if q == nil {
		return 0
	}
	_, bounded := q.good[card.QuotaKey][name]
	n, ok := q.good[key][name]
	switch {
	case !bounded && (w.leaf(queue) || !ok):
		return 0
	case !ok:
		return quota
	case key == card.GuaranteeKey:
		return min(quota, 1000*float64(n))
	}
	return 1000 * float64(n)
}

// quantity returns a quantity of a list, in the unit of accounts.
func quantity(list workload.Resources, dimension string) (float64, bool) {
	n, ok := list[dimension]
	if dimension == "cpu" || dimension == "memory" {
		return float64(n), ok
	}
	return 1000 * float64(n), ok
}

// ownBound returns the bound that a queue itself sets.
func (w *world) ownBound(queue, dimension string) float64 {
	if isCard(dimension) {
		if !w.counted(queue) {
			return math.Inf(1)
		}
		return w.cardQuota(queue, dimension[len(cardPrefix):])
	}
	if queue == index.RootName && w.hierarchy {
		return math.Inf(1) // as in upstream: the capability of the root is only inherited
	}
	if q := w.queues[queue]; q != nil {
		if n, ok := quantity(q.spec.queue.Capability, dimension); ok {
			return n
		}
	}
	zero := w.arguments[arguments.UnsetCapability] == "zero" || w.plugin == Name && w.arguments[arguments.UnsetCapability] == nil
	if zero && w.leaf(queue) && (dimension == "cpu" || dimension == "memory") {
		return 0
	}
	return math.Inf(1)
}

// capability returns the bound that a queue sets or inherits.
func (w *world) capability(queue, dimension string) float64 {
	own := w.ownBound(queue, dimension)
	switch q := w.queues[queue]; {
	case !math.IsInf(own, 1) || isCard(dimension):
		return own
	case queue != index.RootName:
		return w.capability(w.path(queue)[1], dimension)
	case q != nil && len(q.spec.queue.Capability) > 0:
		if n, ok := quantity(q.spec.queue.Capability, dimension); ok || dimension == "cpu" || dimension == "memory" {
			return n // as in upstream: 0 of cpu or memory that a capability of the root does not name
		}
	}
	return own
}

// guarantee returns what is guaranteed to a queue and, in a tree, to those below it.
func (w *world) guarantee(queue, dimension string) float64 {
	own, below := w.ownGuarantee(queue, dimension), 0.0
	for _, child := range w.children(queue) {
		below += w.guarantee(child, dimension)
	}
	return max(own, below)
}

func (w *world) ownGuarantee(queue, dimension string) float64 {
	q := w.queues[queue]
	switch {
	case q == nil:
		return 0
	case isCard(dimension) && !w.counted(queue):
		return 0
	case isCard(dimension):
		return w.cardAmount(queue, card.GuaranteeKey, dimension[len(cardPrefix):])
	}
	n, _ := quantity(q.spec.queue.Guarantee, dimension)
	return n
}

// children returns the children of a queue, and for "" all queues that are flat.
func (w *world) children(queue string) (children []string) {
	for _, name := range sortedKeys(w.queues) {
		path := w.path(name)
		if queue == "" && !w.hierarchy || w.hierarchy && len(path) > 1 && path[1] == queue {
			children = append(children, name)
		}
	}
	return children
}

// stock returns what the cluster has.
func (w *world) stock(dimension string) (sum float64) {
	for _, n := range w.nodes {
		if n.lost {
			continue
		}
		if !isCard(dimension) {
			amount, _ := quantity(n.spec.Allocatable, dimension)
			sum += amount
			continue
		}
		for _, resource := range cardResources {
			if cardOf(n.spec, resource) == dimension[len(cardPrefix):] {
				sum += 1000 * float64(n.spec.Allocatable[resource])
			}
		}
	}
	return sum
}

// free returns what the guarantees of others leave of an amount for one of some queues.
func (w *world) free(queue string, among []string, of float64, dimension string) float64 {
	for _, other := range among {
		of -= w.guarantee(other, dimension)
	}
	return max(0, of) + w.guarantee(queue, dimension)
}

// openRoot reports whether the root has no bound but its own.
func (w *world) openRoot() bool {
	if how := w.arguments[arguments.RootCapability]; how != nil {
		return how == "own"
	}
	return w.arguments[arguments.Semantics] == "v1.14.4" || w.arguments[arguments.Semantics] == "v1.15"
}

// ownRoot returns the capability of the root, or no bound on what some node has.
func (w *world) ownRoot(dimension string) float64 {
	if q := w.queues[index.RootName]; q != nil && len(q.spec.queue.Capability) > 0 {
		n, _ := quantity(q.spec.queue.Capability, dimension)
		return n
	}
	if dimension == "cpu" || dimension == "memory" || w.stock(dimension) > 0 {
		return math.Inf(1)
	}
	return 0
}

// limit returns realCapability, by its formula. The stock bounds no card at the root, only
// what is lent. What pods on lost nodes have raises the bound of the root, and cards that no node
// gives any more raise what flat queues share.
func (c *chaosCycle) limit(queue, dimension string) float64 {
	switch {
	case !c.hierarchy && c.arguments[arguments.RootCapability] == "unlimited" && !isCard(dimension):
		return c.ownBound(queue, dimension)
	case !c.hierarchy:
		shared := c.stock(dimension)
		if isCard(dimension) {
			shared += c.lost[dimension]
		}
		return min(c.ownBound(queue, dimension), c.free(queue, c.children(""), shared, dimension))
	case queue == index.RootName && (isCard(dimension) || c.arguments[arguments.RootCapability] == "unlimited"):
		return c.ownBound(queue, dimension)
	case queue == index.RootName && c.openRoot():
		return c.ownRoot(dimension)
	case queue == index.RootName:
		return c.stock(dimension) + c.lost[dimension]
	}
	parent := c.path(queue)[1]
	return min(c.capability(queue, dimension), c.free(queue, c.children(parent), c.limit(parent, dimension), dimension))
}

// unused returns what is guaranteed to a queue, or to those below it, and not used.
func (w *world) unused(queue, dimension string, has map[string]amounts) float64 {
	below := 0.0
	for _, child := range w.children(queue) {
		below += w.unused(child, dimension, has)
	}
	return max(below, w.guarantee(queue, dimension)-has[queue][dimension], 0)
}

// lends reports where the charge of an amount takes what is guaranteed to others: the
// queue whose children are guaranteed the rest, and what is too much. A queue that uses
// its own guarantee takes nothing. has and present include the charge; present
// counts only pods whose node is there.
func (c *chaosCycle) lends(path []string, dimension string, amount float64, has map[string]amounts, present float64) (at string, excess float64) {
	before := maps.Clone(has)
	for _, queue := range path {
		before[queue] = amounts{dimension: has[queue][dimension] - amount}
	}
	for i, queue := range path {
		if c.unused(queue, dimension, before)-c.unused(queue, dimension, has) >= amount {
			return "", 0
		}
		parent := "" // of all flat queues
		if c.hierarchy {
			if i+1 == len(path) {
				return "", 0 // the root
			}
			parent = path[i+1]
		}
		unused := 0.0
		for _, child := range c.children(parent) {
			unused += c.unused(child, dimension, has)
		}
		excess := present - c.stock(dimension)
		switch parent {
		case "":
		case index.RootName: // its quota of cards bounds what is lent as well
			excess = max(excess, has[parent][dimension]-c.limit(parent, dimension))
		default:
			excess = has[parent][dimension] - c.limit(parent, dimension)
		}
		if excess += unused; unused > 0 && excess > 0.1 {
			return parent, excess
		}
	}
	return "", 0
}

// anyUnsure reports whether it is not certain what the queues are charged that share what
// guarantees leave: those below the root, or all flat queues.
func (c *chaosCycle) anyUnsure(path []string, unsure map[string]bool) bool {
	all := path[len(path)-1:]
	if !c.hierarchy {
		all = c.children("")
	}
	return slices.ContainsFunc(all, func(queue string) bool { return unsure[queue] })
}

// present returns what queues are charged of a dimension for pods on nodes that are there
// and give it.
func (c *chaosCycle) present(dimension string) (sum float64) {
	c.eachCharge(func(_ *worldJob, _ *worldPod, task *api.TaskInfo, charge amounts) {
		if n := c.nodes[task.NodeName]; n != nil && !n.lost && c.gives(n.spec, dimension) {
			sum += charge[dimension]
		}
	})
	return sum
}

func (c *chaosCycle) gives(n workload.Node, dimension string) bool {
	return !isCard(dimension) || slices.ContainsFunc(cardResources, func(resource string) bool { return cardPrefix+cardOf(n, resource) == dimension })
}

// eligible reports whether a queue takes jobs.
func (w *world) takesJobs(queue string) bool {
	q := w.queues[queue]
	return q != nil && w.path(queue) != nil && w.leaf(queue) && !q.spec.queue.Closed
}

// fitsBeside reports whether amounts fit under the limits of a queue and its ancestors.
func (c *chaosCycle) fitsBeside(path []string, has map[string]amounts, more amounts) bool {
	return fitsUnder(path, has, more, c.limit)
}

func fitsUnder(path []string, has map[string]amounts, more amounts, limit func(queue, dimension string) float64) bool {
	for _, queue := range path {
		for d, amount := range more {
			if amount > 0 && has[queue][d]+amount > limit(queue, d)-0.2 {
				return false
			}
		}
	}
	return true
}

// fitsLent is fitsBeside for what is guaranteed to others. present is what is charged of a
// dimension on nodes that are there.
func (c *chaosCycle) fitsLent(path []string, has map[string]amounts, more amounts, present func(string) float64) bool {
	after := map[string]amounts{}
	for queue, of := range has {
		after[queue] = maps.Clone(of)
	}
	for _, queue := range path {
		if after[queue] == nil {
			after[queue] = amounts{}
		}
		for d, amount := range more {
			after[queue][d] += amount
		}
	}
	for d, amount := range more {
		if _, excess := c.lends(path, d, amount, after, present(d)+amount); amount > 0 && excess > 0 && (isCard(d) || c.arguments[arguments.KeepGuarantees] == true) {
			return false
		}
	}
	return true
}
