package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	jobcontroller "volcano.sh/volcano/pkg/controllers/job"
	jobhelpers "volcano.sh/volcano/pkg/controllers/job/helpers"
	controllers "volcano.sh/volcano/pkg/controllers/util"
)

// workloads makes the PodGroups and pods of manifests, as Volcano's webhook and controllers do when manifests are
// applied (webhooks/admission/jobs/mutate, controllers/job, controllers/podgroup).
type workloads struct {
	*World
	groups  map[types.NamespacedName]*Group
	ownedBy map[types.NamespacedName]*Group // by Volcano job
	out     map[metav1.Object]bool          // the workloads in LeftOut
}

// index adds a PodGroup of the input to the maps.
func (w *workloads) index(g *Group) {
	w.groups[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}] = g
	for _, reference := range g.OwnerReferences {
		if isJob(reference) {
			w.ownedBy[types.NamespacedName{Namespace: g.Namespace, Name: reference.Name}] = g
		}
	}
}

// addPods adds pods to their groups. A pending pod of Volcano's scheduler without a group gets a group of its own.
func (w *workloads) addPods(pods []*v1.Pod) error {
	for _, pod := range pods {
		w.admit(pod)
		name, grouped := pod.Annotations[v1beta1.KubeGroupNameAnnotationKey]
		g := w.groups[types.NamespacedName{Namespace: pod.Namespace, Name: name}]

		switch {
		case g != nil:
			g.Pods = append(g.Pods, pod)
		case !grouped && pod.Spec.SchedulerName == schedulerName && pod.Spec.NodeName == "":
			if err := w.addPodsAsGroup("Pod/"+pod.Name, pod.Name, pod.Annotations, []*v1.Pod{pod}); err != nil {
				return err
			}
		default:
			if grouped && !ended(pod) {
				w.Orphans++
			}
			if pod.Spec.NodeName != "" {
				w.Stray = append(w.Stray, pod)
			}
		}
	}

	return nil
}

// addPodsAsGroup makes the PodGroup of pods of one template. annotations are the annotations of the workload.
func (w *workloads) addPodsAsGroup(owner, name string, annotations map[string]string, pods []*v1.Pod) error {
	first := pods[0]
	podGroup := &v1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         first.Namespace,
			Name:              "podgroup-" + name,
			Annotations:       map[string]string{},
			CreationTimestamp: first.CreationTimestamp,
		},
		Spec: v1beta1.PodGroupSpec{
			MinMember:         1,
			MinResources:      ptr.To(controllers.CalTaskRequests(first, 1)),
			PriorityClassName: first.Spec.PriorityClassName,
			Queue:             first.Annotations[v1beta1.QueueNameAnnotationKey],
		},
	}
	for key, value := range annotations {
		if strings.HasPrefix(key, v1beta1.AnnotationPrefix) {
			podGroup.Annotations[key] = value
		}
	}

	g, err := w.addGroup(podGroup)
	if err != nil {
		return err
	}
	g.Owner = owner
	g.Pods = pods

	join(first, podGroup.Name)
	for _, pod := range pods {
		pod.Annotations = first.Annotations
	}

	return nil
}

// join adds a pod to a PodGroup. Other pods may share the old annotations.
func join(pod *v1.Pod, podGroup string) {
	annotations := map[string]string{}
	maps.Copy(annotations, pod.Annotations)
	annotations[v1beta1.KubeGroupNameAnnotationKey] = podGroup
	pod.Annotations = annotations
}

// addDeployments makes the pods of Deployments that no controller has seen yet.
func (w *workloads) addDeployments(deployments []*appsv1.Deployment) error {
	for _, d := range deployments {
		if !isMade(d) || w.out[d] {
			continue
		}

		first := w.podOf(d.Namespace, "ReplicaSet/"+d.Name, &d.Spec.Template, d.CreationTimestamp)
		var pods []*v1.Pod
		for i := range replicasOf(d) {
			pods = append(pods, named(first, fmt.Sprintf("%s-%d", d.Name, i)))
		}
		if err := w.addPodsAsGroup("Deployment/"+d.Name, d.Name, d.Annotations, pods); err != nil {
			return err
		}
	}

	return nil
}

// isMade reports whether the world makes the pods of a Deployment. It is a Deployment of Volcano's scheduler that no
// controller has seen.
func isMade(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration == 0 && d.Spec.Template.Spec.SchedulerName == schedulerName && replicasOf(d) > 0
}

// podOf makes a pod of a template, without a name. controller is the kind and the name of its owner.
func (w *workloads) podOf(namespace, controller string, template *v1.PodTemplateSpec, created metav1.Time) *v1.Pod {
	content := template.DeepCopy()
	pod := &v1.Pod{ObjectMeta: content.ObjectMeta, Spec: content.Spec}
	pod.Namespace = namespace
	pod.CreationTimestamp = created
	kind, owner, _ := strings.Cut(controller, "/")
	pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: owner, Controller: ptr.To(true)}}

	w.admit(pod)
	return pod
}

// named returns a pod of the same template with a name. The pods of a template share its content. Nobody changes it.
func named(pod *v1.Pod, name string) *v1.Pod {
	result := *pod
	result.Name = name
	result.UID = types.UID(pod.Namespace + "/" + name)
	return &result
}

// addJobs makes the missing PodGroups of Volcano jobs. It also makes the missing pods. They are created when the group
// is admitted.
func (w *workloads) addJobs(jobs []*batch.Job) error {
	for _, job := range jobs {
		complete(job)
		g := w.groupOf(job)
		if g == nil && w.out[job] {
			continue
		}

		if g == nil {
			var err error
			g, err = w.addGroup(w.podGroupOf(job))
			if err != nil {
				return err
			}
		}
		g.Owner = "Job/" + job.Name

		switch {
		// The controller has deleted the PodGroup and some of the pods of a job that has ended.
		case hasEnded(job):
			g.Ended = string(job.Status.State.Phase)
		case len(g.Pods) == 0 && !w.out[job]:
			g.Coming = w.podsOf(job, g.Name)
			w.arrive(g)
		}
	}

	return nil
}

// hasEnded reports whether a job is in a final phase.
func hasEnded(job *batch.Job) bool {
	final := []batch.JobPhase{batch.Completed, batch.Failed, batch.Terminated, batch.Aborted}
	return slices.Contains(final, job.Status.State.Phase)
}

// arrive creates the pods of an admitted group, and reports whether there are any.
func (w *World) arrive(g *Group) bool {
	if g.Status.Phase == scheduling.PodGroupPending || len(g.Coming) == 0 {
		return false
	}

	g.Pods = append(g.Pods, g.Coming...)
	g.Coming = nil
	return true
}

// complete sets the defaults of a job, as Volcano's webhook does.
func complete(job *batch.Job) {
	job.Spec.Queue = cmp.Or(job.Spec.Queue, DefaultQueue)
	job.Spec.SchedulerName = cmp.Or(job.Spec.SchedulerName, schedulerName)

	total := int32(0)
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		task.Name = cmp.Or(task.Name, batch.DefaultTaskSpec+strconv.Itoa(i))
		if task.MinAvailable == nil {
			task.MinAvailable = ptr.To(task.Replicas)
		}
		total = sum(total, *task.MinAvailable)
	}
	job.Spec.MinAvailable = cmp.Or(job.Spec.MinAvailable, total)
}

// groupOf finds the PodGroup of a job by the names that releases of Volcano use. In a dump without UIDs, it finds the
// PodGroup by its owner.
func (w *workloads) groupOf(job *batch.Job) *Group {
	for _, name := range []string{job.Name + "-" + string(job.UID), job.Name} {
		if g := w.groups[types.NamespacedName{Namespace: job.Namespace, Name: name}]; g != nil {
			return g
		}
	}

	return w.ownedBy[types.NamespacedName{Namespace: job.Namespace, Name: job.Name}]
}

// isJob reports whether a reference refers to a Volcano job.
func isJob(reference metav1.OwnerReference) bool {
	return reference.Kind == "Job" && strings.HasPrefix(reference.APIVersion, batch.SchemeGroupVersion.Group+"/")
}

// podGroupOf makes the PodGroup of a job.
func (w *workloads) podGroupOf(job *batch.Job) *v1beta1.PodGroup {
	name := job.Name
	if job.UID != "" {
		name += "-" + string(job.UID)
	}

	minimums := map[string]int32{}
	var tasks jobcontroller.TasksPriority
	total := int32(0)
	for _, task := range job.Spec.Tasks {
		minimums[task.Name] = *task.MinAvailable
		total = sum(total, *task.MinAvailable)
		// The defaults of a pod include the requests that follow from limits.
		task.Template.Spec = w.podOf(job.Namespace, "Job/"+job.Name, &task.Template, job.CreationTimestamp).Spec
		tasks = append(tasks, jobcontroller.TaskPriority{TaskSpec: task})
	}
	slices.SortStableFunc(tasks, func(x, y jobcontroller.TaskPriority) int {
		return cmp.Compare(w.priority(y.Template.Spec.PriorityClassName), w.priority(x.Template.Spec.PriorityClassName))
	})

	var resources v1.ResourceList
	if job.Spec.MinAvailable < total {
		resources = tasks.CalcFirstCountResources(job.Spec.MinAvailable)
	} else {
		resources = tasks.CalcPGMinResources(job.Spec.MinAvailable)
	}

	return &v1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:         job.Namespace,
			Name:              name,
			Annotations:       job.Annotations,
			Labels:            job.Labels,
			CreationTimestamp: job.CreationTimestamp,
		},
		Spec: v1beta1.PodGroupSpec{
			MinMember:         job.Spec.MinAvailable,
			MinTaskMember:     minimums,
			Queue:             job.Spec.Queue,
			MinResources:      &resources,
			PriorityClassName: job.Spec.PriorityClassName,
		},
	}
}

// podsOf makes the pods of a job.
func (w *workloads) podsOf(job *batch.Job, podGroup string) (pods []*v1.Pod) {
	for i := range job.Spec.Tasks {
		task := &job.Spec.Tasks[i]
		first := w.podOf(job.Namespace, "Job/"+job.Name, &task.Template, job.CreationTimestamp)
		first.Spec.SchedulerName = job.Spec.SchedulerName
		first.Spec.PriorityClassName = cmp.Or(first.Spec.PriorityClassName, job.Spec.PriorityClassName)

		join(first, podGroup)
		first.Annotations[batch.TaskSpecKey] = task.Name
		if preemptable, ok := job.Annotations[v1beta1.PodPreemptable]; ok {
			first.Annotations[v1beta1.PodPreemptable] = preemptable
		}

		for n := range task.Replicas {
			pods = append(pods, named(first, jobhelpers.MakePodName(job.Name, task.Name, int(n))))
		}
	}

	return pods
}
