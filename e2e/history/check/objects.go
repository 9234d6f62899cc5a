package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/index/card"
)

// Configuration holds the settings of volcano-scheduler.conf that the rules depend on.
type Configuration struct {
	Plugin string `json:"plugin"`
	// Plain: cards do not count. Queues are bounded by their capability, resource by resource.
	Plain     bool                         `json:"plain,omitempty"`
	Hierarchy bool                         `json:"hierarchy,omitempty"`
	Groups    map[string]map[string]string `json:"groups,omitempty"`
}

// amounts are milli-cards, by card or by "@" and the name of a group.
type amounts map[string]card.Milli

func (a amounts) get(name string) (amount card.Milli, has bool) {
	amount, has = a[name]
	return amount, has
}

// queue holds the bounds of a Queue.
type queue struct {
	exists, open bool
	parent       string
	quota        amounts
	// deserved and guarantee hold the amounts in the annotations. The quota is the default for every other card.
	deserved, guarantee amounts
	namespace           amounts
	bad                 bool // an annotation is wrong
	// capability is the capability in the spec, by resource.
	capability amounts
}

// readQueue reads a Queue. A wrong value leaves the last good one in force.
func readQueue(object *scheduling.Queue, last queue) queue {
	q := queue{
		exists:     true,
		open:       object.Status.State == scheduling.QueueStateOpen,
		parent:     cmp.Or(object.Spec.Parent, "root"),
		capability: amounts{},
	}

	q.quota = q.readAmounts(object, card.QuotaKey, last.quota)
	q.deserved = q.readAmounts(object, card.DeservedKey, last.deserved)
	q.guarantee = q.readAmounts(object, card.GuaranteeKey, last.guarantee)
	q.namespace = q.readNamespaces(object, last.namespace)
	for resource, quantity := range object.Spec.Capability {
		q.capability[string(resource)] = card.MilliOf(quantity)
	}

	return q
}

// readAmounts reads an annotation of cards.
func (q *queue) readAmounts(object *scheduling.Queue, key string, last amounts) amounts {
	text, has := object.Annotations[key]
	if !has {
		return nil
	}

	entries, problems := card.ParseQuota(text)
	values := amounts{}
	for _, entry := range entries {
		values[entry.Name] = card.Cards(entry.Cards)
	}

	for _, problem := range problems {
		q.bad = true
		if value, had := last[problem.Key]; had {
			values[problem.Key] = value
		}
		if problem.Key == "" {
			return maps.Clone(last)
		}
	}

	return values
}

// readNamespaces reads the cards that each namespace has at most. One bad key makes the whole annotation wrong.
func (q *queue) readNamespaces(object *scheduling.Queue, last amounts) amounts {
	text, has := object.Annotations[card.HolderKey]
	if !has {
		return nil
	}

	var holders map[string]map[string]map[string]any
	if err := json.Unmarshal([]byte(text), &holders); err != nil {
		q.bad = true
		return maps.Clone(last)
	}

	// A number is a number of cards, and a text is a quantity of a resource.
	values := amounts{}
	for name, limit := range holders["namespace"]["*"] {
		number, isCards := limit.(float64)
		switch {
		case !isCards:
		case number < 0 || number != math.Trunc(number):
			q.bad = true
			return maps.Clone(last)
		default:
			values[name] = card.Cards(int64(number))
		}
	}

	return values
}

// lastGood returns the values that may stay in force instead of a wrong one. It takes the largest amount of each card,
// because the scheduler may have missed any of the versions in the window.
func lastGood(in []version[queue]) (last queue) {
	largest := func(field func(queue) amounts) amounts {
		all := amounts{}
		for _, v := range in {
			for name, amount := range field(v.value) {
				all[name] = max(all[name], amount)
			}
		}
		return all
	}

	last.quota = largest(func(q queue) amounts { return q.quota })
	last.deserved = largest(func(q queue) amounts { return q.deserved })
	last.guarantee = largest(func(q queue) amounts { return q.guarantee })
	last.namespace = largest(func(q queue) amounts { return q.namespace })

	return last
}

// bound returns the quota of a card, and false if the queue has none of its own.
func (q queue) bound(cardName string, leaf bool, groups card.Groups) (card.Milli, bool) {
	if quota, has := q.quota[cardName]; has {
		return quota, true
	}

	// In an inner queue, a card without a quota has no bound. In a leaf, it has the quota of its groups, or 0.
	if !leaf {
		return 0, false
	}
	for key := range q.quota {
		name, isGroup := strings.CutPrefix(key, card.GroupPrefix)
		if !isGroup {
			continue
		}
		if _, has := groups[name].Of(cardName); has {
			return 0, false
		}
	}

	return 0, true
}

// deserves returns the cards that others cannot take.
func (q queue) deserves(name string) card.Milli {
	if value, has := q.deserved[name]; has {
		return value
	}

	return q.quota[name]
}

// guarantees returns the cards that stay free for the queue.
func (q queue) guarantees(name string) card.Milli {
	if value, has := q.guarantee[name]; has {
		return min(value, cmp.Or(q.quota[name], value))
	}

	return q.quota[name]
}

// node holds the cards and the state of a Node.
type node struct {
	exists, ready bool
	cards         map[corev1.ResourceName]card.Card
	allocatable   corev1.ResourceList
}

// has returns the amount of a card on the node.
func (n node) has(name string) (sum card.Milli) {
	for _, each := range n.cards {
		if each.Name == name {
			sum += each.Milli
		}
	}

	return sum
}

// readNode reads the cards and the state of a Node.
func readNode(object *corev1.Node) node {
	n := node{
		exists:      true,
		ready:       !object.Spec.Unschedulable,
		cards:       map[corev1.ResourceName]card.Card{},
		allocatable: object.Status.Allocatable,
	}

	for _, each := range card.OnNode(object, nil).Cards {
		n.cards[each.Resource] = each
	}

	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
			n.ready = false
		}
	}

	return n
}

// pod is a pod, and the card and queue that it counts for.
type pod struct {
	object *corev1.Pod
	name   string // Pod namespace/name
	// request is the number of requested cards, of one card resource.
	request card.Request
	list    card.List

	evicted bool
	created time.Time
	said    time.Time // when it got its present reason to wait
	// For a bound pod: the revision, the time, the queue, and the card. The card is "" if it is not known.
	bound int64
	at    time.Time
	queue string
	card  string
}

func readPod(object *corev1.Pod) *pod {
	p := &pod{
		object: object,
		name:   objectName("Pod", object.Namespace, object.Name),
		list:   card.NameOf(object.Annotations),
	}
	if requests := card.Requests(object); len(requests) > 0 {
		p.request = requests[0]
	}
	p.evicted = evictedFor(object) != ""

	return p
}

// counts reports whether the pod counts against quotas.
func (p *pod) counts() bool { return p.bound > 0 && !p.over() }

// over reports whether the pod has ended.
func (p *pod) over() bool {
	return p.object.Status.Phase == corev1.PodSucceeded || p.object.Status.Phase == corev1.PodFailed
}

// terminates reports whether the pod is being evicted or deleted.
func (p *pod) terminates() bool { return p.evicted || p.object.DeletionTimestamp != nil }

// waits reports whether the pod could get a node.
func (p *pod) waits() bool {
	phase := p.object.Status.Phase
	return p.object.Spec.NodeName == "" && p.object.DeletionTimestamp == nil && phase == corev1.PodPending
}

// names reports whether the pod may have a card.
func (p *pod) names(name string) bool { return p.list == nil || slices.Contains(p.list, name) }

// evictedFor returns the reason of the scheduler to evict a pod, or "" if it has not evicted the pod.
func evictedFor(object *corev1.Pod) string {
	conditions := object.Status.Conditions
	preempted := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool {
		byScheduler := c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler
		return c.Type == corev1.DisruptionTarget && byScheduler
	})
	if preempted < 0 {
		return ""
	}

	notReady := slices.IndexFunc(conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Reason == "Evict"
	})
	if notReady >= 0 {
		return conditions[notReady].Message
	}

	return conditions[preempted].Message
}

// reasonOf returns the reason for which a pod waits.
func reasonOf(object *corev1.Pod) string {
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Message
		}
	}

	return ""
}

// groupOf returns the name of a pod's PodGroup.
func groupOf(object *corev1.Pod) string {
	return object.Namespace + "/" + object.Annotations[scheduling.KubeGroupNameAnnotationKey]
}

// queueNamed returns the queue that the annotations of a pod name.
func queueNamed(object *corev1.Pod) string {
	return cmp.Or(object.Annotations[batch.QueueNameKey], object.Annotations[scheduling.QueueNameAnnotationKey])
}

func objectName(kind, namespace, name string) string {
	if namespace == "" {
		return kind + " " + name
	}
	return kind + " " + namespace + "/" + name
}

// change is a record with its object.
type change struct {
	history.Record
	object any
	name   string // as objectName returns it
	uid    types.UID
}

// newObject returns an empty object of a kind that rules look at, or nil.
func newObject(kind string) metav1.Object {
	switch kind {
	case "Node":
		return &corev1.Node{}
	case "Pod":
		return &corev1.Pod{}
	case "Queue":
		return &scheduling.Queue{}
	case "PodGroup":
		return &scheduling.PodGroup{}
	case "Event":
		return &corev1.Event{}
	}

	return nil
}

// decode reads the object of a record, if rules look at it.
func decode(record history.Record) (change, error) {
	c := change{Record: record}
	object := newObject(record.Kind)
	if record.Object == nil || object == nil {
		return c, nil
	}

	err := json.Unmarshal(record.Object, object)
	if err != nil {
		return c, fmt.Errorf("revision %d: a %s: %w", record.Revision, record.Kind, err)
	}

	c.object = object
	c.name = objectName(record.Kind, object.GetNamespace(), object.GetName())
	c.uid = object.GetUID()

	return c, nil
}
