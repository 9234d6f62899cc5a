package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/index/card"
)

// unfinished is a limit of Volcano: in every later cycle the scheduler believes that it has evicted the pod.
const unfinished = "an eviction was begun and not finished: Volcano deletes no pod that it has marked before"

// eviction is a pod that was evicted, until it was gone.
type eviction struct {
	*pod
	revision  int64
	at, until time.Time
	reclaim   bool // for a pod of another queue
	// has counts the victim's card in its queue, the victim included. The queue keeps deserved and guarantee of it.
	// largest is the request of the largest other victim.
	has, largest, deserved, guarantee card.Milli
}

// evict notes an eviction, and checks that the queue may lose the pod.
func (c *cluster) evict(p *pod) {
	e := &eviction{pod: p, revision: c.revision, at: c.now, reclaim: strings.Contains(evictedFor(p.object), "reclaim")}
	c.evictions = append(c.evictions, e)
	c.report.Evicted++
	if p.card == "" || !e.reclaim {
		return
	}
	if other := c.another(c.now); other != "" {
		c.excuse(other)
		return
	}
	e.has, e.largest = c.lent(e)
	e.deserved, e.guarantee = c.stated(p, queue.deserves), c.stated(p, queue.guarantees)
	if !c.configuration.Hierarchy {
		e.deserved = max(e.guarantee, min(e.deserved, c.leastReal(p)))
	}
	if e.unjust() != "" {
		c.doubtful = append(c.doubtful, e)
	}
}

// unjust says why the queue of a victim must not lose it: it has no more than it deserves, or than is guaranteed. It
// returns "" if it may.
func (e *eviction) unjust() string {
	request := e.request.Milli
	// Victims of one cycle are evicted side by side: the last one of them in the scheduler's order may be any of them.
	if e.has+max(0, e.largest-request) <= e.deserved {
		return fmt.Sprintf("queue %s has %s of %s with it, and deserves %s", e.queue, e.has, e.card, e.deserved)
	}
	if e.has-request < e.guarantee {
		return fmt.Sprintf("queue %s has %s of %s without it, and is guaranteed %s", e.queue, e.has-request, e.card, e.guarantee)
	}
	return ""
}

// alike reports whether a pod counts for the queue and the card of a victim.
func (e *eviction) alike(p *pod) bool { return p.queue == e.queue && p.card == e.card }

// justify counts a pod that was just bound for the queues of victims: it may have got its node in the same cycle.
func (c *cluster) justify(p *pod) {
	for _, e := range c.doubtful {
		if e.alike(p) {
			e.has += p.request.Milli
		}
	}
}

// settle finds the evictions that were unjust, once what was decided with them is stored: those before a time.
func (c *cluster) settle(before time.Time) {
	c.doubtful = slices.DeleteFunc(c.doubtful, func(e *eviction) bool {
		if e.at.After(before) {
			return false
		}
		if wrong := e.unjust(); wrong != "" {
			c.report.Findings = append(c.report.Findings, Finding{
				Revision: e.revision, Time: e.at, Rule: VictimLends, Objects: []string{e.name, "Queue " + e.queue}, Text: wrong,
			})
		}
		return true
	})
}

// leastReal is the least of a pod's card that the guarantees of others left to its queue in the window, among flat
// queues.
func (c *cluster) leastReal(p *pod) card.Milli {
	view := c.view(c.now)
	left := card.Milli(0)
	for _, all := range c.nodes {
		left += least(all.since(view), func(n node) card.Milli { return n.has(p.card) })
	}
	for name := range c.queues {
		if _, most := c.guaranteed(name, p.card); name != p.queue && name != root {
			left -= most
		}
	}
	return max(0, left)
}

// lent returns the allocated cards of the queue of an eviction, with the victim and without earlier victims: the most
// in the window, since the scheduler learns late of pods that end. largest is the largest of those evicted in the
// window.
func (c *cluster) lent(e *eviction) (has, largest card.Milli) {
	view := c.view(c.now)
	for _, p := range c.pods {
		if p.counts() && e.alike(p) && (!p.evicted || p.object.UID == e.object.UID) {
			has += p.request.Milli
		}
	}
	for _, each := range c.ended {
		if e.alike(each.pod) && each.until.After(view) && !each.evicted {
			has += each.request.Milli
		}
	}
	for _, each := range c.evictions {
		if each != e && e.alike(each.pod) && each.at.After(view) {
			largest = max(largest, each.request.Milli)
		}
	}
	return has, largest
}

// stated is the least amount that a pod's queue stated of its card in the window.
func (c *cluster) stated(p *pod, amount func(queue, string) card.Milli) card.Milli {
	if c.queueNow(p.queue).bad {
		return 0
	}
	return least(c.versionsOf(p.queue).since(c.view(c.now)), func(q queue) card.Milli { return amount(q, p.card) })
}

// least is the least amount of some versions.
func least[T any](in []version[T], amount func(T) card.Milli) (least card.Milli) {
	for i, v := range in {
		if is := amount(v.value); i == 0 || is < least {
			least = is
		}
	}
	return least
}

// checkEvictedOnce finds a pod that is evicted although it has been.
func (c *cluster) checkEvictedOnce(before, after *pod) {
	was, is := evictedFor(before.object), evictedFor(after.object)
	// Whoever else writes the condition, such as the kubelet when the pod ends, has another message.
	const begins = "Pod is evicted"
	if strings.HasPrefix(was, begins) && strings.HasPrefix(is, begins) && is != was && before.object.DeletionTimestamp != nil {
		c.find(EvictedOnce, []string{after.name}, "%q after %q", is, was)
	}
}

// judgeEvictions finds evictions since the last rest that served nobody.
func (c *cluster) judgeEvictions() {
	left := c.serve()
	for _, e := range left {
		reason := c.whyNobody(e)
		if reason != "" {
			c.excuse(reason)
			continue
		}
		c.find(EvictedForOne, []string{e.name, "Queue " + e.queue, "Node " + e.object.Spec.NodeName},
			"it was evicted at revision %d with %s of %s, and no pod of another queue got the node for it", e.revision, e.request.Milli, e.card)
	}
	c.evictions = nil
}

// serve returns the evictions that served nobody. A pod that was bound to the node later, and has the same resource, is
// served by the evictions before it, until they have what it requests; the oldest come first.
func (c *cluster) serve() (left []*eviction) {
	bound := c.boundSince(c.lastRest)
	taken := map[types.UID]card.Milli{}
	for _, e := range c.evictions {
		served := false
		for _, p := range bound {
			if p.at.Before(e.at) || !c.fitsPlace(p, e) || taken[p.object.UID] >= p.request.Milli {
				continue
			}
			taken[p.object.UID] += e.request.Milli
			served = true
			break
		}
		if served {
			c.report.Served++
			continue
		}
		left = append(left, e)
	}
	return left
}

// boundSince are the pods that were bound after a time, whatever became of them, in that order.
func (c *cluster) boundSince(then time.Time) (all []*pod) {
	for _, p := range c.pods {
		if p.bound > 0 && !p.at.Before(then) && p.counts() {
			all = append(all, p)
		}
	}
	for _, each := range c.ended {
		if !each.at.Before(then) {
			all = append(all, each.pod)
		}
	}
	slices.SortFunc(all, func(a, b *pod) int { return int(a.bound - b.bound) })
	return all
}

// fitsPlace reports whether a pod can be the one that an eviction was for.
func (c *cluster) fitsPlace(p *pod, e *eviction) bool {
	return p.object.Spec.NodeName == e.object.Spec.NodeName && p.request.Resource == e.request.Resource && (!e.reclaim || p.queue != e.queue)
}

// whyNobody is why nobody got what a victim left, or "".
func (c *cluster) whyNobody(e *eviction) string {
	until := e.until
	if until.IsZero() {
		until = c.now
	}
	claims := func(p *pod) bool { return c.claims(p, e) }
	switch {
	case e.until.IsZero() && e.object.DeletionTimestamp == nil:
		return unfinished
	case slices.ContainsFunc(c.gone, func(p *pod) bool { return claims(p) && p.object.Status.NominatedNodeName == e.object.Spec.NodeName }):
		return "the pod that others were evicted for was deleted"
	case c.restarted(c.view(e.at), until.Add(Lag)):
		return "the scheduler ended while a victim did"
	case c.changed(e.object.Spec.NodeName, e.at.Add(-Lag)):
		return "the node of a victim changed"
	case c.editedSince(e.at.Add(-Lag)):
		return "a queue was edited after an eviction"
	case slices.ContainsFunc(c.gone, claims):
		return "a pod that others may have been evicted for was deleted before it was nominated"
	}
	if fault := c.faulty(e.at.Add(-Lag), until.Add(Lag)); fault != "" {
		return fmt.Sprintf("there was a fault while a victim ended: %s", fault)
	}
	return ""
}

// claims reports whether an eviction can have been for a pod.
func (c *cluster) claims(p *pod, e *eviction) bool {
	return p.request.Resource == e.request.Resource && (!e.reclaim || c.queueOf(p) != e.queue) && p.created.Before(e.at.Add(Lag))
}

// queueOf is the queue of a pod, whether it has a node or not.
func (c *cluster) queueOf(p *pod) string {
	if group := c.podGroups[groupOf(p.object)]; group != nil {
		return group.Spec.Queue
	}
	return queueNamed(p.object)
}

// changed reports whether a node was changed after a time.
func (c *cluster) changed(name string, then time.Time) bool {
	all := c.nodes[name]
	return all == nil || len(*all) > 0 && (*all)[len(*all)-1].from.After(then)
}

// editedSince reports whether a queue was edited after a time.
func (c *cluster) editedSince(then time.Time) bool {
	for _, at := range c.edited {
		if at.After(then) {
			return true
		}
	}
	return false
}

// checkEvictionsEnd finds, at rest, pods that are still being evicted.
func (c *cluster) checkEvictionsEnd() {
	for _, p := range c.pods {
		switch {
		case !p.evicted || p.over():
		case p.object.DeletionTimestamp == nil:
			c.excuse(unfinished)
		default:
			c.find(EvictionsEnd, []string{p.name}, "it is evicted, and not gone")
		}
	}
}
