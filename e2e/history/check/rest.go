package check

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index/card"
)

// rest checks a cluster at rest.
func (c *cluster) rest() {
	earmarked := c.earmarked() // judgeEvictions forgets the evictions
	c.judgeEvictions()
	c.checkEvictionsEnd()

	for _, name := range slices.Sorted(maps.Keys(c.podGroups)) {
		c.checkFits(name, c.podGroups[name], earmarked)
		c.checkAdmission(name, c.podGroups[name])
	}
	for _, p := range c.pods {
		if p.waits() {
			c.checkReason(p)
		}
	}

	c.ended = nil
	c.gone = nil
}

// podsOf returns the pods of a PodGroup, by name.
func (c *cluster) podsOf(group string) (all []*pod) {
	for _, p := range c.pods {
		if groupOf(p.object) == group {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *pod) int { return strings.Compare(a.name, b.name) })

	return all
}

// judgeable reports whether the state of a queue tells which of its jobs must run.
func (c *cluster) judgeable(name string) bool {
	q := c.queueNow(name)
	return q.open && !q.bad && c.leaf(name)
}

// checkFits finds an admitted job with waiting pods that fit. The pods are the rest of its minimum, or one pod if it
// has its minimum.
func (c *cluster) checkFits(name string, group *scheduling.PodGroup, earmarked map[string]bool) {
	queue := group.Spec.Queue
	if group.Status.Phase == scheduling.PodGroupPending || group.Status.Phase == "" || !c.judgeable(queue) {
		return
	}

	var waiting []*pod
	placed := 0
	for _, p := range c.podsOf(name) {
		switch {
		case p.counts() && p.object.DeletionTimestamp == nil, p.object.Status.Phase == corev1.PodSucceeded:
			placed++
		case p.waits() && p.request.Milli > 0 && len(p.object.Spec.SchedulingGates) == 0:
			waiting = append(waiting, p)
		}
	}

	// Under the name proportion, deserved decides.
	needed := max(int(group.Spec.MinMember)-placed, 1)
	if len(waiting) < needed || c.nominated() || c.configuration.Plain {
		return
	}

	switch {
	case !c.place(waiting[:needed], queue, nil):
	case !c.place(waiting[:needed], queue, earmarked):
		c.excuse(kept)
	default:
		c.find(FitsRuns, append(namesOf(waiting[:needed]), "Queue "+queue),
			"job %s has %d pods, %d wait, and %d of them fit", name, placed, len(waiting), needed)
	}
}

// nominated reports whether some pod already has a node to itself. Then it is unknown which other pods fit.
func (c *cluster) nominated() bool {
	for _, p := range c.pods {
		nominated := p.waits() && p.object.Status.NominatedNodeName != ""
		if nominated || p.evicted && p.counts() {
			return true
		}
	}

	return false
}

// kept is documented behavior: the card of a victim is earmarked for its reclaimer. The checker knows the reclaimer by
// its nomination, which a fault can remove.
const kept = "what a victim left is kept for its reclaimer, for five minutes at most"

// earmarked returns the nodes of victims of the last five minutes, if there was a fault near their end, and a pod
// that existed then still waits for the card.
func (c *cluster) earmarked() map[string]bool {
	nodes := map[string]bool{}
	for _, e := range c.evictions {
		ended := cmp.Or(e.until, c.now)
		if c.now.Sub(ended) > 5*time.Minute || c.faulty(e.at.Add(-Lag), ended.Add(Lag)) == "" {
			continue
		}

		for _, p := range c.pods {
			if p.waits() && c.claims(p, e) && p.names(e.card) {
				nodes[e.object.Spec.NodeName] = true
			}
		}
	}

	return nodes
}

// place reports whether pods fit together on nodes that are not in without. It leaves no pod on a node.
func (c *cluster) place(pods []*pod, queue string, without map[string]bool) bool {
	fits := true
	var placed []*pod
	for _, p := range pods {
		if !c.placeOne(p, queue, without) {
			fits = false
			break
		}
		placed = append(placed, p)
	}

	for _, p := range placed {
		p.takeBack()
	}

	return fits
}

// placeOne gives a pod a node on which all rules hold, by the present values.
func (c *cluster) placeOne(p *pod, queue string, without map[string]bool) bool {
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodes[name].now()
		each, has := n.cards[p.request.Resource]
		usable := n.exists && n.ready && has && !without[name]
		if !usable || !p.names(each.Name) || !c.roomFor(p, name, n) {
			continue
		}

		p.bound = c.revision
		p.queue = queue
		p.card = each.Name
		p.object.Spec.NodeName = name
		if c.strictly(func() bool { return c.holds(p, true) }) {
			return true
		}
		p.takeBack()
	}

	return false
}

// takeBack undoes placeOne.
func (p *pod) takeBack() {
	p.bound = 0
	p.queue = ""
	p.card = ""
	p.object.Spec.NodeName = ""
}

// strictly answers a question without the window: the scheduler had the time to learn of everything.
func (c *cluster) strictly(question func() bool) bool {
	nodes := c.nodes
	queues := c.queues
	defer func() {
		c.nodes = nodes
		c.queues = queues
	}()

	c.nodes = map[string]versions[node]{}
	c.queues = map[string]versions[queue]{}
	for name, all := range nodes {
		c.nodes[name] = versions[node]{{value: all.now()}}
	}
	for name, all := range queues {
		c.queues[name] = versions[queue]{{value: all.now()}}
	}

	return question()
}

// roomFor reports whether a node has room for a pod, for each allocatable resource.
func (c *cluster) roomFor(p *pod, name string, n node) bool {
	for resource, allocatable := range n.allocatable {
		used := requested(p.object, resource)
		for _, other := range c.pods {
			if other.counts() && other.object.Spec.NodeName == name {
				used += requested(other.object, resource)
			}
		}
		if used > allocatable.AsApproximateFloat64() {
			return false
		}
	}

	return true
}

// requested returns the request of a pod for a resource. Each pod requests one pod.
func requested(object *corev1.Pod, resource corev1.ResourceName) (sum float64) {
	if resource == corev1.ResourcePods {
		return 1
	}

	for i := range object.Spec.Containers {
		quantity := object.Spec.Containers[i].Resources.Requests[resource]
		sum += quantity.AsApproximateFloat64()
	}

	return sum
}

// checkAdmission finds a job that waits for its admission although its minimum fits. The minimum must fit even if
// admitted jobs get all cards that they may claim. Lists of cards and groups are left out, because an assignment
// decides for them.
func (c *cluster) checkAdmission(name string, group *scheduling.PodGroup) {
	if group.Status.Phase != scheduling.PodGroupPending || !c.judgeable(group.Spec.Queue) {
		return
	}
	if len(c.configuration.Groups) > 0 || c.configuration.Plugin != "capacity-card" {
		return
	}

	minimum := c.minimum(name, group)
	for key := range minimum {
		if len(card.ParseList(key)) > 1 {
			return
		}
	}
	for cardName, requests := range minimum {
		if !c.admits(name, group, cardName, requests) {
			return
		}
	}

	objects := []string{objectName("PodGroup", group.Namespace, group.Name), "Queue " + group.Spec.Queue}
	c.find(FitsAdmitted, objects, "its minimum is %v", minimum)
}

// admits reports whether the queues of a job have room for a request for a card.
func (c *cluster) admits(name string, group *scheduling.PodGroup, cardName string, requests card.Milli) bool {
	inGroup := inNamespace(group.Namespace, ofCard(cardName))
	for _, level := range c.path(group.Spec.Queue) {
		promised := c.promised(level, cardName, name)
		bound, bounded := c.bound(c.queueNow(level), cardName, c.leaf(level))
		total := c.counted(level, ofCard(cardName)) + promised + requests
		if bounded && total > min(bound, c.real(level, cardName)) {
			return false
		}

		limit, limited := c.queueNow(level).namespace[cardName]
		if limited && c.counted(level, inGroup)+promised+requests > limit {
			return false
		}
	}

	return true
}

// minimum returns the cards that a job needs to start. While the job has no pods, its annotation states them. Otherwise
// they are the cards of minMember pods that have not ended. All pods of a job request the same here.
func (c *cluster) minimum(name string, group *scheduling.PodGroup) amounts {
	minimum := amounts{}
	pods := c.podsOf(name)
	if len(pods) == 0 {
		requests, _ := card.ParseRequest(group.Annotations[card.RequestKey])
		for _, each := range requests {
			minimum[each.List.String()] += card.Cards(each.Count)
		}
		return minimum
	}

	left := int(group.Spec.MinMember)
	for _, p := range pods {
		if left > 0 && p.request.Milli > 0 && !p.over() {
			left--
			minimum[p.list.String()] += p.request.Milli
		}
	}

	return minimum
}

// promised returns the largest amount of a card that admitted jobs in a queue and below may still claim.
func (c *cluster) promised(in, cardName, except string) (sum card.Milli) {
	for name, group := range c.podGroups {
		admitted := group.Status.Phase != scheduling.PodGroupPending
		if name == except || !admitted || !slices.Contains(c.path(group.Spec.Queue), in) {
			continue
		}

		for list, amount := range c.minimum(name, group) {
			if slices.Contains(card.ParseList(list), cardName) {
				sum += amount
			}
		}
	}

	return sum
}

// real returns realCapability: the part of the parent's realCapability that the guarantees of siblings leave.
func (c *cluster) real(name, cardName string) card.Milli {
	above := c.stock(cardName)
	parent := root
	if path := c.path(name); len(path) > 1 {
		parent = path[1]
		above = c.real(parent, cardName)
	}

	guaranteed := card.Milli(0)
	for _, child := range c.children(parent) {
		guaranteed += c.queueNow(child).guarantees(cardName)
	}
	real := max(0, above-guaranteed) + c.queueNow(name).guarantees(cardName)

	bound, bounded := c.bound(c.queueNow(name), cardName, c.leaf(name))
	if bounded {
		return min(real, bound)
	}

	return real
}

func namesOf(pods []*pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.name)
	}
	return names
}
