package check

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/index/card"
)

// rest checks a cluster at rest.
func (c *cluster) rest() {
	earmarked := c.earmarked() // of the evictions that judgeEvictions forgets
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
	c.ended, c.gone = nil, nil
}

// podsOf are the pods of a PodGroup, by name.
func (c *cluster) podsOf(group string) (all []*pod) {
	for _, p := range c.pods {
		if groupOf(p.object) == group {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *pod) int { return strings.Compare(a.name, b.name) })
	return all
}

// checkFits finds a job that is admitted, and whose pods wait although its minimum of them fits, or one more.
func (c *cluster) checkFits(name string, group *scheduling.PodGroup, earmarked map[string]bool) {
	queue := c.queueNow(group.Spec.Queue)
	if group.Status.Phase == scheduling.PodGroupPending || group.Status.Phase == "" || !queue.open || queue.bad || !c.leaf(group.Spec.Queue) {
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
	needed := max(int(group.Spec.MinMember)-placed, 1)
	if len(waiting) < needed || c.nominated() || c.configuration.Plain {
		return // under the name proportion, what a queue deserves decides
	}
	switch {
	case !c.place(waiting[:needed], group.Spec.Queue, nil):
	case !c.place(waiting[:needed], group.Spec.Queue, earmarked):
		c.excuse(kept)
	default:
		c.find(FitsRuns, append(namesOf(waiting[:needed]), "Queue "+group.Spec.Queue), "job %s has %d pods, %d wait, and %d of them fit",
			name, placed, len(waiting), needed)
	}
}

// nominated reports whether a pod has a node to itself already. What fits beside it cannot be told.
func (c *cluster) nominated() bool {
	for _, p := range c.pods {
		if p.waits() && p.object.Status.NominatedNodeName != "" || p.evicted && p.counts() {
			return true
		}
	}
	return false
}

// kept is as documented: what victims leave is earmarked. The checker knows for whom by the nomination, which a fault
// can take away.
const kept = "what a victim left is kept for its reclaimer, for five minutes at most"

// earmarked returns the nodes of victims of the last five minutes beside whose end there was a fault, while a pod that
// existed then still waits for the card.
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

// place reports whether pods fit on other nodes than some, one after the other, and takes them back.
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
		p.bound = 0
		p.queue = ""
		p.card = ""
		p.object.Spec.NodeName = ""
	}
	return fits
}

// placeOne gives a pod a node on which all rules hold by the values of now.
func (c *cluster) placeOne(p *pod, queue string, without map[string]bool) bool {
	for _, name := range slices.Sorted(maps.Keys(c.nodes)) {
		n := c.nodeNow(name)
		each, has := n.cards[p.request.Resource]
		if without[name] || !n.exists || !n.ready || !has || !p.names(each.Name) || !c.roomFor(p, name, n) {
			continue
		}
		p.bound = c.revision
		p.queue = queue
		p.card = each.Name
		p.object.Spec.NodeName = name
		if c.strictly(func() bool { return c.holds(p, true) }) {
			return true
		}
		p.bound = 0
		p.queue = ""
		p.card = ""
		p.object.Spec.NodeName = ""
	}
	return false
}

// strictly answers a question without the window: the scheduler has had the time to learn of everything.
func (c *cluster) strictly(question func() bool) bool {
	nodes, queues := c.nodes, c.queues
	c.nodes, c.queues = map[string]*versions[node]{}, map[string]*versions[queue]{}
	for name, all := range nodes {
		c.nodes[name] = &versions[node]{{value: all.now()}}
	}
	for name, all := range queues {
		c.queues[name] = &versions[queue]{{value: all.now()}}
	}
	defer func() { c.nodes, c.queues = nodes, queues }()
	return question()
}

// roomFor reports whether a node has cpu, memory and a place for a pod.
func (c *cluster) roomFor(p *pod, name string, n node) bool {
	for resource, allocatable := range n.allocatable {
		used := requested(p.object, resource)
		if resource == corev1.ResourcePods {
			used = 1
		}
		for _, other := range c.pods {
			if other.counts() && other.object.Spec.NodeName == name {
				if resource == corev1.ResourcePods {
					used++
				} else {
					used += requested(other.object, resource)
				}
			}
		}
		if used > allocatable.AsApproximateFloat64() {
			return false
		}
	}
	return true
}

func requested(object *corev1.Pod, resource corev1.ResourceName) (sum float64) {
	for i := range object.Spec.Containers {
		quantity := object.Spec.Containers[i].Resources.Requests[resource]
		sum += quantity.AsApproximateFloat64()
	}
	return sum
}

// checkAdmission finds a job that waits for its admission although its minimum fits beside all that others have, or are
// promised at most. Lists of cards and groups are left out: an assignment decides there.
func (c *cluster) checkAdmission(name string, group *scheduling.PodGroup) {
	queue := c.queueNow(group.Spec.Queue)
	if group.Status.Phase != scheduling.PodGroupPending || !queue.open || queue.bad || !c.leaf(group.Spec.Queue) ||
		len(c.configuration.Groups) > 0 || c.configuration.Plugin != "capacity-card" {
		return
	}
	minimum := c.minimum(name, group)
	for key := range minimum {
		if len(card.ParseList(key)) > 1 {
			return
		}
	}
	for cardName, requests := range minimum {
		for _, level := range c.path(group.Spec.Queue) {
			bound, bounded := c.bound(c.queueNow(level), cardName, c.leaf(level))
			if bounded && c.counted(level, of(cardName))+c.promised(level, cardName, name)+requests > min(bound, c.real(level, cardName)) {
				return
			}
			limit, limited := c.queueNow(level).namespace[cardName]
			if limited && c.counted(level, inNamespace(group.Namespace, of(cardName)))+c.promised(level, cardName, name)+requests > limit {
				return
			}
		}
	}
	c.find(FitsAdmitted, []string{objectName("PodGroup", group.Namespace, group.Name), "Queue " + group.Spec.Queue}, "its minimum is %v", minimum)
}

// minimum returns the cards that a job needs to start: those of its annotation while it has no pods, else those of
// minMember pods that have not ended. The pods of a job request the same here.
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

// promised is the most that admitted jobs in a queue and below are still promised of a card.
func (c *cluster) promised(in, cardName, except string) (sum card.Milli) {
	for name, group := range c.podGroups {
		if name == except || group.Status.Phase == scheduling.PodGroupPending || !slices.Contains(c.path(group.Spec.Queue), in) {
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

// real is realCapability: what guarantees of others leave of the parent's.
func (c *cluster) real(name, cardName string) card.Milli {
	above, parent := c.stock(cardName), root
	if path := c.path(name); len(path) > 1 {
		parent = path[1]
		above = c.real(parent, cardName)
	}
	guaranteed := card.Milli(0)
	for _, child := range c.children(parent) {
		guaranteed += c.queueNow(child).guarantees(cardName)
	}
	real := max(0, above-guaranteed) + c.queueNow(name).guarantees(cardName)
	if bound, bounded := c.bound(c.queueNow(name), cardName, c.leaf(name)); bounded {
		return min(real, bound)
	}
	return real
}

// insufficient is the reason of a pod for which a queue has no quota.
var insufficient = regexp.MustCompile(`Queue <([^>]+)> has insufficient <([^>]+)> quota: requested <(\d+)>, total would be <(\d+)>, but capability is <(\d+)>`)

// olderReason is as documented: an event and a condition are written again when the reason is another one.
const olderReason = "a reason keeps its numbers while only usage, or a bound that follows from others, is another one"

// checkReason holds the reason of a pod that waits against what its queue has.
func (c *cluster) checkReason(p *pod) {
	message := reasonOf(p.object)
	found := insufficient.FindStringSubmatch(message)
	if found == nil || c.configuration.Plain || strings.HasPrefix(found[2], card.GroupPrefix) {
		return
	}
	name, cardName := found[1], found[2]
	if set := strings.Split(cardName, "|"); len(set) > 1 { // what jobs with lists need of them together, with what is reserved
		if !slices.Contains(c.path(c.queueOf(p)), name) || !slices.ContainsFunc(set, p.names) {
			c.find(ReasonIsTrue, []string{p.name, "Queue " + name}, "it is not about the pod: %s", message)
		}
		return
	}
	if cardName == string(p.request.Resource) && c.configuration.Plugin == "capacity" {
		return // whose queues also count the resource, whatever the card
	}
	requests := cardsIn(found[3])
	total := cardsIn(found[4])
	capability := cardsIn(found[5])
	has, real := c.counted(name, of(cardName)), c.real(name, cardName)
	objects := []string{p.name, "Queue " + name}
	// A pod of a job that is not admitted has the reason of its job, whose total is less what is elastic.
	if group := c.podGroups[groupOf(p.object)]; requests != p.request.Milli && group != nil && requests == c.minimum(groupOf(p.object), group)[p.list.String()] {
		has = 0
		requests = p.request.Milli
	}
	switch {
	case !slices.Contains(c.path(c.queueOf(p)), name), !p.names(cardName), requests != p.request.Milli:
		c.find(ReasonIsTrue, objects, "it is not about the pod: %s", message)
	case total <= capability:
		c.find(ReasonIsTrue, objects, "what is requested fits: %s", message)
	case total >= has+requests && capability == real:
	case c.changedAt.After(p.said.Add(-Lag)):
		c.excuse(olderReason)
	default:
		c.find(ReasonIsTrue, objects, "the queue has %s, and the bound is %s: %s", has, real, message)
	}
}

func cardsIn(text string) card.Milli {
	n, _ := strconv.ParseInt(text, 10, 64)
	return card.Cards(n)
}

// checkConditions finds an admitted job whose condition has the reason of a refusal.
func (c *cluster) checkConditions(group *scheduling.PodGroup) {
	if group.Status.Phase != scheduling.PodGroupInqueue && group.Status.Phase != scheduling.PodGroupRunning {
		return
	}
	for _, condition := range group.Status.Conditions {
		if condition.Type == scheduling.PodGroupUnschedulableType && condition.Status == corev1.ConditionTrue && condition.Reason == "NotAdmitted" {
			if other := c.another(c.now); other != "" {
				c.excuse(other)
				return
			}
			c.find(AdmittedSays, []string{objectName("PodGroup", group.Namespace, group.Name)}, "it is %s: %s", group.Status.Phase, condition.Message)
		}
	}
}

// takeEvent finds a warning about the annotations of a queue none of which was wrong.
func (c *cluster) takeEvent(event *corev1.Event, kind history.Type) {
	if kind != history.Added || event.InvolvedObject.Kind != "Queue" || event.Reason != "BadCardAnnotation" {
		return
	}
	if name := event.InvolvedObject.Name; !c.wrong[name] {
		c.find(WarnedForCause, []string{"Queue " + name}, "no annotation was wrong: %s", event.Message)
	}
}

// series matches the metric of the allocated cards of a queue, in thousandths.
var series = regexp.MustCompile(`(?m)^volcano_queue_allocated_scalar_resources\{queue_name="([^"]+)",resource="([^"]+)"\} (\S+)$`)

// checkMetrics compares the allocated cards in the scheduler's metrics with the pods. The text has the metrics of
// several instants: a cycle also counts allocations that it tries and takes back, so one of the values has to be equal.
func (c *cluster) checkMetrics(text string) {
	stated := map[string][]card.Milli{}
	for _, line := range series.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(line[3], 64)
		if err == nil {
			key := line[1] + " " + line[2]
			stated[key] = append(stated[key], card.Milli(value))
		}
	}
	names := map[string]bool{}
	for _, p := range c.pods {
		if p.counts() {
			names[p.card] = true
		}
	}
	delete(names, "")
	for _, queue := range slices.Sorted(maps.Keys(c.queues)) {
		if !c.queueNow(queue).exists || queue == root {
			continue
		}
		for name := range names {
			has, says := c.counted(queue, of(name)), stated[queue+" "+name]
			switch {
			case slices.Contains(says, has), has == 0 && len(says) == 0:
			case c.nominated():
				c.excuse(unfinished)
			default:
				c.find(MetricsCount, []string{"Queue " + queue}, "queue %s has %s of %s, and its metric says %s", queue, has, name, fmt.Sprint(says))
			}
		}
	}
}

func namesOf(pods []*pod) (names []string) {
	for _, p := range pods {
		names = append(names, p.name)
	}
	return names
}
