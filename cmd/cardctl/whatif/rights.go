package whatif

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

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

// permit returns why a user may not add objects, nil if the user may.
func permit(add *input.Objects, rights Rights) error {
	// Devices are parts of nodes, and device classes and claims select among them.
	err := permitNodes(rights)
	switch {
	case err == nil:
	case len(add.Nodes) > 0:
		return refused("Node", add.Nodes[0].Name, err)
	case len(add.ResourceSlices) > 0:
		return refused("ResourceSlice", add.ResourceSlices[0].Name, err)
	case len(add.DeviceClasses) > 0:
		return refused("DeviceClass", add.DeviceClasses[0].Name, err)
	}

	for _, claim := range add.ResourceClaims {
		if err := cmp.Or(permitNamespaces(rights, claim.Namespace), err); err != nil {
			return refused("ResourceClaim", claim.Name, err)
		}
	}

	if len(add.PriorityClasses) > 0 && !rights.Namespace(v1.NamespaceAll) {
		return refused("PriorityClass", add.PriorityClasses[0].Name, errNamespaces)
	}
	return permitWorkloads(add, rights)
}

// permitWorkloads returns why a user may not add pods, or objects that have pods.
func permitWorkloads(add *input.Objects, rights Rights) error {
	for _, g := range add.PodGroups {
		if err := permitNamespaces(rights, g.Namespace); err != nil {
			return refused("PodGroup", g.Name, err)
		}
	}
	for _, pod := range add.Pods {
		err := permitPod(rights, pod.Namespace, &pod.Spec)
		if err == nil && pod.Status.NominatedNodeName != "" {
			err = permitNodes(rights)
		}
		if err != nil {
			return refused("Pod", pod.Name, err)
		}
	}

	for _, d := range add.Deployments {
		if err := permitPod(rights, d.Namespace, &d.Spec.Template.Spec); err != nil {
			return refused("Deployment", d.Name, err)
		}
	}
	for _, job := range add.Jobs {
		err := permitNamespaces(rights, job.Namespace)
		for i := range job.Spec.Tasks {
			err = cmp.Or(err, permitPod(rights, job.Namespace, &job.Spec.Tasks[i].Template.Spec))
		}
		if err != nil {
			return refused("Job", job.Name, err)
		}
	}
	return nil
}

// refused returns why a user may not add an object.
func refused(kind, name string, why error) error { return fmt.Errorf("%s %s: %w", kind, name, why) }

func permitNodes(rights Rights) error {
	if !rights.Nodes() {
		return errNodes
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
