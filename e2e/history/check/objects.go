package check

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/e2e/history"
	"github.com/capacity-card/capacity-card/index/card"
)

// Configuration holds the settings of volcano-scheduler.conf that the rules depend on.
type Configuration struct {
	Plugin string `json:"plugin"`
	// Plain is set where cards do not count: queues are bounded by their capability, resource by resource.
	Plain     bool                         `json:"plain,omitempty"`
	Hierarchy bool                         `json:"hierarchy,omitempty"`
	Groups    map[string]map[string]string `json:"groups,omitempty"`
}

// amounts are cards, in thousandths, by card or by "@" and the name of a group.
type amounts map[string]card.Milli

// queue holds the bounds of a Queue that are in force.
type queue struct {
	exists, open bool
	parent       string
	quota        amounts
	// deserved and guarantee have what the annotations name; the quota is the default of every other card.
	deserved, guarantee amounts
	namespace           amounts
	bad                 bool // an annotation is wrong
	// capability is that of the spec, by resource.
	capability amounts
}

// readQueue reads a Queue. Of a value that is wrong, the last one that was right stays in force.
func readQueue(object *scheduling.Queue, last queue) queue {
	q := queue{exists: true, open: object.Status.State == scheduling.QueueStateOpen, parent: cmp.Or(object.Spec.Parent, "root")}
	read := func(key string, last amounts, whole bool) amounts {
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
			if problem.Key == "" || whole {
				return maps.Clone(last)
			}
		}
		return values
	}
	q.quota = read(card.QuotaKey, last.quota, false)
	q.deserved = read(card.DeservedKey, last.deserved, false)
	q.guarantee = read(card.GuaranteeKey, last.guarantee, false)
	q.namespace = read(card.NamespaceKey, last.namespace, true)
	q.capability = amounts{}
	for resource, quantity := range object.Spec.Capability {
		q.capability[string(resource)] = card.MilliOf(quantity)
	}
	return q
}

// lastGood returns the values that may stay in force for one that is wrong, the most of each card: the scheduler may
// have missed each of the versions in the window.
func lastGood(in []version[queue]) (last queue) {
	most := func(of func(queue) amounts) amounts {
		all := amounts{}
		for _, v := range in {
			for name, amount := range of(v.value) {
				all[name] = max(all[name], amount)
			}
		}
		return all
	}
	last.quota = most(func(q queue) amounts { return q.quota })
	last.deserved = most(func(q queue) amounts { return q.deserved })
	last.guarantee = most(func(q queue) amounts { return q.guarantee })
	last.namespace = most(func(q queue) amounts { return q.namespace })
	return last
}

// bound returns the quota of a card, and false if the queue has none of its own.
func (q queue) bound(name string, leaf bool, groups card.Groups) (card.Milli, bool) {
	if quota, has := q.quota[name]; has {
		return quota, true
	}
	if !leaf {
		return 0, false
	}
	for group := range q.quota {
		if g, is := strings.CutPrefix(group, card.GroupPrefix); is {
			if _, has := groups[g].Of(name); has {
				return 0, false
			}
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

// has is the amount of a card.
func (n node) has(name string) (sum card.Milli) {
	for _, each := range n.cards {
		if each.Name == name {
			sum += each.Milli
		}
	}
	return sum
}

func readNode(object *corev1.Node) node {
	n := node{exists: true, ready: !object.Spec.Unschedulable, cards: map[corev1.ResourceName]card.Card{}, allocatable: object.Status.Allocatable}
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

// pod is a pod, and what it counts for.
type pod struct {
	object *corev1.Pod
	name   string // Pod namespace/name
	// request has the number of cards that it requests, of one card resource.
	request card.Request
	list    card.List

	evicted bool
	created time.Time
	said    time.Time // when it got the reason that it waits for
	// Of a pod that is bound: since when, in which queue, for which card. The card is "" where it cannot be known.
	bound int64
	at    time.Time
	queue string
	card  string
}

func readPod(object *corev1.Pod) *pod {
	p := &pod{object: object, name: objectName("Pod", object.Namespace, object.Name), list: card.NameOf(object.Annotations)}
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
	return p.object.Spec.NodeName == "" && p.object.DeletionTimestamp == nil && p.object.Status.Phase == corev1.PodPending
}

// names reports whether the pod may have a card.
func (p *pod) names(name string) bool {
	if p.list == nil {
		return true
	}
	for _, each := range p.list {
		if each == name {
			return true
		}
	}
	return false
}

// evictedFor returns why the scheduler has evicted a pod, "" if it has not.
func evictedFor(object *corev1.Pod) string {
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue && condition.Reason == corev1.PodReasonPreemptionByScheduler {
			for _, ready := range object.Status.Conditions {
				if ready.Type == corev1.PodReady && ready.Reason == "Evict" {
					return ready.Message
				}
			}
			return condition.Message
		}
	}
	return ""
}

// reasonOf is the reason that a pod waits for.
func reasonOf(object *corev1.Pod) string {
	for _, condition := range object.Status.Conditions {
		if condition.Type == corev1.PodScheduled {
			return condition.Message
		}
	}
	return ""
}

// groupOf is the name of a pod's PodGroup.
func groupOf(object *corev1.Pod) string {
	return object.Namespace + "/" + object.Annotations[scheduling.KubeGroupNameAnnotationKey]
}

// queueNamed is the queue that the annotations of a pod name.
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
	name   string // as objectName has it
	uid    types.UID
}

// decode reads the objects that rules look at.
func decode(record history.Record) (change, error) {
	c := change{Record: record}
	if record.Object == nil {
		return c, nil
	}
	var err error
	read := func(object any) { err = json.Unmarshal(record.Object, object) }
	switch record.Kind {
	case "Node":
		object := &corev1.Node{}
		read(object)
		c.object = object
		c.name = objectName("Node", "", object.Name)
		c.uid = object.UID
	case "Pod":
		object := &corev1.Pod{}
		read(object)
		c.object = object
		c.name = objectName("Pod", object.Namespace, object.Name)
		c.uid = object.UID
	case "Queue":
		object := &scheduling.Queue{}
		read(object)
		c.object = object
		c.name = objectName("Queue", "", object.Name)
		c.uid = object.UID
	case "PodGroup":
		object := &scheduling.PodGroup{}
		read(object)
		c.object = object
		c.name = objectName("PodGroup", object.Namespace, object.Name)
		c.uid = object.UID
	case "Event":
		object := &corev1.Event{}
		read(object)
		c.object = object
		c.name = objectName("Event", object.Namespace, object.Name)
		c.uid = object.UID
	}
	if err != nil {
		return c, fmt.Errorf("revision %d: a %s: %w", record.Revision, record.Kind, err)
	}
	return c, nil
}
