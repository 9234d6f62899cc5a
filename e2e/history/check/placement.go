package check

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/capacity-card/capacity-card/index/card"
)

// bind records that a pod has a node, and checks that it may have it. The state is not known if the pod was bound
// before the history begins, or in a gap.
func (c *cluster) bind(p *pod, listed bool) {
	p.bound = c.revision
	p.at = c.now
	c.changedAt = c.now
	p.queue = queueNamed(p.object)
	if group := c.podGroups[groupOf(p.object)]; group != nil {
		p.queue = group.Spec.Queue
	}
	c.report.Placed++
	if p.request.Milli == 0 {
		return
	}

	possible := c.cardsOf(p)
	p.card = chosen(p, possible)
	if c.configuration.Plain {
		p.card = string(p.request.Resource)
	}

	switch {
	case listed:
		c.excuse("a pod was bound when the history did not see it")
	case c.configuration.Plugin == "": // another scheduler
	case p.card == "":
		c.withoutCard(p, possible)
	default:
		c.justify(p)
		c.judge(p)
	}
}

// judge checks a pod that was just bound, and counts its excuses.
func (c *cluster) judge(p *pod) {
	other := c.another(c.now)
	if other != "" && !c.holds(p, true) {
		c.excuse(other)
		return
	}

	c.holds(p, false)
}

// cardsOf returns the cards that the pod's node had for its resource in the window, the last one first.
func (c *cluster) cardsOf(p *pod) (names []string) {
	all := c.nodes[p.object.Spec.NodeName]
	for _, v := range slices.Backward(all.since(c.view(c.now))) {
		each, has := v.value.cards[p.request.Resource]
		if has && !slices.Contains(names, each.Name) {
			names = append(names, each.Name)
		}
	}

	return names
}

// chosen returns the card that a pod counts for: the card of its node that it names. It returns "" if there is none, or
// if several cards are possible.
func chosen(p *pod, possible []string) string {
	fits := slices.DeleteFunc(slices.Clone(possible), func(name string) bool { return !p.names(name) })
	if len(fits) == 1 {
		return fits[0]
	}

	return ""
}

// forgetCards makes each pod count for the present card of its node. It is for a new leader, which does not know former
// cards.
func (c *cluster) forgetCards() {
	for _, p := range c.pods {
		has, labeled := c.nodes[p.object.Spec.NodeName].now().cards[p.request.Resource]
		if labeled && p.card != "" && !c.configuration.Plain {
			p.card = has.Name
		}
	}
}

// withoutCard judges a pod on a node that does not have exactly one card that it names.
func (c *cluster) withoutCard(p *pod, possible []string) {
	if len(possible) > 0 && slices.ContainsFunc(possible, p.names) {
		c.excuse("the node changed when the pod was bound, so that either card may count")
		return
	}

	other := c.another(c.now)
	if other != "" && len(possible) == 1 {
		p.card = possible[0] // it counts for the card of its node
		c.excuse(other)
		return
	}

	c.find(RightCard, []string{p.name, "Node " + p.object.Spec.NodeName}, "it names %s, and the node has %s for %s",
		p.list, strings.Join(possible, ", "), p.request.Resource)
}

// holds checks a pod that was just bound, and reports whether all rules hold. With silent, it reports no findings.
func (c *cluster) holds(p *pod, silent bool) bool {
	findings := len(c.report.Findings)
	excused := c.report.Excused
	if silent {
		c.report.Excused = map[string]int{}
	}

	c.checkQuotas(p)
	if !c.configuration.Plain {
		c.checkGuarantees(p)
	}
	c.checkNode(p)

	ok := len(c.report.Findings) == findings
	if silent {
		c.report.Findings = c.report.Findings[:findings]
		c.report.Excused = excused
	}

	return ok
}

// checkQuotas compares the queues on the pod's path with their quotas.
func (c *cluster) checkQuotas(p *pod) {
	view := c.view(c.now)
	for level, name := range c.path(p.queue) {
		all := c.queues[name]
		if all == nil {
			c.find(QuotaHolds, []string{p.name, "Queue " + name}, "queue %s does not exist", name)
			return
		}
		if level > 0 && c.moved(p.queue, view) {
			c.excuse("a queue was moved when the pod was bound")
			return
		}

		c.checkQueue(p, name, all.since(view))
	}
}

// checkQueue compares one queue with its quotas: for the pod's card, for the pod's namespace, and for groups.
func (c *cluster) checkQueue(p *pod, name string, in []version[queue]) {
	leaf := c.leaf(name)
	own := ofCard(p.card)
	c.compare(p, QuotaHolds, usage{name, p.card, c.counted(name, own)},
		most(in, func(q queue) (card.Milli, bool) { return c.bound(q, p.card, leaf) }))

	namespace := p.object.Namespace
	c.compare(p, NamespaceHolds,
		usage{name, p.card + " in namespace " + namespace, c.counted(name, inNamespace(namespace, own))},
		most(in, func(q queue) (card.Milli, bool) { return q.namespace.get(p.card) }))

	for group := range c.groups {
		if _, has := c.groups[group].Of(p.card); !has {
			continue
		}

		key := card.GroupPrefix + group
		c.compare(p, GroupHolds, usage{name, key, c.counted(name, c.ofGroup(group))},
			most(in, func(q queue) (card.Milli, bool) { return q.quota.get(key) }))
	}
}

// moved reports whether a queue or one of its ancestors got another parent in the window.
func (c *cluster) moved(name string, view time.Time) bool {
	for _, each := range c.path(name) {
		in := c.queues[each].since(view)
		for _, v := range in {
			if v.value.parent != in[0].value.parent {
				return true
			}
		}
	}

	return false
}

// limit holds the highest bound in a window, and the present one. There may be no bound.
type limit struct {
	most, now       card.Milli
	bounded, always bool
}

// most returns the limit that the versions of a window give.
func most(in []version[queue], bound func(queue) (card.Milli, bool)) (l limit) {
	l.always = true
	for _, v := range in {
		value, has := bound(v.value)
		l.always = l.always && has
		l.most = max(l.most, value)
		l.now = value
		l.bounded = has
	}

	return l
}

// usage is the amount that a queue has of a card, with a new pod.
type usage struct {
	queue, what string
	has         card.Milli
}

// compare reports a queue that exceeds its bound by a new pod.
func (c *cluster) compare(p *pod, rule Rule, u usage, bound limit) {
	switch {
	case bound.bounded && u.has <= bound.now, !bound.bounded && !bound.always:
	case !bound.always || u.has <= bound.most:
		c.excuse("the bound was lowered when the pod was bound")
	default:
		c.find(rule, []string{p.name, "Queue " + u.queue}, "queue %s has %s of %s with it, and the bound is %s",
			u.queue, u.has, u.what, bound.most)
	}
}

// checkGuarantees finds a pod that takes cards guaranteed to other queues. The queues then need more cards with the pod
// than without it, and more than the cluster has, or than the quota of an ancestor.
func (c *cluster) checkGuarantees(p *pod) {
	view := c.view(c.now)
	path := c.path(p.queue)
	for name := range c.queues {
		if c.configuration.Hierarchy && c.moved(name, view) {
			c.excuse("a queue was moved when the pod was bound")
			return
		}
	}

	thisPod := func(other *pod) bool { return other == p }
	for _, level := range path[1:] {
		bound := most(c.queues[level].since(view), func(q queue) (card.Milli, bool) {
			return c.bound(q, p.card, false)
		})
		if !bound.always || c.counted(level, ofCard(p.card)) > bound.most { // checkQuotas reports the latter
			continue
		}

		with := c.needs(level, p.card, path, noPod)
		if with > bound.most && with > c.needs(level, p.card, path, thisPod) {
			c.find(GuaranteesStay, []string{p.name, "Queue " + level},
				"the queues below %s have or are guaranteed %s of %s with it, and its quota is %s",
				level, with, p.card, bound.most)
		}
	}

	need := func(without func(*pod) bool) (sum card.Milli) {
		for _, child := range c.children(root) {
			sum += c.needs(child, p.card, path, without)
		}
		return sum
	}
	with := need(noPod)
	stock := c.stock(p.card)
	switch {
	case with <= stock || with <= need(thisPod):
	case need((*pod).terminates) <= stock && c.inLine(p.card):
		c.excuse(line)
	default:
		c.find(GuaranteesStay, []string{p.name, "Queue " + p.queue},
			"the queues have or are guaranteed %s of %s with it, and there are %s", with, p.card, stock)
	}
}

// line is documented behavior: cards under termination for which pods of a queue wait count as usage of the queue.
// Volcano does not store which pods these are.
const line = "a queue with less than its guarantee has a pod in line for what terminates"

// inLine reports whether each queue with less than its guarantee of a card has a pod that waits for one.
func (c *cluster) inLine(name string) bool {
	for queue := range c.queues {
		guarantee, _ := c.guaranteed(queue, name)
		if !c.leaf(queue) || c.counted(queue, ofCard(name)) >= guarantee {
			continue
		}

		waits := false
		for _, p := range c.pods {
			waits = waits || p.waits() && p.request.Milli > 0 && p.names(name) && c.queueOf(p) == queue
		}
		if !waits {
			return false
		}
	}

	return true
}

// checkNode compares the requests of the pods on a node with its allocatable cards.
func (c *cluster) checkNode(p *pod) {
	name := p.object.Spec.NodeName
	resource := p.request.Resource
	all := c.nodes[name]
	if all == nil {
		return
	}

	has := card.Milli(0)
	for _, v := range all.since(c.view(c.now)) {
		quantity := v.value.allocatable[resource]
		has = max(has, card.MilliOf(quantity))
	}

	held := c.heldOn(name, resource, noPod)
	switch {
	case held <= has:
	case c.heldOn(name, resource, c.forgotten) <= has:
		c.excuse(newNode)
	default:
		c.find(NodeHolds, []string{p.name, "Node " + name},
			"its pods have %s of %s, and it has %s", held, resource, has)
	}
}

// countExcess counts the quotas that an edit lowers below the usage of the queue. No pod is evicted for that.
func (c *cluster) countExcess(edited string) {
	cards := sets.New[string]()
	for _, p := range c.pods {
		if p.counts() && p.card != "" && slices.Contains(c.path(p.queue), edited) {
			cards.Insert(p.card)
		}
	}

	for name := range cards {
		bound, has := c.bound(c.queueNow(edited), name, c.leaf(edited))
		if has && c.counted(edited, ofCard(name)) > bound {
			c.excuse("a quota is below what the queue has, by an edit")
		}
	}
}
