package check

import (
	"slices"
	"strings"
	"time"

	"github.com/capacity-card/capacity-card/index/card"
)

// bind notes that a pod has a node, and checks that it may have it. Of a pod that was bound before the history begins,
// or in a gap, it is not known what held then.
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
	if listed {
		c.excuse("a pod was bound when the history did not see it")
		return
	}
	if c.configuration.Plugin == "" {
		return // no scheduler of ours
	}
	if p.card == "" {
		c.withoutCard(p, possible)
		return
	}
	c.justify(p)
	c.judge(p)
}

// judge checks a pod that was just bound, and counts what excuses it.
func (c *cluster) judge(p *pod) {
	other := c.another(c.now)
	switch {
	case c.holds(p, true):
		c.holds(p, false) // for what is excused
	case other != "":
		c.excuse(other)
	default:
		c.holds(p, false)
	}
}

// cardsOf returns the cards that the pod's node had for its resource in the window, the last one first.
func (c *cluster) cardsOf(p *pod) (names []string) {
	all := c.nodes[p.object.Spec.NodeName]
	if all == nil {
		return nil
	}
	in := all.since(c.view(c.now))
	for i := len(in) - 1; i >= 0; i-- {
		if each, has := in[i].value.cards[p.request.Resource]; has && !slices.Contains(names, each.Name) {
			names = append(names, each.Name)
		}
	}
	return names
}

// chosen is the card that a pod counts for: the one of its node that it names. It is "" if there is none, or if several
// are possible.
func chosen(p *pod, possible []string) string {
	fits := slices.DeleteFunc(slices.Clone(possible), func(name string) bool { return !p.names(name) })
	if len(fits) == 1 {
		return fits[0]
	}
	return ""
}

// forgetCards has each pod count for the card that its node has now: another scheduler leads, which does not know the
// former one.
func (c *cluster) forgetCards() {
	for _, p := range c.pods {
		all := c.nodes[p.object.Spec.NodeName]
		if p.card == "" || all == nil || c.configuration.Plain {
			continue
		}
		if has, labeled := all.now().cards[p.request.Resource]; labeled {
			p.card = has.Name
		}
	}
}

// withoutCard judges a pod on a node without one card that it names.
func (c *cluster) withoutCard(p *pod, possible []string) {
	if len(possible) > 0 && slices.ContainsFunc(possible, p.names) {
		c.excuse("the node changed when the pod was bound, so that either card may count")
		return
	}
	if other := c.another(c.now); other != "" && len(possible) == 1 {
		p.card = possible[0] // it counts for the card that it has
		c.excuse(other)
		return
	}
	c.find(RightCard, []string{p.name, "Node " + p.object.Spec.NodeName}, "it names %s, and the node has %s for %s",
		p.list, strings.Join(possible, ", "), p.request.Resource)
}

// holds checks a pod that was just bound. With silent, it only reports whether all rules hold.
func (c *cluster) holds(p *pod, silent bool) bool {
	findings, excused := len(c.report.Findings), c.report.Excused
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
		c.report.Findings, c.report.Excused = c.report.Findings[:findings], excused
	}
	return ok
}

// checkQuotas holds the queues on the pod's path against their quotas.
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
		in := all.since(view)
		leaf := c.leaf(name)
		c.compare(p, QuotaHolds, name, p.card, c.counted(name, of(p.card)), most(in, func(q queue) (card.Milli, bool) {
			return c.bound(q, p.card, leaf)
		}))
		c.compare(p, NamespaceHolds, name, p.card+" in namespace "+p.object.Namespace, c.counted(name, inNamespace(p.object.Namespace, of(p.card))),
			most(in, func(q queue) (card.Milli, bool) { limit, has := q.namespace[p.card]; return limit, has }))
		for group := range c.groups {
			if _, has := c.groups[group].Of(p.card); !has {
				continue
			}
			key := card.GroupPrefix + group
			c.compare(p, GroupHolds, name, key, c.counted(name, c.ofGroup(group)),
				most(in, func(q queue) (card.Milli, bool) { bound, has := q.quota[key]; return bound, has }))
		}
	}
}

// moved reports whether a queue or one above it got another parent in the window.
func (c *cluster) moved(name string, view time.Time) bool {
	for _, each := range c.path(name) {
		in := c.versionsOf(each).since(view)
		for _, v := range in {
			if v.value.parent != in[0].value.parent {
				return true
			}
		}
	}
	return false
}

// limit is the highest bound in a window, and the one now. There may be none.
type limit struct {
	most, now       card.Milli
	bounded, always bool
}

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

// compare reports a queue that a pod takes above its bound.
func (c *cluster) compare(p *pod, rule Rule, queue, what string, has card.Milli, bound limit) {
	switch {
	case bound.bounded && has <= bound.now, !bound.bounded && !bound.always:
	case !bound.always || has <= bound.most:
		c.excuse("the bound was lowered when the pod was bound")
	default:
		c.find(rule, []string{p.name, "Queue " + queue}, "queue %s has %s of %s with it, and the bound is %s", queue, has, what, bound.most)
	}
}

// checkGuarantees finds a pod that takes what is guaranteed to others: with it, the queues need more cards than there
// are, or than the quota of a queue above, and more than without it.
func (c *cluster) checkGuarantees(p *pod) {
	view, path := c.view(c.now), c.path(p.queue)
	only := func(other *pod) bool { return other == p }
	for name := range c.queues {
		if c.configuration.Hierarchy && c.moved(name, view) {
			c.excuse("a queue was moved when the pod was bound")
			return
		}
	}
	for _, level := range path[1:] {
		bound := most(c.versionsOf(level).since(view), func(q queue) (card.Milli, bool) { return c.bound(q, p.card, false) })
		with := c.needs(level, p.card, path, nobody)
		over := c.counted(level, of(p.card)) > bound.most // which is the business of checkQuotas
		if bound.always && !over && with > bound.most && with > c.needs(level, p.card, path, only) {
			c.find(GuaranteesStay, []string{p.name, "Queue " + level}, "the queues below %s have or are guaranteed %s of %s with it, and its quota is %s",
				level, with, p.card, bound.most)
		}
	}
	need := func(without func(*pod) bool) (sum card.Milli) {
		for _, child := range c.children(root) {
			sum += c.needs(child, p.card, path, without)
		}
		return sum
	}
	with, stock := need(nobody), c.stock(p.card)
	switch {
	case with <= stock || with <= need(only):
	case need((*pod).terminates) <= stock && c.inLine(p.card):
		c.excuse(line)
	default:
		c.find(GuaranteesStay, []string{p.name, "Queue " + p.queue}, "the queues have or are guaranteed %s of %s with it, and there are %s", with, p.card, stock)
	}
}

// line is as documented: what the pods of a queue wait for while others terminate counts as what the queue has. Volcano
// does not store which pods these are.
const line = "a queue with less than its guarantee has a pod in line for what terminates"

// inLine reports whether each queue with less than its guarantee of a card has a pod that waits for one.
func (c *cluster) inLine(name string) bool {
	for queue := range c.queues {
		if least, _ := c.guaranteed(queue, name); !c.leaf(queue) || c.counted(queue, of(name)) >= least {
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

// checkNode holds the pods of a node against what it has.
func (c *cluster) checkNode(p *pod) {
	name, resource := p.object.Spec.NodeName, p.request.Resource
	all := c.nodes[name]
	if all == nil {
		return
	}
	has := card.Milli(0)
	for _, v := range all.since(c.view(c.now)) {
		quantity := v.value.allocatable[resource]
		has = max(has, card.MilliOf(quantity))
	}
	switch on := c.on(name, resource, nobody); {
	case on <= has:
	case c.on(name, resource, c.forgotten) <= has:
		c.excuse(newNode)
	default:
		c.find(NodeHolds, []string{p.name, "Node " + name}, "its pods have %s of %s, and it has %s", on, resource, has)
	}
}

// countExcess counts the queues that an edit leaves above their quota: no pod is evicted for that.
func (c *cluster) countExcess(edited string) {
	cards := map[string]bool{}
	for _, p := range c.pods {
		if p.counts() && p.card != "" && slices.Contains(c.path(p.queue), edited) {
			cards[p.card] = true
		}
	}
	for name := range cards {
		bound, has := c.bound(c.queueNow(edited), name, c.leaf(edited))
		if has && c.counted(edited, of(name)) > bound {
			c.excuse("a quota is below what the queue has, by an edit")
		}
	}
}
