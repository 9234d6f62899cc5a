// Package told collects the texts of the scheduler about the jobs of one namespace: PodGroups, their conditions, the
// conditions of pods, and events. It is for users who may not read the cluster, and computes no decision.
package told

import (
	"cmp"
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/explain"
	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/plugin/report"
)

// Job is a job with the texts of the scheduler about it. The fields have the names of explain.Finding.
type Job struct {
	Namespace string        `json:"namespace"`
	Name      string        `json:"name"`  // of the PodGroup
	Owner     string        `json:"owner"` // kind/name of the object that users create
	Queue     string        `json:"queue"`
	Phase     string        `json:"phase"`
	State     explain.State `json:"state"`
	Pods      Pods          `json:"pods"`
	Since     metav1.Time   `json:"since"` // its creation
	Words
	// Reason is the reason of a job below its minimum, from the annotation of its PodGroup. It is nil for none.
	Reason *report.Reason `json:"reason,omitempty"`
	// Place is its place among the Rivals of the namespace that wait in its queue, by age.
	Place  int     `json:"place,omitempty"`
	Rivals int     `json:"rivals,omitempty"`
	Events []Event `json:"events,omitempty"` // the newest first

	labels labels.Set // of the PodGroup, and of the first pod that has not ended
	names  []string   // of its pods
}

// Words are the reason of a job in the words of the scheduler, and empty for none.
type Words struct {
	Message   string       `json:"message,omitempty"`
	Condition string       `json:"condition,omitempty"` // the reason of the condition that has the message
	Told      *metav1.Time `json:"told,omitempty"`      // the time of the condition
}

// Pods counts the pods of a job that exist.
type Pods struct {
	Total   int `json:"total"`
	Minimum int `json:"minimum"` // minAvailable
	Placed  int `json:"placed"`  // on a node
	Waiting int `json:"waiting"`
}

// Event is an event on the job, its PodGroup or one of its pods.
type Event struct {
	Time    metav1.Time `json:"time"`
	Type    string      `json:"type"`
	Reason  string      `json:"reason"`
	Object  string      `json:"object"` // kind/name
	Message string      `json:"message"`
}

// mostEvents bounds the events of a job.
const mostEvents = 5

// Jobs returns the jobs of a namespace, in the order of their creation.
func Jobs(namespace *input.Namespace) (all []*Job) {
	byName := map[string]*Job{}
	for _, g := range namespace.PodGroups {
		job := read(g)
		byName[g.Name] = job
		all = append(all, job)
	}

	for _, pod := range namespace.Pods {
		if job := byName[pod.Annotations[scheduling.KubeGroupNameAnnotationKey]]; job != nil {
			job.addPod(pod)
		}
	}

	slices.SortFunc(all, func(x, y *Job) int {
		return cmp.Or(x.Since.Compare(y.Since.Time), cmp.Compare(x.Name, y.Name))
	})
	for _, job := range all {
		job.finish()
		job.addEvents(namespace.Events)
	}
	setPlaces(all)
	return all
}

// read returns the job of a PodGroup without its pods.
func read(g *scheduling.PodGroup) *Job {
	job := &Job{
		Namespace: g.Namespace,
		Name:      g.Name,
		Owner:     "PodGroup/" + g.Name,
		Queue:     cmp.Or(g.Spec.Queue, "default"),
		Phase:     string(cmp.Or(g.Status.Phase, scheduling.PodGroupPending)),
		Pods:      Pods{Minimum: int(g.Spec.MinMember)},
		Since:     g.CreationTimestamp,
		labels:    g.Labels,
	}
	if len(g.OwnerReferences) > 0 {
		job.Owner = g.OwnerReferences[0].Kind + "/" + g.OwnerReferences[0].Name
	}

	for _, c := range g.Status.Conditions {
		if c.Type == scheduling.PodGroupUnschedulableType && c.Status == v1.ConditionTrue {
			job.Words = Words{c.Message, c.Reason, &c.LastTransitionTime}
		}
	}
	job.Reason = reasonOf(g)
	return job
}

// reasonOf returns the reason that the scheduler wrote to a PodGroup, nil for none. A text that is no reason has
// another author.
func reasonOf(g *scheduling.PodGroup) *report.Reason {
	var reason report.Reason
	err := json.Unmarshal([]byte(g.Annotations[card.ReasonKey]), &reason)
	if err != nil || reason.Rule == "" {
		return nil
	}
	return &reason
}

// addPod adds a pod. The condition of a pod that waits is more exact than the condition of an admitted job, which only
// counts pods.
func (j *Job) addPod(pod *v1.Pod) {
	if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
		return
	}

	if j.Pods.Total == 0 {
		j.labels = labels.Merge(pod.Labels, j.labels)
	}
	j.Pods.Total++
	j.names = append(j.names, pod.Name)
	if pod.Spec.NodeName != "" {
		j.Pods.Placed++
		return
	}

	j.Pods.Waiting++
	for _, c := range pod.Status.Conditions {
		newer := j.Told == nil || !report.IsRefusal(j.Condition) && j.Condition != v1.PodReasonUnschedulable
		if c.Type == v1.PodScheduled && c.Status == v1.ConditionFalse && c.Message != "" && newer {
			j.Words = Words{c.Message, c.Reason, &c.LastTransitionTime}
		}
	}
}

// Matches reports whether a selector selects the job.
func (j *Job) Matches(s labels.Selector) bool { return s.Matches(j.labels) }

// finish sets the state, once all pods are known.
func (j *Job) finish() {
	switch {
	case j.Phase == string(scheduling.PodGroupCompleted):
		j.State = explain.Finished
	case j.Pods.Waiting > 0 || j.Pods.Placed < j.Pods.Minimum || j.Pods.Total == 0:
		j.State = explain.Waiting
		return
	default:
		j.State = explain.Running
	}

	j.Words = Words{}
	j.Reason = nil
}

// addEvents adds the newest events of the job, each message once.
func (j *Job) addEvents(events []*v1.Event) {
	for _, e := range events {
		object := e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name
		about := object == j.Owner || object == "PodGroup/"+j.Name ||
			e.InvolvedObject.Kind == "Pod" && slices.Contains(j.names, e.InvolvedObject.Name)
		same := func(known Event) bool { return known.Message == e.Message && known.Reason == e.Reason }
		if !about || len(j.Events) == mostEvents || slices.ContainsFunc(j.Events, same) {
			continue
		}
		j.Events = append(j.Events, Event{input.EventTime(e), e.Type, e.Reason, object, e.Message})
	}
}

// setPlaces counts the jobs that wait in each queue. all are in the order of their creation.
func setPlaces(all []*Job) {
	waiting := map[string]int{}
	for _, job := range all {
		if job.State == explain.Waiting {
			waiting[job.Queue]++
			job.Place = waiting[job.Queue]
		}
	}

	for _, job := range all {
		if job.State == explain.Waiting {
			job.Rivals = waiting[job.Queue]
		}
	}
}

// Is reports whether a name names the job: its PodGroup or its owner, with or without the namespace.
func (j *Job) Is(name string) bool {
	f := explain.Finding{Namespace: j.Namespace, Name: j.Name, Owner: j.Owner}
	return f.Matches(name)
}

// Has reports whether a pod is one of the job.
func (j *Job) Has(pod string) bool { return slices.Contains(j.names, pod) }
