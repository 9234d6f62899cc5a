package whatif

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/capacity-card/capacity-card/cmd/cardctl/input"
)

// Rights decide what a user may change in a simulation: only what the user may see, because the
// outcome tells about what a change replaces or removes. Who simulates may see all queues.
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

// ErrRights is the error for changes that would tell users what they may not see.
var ErrRights = errors.New("you may not see this")

var (
	errNodes      = fmt.Errorf("%w: it needs the permission to list nodes", ErrRights)
	errNamespaces = fmt.Errorf("%w: it needs the permission to list the pods of all namespaces", ErrRights)
)

// permit returns why a user may not add objects, nil if the user may.
func permit(add *input.Objects, rights Rights) error {
	if len(add.Nodes) > 0 && !rights.Nodes() {
		return refused("Node", add.Nodes[0].Name, errNodes)
	}
	// The devices of nodes, and claims select among them.
	if len(add.ResourceSlices) > 0 && !rights.Nodes() {
		return refused("ResourceSlice", add.ResourceSlices[0].Name, errNodes)
	}
	if len(add.DeviceClasses) > 0 && !rights.Nodes() {
		return refused("DeviceClass", add.DeviceClasses[0].Name, errNodes)
	}
	for _, claim := range add.ResourceClaims {
		err := permitNamespaces(rights, claim.Namespace)
		if err == nil && !rights.Nodes() {
			err = errNodes
		}
		if err != nil {
			return refused("ResourceClaim", claim.Name, err)
		}
	}
	if len(add.PriorityClasses) > 0 && !rights.Namespace(v1.NamespaceAll) {
		return refused("PriorityClass", add.PriorityClasses[0].Name, errNamespaces)
	}
	for _, g := range add.PodGroups {
		if err := permitNamespaces(rights, g.Namespace); err != nil {
			return refused("PodGroup", g.Name, err)
		}
	}
	for _, pod := range add.Pods {
		err := permitPod(rights, pod.Namespace, &pod.Spec)
		if err == nil && pod.Status.NominatedNodeName != "" && !rights.Nodes() {
			err = errNodes
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
		for i := 0; i < len(job.Spec.Tasks) && err == nil; i++ {
			err = permitPod(rights, job.Namespace, &job.Spec.Tasks[i].Template.Spec)
		}
		if err != nil {
			return refused("Job", job.Name, err)
		}
	}
	return nil
}

// refused returns why a user may not add an object.
func refused(kind, name string, why error) error { return fmt.Errorf("%s %s: %w", kind, name, why) }

func permitNamespaces(rights Rights, names ...string) error {
	for _, name := range names {
		if !rights.Namespace(name) {
			return fmt.Errorf("%w: it needs the permission to list the pods of namespace %s", ErrRights, name)
		}
	}
	return nil
}

// permitPod returns why a pod tells what its user may not see: whether there is a node that it
// selects, or a pod of another namespace that it is to be near to, or far from.
func permitPod(rights Rights, namespace string, spec *v1.PodSpec) error {
	if err := permitNamespaces(rights, namespace); err != nil {
		return err
	}
	affinity := spec.Affinity
	if affinity == nil {
		affinity = &v1.Affinity{}
	}
	if selects := spec.NodeName != "" || len(spec.NodeSelector) > 0 || affinity.NodeAffinity != nil; selects && !rights.Nodes() {
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

// termsOf are the terms of a pod about other pods.
func termsOf(a *v1.Affinity) (all []v1.PodAffinityTerm) {
	var weighted []v1.WeightedPodAffinityTerm
	if of := a.PodAffinity; of != nil {
		all, weighted = append(all, of.RequiredDuringSchedulingIgnoredDuringExecution...), append(weighted,
			of.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	if of := a.PodAntiAffinity; of != nil {
		all, weighted = append(all, of.RequiredDuringSchedulingIgnoredDuringExecution...), append(weighted,
			of.PreferredDuringSchedulingIgnoredDuringExecution...)
	}
	for _, w := range weighted {
		all = append(all, w.PodAffinityTerm)
	}
	return all
}
