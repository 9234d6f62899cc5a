package chaos

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"volcano.sh/volcano/pkg/scheduler/api"

	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/arguments"
	"github.com/capacity-card/capacity-card/plugin/internal/session"
)

// readAnnotations reads the card annotations of all queues as the scheduler does: a bad
// value leaves the last good one in force.
func (w *chaos) readAnnotations() {
	for _, name := range sortedKeys(w.Queues) {
		q, object := w.readOf(w.Queues[name]), w.Queues[name].Object
		q.bad = false
		before := q.texts
		q.texts = q.now(object.Annotations, w.Clock())
		w.Changed = w.Changed || before != nil && !maps.Equal(before, q.texts) // a window begins or ends
		q.readPolicies(q.texts)
		for _, key := range quotaKeys {
			text, ok := q.texts[key]
			before := q.good[key]
			sharesBefore := q.shares[key]
			q.good[key] = nil
			q.shares[key] = nil
			if !ok {
				continue
			}
			q.good[key] = map[string]int64{}
			q.shares[key] = map[string]modelShare{}
			var entries map[string]json.RawMessage
			if json.Unmarshal([]byte(text), &entries) != nil {
				q.bad = true
				q.good[key] = before
				q.shares[key] = sharesBefore
				if before == nil {
					q.good[key] = map[string]int64{}
				}
				continue
			}
			for name, value := range entries {
				n, err := strconv.ParseInt(string(value), 10, 64)
				share, isShare := readShare(string(value))
				if !isShare && (err != nil || n < 0) {
					q.bad = true
					last, had := before[name]
					if !had {
						continue
					}
					n = last
					share, isShare = sharesBefore[name]
				}
				q.good[key][name] = n
				if isShare {
					q.shares[key][name] = share
				}
			}
		}
	}
}

// closed reports whether a leaf has none of a card that its quota does not name.
func (w *chaos) closed(queue string) bool {
	if w.Plugin == session.Name {
		return true
	}
	return slices.ContainsFunc(w.Path(queue), func(q string) bool {
		return w.annotated(q) && (q != index.RootName || !w.Tree)
	})
}

// cardQuota returns the quota of a card, in thousandths.
func (w *chaos) cardQuota(queue, name string) float64 {
	if q := w.Queues[queue]; q != nil {
		if n, ok := w.readOf(q).good[card.QuotaKey][name]; ok {
			return 1000 * float64(n)
		}
	}
	if most, some := w.byGroups(queue, card.QuotaKey, name); some && !(w.Tree && queue == index.RootName) {
		return most
	}
	if w.leaf(queue) && w.closed(queue) && !(w.Tree && queue == index.RootName) && !strings.HasPrefix(name, card.GroupPrefix) {
		return 0
	}
	return math.Inf(1)
}

// cardAmount returns deserved or guarantee of a card, in thousandths.
func (w *chaos) cardAmount(queue, key, name string) float64 {
	q, quota := w.Queues[queue], w.cardQuota(queue, name)
	if q == nil {
		return 0
	}
	_, bounded := w.readOf(q).good[card.QuotaKey][name]
	n, ok := w.readOf(q).good[key][name]
	if key == card.GuaranteeKey && !ok && w.guaranteedAbove(queue, name) {
		return 0
	}
	if strings.HasPrefix(name, card.GroupPrefix) && !w.disjoint(name) {
		return 0
	}
	if most, some := w.byGroups(queue, key, name); some && !bounded {
		if key == card.DeservedKey {
			return most
		}
		return 0
	}
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

// guaranteedAbove reports whether a queue above another one, but not the root, states a guarantee of a card.
func (w *chaos) guaranteedAbove(queue, name string) bool {
	path := w.Path(queue)
	return w.Tree && len(path) > 1 && slices.ContainsFunc(path[1:], func(above string) bool {
		if w.Queues[above] == nil || above == index.RootName {
			return false
		}
		_, stated := w.readOf(w.Queues[above]).good[card.GuaranteeKey][name]
		return stated
	})
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
func (w *chaos) ownBound(queue, dimension string) float64 {
	if isCard(dimension) {
		if !w.counted(queue) {
			return math.Inf(1)
		}
		return w.cardQuota(queue, dimension[len(cardPrefix):])
	}
	if queue == index.RootName && w.Tree {
		return math.Inf(1) // as in upstream: the capability of the root is only inherited
	}
	if q := w.Queues[queue]; q != nil {
		if n, ok := quantity(w.specCapability(q), dimension); ok {
			return n
		}
	}
	zero := w.Arguments[arguments.UnsetCapability] == "zero" || w.Plugin == session.Name && w.Arguments[arguments.UnsetCapability] == nil
	if zero && w.leaf(queue) && (dimension == "cpu" || dimension == "memory") {
		return 0
	}
	return math.Inf(1)
}

// capability returns the bound that a queue sets or inherits.
func (w *chaos) capability(queue, dimension string) float64 {
	own := w.ownBound(queue, dimension)
	switch q := w.Queues[queue]; {
	case !math.IsInf(own, 1) || isCard(dimension):
		return own
	case queue != index.RootName:
		return w.capability(w.Path(queue)[1], dimension)
	case q != nil && w.setsCapability(w.specCapability(q)):
		if n, ok := quantity(w.specCapability(q), dimension); ok || dimension == "cpu" || dimension == "memory" {
			return n // as in upstream: 0 of cpu or memory that a capability of the root does not name
		}
	}
	return own
}

// setsCapability reports whether a capability of a queue is set in a dimension that counts: under capacity-card cpu and
// memory.
func (w *chaos) setsCapability(capability workload.Resources) bool {
	_, cpu := capability["cpu"]
	_, memory := capability["memory"]
	return cpu || memory || w.Plugin != session.Name && len(capability) > 0
}

// guarantee returns the larger of a queue's own guarantee and the sum of its children's guarantees within its own
// bound. The own guarantee of a closed queue is at most the amount that it had when the session opened.
func (c *chaosCycle) guarantee(queue, dimension string) float64 {
	own, below := c.ownGuarantee(queue, dimension), 0.0
	if q := c.World.Queues[queue]; q != nil && q.Spec.Queue.Closed && c.counted(queue) {
		own = min(own, c.opened[queue][dimension])
	}
	for _, child := range c.children(queue) {
		below += c.guarantee(child, dimension)
	}
	if most := c.ownBound(queue, dimension); most > 0 || dimension != "cpu" && dimension != "memory" {
		below = min(below, most)
	}
	return max(own, below)
}

func (w *chaos) ownGuarantee(queue, dimension string) float64 {
	q := w.Queues[queue]
	switch {
	case q == nil:
		return 0
	case isCard(dimension) && !w.counted(queue):
		return 0
	case isCard(dimension):
		return w.cardAmount(queue, card.GuaranteeKey, dimension[len(cardPrefix):])
	}
	n, _ := quantity(q.Spec.Queue.Guarantee, dimension)
	return n
}

// children returns the children of a queue, and for "" all queues that are flat.
func (w *chaos) children(queue string) []string {
	if w.below == nil {
		w.below = map[string][]string{}
		for _, name := range sortedKeys(w.Queues) {
			if path := w.Path(name); !w.Tree {
				w.below[""] = append(w.below[""], name)
			} else if len(path) > 1 {
				w.below[path[1]] = append(w.below[path[1]], name)
			}
		}
	}
	return w.below[queue]
}

// stock returns how much of a dimension the cluster has.
func (w *chaos) stock(dimension string) (sum float64) {
	for _, n := range w.Nodes {
		if n.Lost {
			continue
		}
		if !isCard(dimension) {
			amount, _ := quantity(n.Spec.Allocatable, dimension)
			sum += amount
			continue
		}
		for _, resource := range cardResources {
			name, amount := cardOf(n.Spec, resource), 1000*float64(n.Spec.Allocatable[resource])
			if resource == vgpuName {
				amount = 1000 * float64(sharedOf(n.Spec).number)
			}
			if sum += w.groupsOf(name)[dimension[len(cardPrefix):]] * amount; name == dimension[len(cardPrefix):] {
				sum += amount
			}
		}
		for _, name := range w.Pools[n.Spec.Name].Gives() {
			if sum += 1000 * w.groupsOf(name)[dimension[len(cardPrefix):]]; name == dimension[len(cardPrefix):] {
				sum += 1000
			}
		}
	}
	return sum
}

// free returns the rest of an amount that one of some queues can have, without the guarantees of the others.
func (c *chaosCycle) free(queue string, among []string, of float64, dimension string) float64 {
	for _, other := range among {
		of -= c.guarantee(other, dimension)
	}
	return max(0, of) + c.guarantee(queue, dimension)
}

// openRoot reports whether the root has no bound except its own.
func (w *chaos) openRoot() bool {
	if how := w.Arguments[arguments.RootCapability]; how != nil {
		return how == "own"
	}
	return w.Arguments[arguments.Semantics] == "v1.14.4" || w.Arguments[arguments.Semantics] == "v1.15"
}

// ownRoot returns the capability of the root. Without one, a resource that some node names has no bound, even if the
// node has 0 of it.
func (w *chaos) ownRoot(dimension string) float64 {
	if q := w.Queues[index.RootName]; q != nil && w.setsCapability(w.specCapability(q)) {
		n, _ := quantity(w.specCapability(q), dimension)
		return n
	}
	if dimension == "cpu" || dimension == "memory" || w.stock(dimension) > 0 {
		return math.Inf(1)
	}
	for _, n := range w.Nodes {
		if _, named := quantity(n.Spec.Allocatable, dimension); named && !n.Lost {
			return math.Inf(1)
		}
	}
	return 0
}

// limit returns realCapability, by its formula. At the root, the stock does not bound cards, it only bounds lending.
// Resources of pods on lost nodes raise the bound of the root. Cards that no node gives any more raise the amount that
// flat queues share.
func (c *chaosCycle) limit(queue, dimension string) float64 {
	switch {
	case !c.Tree && c.Arguments[arguments.RootCapability] == "unlimited":
		return c.ownBound(queue, dimension)
	case !c.Tree:
		shared := c.stock(dimension)
		if isCard(dimension) {
			shared += c.lost[dimension]
		}
		return min(c.ownBound(queue, dimension), c.free(queue, c.children(""), shared, dimension))
	case queue == index.RootName && (isCard(dimension) || c.Arguments[arguments.RootCapability] == "unlimited"):
		return c.ownBound(queue, dimension)
	case queue == index.RootName && c.openRoot():
		return c.ownRoot(dimension)
	case queue == index.RootName:
		return c.stock(dimension) + c.lost[dimension]
	}
	parent := c.Path(queue)[1]
	return min(c.capability(queue, dimension), c.free(queue, c.children(parent), c.limit(parent, dimension), dimension))
}

// unused returns the unused part of the guarantees of a queue, or of the queues below it. A queue keeps no more free
// for the queues below it than it can still have.
func (c *chaosCycle) unused(queue, dimension string, has map[string]amounts) float64 {
	below := 0.0
	for _, child := range c.children(queue) {
		below += c.unused(child, dimension, has)
	}
	if below > 0 {
		below = min(below, max(0, c.limit(queue, dimension)-has[queue][dimension]))
	}
	return max(below, c.guarantee(queue, dimension)-has[queue][dimension], 0)
}

// lends reports where the charge of an amount takes resources that are guaranteed to others. It returns the parent of
// the queues with these guarantees, and the excess. A queue that uses its own guarantee takes nothing. has and present
// include the charge. present counts only pods on nodes that exist. An excess within tolerance does not count.
func (c *chaosCycle) lends(path []string, dimension string, amount float64, has map[string]amounts, present, tolerance float64) (at string, excess float64) {
	before := maps.Clone(has)
	for _, queue := range path {
		before[queue] = amounts{dimension: has[queue][dimension] - amount}
	}
	for i, queue := range path {
		if c.unused(queue, dimension, before)-c.unused(queue, dimension, has) >= amount-tolerance {
			return "", 0
		}
		parent := "" // of all flat queues
		if c.Tree {
			if i+1 == len(path) {
				return "", 0 // the root
			}
			parent = path[i+1]
		}
		unused := 0.0
		for _, child := range c.children(parent) {
			unused += c.unused(child, dimension, has)
		}
		excess := present - c.stock(dimension) - c.beyond(dimension)
		switch parent {
		case "":
		case index.RootName: // its quota of cards bounds lending as well
			excess = max(excess, has[parent][dimension]-c.limit(parent, dimension))
		default:
			excess = has[parent][dimension] - c.limit(parent, dimension)
		}
		if excess += unused; unused > 0 && excess > tolerance {
			return parent, excess
		}
	}
	return "", 0
}

// anyUnsure reports whether a charge is not certain among the queues that share the rest beyond all guarantees. These
// are the queues below the root, or all flat queues.
func (c *chaosCycle) anyUnsure(path []string, unsure map[string]bool) bool {
	all := path[len(path)-1:]
	if !c.Tree {
		all = c.children("")
	}
	return slices.ContainsFunc(all, func(queue string) bool { return unsure[queue] })
}

// present returns how much of a dimension queues are charged for pods on nodes that exist and give it.
func (c *chaosCycle) present(dimension string) (sum float64) {
	c.eachCharge(func(_ *Job, p *Pod, task *api.TaskInfo, charge amounts) {
		sum += c.given(p, task.NodeName, charge)[dimension]
	})
	return sum
}

func (c *chaosCycle) gives(n workload.Node, dimension string) bool {
	return !isCard(dimension) || slices.Contains(c.Pools[n.Name].Gives(), dimension[len(cardPrefix):]) || slices.ContainsFunc(cardResources, func(resource string) bool { return cardPrefix+cardOf(n, resource) == dimension })
}

// takesJobs reports whether a queue takes jobs.
func (w *chaos) takesJobs(queue string) bool {
	q := w.Queues[queue]
	return q != nil && w.Path(queue) != nil && w.leaf(queue) && !q.Spec.Queue.Closed
}

// fitsBeside reports whether amounts fit under the limits of a queue and its ancestors.
func (c *chaosCycle) fitsBeside(path []string, has map[string]amounts, more amounts) bool {
	return fitsUnder(path, has, more, c.lifted(path[0], c.limit))
}

// lifted returns a limit for the pods of a queue. Where cards count for them, the total of the cluster alone bounds no
// resource of cards.
func (c *chaosCycle) lifted(asks string, limit func(queue, dimension string) float64) func(queue, dimension string) float64 {
	if c.Plugin == session.ProportionName || !c.counted(asks) || c.Tree && c.openRoot() {
		return limit
	}
	return func(queue, dimension string) float64 {
		most := limit(queue, dimension)
		if most < c.limit(queue, dimension) || !slices.Contains(cardResources, dimension) || !c.isCardResource(dimension) || !c.onlyTotal(queue, dimension) {
			return most
		}
		return math.Inf(1)
	}
}

// onlyTotal reports whether no queue on the path of another one bounds a dimension, and nothing of it is guaranteed to
// others there.
func (c *chaosCycle) onlyTotal(queue, dimension string) bool {
	if c.Tree && queue == index.RootName {
		return true
	}
	for _, q := range c.Path(queue) {
		own := c.World.Queues[q]
		if own == nil {
			continue
		}
		if _, sets := quantity(c.specCapability(own), dimension); sets {
			return false
		}
	}
	parents := []string{""}
	if c.Tree {
		parents = c.Path(queue)[1:]
	}
	for i, parent := range parents {
		for _, other := range c.children(parent) {
			if other != c.Path(queue)[i] && c.guarantee(other, dimension) > 0 {
				return false
			}
		}
	}
	return true
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

// fitsLent is fitsBeside for the guarantees of others. present returns how much of a dimension is charged on nodes that
// exist.
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
		if _, excess := c.lends(path, d, amount, after, present(d)+amount, 1e-7); amount > 0 && excess > 0 && (isCard(d) || c.Arguments[arguments.RootCapability] == "unlimited") {
			return false
		}
	}
	return true
}
