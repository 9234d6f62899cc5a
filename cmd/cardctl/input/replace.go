package input

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
)

// replaceWorkloads removes the PodGroups and pods of the workloads of a cluster that a manifest replaces. Such a
// workload counts once, as in its manifest.
func (o *Objects) replaceWorkloads() {
	manifests := o.manifests()
	if len(manifests) == 0 {
		return
	}

	removed := map[types.NamespacedName]owner{} // by PodGroup
	pods := map[owner]int{}
	o.PodGroups = slices.DeleteFunc(o.PodGroups, func(g *scheduling.PodGroup) bool {
		owner, uid := ownerOf(g)
		manifest, replaced := manifests[owner]
		if replaced {
			// The PodGroup keeps its name, as with kubectl apply.
			manifest.SetUID(uid)
			removed[types.NamespacedName{Namespace: g.Namespace, Name: g.Name}] = owner
			pods[owner] = 0
			o.forget("PodGroup", g)
		}
		return replaced
	})

	o.Pods = slices.DeleteFunc(o.Pods, func(pod *v1.Pod) bool {
		podGroup := pod.Annotations[scheduling.KubeGroupNameAnnotationKey]
		owner, replaced := removed[types.NamespacedName{Namespace: pod.Namespace, Name: podGroup}]
		if !replaced {
			owner, _ = ownerOf(pod)
			_, replaced = manifests[owner]
		}
		if replaced {
			pods[owner]++
			o.forget("Pod", pod)
		}
		return replaced
	})

	for _, owner := range slices.SortedFunc(maps.Keys(pods), owner.compare) {
		manifest := manifests[owner]
		o.Replaced = append(o.Replaced, Problem{o.sources[manifest], Named(owner.kind, manifest), "",
			fmt.Sprintf("replaces the one of the cluster, with its PodGroup and %d pods", pods[owner])})
	}
}

// forget removes an object from the index.
func (o *Objects) forget(kind string, object metav1.Object) {
	delete(o.known, key{kind, types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}})
	delete(o.sources, object)
}

// owner identifies a workload.
type owner struct{ kind, namespace, name string }

func (o owner) compare(x owner) int {
	return cmp.Or(cmp.Compare(o.kind, x.kind), cmp.Compare(o.namespace, x.namespace), cmp.Compare(o.name, x.name))
}

// manifests returns the workloads of manifests. They have no UID and no status.
func (o *Objects) manifests() map[owner]metav1.Object {
	all := map[owner]metav1.Object{}
	add := func(kind string, object metav1.Object, hasStatus bool) {
		if object.GetUID() == "" && !hasStatus {
			all[owner{kind, object.GetNamespace(), object.GetName()}] = object
		}
	}

	for _, job := range o.Jobs {
		add("Job", job, job.Status.State.Phase != "")
	}
	for _, d := range o.Deployments {
		add("Deployment", d, d.Status.ObservedGeneration > 0)
	}
	for _, pod := range o.Pods {
		add("Pod", pod, pod.Status.Phase != "")
	}

	return all
}

// ownerOf returns the workload of a cluster that owns a PodGroup or a pod, and its UID.
func ownerOf(object metav1.Object) (owner, types.UID) {
	for _, reference := range object.GetOwnerReferences() {
		name := reference.Name
		group, _, _ := strings.Cut(reference.APIVersion, "/")
		switch {
		case reference.UID == "":
		case reference.Kind == "Job" && group == batch.SchemeGroupVersion.Group,
			reference.Kind == "Pod" && group == v1.SchemeGroupVersion.Version:
			return owner{reference.Kind, object.GetNamespace(), name}, reference.UID
		// The name of a ReplicaSet is the name of its Deployment with a hash.
		case reference.Kind == "ReplicaSet" && group == appsv1.GroupName && strings.Contains(name, "-"):
			return owner{"Deployment", object.GetNamespace(), name[:strings.LastIndexByte(name, '-')]}, reference.UID
		}
	}

	return owner{}, ""
}
