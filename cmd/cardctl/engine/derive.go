package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	controllers "volcano.sh/volcano/pkg/controllers/util"
)

// deriveGroups makes the PodGroups of pods, for a dump without PodGroups: from their Volcano
// job or, without one, from the queue that the pods name. A group has started if a pod is
// on a node. Its pods exist, so it is admitted. Pods whose queue is not known stay without
// a group, and no queue is charged for them.
func (w *workloads) deriveGroups(pods []*v1.Pod, jobs []*batch.Job) error {
	members := map[types.NamespacedName][]*v1.Pod{}
	for _, pod := range pods {
		if name, grouped := pod.Annotations[v1beta1.KubeGroupNameAnnotationKey]; grouped && !ended(pod) {
			id := types.NamespacedName{Namespace: pod.Namespace, Name: name}
			members[id] = append(members[id], pod)
		}
	}
	podGroups := map[types.NamespacedName]*v1beta1.PodGroup{}
	for _, job := range jobs {
		var load Load
		load.AddJob(job)
		if load.Exceeds(mostMade) {
			continue // the requests of its minimum cannot be added up
		}
		complete(job)
		podGroup := w.podGroupOf(job)
		podGroups[types.NamespacedName{Namespace: podGroup.Namespace, Name: podGroup.Name}] = podGroup
	}
	for _, id := range slices.SortedFunc(maps.Keys(members),
		func(x, y types.NamespacedName) int { return cmp.Compare(x.String(), y.String()) }) {
		first := members[id][0]
		podGroup := podGroups[id]
		if podGroup == nil {
			podGroup = podGroupOfPods(id, first)
		}
		if podGroup == nil {
			continue
		}
		g, err := w.addGroup(podGroup)
		if err != nil {
			return err
		}
		g.Status.Phase = scheduling.PodGroupInqueue
		if slices.ContainsFunc(members[id], func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }) {
			g.Status.Phase = scheduling.PodGroupRunning
		}
		w.index(g)
	}
	return nil
}

// podGroupOfPods makes a PodGroup of the first of its pods, nil if the queue is not known.
// Volcano's job controller writes the queue into all pods. Other pods name it themselves,
// or are in the default queue; their PodGroups have a prefix.
func podGroupOfPods(id types.NamespacedName, first *v1.Pod) *v1beta1.PodGroup {
	queue := cmp.Or(first.Annotations[v1beta1.QueueNameAnnotationKey], first.Annotations[batch.QueueNameKey])
	if queue == "" && !strings.HasPrefix(id.Name, batch.PodgroupNamePrefix) {
		return nil
	}
	minimum := controllers.CalTaskRequests(first, 1)
	podGroup := &v1beta1.PodGroup{Spec: v1beta1.PodGroupSpec{
		MinMember: 1, MinResources: &minimum, PriorityClassName: first.Spec.PriorityClassName, Queue: queue,
	}}
	podGroup.Namespace = id.Namespace
	podGroup.Name = id.Name
	podGroup.OwnerReferences = first.OwnerReferences
	return podGroup
}
