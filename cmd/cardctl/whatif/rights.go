package whatif

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batch "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	scheduling "volcano.sh/apis/pkg/apis/scheduling/v1beta1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// Rights limit the changes of a user in a simulation to objects that the user may see. The outcome tells about the
// objects that a change replaces or removes. All queues may be seen.
type Rights interface {
	// Namespace reports whether the user may see the workloads of a namespace, "" for all namespaces.
	Namespace(name string) bool
	// Nodes reports whether the user may see nodes by name.
	Nodes() bool
}

// Everything is the rights to see everything.
var Everything Rights = everything{}

type everything struct{}

func (everything) Namespace(string) bool { return true }
func (everything) Nodes() bool           { return true }

// ErrRights is the error for changes that would tell users about objects that they may not see.
var ErrRights = errors.New("you may not see this")

var (
	errNodes      = fmt.Errorf("%w: it needs the permission to list nodes", ErrRights)
	errNamespaces = fmt.Errorf("%w: it needs the permission to list the pods of all namespaces", ErrRights)
)

// permit returns why a user may not add objects, nil if the user may. Devices are parts of nodes, and device classes
// and claims select among them.
func permit(add *input.Objects, rights Rights) error {
	var nodes, namespaces error
	if !rights.Nodes() {
		nodes = errNodes
	}
	if !rights.Namespace(v1.NamespaceAll) {
		namespaces = errNamespaces
	}

	return cmp.Or(
		refusal("Node", add.Nodes, func(*v1.Node) error { return nodes }),
		refusal("ResourceSlice", add.ResourceSlices, func(*resourcev1.ResourceSlice) error { return nodes }),
		refusal("DeviceClass", add.DeviceClasses, func(*resourcev1.DeviceClass) error { return nodes }),
		refusal("ResourceClaim", add.ResourceClaims, func(claim *resourcev1.ResourceClaim) error {
			return cmp.Or(permitNamespaces(rights, claim.Namespace), nodes)
		}),
		refusal("PriorityClass", add.PriorityClasses, func(*schedulingv1.PriorityClass) error { return namespaces }),
		refusal("PodGroup", add.PodGroups, func(g *scheduling.PodGroup) error {
			return permitNamespaces(rights, g.Namespace)
		}),
		refusal("Pod", add.Pods, func(pod *v1.Pod) error {
			err := permitPod(rights, pod.Namespace, &pod.Spec)
			if err == nil && pod.Status.NominatedNodeName != "" {
				err = nodes
			}
			return err
		}),
		refusal("Deployment", add.Deployments, func(d *appsv1.Deployment) error {
			return permitPod(rights, d.Namespace, &d.Spec.Template.Spec)
		}),
		refusal("Job", add.Jobs, func(job *batch.Job) error {
			err := permitNamespaces(rights, job.Namespace)
			for i := range job.Spec.Tasks {
				err = cmp.Or(err, permitPod(rights, job.Namespace, &job.Spec.Tasks[i].Template.Spec))
			}
			return err
		}),
	)
}

// refusal returns why a user may not add the first object that the user may not add, nil if all are permitted.
func refusal[T metav1.Object](kind string, objects []T, why func(T) error) error {
	for _, object := range objects {
		if err := why(object); err != nil {
			return fmt.Errorf("%s %s: %w", kind, object.GetName(), err)
		}
	}
	return nil
}

func permitNamespaces(rights Rights, names ...string) error {
	for _, name := range names {
		if !rights.Namespace(name) {
			return fmt.Errorf("%w: it needs the permission to list the pods of namespace %s", ErrRights, name)
		}
	}
	return nil
}

// permitPod returns why the placement of a pod tells the user about objects that the user may not see. A pod selects
// nodes, and pods of other namespaces to be near to or far from.
func permitPod(rights Rights, namespace string, spec *v1.PodSpec) error {
	if err := permitNamespaces(rights, namespace); err != nil {
		return err
	}

	affinity := ptr.Deref(spec.Affinity, v1.Affinity{})
	selects := spec.NodeName != "" || len(spec.NodeSelector) > 0 || affinity.NodeAffinity != nil
	if selects && !rights.Nodes() {
		return fmt.Errorf("nodeName, nodeSelector and nodeAffinity: %w", errNodes)
	}

	for _, term := range termsOf(affinity) {
		if term.NamespaceSelector != nil && !rights.Namespace(v1.NamespaceAll) {
			return fmt.Errorf("namespaceSelector: %w", errNamespaces)
		}
		if err := permitNamespaces(rights, term.Namespaces...); err != nil {
			return err
		}
	}
	return nil
}

// termsOf returns the terms of a pod about other pods.
func termsOf(a v1.Affinity) (all []v1.PodAffinityTerm) {
	near := ptr.Deref(a.PodAffinity, v1.PodAffinity{})
	far := ptr.Deref(a.PodAntiAffinity, v1.PodAntiAffinity{})
	all = slices.Concat(
		near.RequiredDuringSchedulingIgnoredDuringExecution, far.RequiredDuringSchedulingIgnoredDuringExecution)
	preferred := slices.Concat(
		near.PreferredDuringSchedulingIgnoredDuringExecution, far.PreferredDuringSchedulingIgnoredDuringExecution)

	for _, p := range preferred {
		all = append(all, p.PodAffinityTerm)
	}
	return all
}
