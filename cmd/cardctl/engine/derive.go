package engine

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	"volcano.sh/apis/pkg/apis/scheduling"
	"volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	controllers "volcano.sh/volcano/pkg/controllers/util"
)

// deriveGroups makes the PodGroups of pods, for a dump without PodGroups. A PodGroup follows from the Volcano job of
// the pods or, without a job, from the queue that the pods name. Pods without a known queue have no group: no queue is
// charged for them.
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
			continue // too many requests to add up
		}

		complete(job)
		podGroup := w.podGroupOf(job)
		podGroups[types.NamespacedName{Namespace: podGroup.Namespace, Name: podGroup.Name}] = podGroup
	}

	byName := func(x, y types.NamespacedName) int { return cmp.Compare(x.String(), y.String()) }
	for _, id := range slices.SortedFunc(maps.Keys(members), byName) {
		podGroup := cmp.Or(podGroups[id], podGroupOfPods(id, members[id][0]))
		if podGroup == nil {
			continue
		}

		g, err := w.addGroup(podGroup)
		if err != nil {
			return err
		}

		// Its pods exist, so the group is admitted. It has started if a pod is on a node.
		g.Status.Phase = scheduling.PodGroupInqueue
		if slices.ContainsFunc(members[id], func(pod *v1.Pod) bool { return pod.Spec.NodeName != "" }) {
			g.Status.Phase = scheduling.PodGroupRunning
		}
		w.index(g)
	}

	return nil
}

// podGroupOfPods makes a PodGroup from the first of its pods. It returns nil if the queue is not known. Volcano's job
// controller writes the queue into all pods.
func podGroupOfPods(id types.NamespacedName, first *v1.Pod) *v1beta1.PodGroup {
	queue := cmp.Or(first.Annotations[v1beta1.QueueNameAnnotationKey], first.Annotations[batch.QueueNameKey])
	// The controller of other pods makes PodGroups with this prefix. They can be in the default queue.
	if queue == "" && !strings.HasPrefix(id.Name, batch.PodgroupNamePrefix) {
		return nil
	}

	return &v1beta1.PodGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: id.Namespace, Name: id.Name, OwnerReferences: first.OwnerReferences},
		Spec: v1beta1.PodGroupSpec{
			MinMember:         1,
			MinResources:      ptr.To(controllers.CalTaskRequests(first, 1)),
			PriorityClassName: first.Spec.PriorityClassName,
			Queue:             queue,
		},
	}
}
