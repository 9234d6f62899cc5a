package main

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// The stages of a job, as the demo words them.
const (
	waiting   = "waiting" // its queue has no room for its minimum; it has no pods yet
	inqueue   = "inqueue" // admitted: its pods exist and wait for nodes
	running   = "running" // at least its minimum runs
	completed = "completed"
)

// stages words the phases of a pod group.
var stages = map[scheduling.PodGroupPhase]string{
	scheduling.PodGroupPending:   waiting,
	scheduling.PodGroupInqueue:   inqueue,
	scheduling.PodGroupRunning:   running,
	scheduling.PodGroupCompleted: completed,
}

// queueRow is a queue with what its whole subtree occupies.
type queueRow struct {
	name                            string
	depth                           int
	deserved, guarantee, capability amount
	allocated                       amount
	// jobs counts the jobs of the subtree by stage.
	jobs map[string]int
}

// jobRow is a job with the number of its pods, of those running and of those that succeeded. reason tells why pods of
// it have no node; it is empty when all have.
type jobRow struct {
	name, queue, stage       string
	pods, running, succeeded int
	reason                   string
}

// view is what the demo prints and checks: the queues in tree order, and the jobs in the order of their creation.
type view struct {
	queues  []queueRow
	jobs    []jobRow
	evicted []string
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
	v := view{evicted: s.evicted, queues: treeOrder(s.queues, root, 0)}
	for i := range v.queues {
		if v.queues[i].name != root {
			continue
		}
		// The root has no bounds of its own, it is the cluster.
		for _, node := range s.nodes {
			v.queues[i].capability = v.queues[i].capability.plus(amountOf(node.Status.Allocatable))
		}
		v.queues[i].deserved = v.queues[i].capability
	}
	slices.SortFunc(s.jobs, func(a, b *batch.Job) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	parents := map[string]string{}
	for _, queue := range s.queues {
		parents[queue.Name] = queue.Spec.Parent
	}
	for _, job := range s.jobs {
		row, occupied := newJobRow(job, s)
		v.jobs = append(v.jobs, row)
		v.charge(row, occupied, parents)
	}
	return v
}

// charge adds a job to its queue and all queues above.
func (v *view) charge(job jobRow, occupied amount, parents map[string]string) {
	for name := job.queue; name != ""; name = parents[name] {
		for i := range v.queues {
			if v.queues[i].name == name {
				v.queues[i].allocated = v.queues[i].allocated.plus(occupied)
				v.queues[i].jobs[job.stage]++
			}
		}
	}
}

// treeOrder returns the rows of the queue called name and of all below it. The queue that Volcano creates for jobs
// without one has no part in the story and is left out.
func treeOrder(all []*scheduling.Queue, name string, depth int) []queueRow {
	var rows []queueRow
	for _, queue := range all {
		if queue.Name == name {
			rows = append(rows, queueRow{
				name:       name,
				depth:      depth,
				deserved:   amountOf(queue.Spec.Deserved),
				guarantee:  amountOf(queue.Spec.Guarantee.Resource),
				capability: amountOf(queue.Spec.Capability),
				jobs:       map[string]int{},
			})
		}
	}
	var children []string
	for _, queue := range all {
		if queue.Spec.Parent == name && queue.Name != "default" {
			children = append(children, queue.Name)
		}
	}
	slices.Sort(children)
	for _, child := range children {
		rows = append(rows, treeOrder(all, child, depth+1)...)
	}
	return rows
}

// newJobRow also returns what the job's pods occupy: those bound to a node and not at their end.
func newJobRow(job *batch.Job, s snapshot) (jobRow, amount) {
	row := jobRow{name: job.Name, queue: job.Spec.Queue, stage: waiting}
	for _, task := range job.Spec.Tasks {
		row.pods += int(task.Replicas)
	}
	var occupied amount
	for _, pod := range s.pods {
		if pod.Labels[batch.JobNameKey] != job.Name {
			continue
		}
		live := pod.Status.Phase == corev1.PodPending || pod.Status.Phase == corev1.PodRunning
		if live && pod.Spec.NodeName != "" {
			occupied = occupied.plus(requestOf(pod))
		}
		if pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil {
			row.running++
		}
		if pod.Status.Phase == corev1.PodSucceeded {
			row.succeeded++
		}
		if live && pod.Spec.NodeName == "" {
			row.reason = cmp.Or(row.reason, unscheduledReason(pod))
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
		row.stage, row.reason = completed, ""
	}
	return row, occupied
}

// unscheduledReason is the scheduler's word on a pod without a node.
func unscheduledReason(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Message
		}
	}
	return ""
}
