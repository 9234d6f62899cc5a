package check

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/index/card"
)

// insufficient is the reason of a pod if a queue lacks the quota for it.
var insufficient = regexp.MustCompile(`Queue <([^>]+)> has insufficient <([^>]+)> quota: ` +
	`requested <(\d+)>, total would be <(\d+)>, but capability is <(\d+)>`)

// olderReason is documented behavior: an event and a condition are written again only if the reason changes.
const olderReason = "a reason keeps its numbers while only usage, or a bound that follows from others, is another one"

// checkReason compares the reason of a waiting pod with the usage of its queue.
func (c *cluster) checkReason(p *pod) {
	message := reasonOf(p.object)
	found := insufficient.FindStringSubmatch(message)
	if found == nil || c.configuration.Plain || strings.HasPrefix(found[2], card.GroupPrefix) {
		return
	}

	name, cardName := found[1], found[2]
	objects := []string{p.name, "Queue " + name}
	inPath := slices.Contains(c.path(c.queueOf(p)), name)

	// A set of cards stands for the common request of jobs with lists. It includes reservations.
	if set := strings.Split(cardName, "|"); len(set) > 1 {
		if !inPath || !slices.ContainsFunc(set, p.names) {
			c.find(ReasonIsTrue, objects, "it is not about the pod: %s", message)
		}
		return
	}
	if cardName == string(p.request.Resource) && c.configuration.Plugin == "capacity" {
		return // its queues also count the resource, whatever the card
	}

	requests := cardsIn(found[3])
	total := cardsIn(found[4])
	capability := cardsIn(found[5])
	has := c.counted(name, ofCard(cardName))
	real := c.real(name, cardName)
	if c.isOfJob(p, requests) {
		has = 0
		requests = p.request.Milli
	}

	switch {
	case !inPath, !p.names(cardName), requests != p.request.Milli:
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

// isOfJob reports whether a pod has the reason of its job, which is not admitted. The total in such a reason leaves out
// elastic usage.
func (c *cluster) isOfJob(p *pod, requests card.Milli) bool {
	name := groupOf(p.object)
	group := c.podGroups[name]
	return requests != p.request.Milli && group != nil && requests == c.minimum(name, group)[p.list.String()]
}

func cardsIn(text string) card.Milli {
	n, _ := strconv.ParseInt(text, 10, 64)
	return card.Cards(n)
}

// checkConditions finds an admitted job with a condition of a refusal.
func (c *cluster) checkConditions(group *scheduling.PodGroup) {
	phase := group.Status.Phase
	if phase != scheduling.PodGroupInqueue && phase != scheduling.PodGroupRunning {
		return
	}

	for _, condition := range group.Status.Conditions {
		refused := condition.Status == corev1.ConditionTrue && condition.Reason != scheduling.NotEnoughResourcesReason
		if !refused || condition.Type != scheduling.PodGroupUnschedulableType {
			continue
		}

		if other := c.another(c.now); other != "" {
			c.excuse(other)
			return
		}
		c.find(AdmittedSays, []string{objectName("PodGroup", group.Namespace, group.Name)},
			"it is %s: %s", phase, condition.Message)
	}
}

// takeEvent finds a warning about the annotations of a queue that never had a wrong one.
func (c *cluster) takeEvent(event *corev1.Event, kind history.Type) {
	isWarning := event.InvolvedObject.Kind == "Queue" && event.Reason == "BadCardAnnotation"
	if kind != history.Added || !isWarning {
		return
	}

	name := event.InvolvedObject.Name
	if !c.wrong[name] {
		c.find(WarnedForCause, []string{"Queue " + name}, "no annotation was wrong: %s", event.Message)
	}
}

// series matches the metric of the allocated cards of a queue, in thousandths.
var series = regexp.MustCompile(
	`(?m)^volcano_queue_allocated_scalar_resources\{queue_name="([^"]+)",resource="([^"]+)"\} (\S+)$`)

// checkMetrics compares the allocated cards in the scheduler's metrics with the pods. The text has the metrics of
// several instants. One of the values must be equal, because a cycle also counts allocations that it tries and takes
// back.
func (c *cluster) checkMetrics(text string) {
	stated := statedAmounts(text)
	names := sets.New[string]()
	for _, p := range c.pods {
		if p.counts() && p.card != "" {
			names.Insert(p.card)
		}
	}

	for _, queue := range slices.Sorted(maps.Keys(c.queues)) {
		if !c.queueNow(queue).exists || queue == root {
			continue
		}

		for name := range names {
			has := c.counted(queue, ofCard(name))
			says := stated[queue+" "+name]
			switch {
			case slices.Contains(says, has), has == 0 && len(says) == 0:
			case c.nominated():
				c.excuse(unfinished)
			default:
				c.find(MetricsCount, []string{"Queue " + queue}, "queue %s has %s of %s, and its metric says %s",
					queue, has, name, fmt.Sprint(says))
			}
		}
	}
}

// statedAmounts reads the allocated cards in metrics, by queue and card.
func statedAmounts(text string) map[string][]card.Milli {
	stated := map[string][]card.Milli{}
	for _, line := range series.FindAllStringSubmatch(text, -1) {
		value, err := strconv.ParseFloat(line[3], 64)
		if err == nil {
			key := line[1] + " " + line[2]
			stated[key] = append(stated[key], card.Milli(value))
		}
	}

	return stated
}
