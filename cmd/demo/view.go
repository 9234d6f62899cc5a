package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/index"
	"github.com/capacity-card/capacity-card/index/card"
)

// The stages of a job, as the demo prints them.
const (
	waiting   = "waiting" // its queue has no room for its minimum; it has no pods yet
	inqueue   = "inqueue" // admitted: its pods exist and wait for nodes
	running   = "running" // at least its minimum runs
	completed = "completed"
)

// stages has the stages by the phase of the PodGroup.
var stages = map[scheduling.PodGroupPhase]string{
	scheduling.PodGroupPending:   waiting,
	scheduling.PodGroupInqueue:   inqueue,
	scheduling.PodGroupRunning:   running,
	scheduling.PodGroupCompleted: completed,
}

// queueRow is a queue with the cards that its whole subtree has.
type queueRow struct {
	name, parent string
	depth        int
	leaf         bool
	allotment
	allocated cards
}

// bound returns the most that the queue may have of a card, if anything bounds it. A leaf without a quota for the card
// may have none of it. An inner queue without a quota for the card is not bounded.
func (q queueRow) bound(card string) (most int64, bounded bool) {
	most, bounded = q.quota[card]
	return most, bounded || q.leaf
}

// share returns the amount of a card that the queue deserves, by default its bound.
func (q queueRow) share(card string) (deserved int64, known bool) {
	deserved, known = q.deserved[card]
	if known {
		return deserved, true
	}
	return q.bound(card)
}

// cards returns the names of the cards that the queue has a quota for or has allocated.
func (q queueRow) cards() []string {
	names := maps.Clone(q.allocated)
	names.add(q.quota)
	return slices.Sorted(maps.Keys(names))
}

// excess describes the cards that exceed the quota of the queue.
func (q queueRow) excess() []string {
	var found []string
	for _, name := range q.cards() {
		if most, bounded := q.bound(name); bounded && q.allocated[name] > most {
			found = append(found, fmt.Sprintf("queue %s had %d %s, and its quota is %d",
				q.name, q.allocated[name], name, most))
		}
	}
	return found
}

// jobRow is a job with its cards, the number of its pods, and the numbers of pods that run, have no node, and have
// succeeded. reason tells why some of its pods have no node, or why it has no pods. It is empty if nothing waits.
type jobRow struct {
	name, queue, stage                 string
	pods, running, unplaced, succeeded int
	cards                              cards
	reason                             string
}

// view holds the state that the demo prints and checks: the queues in tree order, the jobs in the order of their
// creation, the cards that no queue has, and what has happened since the story began.
type view struct {
	queues   []queueRow
	jobs     []jobRow
	idle     cards
	evicted  []eviction
	warnings []warning
}

// job returns the row of the job called name, an empty one if there is none.
func (v view) job(name string) jobRow {
	for _, job := range v.jobs {
		if job.name == name {
			return job
		}
	}
	return jobRow{}
}

func newView(s snapshot) view {
	slices.SortFunc(s.queues, func(a, b *scheduling.Queue) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.pods, func(a, b *corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.jobs, func(a, b *batch.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})

	v := view{queues: below(s, index.RootName, 0), idle: cards{}, evicted: s.evicted, warnings: s.warnings}
	for _, node := range s.nodes {
		for _, each := range card.OnNode(node, nil).Cards {
			v.idle[each.Name] += int64(each.Milli.Cards())
		}
	}

	for _, pod := range s.pods {
		held := heldBy(pod, s.nodes)
		v.charge(queueOf(pod, s.podGroups), held)
		for name, count := range held {
			v.idle[name] -= count
		}
	}

	for _, job := range s.jobs {
		v.jobs = append(v.jobs, newJobRow(job, s))
	}
	return v
}

// charge adds the cards of a pod to its queue and all queues above.
func (v *view) charge(name string, held cards) {
	// In tree order, a parent comes before its children.
	for _, queue := range slices.Backward(v.queues) {
		if queue.name == name {
			queue.allocated.add(held)
			name = queue.parent
		}
	}
}

// queueOf returns the queue of the pod's PodGroup, which belongs to a Volcano job or to a Deployment.
func queueOf(pod *corev1.Pod, groups []*scheduling.PodGroup) string {
	for _, group := range groups {
		if group.Namespace == pod.Namespace && group.Name == pod.Annotations[scheduling.KubeGroupNameAnnotationKey] {
			return group.Spec.Queue
		}
	}
	return ""
}

// below returns the rows of all queues under parent, in tree order. The queue that Volcano creates for jobs without one
// has no part in the story and is left out.
func below(s snapshot, parent string, depth int) []queueRow {
	var rows []queueRow
	for _, queue := range s.queues {
		if queue.Spec.Parent != parent || queue.Name == "default" {
			continue
		}

		children := below(s, queue.Name, depth+1)
		rows = append(rows, queueRow{
			name:      queue.Name,
			parent:    parent,
			depth:     depth,
			leaf:      len(children) == 0,
			allotment: s.allotments[queue.UID],
			allocated: cards{},
		})
		rows = append(rows, children...)
	}
	return rows
}

func newJobRow(job *batch.Job, s snapshot) jobRow {
	row := jobRow{name: job.Name, queue: job.Spec.Queue, stage: waiting, cards: cards{}}
	for _, task := range job.Spec.Tasks {
		row.pods += int(task.Replicas)
	}
	for _, pod := range s.pods {
		if pod.Labels[batch.JobNameKey] == job.Name {
			row.count(pod, s)
		}
	}

	for _, group := range s.podGroups {
		if len(group.OwnerReferences) == 0 || group.OwnerReferences[0].UID != job.UID {
			continue
		}

		row.stage = cmp.Or(stages[group.Status.Phase], row.stage)
		if row.stage == waiting {
			row.reason = s.refusals[group.UID]
		}
	}

	if job.Status.State.Phase == batch.Completed {
		row.stage = completed
		row.reason = ""
	}
	return row
}

// count adds a pod of the job.
func (j *jobRow) count(pod *corev1.Pod, s snapshot) {
	j.cards.add(heldBy(pod, s.nodes))

	if live(pod) && pod.Spec.NodeName == "" {
		j.unplaced++
		j.reason = cmp.Or(j.reason, unscheduledReason(pod))
	}
	if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
		j.running++
	}
	if pod.Status.Phase == corev1.PodSucceeded {
		j.succeeded++
	}
}

// unscheduledReason returns the scheduler's message about a pod without a node.
func unscheduledReason(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}
