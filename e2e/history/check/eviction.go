package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/capacity-card/capacity-card/index/card"
)

// unfinished is a limit of Volcano: in every later cycle, the scheduler assumes that it has evicted the pod.
const unfinished = "an eviction was begun and not finished: Volcano deletes no pod that it has marked before"

// eviction is a pod under eviction, until it is gone.
type eviction struct {
	*pod
	revision  int64
	at, until time.Time
	reclaim   bool // for a pod of another queue
	// has is the amount of the victim's card in its queue, including the victim. The queue keeps deserved and
	// guarantee. largest is the request of the largest other victim.
	has, largest, deserved, guarantee card.Milli
}

// evict records an eviction, and checks that the queue may lose the pod.
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
	e.deserved = c.stated(p, queue.deserves)
	e.guarantee = c.stated(p, queue.guarantees)
	if !c.configuration.Hierarchy {
		e.deserved = max(e.guarantee, min(e.deserved, c.leastReal(p)))
	}

	if e.unjust() != "" {
		c.doubtful = append(c.doubtful, e)
	}
}

// unjust returns the reason why the queue of a victim must not lose it: the queue has no more than it deserves, or than
// its guarantee. It returns "" if the queue may lose the victim.
func (e *eviction) unjust() string {
	request := e.request.Milli
	// The order in which a scheduler evicts several victims is not stored, so the last one may be any of them.
	if e.has+max(0, e.largest-request) <= e.deserved {
		return fmt.Sprintf("queue %s has %s of %s with it, and deserves %s", e.queue, e.has, e.card, e.deserved)
	}

	if e.has-request < e.guarantee {
		return fmt.Sprintf("queue %s has %s of %s without it, and is guaranteed %s",
			e.queue, e.has-request, e.card, e.guarantee)
	}

	return ""
}

// alike reports whether a pod counts for the queue and the card of a victim.
func (e *eviction) alike(p *pod) bool { return p.queue == e.queue && p.card == e.card }

// justify counts a new pod for the queues of victims, because it may have got its node in the same cycle.
func (c *cluster) justify(p *pod) {
	for _, e := range c.doubtful {
		if e.alike(p) {
			e.has += p.request.Milli
		}
	}
}

// settle reports unjust evictions before a time. By then, all decisions of their cycle are stored.
func (c *cluster) settle(before time.Time) {
	c.doubtful = slices.DeleteFunc(c.doubtful, func(e *eviction) bool {
		if e.at.After(before) {
			return false
		}

		if wrong := e.unjust(); wrong != "" {
			c.report.Findings = append(c.report.Findings, Finding{
				Revision: e.revision,
				Time:     e.at,
				Rule:     VictimLends,
				Objects:  []string{e.name, "Queue " + e.queue},
				Text:     wrong,
			})
		}

		return true
	})
}

// leastReal returns the smallest realCapability of a flat queue for a pod's card in the window: the cards that the
// guarantees of other queues leave.
func (c *cluster) leastReal(p *pod) card.Milli {
	view := c.view(c.now)
	left := card.Milli(0)
	for _, all := range c.nodes {
		left += least(all.since(view), func(n node) card.Milli { return n.has(p.card) })
	}

	for name := range c.queues {
		if name == p.queue || name == root {
			continue
		}
		_, guarantee := c.guaranteed(name, p.card)
		left -= guarantee
	}

	return max(0, left)
}

// lent returns the allocated cards of the queue of an eviction, with the victim and without earlier victims. It is the
// largest amount in the window, because the scheduler learns late of pods that end. largest is the request of the
// largest other victim in the window.
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

// stated returns the smallest amount that a pod's queue stated for its card in the window.
func (c *cluster) stated(p *pod, amount func(queue, string) card.Milli) card.Milli {
	if c.queueNow(p.queue).bad {
		return 0
	}
	return least(c.queues[p.queue].since(c.view(c.now)), func(q queue) card.Milli { return amount(q, p.card) })
}

// least returns the smallest amount of some versions.
func least[T any](in []version[T], amount func(T) card.Milli) (smallest card.Milli) {
	for i, v := range in {
		value := amount(v.value)
		if i == 0 || value < smallest {
			smallest = value
		}
	}

	return smallest
}

// checkEvictedOnce finds a pod that is evicted a second time.
func (c *cluster) checkEvictedOnce(before, after *pod) {
	was := evictedFor(before.object)
	is := evictedFor(after.object)

	// Other writers of the condition, such as the kubelet when the pod ends, have another message.
	const begins = "Pod is evicted"
	evictedTwice := strings.HasPrefix(was, begins) && strings.HasPrefix(is, begins) && is != was
	if evictedTwice && before.object.DeletionTimestamp != nil {
		c.find(EvictedOnce, []string{after.name}, "%q after %q", is, was)
	}
}

// judgeEvictions finds evictions since the last rest that helped no pod.
func (c *cluster) judgeEvictions() {
	left := c.serve()
	for _, e := range left {
		reason := c.whyNobody(e)
		if reason != "" {
			c.excuse(reason)
			continue
		}
		c.find(EvictedForOne, []string{e.name, "Queue " + e.queue, "Node " + e.object.Spec.NodeName},
			"it was evicted at revision %d with %s of %s, and no pod of another queue got the node for it",
			e.revision, e.request.Milli, e.card)
	}
	c.evictions = nil
}

// serve returns the evictions that helped no pod. A pod with the same resource that was bound to the node later uses
// the evictions before it, the oldest first, until they cover its request.
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

// boundSince returns the pods that were bound after a time, in that order, including pods that have ended.
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
	samePlace := p.object.Spec.NodeName == e.object.Spec.NodeName && p.request.Resource == e.request.Resource
	return samePlace && (!e.reclaim || p.queue != e.queue)
}

// whyNobody returns the reason why no pod used the node of a victim, or "" if there is none.
func (c *cluster) whyNobody(e *eviction) string {
	until := e.until
	if until.IsZero() {
		until = c.now
	}

	claims := func(p *pod) bool { return c.claims(p, e) }
	nominated := func(p *pod) bool {
		return claims(p) && p.object.Status.NominatedNodeName == e.object.Spec.NodeName
	}
	switch {
	case e.until.IsZero() && e.object.DeletionTimestamp == nil:
		return unfinished
	case slices.ContainsFunc(c.gone, nominated):
		return "the pod that others were evicted for was deleted"
	case c.restarted(c.view(e.at), until.Add(Lag)):
		return "the scheduler ended while a victim did"
	case c.changed(e.object.Spec.NodeName, e.at.Add(-Lag)):
		return "the node of a victim changed"
	case c.edited.After(e.at.Add(-Lag)):
		return "a queue was edited after an eviction"
	case slices.ContainsFunc(c.gone, claims):
		return "a pod that others may have been evicted for was deleted before it was nominated"
	}

	if fault := c.faulty(e.at.Add(-Lag), until.Add(Lag)); fault != "" {
		return fmt.Sprintf("there was a fault while a victim ended: %s", fault)
	}
	return ""
}

// claims reports whether the scheduler may have evicted the victim for a pod.
func (c *cluster) claims(p *pod, e *eviction) bool {
	otherQueue := !e.reclaim || c.queueOf(p) != e.queue
	return p.request.Resource == e.request.Resource && otherQueue && p.created.Before(e.at.Add(Lag))
}

// queueOf returns the queue of a pod, with or without a node.
func (c *cluster) queueOf(p *pod) string {
	if group := c.podGroups[groupOf(p.object)]; group != nil {
		return group.Spec.Queue
	}

	return queueNamed(p.object)
}

// changed reports whether a node was changed after a time.
func (c *cluster) changed(name string, then time.Time) bool {
	all := c.nodes[name]
	return len(all) == 0 || all[len(all)-1].from.After(then)
}

// checkEvictionsEnd finds pods that are still under eviction at rest.
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
