package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/bench/cluster"
	"github.com/capacity-card/capacity-card/bench/workload"
	"github.com/capacity-card/capacity-card/index/card"
	"github.com/capacity-card/capacity-card/index/policy"
)

func (d SubmitJob) apply(w *World) {
	if w.Job(d.Name) != nil {
		return
	}

	s := d.JobSpec
	j := &Job{Spec: s}
	runs := slices.ContainsFunc(s.Pods, func(p PodSpec) bool { return p.On != "" })
	phase := cmp.Or(s.Phase, map[bool]workload.Phase{true: workload.Running, false: workload.Pending}[runs])

	described := workload.Job{
		Name:         s.Name,
		Queue:        s.Queue,
		Phase:        phase,
		MinMember:    int32(s.MinMember),
		MinResources: s.MinResources,
	}
	described.Annotations = map[string]string{}
	if s.CardRequest != "" {
		described.Annotations[card.RequestKey] = s.CardRequest
	}
	if s.Runtime != "" {
		described.Annotations[policy.ExpectedRuntimeKey] = s.Runtime
	}
	if s.Service != "" {
		described.Annotations[policy.ServiceTypeKey] = s.Service
	}

	j.Group = cluster.PodGroup(described)
	j.Group.Namespace = j.Namespace()
	s.Whose.mark(&j.Group.ObjectMeta)
	j.Group.CreationTimestamp = metav1.Unix(w.Clock().Unix(), 0)

	if !s.Later {
		j.create(w)
	}
	w.Jobs = append(w.Jobs, j)
}

// create creates the pods of a job.
func (j *Job) create(w *World) {
	for _, spec := range j.Spec.Pods {
		j.Pods = append(j.Pods, &Pod{Spec: spec})
		j.replace(w, len(j.Pods)-1)
		j.Pods[len(j.Pods)-1].settleOn(w)
	}
}

// settleOn puts a pod on the node on which it runs from the start.
func (p *Pod) settleOn(w *World) {
	if p.Spec.On == "" {
		return
	}

	p.update(func(pod *v1.Pod) {
		pod.Spec.NodeName = p.Spec.On
		if p.Spec.Bound {
			return
		}
		pod.Status.Phase = v1.PodRunning
		if p.Spec.Ran != Unknown {
			pod.Status.StartTime = &metav1.Time{Time: w.Clock().Add(-p.Spec.Ran)}
		}
	})
	if p.Spec.Deleted {
		p.terminate(w)
	}
}

// replace replaces a pod by a new one, which is pending. If the old pod still terminates, the new one has another name.
func (j *Job) replace(w *World, i int) {
	spec, born := j.Pods[i].Spec, j.Pods[i].born
	if j.Pods[i].Object != nil {
		spec = spec.fresh()
	}

	name := fmt.Sprintf("%s-%d", j.Spec.Name, i)
	task := workload.Task{Name: name, Request: spec.Requests, Gated: spec.Gated, QueueGated: spec.QueueGated}
	leaves := func(p *Pod) bool { return p.Object.Name == task.Name }
	for again := w.Eager && j.Pods[i].Object != nil; again || slices.ContainsFunc(j.Leaving, leaves); again = false {
		born++
		task.Name = fmt.Sprintf("%s-%d", name, born)
	}

	task.Annotations = map[string]string{v1alpha1.QueueNameKey: j.Spec.Queue}
	if spec.Cards != "" {
		task.Annotations[card.NameKey] = spec.Cards
	}
	if spec.OptedIn || spec.QueueGated {
		task.Annotations[cluster.QueueGate] = "true"
	}
	if spec.Kept {
		task.Annotations[v1beta1.PodPreemptable] = "false"
	}

	pod := cluster.Pod(j.Spec.Name, task)
	pod.Namespace = j.Namespace()
	pod.UID = w.uid(pod.Name)
	spec.Whose.mark(&pod.ObjectMeta)
	pod.CreationTimestamp = metav1.NewTime(w.Clock())
	pod.Spec.Priority = &j.Spec.Priority
	if j.Spec.Owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: j.Spec.Owner, Name: j.Spec.Name}}
	}

	spec.claim(pod)
	j.Pods[i] = &Pod{Spec: spec, Object: pod, born: born}
}

// fresh returns the spec of a pod that replaces it: without a node and a past.
func (p PodSpec) fresh() PodSpec {
	p.On = ""
	p.Ran = 0
	p.Bound = false
	p.Deleted = false
	return p
}

// terminate makes a pod terminate.
func (p *Pod) terminate(w *World) {
	p.Ends = w.Cycle + 1 + w.Grace
	p.update(func(pod *v1.Pod) {
		pod.DeletionTimestamp = &metav1.Time{Time: w.Clock().Add(time.Duration(w.Grace) * time.Minute)}
	})
}

// evict makes a pod of a job terminate, for which an eager controller creates another one at once.
func (j *Job) evict(w *World, i int) {
	p := j.Pods[i]
	p.terminate(w)
	if w.Eager {
		j.Leaving = append(j.Leaving, p)
		j.replace(w, i)
	}
}

func (d RemoveJob) apply(w *World) {
	j := w.Job(d.Job)
	if j == nil {
		return
	}

	w.Jobs = slices.DeleteFunc(w.Jobs, func(other *Job) bool { return other == j })
	if d.Orphans {
		j.orphan(w)
	}
}

// orphan makes the pods of a job that is deleted terminate.
func (j *Job) orphan(w *World) {
	j.Leaving = slices.DeleteFunc(j.All(), func(p *Pod) bool { return !p.Placed() })
	j.Pods = nil
	for _, p := range j.Leaving {
		if p.Object.DeletionTimestamp == nil {
			p.terminate(w)
		}
	}

	w.Orphans = append(w.Orphans, j)
}

func (d ScaleJob) apply(w *World) {
	j := w.Job(d.Job)
	if j == nil || len(j.Pods) == 0 {
		return
	}

	for len(j.Pods) < d.Pods {
		j.Pods = append(j.Pods, &Pod{Spec: j.Pods[len(j.Pods)-1].Spec.fresh()})
		j.replace(w, len(j.Pods)-1)
	}

	j.Pods = j.Pods[:d.Pods]
}

func (d FinishPod) apply(w *World) {
	j := w.Job(d.Job)
	if j == nil || d.Pod >= len(j.Pods) || j.Pods[d.Pod].Object.Status.Phase != v1.PodRunning {
		return
	}

	j.Pods[d.Pod].update(func(pod *v1.Pod) {
		pod.DeletionTimestamp = nil
		pod.Status.Phase = v1.PodSucceeded
		if d.Failed {
			pod.Status.Phase = v1.PodFailed
		}
	})
}

func (d DeletePod) apply(w *World) {
	j := w.Job(d.Job)
	if j == nil || d.Pod >= len(j.Pods) {
		return
	}
	if p := j.Pods[d.Pod]; p.Placed() && p.Object.DeletionTimestamp == nil {
		j.evict(w, d.Pod)
	}
}

func (d OpenGates) apply(w *World) {
	if j := w.Job(d.Job); j != nil {
		for _, p := range j.Pods {
			p.Spec.Gated = false
			p.Spec.QueueGated = false
			if len(p.Object.Spec.SchedulingGates) > 0 {
				p.update(func(pod *v1.Pod) { pod.Spec.SchedulingGates = nil })
			}
		}
	}
}

func (d AnnotatePod) apply(w *World) {
	j := w.Job(d.Job)
	if j == nil || d.Pod >= len(j.Pods) {
		return
	}
	j.Pods[d.Pod].update(func(pod *v1.Pod) { w.annotate(pod, d.Key, d.Value) })
}

func (d AnnotateGroup) apply(w *World) {
	if j := w.Job(d.Job); j != nil {
		j.Group = j.Group.Clone()
		w.annotate(j.Group, d.Key, d.Value)
	}
}

// annotate sets an annotation of an object, or takes it away where it is empty. A value such as now-2m is a time.
func (w *World) annotate(object metav1.Object, key, value string) {
	annotations := map[string]string{}
	maps.Copy(annotations, object.GetAnnotations())
	if after, ok := strings.CutPrefix(value, "now"); ok {
		if offset, err := time.ParseDuration(cmp.Or(after, "0s")); err == nil {
			value = w.Clock().Add(offset).UTC().Format(time.RFC3339Nano)
		}
	}

	if value == "" {
		delete(annotations, key)
	} else {
		annotations[key] = value
	}

	object.SetAnnotations(annotations)
}

func (d EditGroup) apply(w *World) {
	if j := w.Job(d.Job); j != nil {
		list := cluster.List(d.MinResources)
		j.Spec.MinMember = d.MinMember
		j.Spec.MinResources = d.MinResources
		j.Group.Spec.MinMember = int32(d.MinMember)
		j.Group.Spec.MinResources = &list
	}
}

func (d RelabelJob) apply(w *World) {
	if j := w.Job(d.Job); j != nil {
		j.Spec.Whose = d.Whose
		j.Group = j.Group.Clone()
		d.Whose.mark(&j.Group.ObjectMeta)
	}
}

// mark sets the labels and annotations of an object.
func (o Whose) mark(object *metav1.ObjectMeta) {
	object.Labels = maps.Clone(o.Labels)
	for key, value := range map[string]string{policy.UserKey: o.User, policy.GroupsKey: o.Groups} {
		object.Annotations[key] = value
		if value == "" {
			delete(object.Annotations, key)
		}
	}
}
